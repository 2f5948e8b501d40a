//! Candidates: permutations that may be automorphisms.
//!
//! Cells, their values and the ways of steps are coloured by what they have to do with each other, again and again, until that
//! tells nothing more apart. To find a permutation that takes some cells to others, two colourings begin with the ones and
//! with the others marked; what has the same colour in both corresponds. Nothing is concluded from colours: what they suggest is
//! proved, or not.

use std::collections::{BTreeMap, HashMap, HashSet};

use shoal_model::{Model, Type};

use crate::{
    cells::{StateCells, UNDEFINED},
    prove::Permutation,
    run::{CellValues, CodePath, PathEnd},
    space::CellSpace,
    value::{CellTerm, TermOp, Val},
};

/// The colours of cells and of their values.
#[derive(Clone, Debug)]
pub(crate) struct Colours {
    pub(crate) cells: Vec<u64>,
    values: Vec<Vec<u64>>,
}

/// Rounds that colours are passed on for.
const MOST_ROUNDS: usize = 24;
/// So many cells are told apart one after the other.
const MOST_MARKED: usize = 64;

fn mix(parts: &[u64]) -> u64 {
    let step = |word: u64, shift: u32, factor: u64| (word ^ (word >> shift)).wrapping_mul(factor);
    parts.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, part| {
        let word =
            step(hash.rotate_left(17) ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15), 30, 0xbf58_476d_1ce4_e5b9);
        step(word, 27, 0x94d0_49bb_1331_11eb)
    })
}

impl CellSpace {
    /// The colours before anything is known but types.
    pub(crate) fn first_colours(&self, model: &Model, cells: &StateCells) -> Colours {
        let kind = |cell: usize| model.kind(cells.types[cell]);
        let of_cell = |cell: usize| {
            let count = match &self.values[cell] {
                CellValues::Some(values) => values.len() as u64 + 1,
                CellValues::Any => 0,
            };
            match kind(cell) {
                Type::Int { lo, hi } => mix(&[1, *lo as u64, *hi as u64, count]),
                Type::Bool => mix(&[2, count]),
                _ => mix(&[3, shoal_model::TypedId::index(cells.types[cell]) as u64, count]),
            }
        };
        let of_values = |cell: usize| {
            let CellValues::Some(values) = &self.values[cell] else { return Vec::new() };
            // Names stay what they are.
            let named = !matches!(kind(cell), Type::Int { .. });
            let stays = |value: i64| named || value == UNDEFINED;
            values.iter().map(|value| if stays(*value) { mix(&[4, *value as u64]) } else { 5 }).collect()
        };
        let count = self.values.len();
        Colours { cells: (0..count).map(of_cell).collect(), values: (0..count).map(of_values).collect() }
    }

    /// The colour of a value of a cell, and where it stands.
    fn value_at(&self, cell: u32, value: i64) -> Option<usize> {
        match &self.values[cell as usize] {
            CellValues::Some(values) => values.binary_search(&value).ok(),
            CellValues::Any => None,
        }
    }

    fn value_colour(&self, colours: &Colours, cell: u32, value: i64) -> u64 {
        match self.value_at(cell, value) {
            Some(at) => colours.values[cell as usize][at],
            None => mix(&[6, value as u64]),
        }
    }

    /// Passes colours on until they tell nothing more apart.
    pub(crate) fn refine(&self, mut colours: Colours) -> Colours {
        let mut known = distinct(&colours);
        for _ in 0..MOST_ROUNDS {
            colours = self.round(&colours);
            let now = distinct(&colours);
            if now == known {
                break;
            }
            known = now;
        }
        colours
    }

    fn round(&self, colours: &Colours) -> Colours {
        let mut sums = Sums {
            cells: vec![0; colours.cells.len()],
            values: colours.values.iter().map(|values| vec![0; values.len()]).collect(),
        };
        for transition in &self.transitions {
            for path in &transition.paths {
                let size = path.given.len() + path.writes.len() + path.atoms.len() + 1;
                self.effort.set(self.effort.get().saturating_sub(size as u64));
                self.pass_on(path, colours, mix(&[7, transition.priority as u64]), &mut sums);
            }
        }
        for (at, condition) in self.conditions.iter().enumerate() {
            // The ways in which a condition is true or false depend on the order in which its parts stand: cells alone count.
            let touched: HashSet<u32> =
                condition.iter().flat_map(|path| path.given.keys().copied()).collect();
            touched.iter().for_each(|cell| sums.add_cell(*cell, mix(&[8, at as u64])));
        }
        let mut next = colours.clone();
        for (cell, sum) in sums.cells.iter().enumerate() {
            for (at, sum) in sums.values[cell].iter().enumerate() {
                next.values[cell][at] = mix(&[colours.values[cell][at], colours.cells[cell], *sum]);
            }
            let of_values = next.values[cell].iter().fold(0u64, |all, one| all.wrapping_add(mix(&[*one])));
            next.cells[cell] = mix(&[colours.cells[cell], *sum, of_values]);
        }
        next
    }

