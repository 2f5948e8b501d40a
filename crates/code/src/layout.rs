//! Where everything is: the cells of a state, their packed form, and the encoding of values as codes.
//!
//! A state in work is a slice of *cells*, one for each scalar part of each variable. A cell holds a *code*:
//! 0 is undefined, otherwise it is one more than the value's position in its type. A multiset is a row of
//! groups, each an *occupied* cell (0 or 1) followed by the cells of an element; a free group is all zero. In
//! normal form the occupied groups come first and are sorted as [`Value`] sorts them.
//!
//! A growing sort is laid out with as many numbers as its limit allows. After the variables, a cell for each number says
//! what became of it: it is free (undefined), its element was deleted but something may still refer to it (false), or
//! its element exists (true). Entries of elements that do not exist are all undefined.

use std::{hint::black_box, ops::Range};

use shoal_model::{Model, SortId, State, Type, TypeId, TypedId, Value};

use crate::{
    bag::{Bag, Keys, normalise_changed},
    code::TRUE,
    fields::{Content, PackedField, place},
};

/// More cells than this in a state or in a local are refused; a state this size could not be explored anyway.
pub(crate) const MAX_CELLS: u64 = 1 << 22;

/// So many cells are compared at a time where most are as they were: a *row*, as a power of two.
const ROW: u32 = 3;
const TOGETHER: usize = 1 << ROW;

/// The layout of all types and of the state.
#[derive(Clone)]
pub struct Layout {
    sizes: Vec<Option<u32>>,
    vars: Vec<u32>,
    cells: usize,
    fields: Vec<PackedField>,
    /// What the code of each cell counts for in its word.
    weights: Vec<u64>,
    /// For each row of cells, the word that all of them stand in, if there is one.
    row_words: Vec<Option<u32>>,
    /// The same for each piece of a state.
    piece_words: Vec<Option<u32>>,
    /// For each word of the packed form, where its cells end, and what it is less than the sum of their codes.
    ends: Vec<usize>,
    biases: Vec<u64>,
    words: usize,
    bits: u64,
    bags: Vec<Bag>,
    /// A bit for each piece that a multiset has cells in.
    bag_pieces: Vec<u64>,
    /// For each bit of the packed form, the cell that it belongs to; empty if some cells share their bits.
    owners: Vec<u32>,
    populations: Vec<Population>,
}

/// Where a cell stands in the packed form, if its bits are its own.
#[derive(Clone, Copy, Debug)]
pub struct CellBits {
    word: u32,
    shift: u32,
    mask: u64,
    bias: u64,
}

impl CellBits {
    /// No content of the cell is more than this.
    pub fn most(&self) -> u64 {
        self.mask.saturating_add(self.bias)
    }

    /// The word that it stands in, and its bits there.
    pub fn bits(&self) -> (usize, u64) {
        (self.word as usize, self.mask << self.shift)
    }

    /// Whether it may be undefined; its bits are 0 then, and only then.
    pub fn may_be_undefined(&self) -> bool {
        self.bias == 0
    }

    /// The content of the cell.
    #[inline]
    pub fn code(&self, words: &[u64]) -> i64 {
        let bits = words[self.word as usize] >> (self.shift & 63) & self.mask;
        bits.wrapping_add(self.bias) as i64
    }
}

/// The elements of a growing sort.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// The sort.
    pub sort: SortId,
    /// The first of the cells that say what became of each number.
    pub first: u32,
    /// How many numbers there are.
    pub room: u32,
    /// The type of references that are not null, and that of truth values.
    pub(crate) index: TypeId,
    truth: TypeId,
}

impl Population {
    /// What the cell of a number holds whose element exists.
    pub const EXISTS: i64 = TRUE;

    /// The population of a sort that grows to a limit; nothing if the model lacks the types to speak of it.
    fn new(model: &Model, sort: SortId, first: u32) -> Option<Population> {
        let find = |kind: &Type| model.types.enumerate().find(|(_, def)| def.kind == *kind).map(|(id, _)| id);
        let index = find(&Type::Ref { sort, nullable: false })?;
        Some(Population { sort, first, room: model.sorts[sort].room()?, index, truth: find(&Type::Bool)? })
    }
}

