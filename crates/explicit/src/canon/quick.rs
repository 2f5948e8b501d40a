//! What a small state says of elements, read from its packed form in one go.
//!
//! Where few cells have to do with elements, reading all of them takes less time than working out what a step has changed. Cells
//! that an element has to itself stand next to each other: what some of them say together is looked up by their bits. Of the
//! cells that may hold an element most are undefined, and say nothing: an addition for each word of the state finds those
//! that do.

use std::collections::HashMap;

use shoal_code::{CellBits, Layout};

use super::{
    contents::BagContents,
    facts::{Noticed, Said, StateFacts},
    structure::StateStructure,
};

/// More cells than this are not read for each successor.
const MOST_CELLS: usize = 128;
/// Of cells that may hold an element and have more codes than this it is not worked out what each says.
const MOST_CODES: u64 = 1 << 10;
/// What so many bits say is looked up.
const RUN: u32 = 9;

/// A cell that one element indexes and that holds none.
struct OwnBits {
    at: CellBits,
    element: u32,
    salt: u64,
}

/// Bits of a word with some such cells of one element.
struct OwnRun {
    word: u32,
    shift: u32,
    mask: u64,
    element: u32,
    /// Where it begins in [`Quick::run_says`] what its contents say.
    says: u32,
}

/// A cell that may hold an element, what each of its codes says, and what else is known then.
pub(super) struct LinkBits {
    at: CellBits,
    says: Box<[Said]>,
    noticed: Box<[Noticed]>,
}

impl LinkBits {
    /// What a code says.
    #[inline]
    pub(super) fn says(&self, code: i64) -> &Said {
        &self.says[code as usize]
    }

    /// What else is known where the cell has a code.
    #[inline]
    pub(super) fn noticed(&self, code: i64) -> &Noticed {
        &self.noticed[code as usize]
    }
}

/// The links of a word.
struct LinkWord {
    word: usize,
    /// The highest bits of those that may be undefined, and all other bits of theirs.
    high: u64,
    low: u64,
    /// The highest bits of those that never are.
    defined: u64,
    /// By such a bit, the number of the link.
    links: [u16; u64::BITS as usize],
}

/// The cells that have to do with elements.
pub(super) struct Quick {
    /// Those of one element that hold none: some together, and those that have too many values for that.
    runs: Vec<OwnRun>,
    run_says: Vec<u64>,
    own: Vec<OwnBits>,
    /// In the order of [`StateStructure::links`].
    links: Vec<LinkBits>,
    words: Vec<LinkWord>,
    /// Whether there are multisets beside them.
    pub(super) bags: bool,
}

impl Quick {
    /// Nothing if there are too many of them, or others than these and multisets that are known by their contents, or if cells share
    /// their bits.
    pub(super) fn new(structure: &StateStructure, layout: &Layout, contents: &BagContents) -> Option<Quick> {
        let cells = structure.own_cells().count() + structure.links.len();
        let bags = !structure.groups.is_empty();
        if cells > MOST_CELLS || !structure.wide.is_empty() || (bags && contents.count() == 0) {
            return None;
        }
        let own = structure.own_cells().map(|(cell, element, salt)| {
            Some(OwnBits { at: layout.place_of(cell as usize)?, element, salt })
        });
        let own: Vec<OwnBits> = own.collect::<Option<_>>()?;
        let links = structure.links.iter().zip(0..).map(|(link, source)| {
            let at =
                layout.place_of(link.at as usize).filter(|at| at.most() <= MOST_CODES && at.bits().1 != 0)?;
            let codes = 0..=at.most() as i64;
            let (says, noticed): (Vec<Said>, Vec<Noticed>) =
                codes.map(|code| StateFacts::said_by_link(structure, source, code)).unzip();
            Some(LinkBits { at, says: says.into(), noticed: noticed.into() })
        });
        let links: Vec<LinkBits> = links.collect::<Option<_>>()?;
        let words = words_of(&links);
        let mut quick = Quick { runs: Vec::new(), run_says: Vec::new(), own: Vec::new(), links, words, bags };
        quick.add_runs(own);
        Some(quick)
    }

    /// Puts cells that one element has to itself together.
    fn add_runs(&mut self, mut own: Vec<OwnBits>) {
        own.sort_by_key(|own| (own.element, own.at.bits()));
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        while let Some(first) = own.first() {
            let (word, bits) = first.at.bits();
            let (element, shift) = (first.element, bits.trailing_zeros());
            let together = own
                .iter()
                .take_while(|own| {
                    let (in_word, bits) = own.at.bits();
                    own.element == element
                        && in_word == word
                        && u64::BITS - bits.leading_zeros() <= shift + RUN
                })
                .count();
            if bits == 0 || together == 0 {
                self.own.push(own.remove(0));
                continue;
            }
            let run: Vec<OwnBits> = own.drain(..together).collect();
            let mask = run.iter().fold(0, |all: u64, own| all | own.at.bits().1 >> shift);
            let mask = u64::MAX >> u64::leading_zeros(mask);
            let says: Vec<u64> = (0..=mask).map(|content| said(&run, word, content, shift)).collect();
            let next = self.run_says.len() as u32;
            let begins = *known.entry(says).or_insert_with_key(|says| {
                self.run_says.extend_from_slice(says);
                next
            });
            self.runs.push(OwnRun { word: word as u32, shift, mask, element, says: begins });
        }
    }