    /// Tells the cells and values that a path has to do with of each other.
    fn pass_on(&self, path: &CodePath, colours: &Colours, salt: u64, sums: &mut Sums) {
        let end = match path.end {
            PathEnd::Goes => 1,
            PathEnd::Truth(truth) => 2 + u64::from(truth),
            PathEnd::Faults(None) => 4,
            PathEnd::Faults(Some(property)) => 5 + shoal_model::TypedId::index(property) as u64,
        };
        let value = |cell: u32, value: i64| self.value_colour(colours, cell, value);
        let all = |cell: u32, values: &[i64]| {
            values.iter().fold(0u64, |sum, it| sum.wrapping_add(mix(&[value(cell, *it)])))
        };
        let cell = |cell: u32| colours.cells[cell as usize];
        let mut hash = mix(&[salt, end]);
        for (of, values) in &path.given {
            hash = hash.wrapping_add(mix(&[11, cell(*of), all(*of, values)]));
        }
        for (term, truth) in &path.atoms {
            hash = hash.wrapping_add(mix(&[12, self.term(term, colours), u64::from(*truth)]));
        }
        for (to, written) in &path.writes {
            let what = match written {
                Val::Const(number) => mix(&[13, value(*to, *number)]),
                Val::Of(from, table) if from == to && table.iter().all(|(a, b)| a == b) => continue,
                Val::Of(from, table) => {
                    let pairs = table
                        .iter()
                        .fold(0u64, |sum, (a, b)| sum.wrapping_add(mix(&[value(*from, *a), value(*to, *b)])));
                    mix(&[14, cell(*from), pairs])
                }
                Val::Term(term) => mix(&[15, self.term(term, colours)]),
            };
            hash = hash.wrapping_add(mix(&[16, cell(*to), what]));
        }
        for (of, values) in &path.given {
            sums.add_cell(*of, mix(&[hash, 21]));
            values.iter().for_each(|it| sums.add_value(self, *of, *it, mix(&[hash, 22])));
        }
        for (term, _) in &path.atoms {
            term.each_cell(&mut |of| sums.add_cell(of, mix(&[hash, 23])));
        }
        for (to, written) in &path.writes {
            match written {
                Val::Const(number) => {
                    sums.add_cell(*to, mix(&[hash, 24]));
                    sums.add_value(self, *to, *number, mix(&[hash, 25]));
                }
                Val::Of(from, table) if from == to && table.iter().all(|(a, b)| a == b) => {}
                Val::Of(from, table) => {
                    sums.add_cell(*to, mix(&[hash, 26]));
                    sums.add_cell(*from, mix(&[hash, 27]));
                    for (a, b) in table.iter() {
                        sums.add_value(self, *from, *a, mix(&[hash, 28, value(*to, *b)]));
                        sums.add_value(self, *to, *b, mix(&[hash, 29, value(*from, *a)]));
                    }
                }
                Val::Term(term) => {
                    sums.add_cell(*to, mix(&[hash, 30]));
                    term.each_cell(&mut |of| sums.add_cell(of, mix(&[hash, 31])));
                }
            }
        }
    }

    fn term(&self, term: &CellTerm, colours: &Colours) -> u64 {
        match term {
            CellTerm::Const(value) => mix(&[41, *value as u64]),
            CellTerm::Cell(cell) => mix(&[42, colours.cells[*cell as usize]]),
            CellTerm::Of(cell, table) => {
                let pairs = table.iter().fold(0u64, |sum, (a, b)| {
                    sum.wrapping_add(mix(&[self.value_colour(colours, *cell, *a), *b as u64]))
                });
                mix(&[43, colours.cells[*cell as usize], pairs])
            }
            CellTerm::Op(op, of) => {
                let tag = match op {
                    TermOp::Binary(op) => 100 + *op as u64,
                    TermOp::Equal => 50,
                    TermOp::Not => 51,
                    TermOp::BitNot => 52,
                };
                of.iter().fold(mix(&[44, tag]), |hash, of| mix(&[hash, self.term(of, colours)]))
            }
        }
    }