/// Whether two rows of cells differ: without a branch for each, so that several are compared at a time.
#[inline]
fn differ<const CELLS: usize>(left: &[i64; CELLS], right: &[i64; CELLS]) -> bool {
    left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) != 0
}

/// The cells of a state of so many are taken in pieces of so many, as a power of two: there are at most 64 pieces.
pub(crate) fn piece_of(cells: usize) -> u32 {
    (usize::BITS - cells.saturating_sub(1).leading_zeros()).saturating_sub(6)
}

/// A bit for each piece of so many cells (as a power of two) that some cells are in.
fn pieces_of(cells: &Range<usize>, size: u32) -> u64 {
    if cells.is_empty() {
        return 0;
    }
    let (first, last) = (cells.start >> size, (cells.end - 1) >> size);
    (u64::MAX >> (u64::BITS as usize - 1 - (last - first))) << first
}

/// The growing sort whose elements are the indices of a type, if it is one.
pub(crate) fn growing_index(model: &Model, index: TypeId) -> Option<SortId> {
    match model.kind(index) {
        Type::Ref { sort, .. } if model.sorts[*sort].fixed_size().is_none() => Some(*sort),
        _ => None,
    }
}

/// Is told of a cell, its type (none for an occupied cell) and the way to it.
type CellVisit<'a> = &'a mut dyn FnMut(u32, Option<TypeId>, &[CellStep]);

/// One step on the way from a variable to a cell.
#[derive(Clone, Copy, Debug)]
pub enum CellStep {
    /// A field of a record.
    Field(u32),
    /// The element of an array at a position of its index type; `stride` cells lie between two elements.
    Index {
        /// The index type.
        ty: TypeId,
        /// The position.
        ordinal: u64,
        /// Cells from an element to the next.
        stride: u32,
    },
    /// A group of a multiset.
    Group,
    /// To what became of the numbers of a growing sort.
    Population,
}

fn is_over(model: &Model, step: &CellStep, sort: SortId) -> bool {
    matches!(step, CellStep::Index { ty, .. } if growing_index(model, *ty) == Some(sort))
}

impl Layout {
    /// The layout of a model; nothing if some variable does not fit.
    pub(crate) fn new(model: &Model) -> Option<Layout> {
        let mut sizes = Vec::with_capacity(model.types.len());
        for ty in model.types.ids() {
            let size = size_of(model, ty, &sizes);
            sizes.push(size);
        }
        let mut vars = Vec::with_capacity(model.vars.len());
        let mut cells: u64 = 0;
        for var in model.vars.iter() {
            vars.push(u32::try_from(cells).ok()?);
            cells += u64::from(sizes[var.ty.index()]?);
        }
        let mut populations = Vec::new();
        for sort in model.sorts.ids().filter(|sort| model.sorts[*sort].fixed_size().is_none()) {
            let population = Population::new(model, sort, u32::try_from(cells).ok()?)?;
            cells += u64::from(population.room);
            populations.push(population);
        }
        if cells > MAX_CELLS {
            return None;
        }
        let empty = Layout {
            sizes,
            vars,
            cells: cells as usize,
            fields: Vec::new(),
            weights: Vec::new(),
            row_words: Vec::new(),
            piece_words: Vec::new(),
            ends: Vec::new(),
            biases: Vec::new(),
            words: 1,
            bits: 0,
            bags: Vec::new(),
            bag_pieces: Vec::new(),
            owners: Vec::new(),
            populations,
        };
        Some(empty.packed(model, |_| false))
    }

    /// The same cells, in a packed form where those that are never undefined have no code for it. Between steps: what the
    /// starts begin with has no packed form.
    pub fn narrowed(&self, model: &Model, defined: impl Fn(u32) -> bool) -> Layout {
        self.clone().packed(model, defined)
    }

