//! Where cells stand in the packed form of a state.
//!
//! A packed form is a sum: each word that of its cells' codes, each times its weight. Mostly a weight is a power of two, and
//! a cell has bits of its own. If a state would have a few bits too many for one word, cells with, say, three values are
//! put together: five of them are a number below 243 that has eight bits instead of ten.

/// Where a cell stands in the packed form. Cells never straddle words, so that packing needs no branches.
#[derive(Clone, Copy)]
pub(crate) struct PackedField {
    pub(crate) word: u32,
    pub(crate) shift: u32,
    /// The bits that are the cell's, or all cells' that are put together.
    pub(crate) mask: u64,
    /// What its code counts in the word.
    pub(crate) weight: u64,
    /// How many codes it has if it is put together with others; otherwise 0.
    pub(crate) radix: u64,
    /// How much less stands there than the code: 1 if the cell is never undefined and that saves something.
    pub(crate) bias: u64,
    /// Whether the cell is never undefined.
    pub(crate) defined: bool,
    /// Its greatest code; nothing if that is any number.
    pub(crate) most: Option<u64>,
}

impl PackedField {
    /// The content of the cell.
    #[inline]
    pub(crate) fn of(self, word: u64) -> i64 {
        let bits = (word >> (self.shift & 63)) & self.mask;
        let own = if self.radix == 0 { bits } else { bits / self.divisor() % self.radix };
        own.wrapping_add(self.bias) as i64
    }

    /// The bits of the word that are the cell's, or all cells' that are put together.
    pub(crate) fn bits(self) -> u64 {
        self.mask << self.shift
    }

    /// What the codes of cells below it, in the same bits, come to.
    pub(crate) fn divisor(self) -> u64 {
        self.weight >> self.shift
    }
}

/// What can be in a cell.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    /// How many values there are, beside undefined; nothing if these are all integers.
    pub(crate) values: Option<u64>,
    /// Whether it is never undefined.
    pub(crate) defined: bool,
}

impl Content {
    /// How many codes there are, and how many bits they take.
    fn codes(self) -> Option<u64> {
        self.values.map(|values| if self.defined { values } else { values.saturating_add(1) })
    }

    fn width(self) -> u32 {
        self.codes().map_or(u64::BITS, |codes| bits(codes.saturating_sub(1)))
    }

    /// A field for it, with bits of its own.
    fn field(self, word: u32, used: u32) -> PackedField {
        let width = self.width();
        let with_undefined = self.values.map_or(u64::BITS, bits);
        // A cell that can only have one content takes no bits and may stand at the very end of a word.
        let shift = if width == 0 { 0 } else { used };
        PackedField {
            word,
            shift,
            mask: if width == u64::BITS { u64::MAX } else { (1 << width) - 1 },
            weight: 1 << shift,
            radix: 0,
            bias: u64::from(width < with_undefined),
            defined: self.defined,
            most: self.values,
        }
    }
}

fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Finds places for cells, and how many bits these take in all.
pub(crate) fn place(contents: &[Content]) -> (Vec<PackedField>, u64) {
    let bits = contents.iter().map(|content| u64::from(content.width())).sum();
    let fields = one_by_one(contents);
    match fields.last() {
        Some(last) if last.word > 0 => together(contents, bits).unwrap_or((fields, bits)),
        _ => (fields, bits),
    }
}

fn one_by_one(contents: &[Content]) -> Vec<PackedField> {
    let (mut word, mut used) = (0, 0);
    let place = |content: &Content| {
        if used + content.width() > u64::BITS {
            word += 1;
            used = 0;
        }
        let field = content.field(word, used);
        used += content.width();
        field
    };
    contents.iter().map(place).collect()
}

/// Cells with so many codes at most are put together, so many at a time, in so many bits.
const FEW_CODES: u64 = 12;
const MOST_CELLS: u32 = 8;
const MOST_BITS: u32 = 16;