    /// A permutation that takes some cells to others, as far as colours tell; `like` are the colours of all when nothing is
    /// marked. Where they leave a choice, cells stay where they are if `lazy`, and go one after the other if not.
    pub(crate) fn candidate(&self, like: &Colours, marks: &[(u32, u32)], lazy: bool) -> Option<Permutation> {
        let mark = |colours: &mut Colours, cell: u32, number: usize| {
            let colour = &mut colours.cells[cell as usize];
            *colour = mix(&[*colour, 61, number as u64]);
        };
        let (mut left, mut right) = (like.clone(), like.clone());
        for (number, (from, to)) in marks.iter().enumerate() {
            mark(&mut left, *from, number);
            mark(&mut right, *to, number);
        }
        let mut more = marks.len();
        loop {
            (left, right) = (self.refine(left), self.refine(right));
            let classes = classes(&left, &right)?;
            let open = classes.iter().find(|(from, to)| from.len() > 1 && !(lazy && from == to));
            let Some((from, to)) = open else { return self.permutation(&left, &right, &classes) };
            if more == marks.len() + MOST_MARKED || self.effort.get() == 0 {
                return None;
            }
            let to = if lazy { to.iter().find(|cell| **cell == from[0]).unwrap_or(&to[0]) } else { &to[0] };
            mark(&mut left, from[0], more);
            mark(&mut right, *to, more);
            more += 1;
        }
    }

    /// The permutation that corresponding classes stand for: in a class of several, each goes to itself.
    fn permutation(
        &self,
        left: &Colours,
        right: &Colours,
        classes: &[(Vec<u32>, Vec<u32>)],
    ) -> Option<Permutation> {
        let mut found = Permutation::identity(self.values.len());
        for (from, to) in classes {
            from.iter().zip(to).for_each(|(from, to)| found.to[*from as usize] = *to);
        }
        for cell in 0..self.values.len() {
            let to = found.to[cell] as usize;
            let (CellValues::Some(mine), CellValues::Some(theirs)) = (&self.values[cell], &self.values[to])
            else {
                continue;
            };
            let mut free: Vec<(u64, i64)> =
                right.values[to].iter().copied().zip(theirs.iter().copied()).collect();
            let mut renamed = BTreeMap::new();
            // Those that can stay do.
            for (colour, value) in left.values[cell].iter().zip(mine.iter()) {
                if let Some(at) = free.iter().position(|it| *it == (*colour, *value)) {
                    free.remove(at);
                    renamed.insert(*value, *value);
                }
            }
            for (colour, value) in left.values[cell].iter().zip(mine.iter()) {
                if !renamed.contains_key(value) {
                    let at = free.iter().position(|(theirs, _)| theirs == colour)?;
                    renamed.insert(*value, free.remove(at).1);
                }
            }
            if renamed.iter().any(|(from, to)| from != to) {
                found.values[cell] = Some(renamed);
            }
        }
        Some(found)
    }
}

struct Sums {
    cells: Vec<u64>,
    values: Vec<Vec<u64>>,
}

impl Sums {
    fn add_cell(&mut self, cell: u32, what: u64) {
        let sum = &mut self.cells[cell as usize];
        *sum = sum.wrapping_add(what);
    }

    fn add_value(&mut self, space: &CellSpace, cell: u32, value: i64, what: u64) {
        if let Some(at) = space.value_at(cell, value) {
            let sum = &mut self.values[cell as usize][at];
            *sum = sum.wrapping_add(what);
        }
    }
}

fn distinct(colours: &Colours) -> usize {
    let all: HashSet<u64> = colours.cells.iter().chain(colours.values.iter().flatten()).copied().collect();
    all.len()
}

/// The cells of each colour in both colourings; nothing if they do not correspond.
fn classes(left: &Colours, right: &Colours) -> Option<Vec<(Vec<u32>, Vec<u32>)>> {
    let mut found: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
    let mut by_colour: HashMap<u64, usize> = HashMap::new();
    for (cell, colour) in left.cells.iter().enumerate() {
        let at = *by_colour.entry(*colour).or_insert_with(|| {
            found.push((Vec::new(), Vec::new()));
            found.len() - 1
        });
        found[at].0.push(cell as u32);
    }
    for (cell, colour) in right.cells.iter().enumerate() {
        found[*by_colour.get(colour)?].1.push(cell as u32);
    }
    found.iter().all(|(from, to)| from.len() == to.len()).then_some(found)
}