    fn packed(mut self, model: &Model, defined: impl Fn(u32) -> bool) -> Layout {
        let mut contents = Vec::with_capacity(self.cells);
        self.each_cell(model, &mut |cell, ty, _| {
            // The occupied cell of a group is never undefined, but free.
            let values = ty.map_or(Some(1), |ty| model.cardinality(ty));
            contents.push(Content { values, defined: ty.is_some() && defined(cell) });
        });
        let (fields, bits) = place(&contents);
        let words = fields.last().map_or(1, |last| last.word + 1);
        self.words = words as usize;
        self.ends = (0..words).map(|word| fields.partition_point(|field| field.word <= word)).collect();
        self.biases = vec![0; self.words];
        for field in &fields {
            let bias = &mut self.biases[field.word as usize];
            *bias = bias.wrapping_add(field.bias.wrapping_mul(field.weight));
        }
        self.owners = owners(&fields, self.words);
        self.weights = fields.iter().map(|field| field.weight).collect();
        let word = |row: &[PackedField]| {
            Some(row[0].word).filter(|word| row.iter().all(|field| field.word == *word))
        };
        self.row_words = fields.chunks(TOGETHER).map(word).collect();
        self.piece_words = fields.chunks(1 << piece_of(self.cells)).map(word).collect();
        self.fields = fields;
        self.bits = bits;
        let bags = model.vars.enumerate().flat_map(|(id, var)| {
            let mut bags = Vec::new();
            self.bags_in(model, var.ty, self.vars[id.index()], &mut bags);
            bags
        });
        self.bags = bags.collect();
        let size = piece_of(self.cells);
        self.bag_pieces = self.bags.iter().map(|bag| pieces_of(&bag.range(), size)).collect();
        self
    }

    /// How many cells a state has.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// How many words the packed form of a state has.
    pub fn words(&self) -> usize {
        self.words
    }

    /// How many bits of the last word are in use.
    pub fn last_bits(&self) -> u32 {
        let last = self.fields.iter().filter(|field| field.word as usize + 1 == self.words);
        last.map(|field| field.shift + field.mask.count_ones()).max().unwrap_or(0)
    }

    /// How many bits a packed state has.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// The first cell of a variable.
    pub fn var(&self, var: shoal_model::VarId) -> u32 {
        self.vars[var.index()]
    }

    /// How many cells a value of a type takes; nothing if it cannot be laid out.
    pub fn size(&self, ty: TypeId) -> Option<u32> {
        self.sizes[ty.index()]
    }

    /// The multisets of the state.
    pub fn bags(&self) -> &[Bag] {
        &self.bags
    }

    /// The elements of growing sorts.
    pub fn populations(&self) -> &[Population] {
        &self.populations
    }

    /// Where the arrays over a growing sort begin in a state, and how many cells each of their entries has.
    pub fn arrays_over(&self, model: &Model, sort: SortId) -> Vec<(u32, u32)> {
        let mut arrays = Vec::new();
        self.each_cell(model, &mut |at, _, path| {
            // The first cell of the first entry.
            if let Some(CellStep::Index { ordinal: 0, stride, .. }) =
                path.iter().find(|step| is_over(model, step, sort))
                && !arrays.iter().any(|(base, length)| *base <= at && at < base + length)
                && !self.populations.iter().any(|it| it.first == at)
            {
                arrays.push((at, *stride));
            }
        });
        arrays
    }

    /// Packs the cells of a state in normal form.
    pub fn pack(&self, cells: &[i64], words: &mut [u64]) {
        let mut first = 0;
        for ((word, end), bias) in words.iter_mut().zip(&self.ends).zip(&self.biases) {
            // Put together outside memory, so that a cell need not wait until the one before is written. A sum, so that it
            // comes out right in the end also if a cell has no packed form for a while.
            let mut packed = 0u64.wrapping_sub(*bias);
            for (cell, weight) in cells[first..*end].iter().zip(&self.weights[first..*end]) {
                packed = packed.wrapping_add((*cell as u64).wrapping_mul(*weight));
            }
            *word = packed;
            first = *end;
        }
    }