    /// Adds what the cells of each element that hold none say of it.
    #[inline]
    pub(super) fn add_own(&self, state: &[u64], sums: &mut [u64]) {
        for OwnRun { word, shift, mask, element, says } in &self.runs {
            let content = state[*word as usize] >> (shift & 63) & mask;
            let sum = &mut sums[*element as usize];
            *sum = sum.wrapping_add(self.run_says[*says as usize + content as usize]);
        }
        for OwnBits { at, element, salt } in &self.own {
            let sum = &mut sums[*element as usize];
            *sum = sum.wrapping_add(salt.wrapping_mul(at.code(state) as u64));
        }
    }

    /// Visits the links that are defined, with their codes.
    #[inline]
    pub(super) fn each_link(&self, state: &[u64], mut visit: impl FnMut(&LinkBits, i64)) {
        for LinkWord { word, high, low, defined, links } in &self.words {
            let content = state[*word];
            // What is not 0 below its highest bit carries into it, and no further.
            let mut rest = ((content & low).wrapping_add(*low) | content) & high | defined;
            while rest != 0 {
                let link = &self.links[links[rest.trailing_zeros() as usize] as usize];
                visit(link, link.at.code(state));
                rest &= rest - 1;
            }
        }
    }
}

/// The cells that one element indexes and that hold none, by the bits of the packed form: where states are large most are
/// undefined, and say nothing.
pub(super) struct OwnWords {
    /// What is said of each element where all bits are 0.
    blank: Vec<u64>,
    cells: Vec<OwnBits>,
    words: Vec<OwnWord>,
}

/// Those of a word.
struct OwnWord {
    word: usize,
    mask: u64,
    /// By bit, the number of the cell.
    cells: [u16; u64::BITS as usize],
}

impl OwnWords {
    /// Nothing if there are none or too many of them, or if cells share their bits.
    pub(super) fn new(structure: &StateStructure, layout: &Layout) -> Option<OwnWords> {
        let cells = structure.own_cells().map(|(cell, element, salt)| {
            Some(OwnBits { at: layout.place_of(cell as usize)?, element, salt })
        });
        let cells: Vec<OwnBits> = cells.collect::<Option<_>>()?;
        if cells.is_empty() || cells.len() > usize::from(u16::MAX) {
            return None;
        }
        let zero = vec![0; layout.words()];
        let mut own = OwnWords { blank: vec![0; structure.elements], cells, words: Vec::new() };
        let mut by_word: Vec<Option<usize>> = vec![None; layout.words()];
        for (OwnBits { at, element, salt }, number) in own.cells.iter().zip(0..) {
            let said = &mut own.blank[*element as usize];
            *said = said.wrapping_add(salt.wrapping_mul(at.code(&zero) as u64));
            let (word, bits) = at.bits();
            let place = *by_word[word].get_or_insert_with(|| {
                own.words.push(OwnWord { word, mask: 0, cells: [0; u64::BITS as usize] });
                own.words.len() - 1
            });
            let known = &mut own.words[place];
            known.mask |= bits;
            (0..u64::BITS)
                .filter(|bit| bits >> bit & 1 == 1)
                .for_each(|bit| known.cells[bit as usize] = number);
        }
        Some(own)
    }

    /// What they say of each element.
    pub(super) fn say(&self, state: &[u64], sums: &mut [u64]) {
        sums.copy_from_slice(&self.blank);
        for OwnWord { word, mask, cells } in &self.words {
            let mut rest = state[*word] & mask;
            while rest != 0 {
                let OwnBits { at, element, salt } =
                    &self.cells[cells[rest.trailing_zeros() as usize] as usize];
                let (_, bits) = at.bits();
                let content = (rest & bits) >> (bits.trailing_zeros() & 63);
                let sum = &mut sums[*element as usize];
                *sum = sum.wrapping_add(salt.wrapping_mul(content));
                rest &= !bits;
            }
        }
    }
}

/// What some cells of a word say where the word has this content from a bit on.
fn said(run: &[OwnBits], word: usize, content: u64, shift: u32) -> u64 {
    let mut state = vec![0; word + 1];
    state[word] = content << shift;
    run.iter().fold(0, |sum, own| sum.wrapping_add(own.salt.wrapping_mul(own.at.code(&state) as u64)))
}

fn words_of(links: &[LinkBits]) -> Vec<LinkWord> {
    let mut words: Vec<LinkWord> = Vec::new();
    for (LinkBits { at, .. }, number) in links.iter().zip(0..) {
        let (word, bits) = at.bits();
        let place = words.iter().position(|known| known.word == word).unwrap_or_else(|| {
            let links = [0; u64::BITS as usize];
            words.push(LinkWord { word, high: 0, low: 0, defined: 0, links });
            words.len() - 1
        });
        let (known, highest) = (&mut words[place], 63 - bits.leading_zeros());
        known.links[highest as usize] = number;
        if at.may_be_undefined() {
            known.high |= 1 << highest;
            known.low |= bits & !(1 << highest);
        } else {
            known.defined |= 1 << highest;
        }
    }
    words
}