/// Finds places in one word by putting cells together, as few as need be. Nothing if there is none.
fn together(contents: &[Content], bits: u64) -> Option<(Vec<PackedField>, u64)> {
    let groups = groups(contents);
    let mut all = bits;
    let mut taken = Vec::new();
    for (group, saved) in &groups {
        if all <= u64::from(u64::BITS) {
            break;
        }
        all -= u64::from(*saved);
        taken.push(group);
    }
    if all > u64::from(u64::BITS) {
        return None;
    }
    let mut fields: Vec<Option<PackedField>> = vec![None; contents.len()];
    let mut used = 0;
    for group in taken {
        let (mut weight, codes) = (1, contents[group[0]].codes()?);
        let width = self::bits(codes.pow(group.len() as u32) - 1);
        for cell in group {
            let Content { defined, values } = contents[*cell];
            let (weight_here, mask) = (weight << used, (1 << width) - 1);
            fields[*cell] = Some(PackedField {
                word: 0,
                shift: used,
                mask,
                weight: weight_here,
                radix: codes,
                bias: u64::from(defined),
                defined,
                most: values,
            });
            weight *= codes;
        }
        used += width;
    }
    let rest = fields.iter_mut().zip(contents).map(|(field, content)| {
        *field.get_or_insert_with(|| {
            let field = content.field(0, used);
            used += content.width();
            field
        })
    });
    Some((rest.collect(), all))
}

/// Cells that may be put together, with the bits that saves; most first.
fn groups(contents: &[Content]) -> Vec<(Vec<usize>, u32)> {
    let mut groups = Vec::new();
    for codes in 3..=FEW_CODES {
        let alike = contents.iter().enumerate().filter(|(_, content)| content.codes() == Some(codes));
        let cells: Vec<usize> = alike.map(|(cell, _)| cell).collect();
        let fits = |cells: &u32| bits(codes.pow(*cells) - 1) <= MOST_BITS;
        let saved = |cells: u32| (cells * bits(codes - 1)).saturating_sub(bits(codes.pow(cells) - 1));
        // The most for each cell, and of those the smallest.
        let sizes = (2..=MOST_CELLS).filter(fits).rev();
        let Some(size) = sizes.max_by_key(|cells| saved(*cells) * 840 / cells) else { continue };
        if saved(size) > 0 {
            let chunks = cells.chunks_exact(size as usize);
            groups.extend(chunks.map(|group| (group.to_vec(), saved(size))));
        }
    }
    groups.sort_by_key(|(_, saved)| std::cmp::Reverse(*saved));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All codes of all cells come back, whatever the others are.
    fn check(contents: &[Content], words: u32) {
        let (fields, _) = place(contents);
        assert_eq!(fields.iter().map(|field| field.word).max(), Some(words - 1));
        let extremes = |content: &Content| {
            let (least, most) = (u64::from(content.defined), content.values.unwrap_or(u64::MAX));
            [least, most, least + (most - least) / 2]
        };
        for round in 0..3 {
            let codes: Vec<u64> =
                contents.iter().enumerate().map(|(at, it)| extremes(it)[(at + round) % 3]).collect();
            let mut packed = vec![0u64; words as usize];
            for (field, code) in fields.iter().zip(&codes) {
                let word = &mut packed[field.word as usize];
                *word = word.wrapping_add(code.wrapping_sub(field.bias).wrapping_mul(field.weight));
            }
            for (field, code) in fields.iter().zip(&codes) {
                assert_eq!(field.of(packed[field.word as usize]) as u64, *code);
            }
        }
    }

    #[test]
    fn cells_have_places() {
        let cell = |values, defined| Content { values: Some(values), defined };
        check(&[cell(2, true), cell(2, false), cell(3, true), cell(1, true), cell(0, false)], 1);
        check(&[Content { values: None, defined: false }, cell(5, false)], 2);
        // 70 bits, but groups of five save two each.
        check(&[cell(3, true); 35], 1);
        check(&[cell(2, false); 35], 1);
        check(&[cell(4, true); 35], 2);
        let mixed: Vec<Content> = (0..33).map(|at| cell([3, 5, 2][at % 3], at % 2 == 0)).collect();
        check(&mixed, 1);
    }
}