    /// Makes of the packed form of a state that of another.
    pub fn repack(&self, (cells, words): (&[i64], &[u64]), other: &[i64], packed: &mut [u64]) {
        packed.copy_from_slice(words);
        self.change(0..self.cells, cells, other, packed);
    }

    /// Adds to a packed form what has become of some rows of cells: those that cells of a range are in.
    #[inline]
    fn change(&self, range: Range<usize>, cells: &[i64], other: &[i64], packed: &mut [u64]) {
        let (first, end) = (range.start >> ROW, range.end.div_ceil(TOGETHER));
        let range = first * TOGETHER..(end * TOGETHER).min(self.cells);
        let (old, old_rest) = cells[range.clone()].as_chunks::<TOGETHER>();
        let (new, _) = other[range.clone()].as_chunks::<TOGETHER>();
        for ((old, new), row) in old.iter().zip(new).zip(first..) {
            if differ(old, new) {
                self.change_row(row, old, new, packed);
            }
        }
        if !old_rest.is_empty() {
            self.change_cells(range.end - old_rest.len()..range.end, cells, other, packed);
        }
    }

    /// Apart from the loop, so that it compares several cells at a time.
    #[inline(never)]
    fn change_row(&self, row: usize, old: &[i64; TOGETHER], new: &[i64; TOGETHER], packed: &mut [u64]) {
        let first = row * TOGETHER;
        let weights = self.weights[first..].iter();
        let changes = old
            .iter()
            .zip(new)
            .zip(weights)
            .map(|((old, new), weight)| (new.wrapping_sub(*old) as u64).wrapping_mul(*weight));
        match self.row_words[row] {
            Some(word) => {
                let word = &mut packed[word as usize];
                *word = changes.fold(*word, u64::wrapping_add);
            }
            None => {
                for (change, field) in changes.zip(&self.fields[first..]) {
                    let word = &mut packed[field.word as usize];
                    *word = word.wrapping_add(change);
                }
            }
        }
    }

    fn change_cells(&self, range: Range<usize>, cells: &[i64], other: &[i64], packed: &mut [u64]) {
        range.for_each(|cell| self.add(packed, cell, other[cell].wrapping_sub(cells[cell])));
    }

    /// Adds to the code of a cell in a packed form. What comes of several such changes has to be a state again, not what
    /// comes of each.
    #[inline]
    pub fn add(&self, words: &mut [u64], cell: usize, change: i64) {
        let word = &mut words[self.fields[cell].word as usize];
        *word = word.wrapping_add((change as u64).wrapping_mul(self.weights[cell]));
    }

    /// Makes of the packed form of a state that of another, whose multisets may not be in normal form, while those of the first
    /// are. Afterwards they are. It may be known in which pieces the two differ; then it may be known afterwards, too.
    pub(crate) fn settle(
        &self,
        (cells, words): (&[i64], &[u64]),
        other: &mut [i64],
        packed: &mut [u64],
        dirty: Option<u64>,
    ) -> Option<u64> {
        let Some(mut pieces) = dirty else {
            normalise_changed(&self.bags, cells, other);
            self.repack((cells, words), other, packed);
            return None;
        };
        let size = piece_of(self.cells);
        debug_assert!(
            (0..u64::BITS).all(|number| {
                let piece = self.pieces(number, 1);
                pieces >> number & 1 == 1 || cells[piece.clone()] == other[piece]
            }),
            "what a body has written to is known"
        );
        for (bag, own) in self.bags.iter().zip(&self.bag_pieces) {
            let own = own & pieces;
            if own != 0 {
                let first = own.trailing_zeros();
                let changed = self.pieces(first, u64::BITS - own.leading_zeros() - first);
                pieces |= pieces_of(&bag.normalise_changed(changed, cells, other), size);
            }
        }
        packed.copy_from_slice(words);
        match size {
            0 => self.change_pieces::<1>(pieces, cells, other, packed),
            1 => self.change_pieces::<2>(pieces, cells, other, packed),
            2 => self.change_pieces::<4>(pieces, cells, other, packed),
            // They are whole rows.
            _ => self.each_run(pieces, |run| self.change(run, cells, other, packed)),
        }
        #[cfg(debug_assertions)]
        {
            let mut whole = vec![0; packed.len()];
            self.pack(other, &mut whole);
            assert_eq!(packed, whole, "a step is packed by the pieces it has changed");
        }
        // What is so small is put back by words.
        Some(pieces).filter(|_| size > 1)
    }

    /// The cells of so many pieces from one on.
    #[inline]
    fn pieces(&self, first: u32, count: u32) -> Range<usize> {
        let size = piece_of(self.cells);
        let end = (first as usize + count as usize) << size;
        ((first as usize) << size).min(self.cells)..end.min(self.cells)
    }

    /// Visits the cells of pieces, those of neighbours together.
    #[inline]
    pub(crate) fn each_run(&self, mut pieces: u64, mut visit: impl FnMut(Range<usize>)) {
        while pieces != 0 {
            let first = pieces.trailing_zeros();
            let count = (pieces >> first).trailing_ones();
            visit(self.pieces(first, count));
            pieces &= u64::MAX.checked_shl(first + count).unwrap_or(0);
        }
    }

    /// Adds to a packed form what has become of pieces of so few cells that it is not worth comparing them first.
    fn change_pieces<const CELLS: usize>(
        &self,
        mut pieces: u64,
        cells: &[i64],
        other: &[i64],
        packed: &mut [u64],
    ) {
        let (old, new) = (cells.as_chunks::<CELLS>().0, other.as_chunks::<CELLS>().0);
        let weights = self.weights.as_chunks::<CELLS>().0;
        while pieces != 0 {
            let at = pieces.trailing_zeros() as usize;
            pieces &= pieces - 1;
            match (old.get(at), new.get(at), weights.get(at), self.piece_words.get(at)) {
                (Some(old), Some(new), Some(weights), Some(Some(word))) => {
                    // One by one: the processors that this is compiled for have no instruction that multiplies several such numbers.
                    let alone = |change: u64| if CELLS > 2 { black_box(change) } else { change };
                    let changes = old.iter().zip(new).map(|(old, new)| alone(new.wrapping_sub(*old) as u64));
                    let changes = changes.zip(weights).map(|(change, weight)| change.wrapping_mul(*weight));
                    let word = &mut packed[*word as usize];
                    *word = changes.fold(*word, u64::wrapping_add);
                }
                _ => self.change_cells(self.pieces(at as u32, 1), cells, other, packed),
            }
        }
    }

    /// Visits the cells of each word in which two packed states differ.
    pub(crate) fn each_changed(&self, left: &[u64], right: &[u64], mut visit: impl FnMut(Range<usize>)) {
        let mut first = 0;
        for ((left, right), end) in left.iter().zip(right).zip(&self.ends) {
            if left != right {
                visit(first..*end);
            }
            first = *end;
        }
    }

    /// Visits each cell in which two packed states differ. Some bits of each word may be passed over: those of whole cells, and
    /// none where cells share bits.
    #[inline]
    pub fn each_difference(
        &self,
        left: &[u64],
        right: &[u64],
        passed: impl Fn(usize) -> u64,
        mut visit: impl FnMut(usize),
    ) {
        if self.owners.is_empty() {
            return self.each_changed(left, right, |cells| {
                let differs = |cell: &usize| {
                    let field = self.fields[*cell];
                    field.of(left[field.word as usize]) != field.of(right[field.word as usize])
                };
                cells.filter(differs).for_each(&mut visit);
            });
        }
        for (word, (left, right)) in left.iter().zip(right).enumerate() {
            let mut rest = (left ^ right) & !passed(word);
            while rest != 0 {
                let cell = self.owners[word * u64::BITS as usize + rest.trailing_zeros() as usize] as usize;
                visit(cell);
                rest &= !self.fields[cell].bits();
            }
        }
    }

    /// The word that a cell stands in, and its bits there; nothing if it shares them with others. What stands there in two
    /// cells is the same if their contents are and [`Layout::stand_alike`].
    pub fn bits_of(&self, cell: usize) -> Option<(usize, u64)> {
        let field = self.fields[cell];
        (field.radix == 0).then(|| (field.word as usize, field.bits()))
    }

    /// Where a cell stands in the packed form; nothing if it shares its bits with others.
    pub fn place_of(&self, cell: usize) -> Option<CellBits> {
        let PackedField { word, shift, mask, bias, radix, .. } = self.fields[cell];
        (radix == 0).then_some(CellBits { word, shift, mask, bias })
    }

    /// Whether two cells have the same bits where they have the same content, each at its place.
    pub fn stand_alike(&self, left: usize, right: usize) -> bool {
        let form = |field: PackedField| (field.radix, field.mask, field.bias);
        form(self.fields[left]) == form(self.fields[right])
    }

    /// The sum that stands for no value at all: all cells are undefined.
    pub(crate) fn blank(&self) -> Vec<u64> {
        self.biases.iter().map(|bias| 0u64.wrapping_sub(*bias)).collect()
    }

    /// Where each cell stands in the packed form, for native code.
    pub(crate) fn fields(&self) -> &[PackedField] {
        &self.fields
    }

    /// Whether each cell is never undefined between steps.
    pub(crate) fn defined(&self) -> impl Iterator<Item = bool> {
        self.fields.iter().map(|field| field.defined)
    }

    /// The content of a cell of a packed state.
    #[inline]
    pub fn code(&self, words: &[u64], cell: usize) -> i64 {
        let field = self.fields[cell];
        field.of(words[field.word as usize])
    }

    /// The inverse of [`Layout::pack`].
    pub fn unpack(&self, words: &[u64], cells: &mut [i64]) {
        let mut first = 0;
        for (word, end) in words.iter().zip(&self.ends) {
            for (cell, field) in cells[first..*end].iter_mut().zip(&self.fields[first..*end]) {
                *cell = field.of(*word);
            }
            first = *end;
        }
    }

    /// The same, where the cells are those of another packed state already.
    pub(crate) fn unpack_over(&self, before: &[u64], words: &[u64], cells: &mut [i64]) {
        let mut first = 0;
        for ((before, word), end) in before.iter().zip(words).zip(&self.ends) {
            if before != word {
                for (cell, field) in cells[first..*end].iter_mut().zip(&self.fields[first..*end]) {
                    *cell = field.of(*word);
                }
            }
            first = *end;
        }
    }

    /// Visits all cells of a state in order, with their type (none for an occupied cell) and the way to them.
    pub fn each_cell(&self, model: &Model, visit: CellVisit<'_>) {
        let mut path = Vec::new();
        for (id, var) in model.vars.enumerate() {
            self.cells_of(model, var.ty, self.vars[id.index()], &mut path, visit);
        }
        for population in &self.populations {
            for ordinal in 0..population.room {
                let number = CellStep::Index { ty: population.index, ordinal: u64::from(ordinal), stride: 1 };
                visit(population.first + ordinal, Some(population.truth), &[CellStep::Population, number]);
            }
        }
    }

    fn cells_of(&self, model: &Model, ty: TypeId, base: u32, path: &mut Vec<CellStep>, visit: CellVisit<'_>) {
        let size = |ty: TypeId| self.size(ty).unwrap_or(0);
        match model.kind(ty) {
            Type::Record { fields } => {
                let mut base = base;
                for (position, field) in fields.iter().enumerate() {
                    path.push(CellStep::Field(position as u32));
                    self.cells_of(model, field.ty, base, path, visit);
                    path.pop();
                    base += size(field.ty);
                }
            }
            Type::Array { index, element } => {
                let stride = size(*element);
                for ordinal in 0..model.cardinality(*index).unwrap_or(0) {
                    path.push(CellStep::Index { ty: *index, ordinal, stride });
                    self.cells_of(model, *element, base + ordinal as u32 * stride, path, visit);
                    path.pop();
                }
            }
            Type::Multiset { capacity, element } => {
                let group = size(*element) + 1;
                for position in 0..*capacity {
                    path.push(CellStep::Group);
                    visit(base + position * group, None, path);
                    self.cells_of(model, *element, base + position * group + 1, path, visit);
                    path.pop();
                }
            }
            _ => visit(base, Some(ty), path),
        }
    }

    /// Adds the multisets of a value that begins at `base`: those within another one before it, as its order depends on
    /// theirs.
    pub(crate) fn bags_in(&self, model: &Model, ty: TypeId, base: u32, bags: &mut Vec<Bag>) {
        if !model.type_contains(ty, &|part| matches!(part, Type::Multiset { .. })) {
            return;
        }
        match model.kind(ty) {
            Type::Record { fields } => {
                let mut base = base;
                for field in fields {
                    self.bags_in(model, field.ty, base, bags);
                    base += self.size(field.ty).unwrap_or(0);
                }
            }
            Type::Array { index, element } => {
                let stride = self.size(*element).unwrap_or(0);
                for ordinal in 0..model.cardinality(*index).unwrap_or(0) as u32 {
                    self.bags_in(model, *element, base + ordinal * stride, bags);
                }
            }
            Type::Multiset { capacity, element } => {
                let mut keys = Vec::new();
                let mut path = Vec::new();
                self.cells_of(model, *element, 0, &mut path, &mut |_, ty, _| {
                    keys.push(ty.and_then(|ty| Keys::of(model, ty)));
                });
                let group = self.size(*element).unwrap_or(0) + 1;
                for position in 0..*capacity {
                    self.bags_in(model, *element, base + position * group + 1, bags);
                }
                bags.push(Bag::new(base, *capacity, group, keys));
            }
            _ => {}
        }
    }

    /// The state that the cells stand for.
    pub fn decode(&self, model: &Model, cells: &[i64]) -> State {
        let mut live = vec![Vec::new(); model.sorts.len()];
        for population in &self.populations {
            let lives = &cells[population.first as usize..][..population.room as usize];
            let exists = lives.iter().map(|life| *life == TRUE);
            let used = exists.clone().rposition(|exists| exists).map_or(0, |last| last + 1);
            live[population.sort.index()] = exists.take(used).collect();
        }
        let value = |(id, var): (shoal_model::VarId, &shoal_model::Var)| {
            self.decode_value(model, var.ty, &cells[self.vars[id.index()] as usize..], &live)
        };
        State { values: model.vars.enumerate().map(value).collect(), live }
    }

    fn decode_value(&self, model: &Model, ty: TypeId, cells: &[i64], live: &[Vec<bool>]) -> Value {
        let size = |ty: TypeId| self.size(ty).unwrap_or(0) as usize;
        match model.kind(ty) {
            Type::Record { fields } => {
                let mut base = 0;
                let fields = fields.iter().map(|field| {
                    let value = self.decode_value(model, field.ty, &cells[base..], live);
                    base += size(field.ty);
                    value
                });
                Value::Record(fields.collect())
            }
            Type::Array { index, element } => {
                let stride = size(*element);
                let entry = |at: usize| self.decode_value(model, *element, &cells[at * stride..], live);
                Value::Array(match growing_index(model, *index) {
                    Some(sort) => {
                        let exist = live[sort.index()].iter().enumerate();
                        exist.map(|(at, exists)| if *exists { entry(at) } else { Value::Undefined }).collect()
                    }
                    None => (0..model.cardinality(*index).unwrap_or(0) as usize).map(entry).collect(),
                })
            }
            Type::Multiset { capacity, element } => {
                let group = size(*element) + 1;
                let occupied = (0..*capacity as usize).filter(|at| cells[at * group] != 0);
                let mut elements: Vec<Option<Value>> = occupied
                    .map(|at| Some(self.decode_value(model, *element, &cells[at * group + 1..], live)))
                    .collect();
                elements.sort();
                Value::Multiset(elements)
            }
            _ => decode_scalar(model, ty, cells[0]),
        }
    }
}

/// For each bit of so many words, the cell that it belongs to, or any if none; nothing if cells share bits.
fn owners(fields: &[PackedField], words: usize) -> Vec<u32> {
    if fields.iter().any(|field| field.radix != 0) {
        return Vec::new();
    }
    let mut owners = vec![0; words * u64::BITS as usize];
    for (field, cell) in fields.iter().zip(0..) {
        let first = field.word as usize * u64::BITS as usize + field.shift as usize;
        owners[first..first + field.mask.count_ones() as usize].fill(cell);
    }
    owners
}

/// The value that a code of a scalar type stands for.
pub(crate) fn decode_scalar(model: &Model, ty: TypeId, code: i64) -> Value {
    match model.kind(ty) {
        _ if code == 0 => Value::Undefined,
        Type::Int { lo, .. } => Value::Int(raw(code, *lo)),
        _ => model.value_at(ty, code as u64 - 1).unwrap_or(Value::Undefined),
    }
}

/// The integer that a code of a range from `lo` stands for.
pub(crate) fn raw(code: i64, lo: i64) -> i64 {
    code.wrapping_add(lo).wrapping_sub(1)
}

/// Values of one kind that have consecutive codes in a scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom {
    /// What they are.
    pub kind: AtomKind,
    /// The code of the first.
    pub first: u64,
    /// How many there are.
    pub count: u64,
}

/// The kinds of scalar, in the order of [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtomKind {
    /// No element.
    Null,
    /// Truth values.
    Bool,
    /// Integers in a range.
    Int {
        /// The least.
        lo: i64,
        /// The greatest.
        hi: i64,
    },
    /// The names of an enumeration.
    Enum(TypeId),
    /// Elements of a sort.
    Elem(SortId),
}

/// The values of a scalar type by kind, in the order of their codes.
pub fn atoms(model: &Model, ty: TypeId) -> Vec<Atom> {
    let mut result = Vec::new();
    add_atoms(model, ty, &mut result);
    result
}

fn add_atoms(model: &Model, ty: TypeId, result: &mut Vec<Atom>) {
    let mut add = |kind, count| {
        let first = result.last().map_or(1, |last: &Atom| last.first + last.count);
        result.push(Atom { kind, first, count });
    };
    match model.kind(ty) {
        Type::Bool => add(AtomKind::Bool, 2),
        // All 2^64 integers and undefined do not fit in a code: the greatest integer has none.
        Type::Int { lo, hi } => {
            add(AtomKind::Int { lo: *lo, hi: *hi }, model.cardinality(ty).unwrap_or(u64::MAX));
        }
        Type::Enum { variants } => add(AtomKind::Enum(ty), variants.len() as u64),
        Type::Ref { sort, nullable } => {
            if *nullable {
                add(AtomKind::Null, 1);
            }
            add(AtomKind::Elem(*sort), u64::from(model.sorts[*sort].room().unwrap_or(0)));
        }
        Type::Union { members } => members.iter().for_each(|member| add_atoms(model, *member, result)),
        _ => {}
    }
}

fn size_of(model: &Model, ty: TypeId, sizes: &[Option<u32>]) -> Option<u32> {
    let size = |ty: TypeId| sizes[ty.index()].map(u64::from);
    let total = match model.kind(ty) {
        Type::Clock | Type::Sequence { .. } => return None,
        Type::Record { fields } => {
            fields.iter().try_fold(0u64, |total, field| total.checked_add(size(field.ty)?))?
        }
        Type::Array { index, element } => model.cardinality(*index)?.checked_mul(size(*element)?)?,
        Type::Multiset { capacity, element } => u64::from(*capacity).checked_mul(size(*element)? + 1)?,
        // The codes of all 64-bit integers alone fit (but one); in a union with others they would not.
        Type::Union { .. } => model.cardinality(ty).map(|_| 1)?,
        Type::Ref { sort, .. } => model.sorts[*sort].room().map(|_| 1)?,
        _ => 1,
    };
    (total <= MAX_CELLS).then_some(total as u32)
}
