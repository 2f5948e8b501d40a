//! What a state says of each element: sums of what concerns one element alone, and *ties* between elements, which are all
//! that refinement has to look at.
//!
//! Everything comes from a *source*: a cell or a group of a multiset. What is said of one element alone is
//! added up, so that it can also be taken away. So what a successor says is what its state says, less what those sources
//! said that the step has changed, and what they say now.

use shoal_model::{OrInternal as _, internal};

use super::{
    contents::BagContents,
    quick::Quick,
    refine::ROUNDS,
    structure::{BagGroup, CellLink, Codes, Concern, ElementCell, NamedCell, StateStructure},
};
use crate::store::fold;

const KEY: u64 = 0xe703_7ed1_a0b4_28db;
/// How often what is known is passed on along ties of other kinds before twins are looked for: the first round tells most
/// elements apart, and is cheaper than comparing two of them.
const TIED_ROUNDS: usize = 2;
/// The part that an element plays as the value of a cell.
const VALUE: u64 = 0x589f_ee83_4b1d_7a6b;
pub(super) fn mix(state: u64, word: u64) -> u64 {
    fold(state ^ word.wrapping_mul(KEY), 0x8ebc_6af0_9c88_c6e3 ^ state.rotate_left(23))
}

/// An element in a tie, and the part it plays.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) element: u32,
    pub(super) part: u64,
}

/// An element whose cell holds another.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) owner: u32,
    pub(super) value: u32,
    salt: u64,
    source: u32,
}

impl Pair {
    /// What it says of the owner and of the value, of whom this is known.
    pub(super) fn says(&self, owner: u64, value: u64) -> (u64, u64) {
        (fold(self.salt, KEY ^ value), fold(self.salt, VALUE ^ owner))
    }
}

/// What a link says that tells elements apart.
#[derive(Clone, Copy)]
pub(super) enum Said {
    /// Nothing.
    Nothing,
    /// Something of one element alone.
    Of {
        element: u32,
        word: u64,
    },
    Pair(Pair),
}

/// What else is known of a link: how it marks at most two elements (any, not at all), and whom it holds.
#[derive(Clone, Default)]
pub(super) struct Noticed {
    marks: [ElementMark; 2],
    named: Option<NamedCell>,
}

#[derive(Clone, Copy, Default)]
struct ElementMark {
    element: u32,
    mark: u64,
}

/// Several elements that a cell or a group of a multiset ties together.
#[derive(Clone, Copy)]
struct Tie {
    word: u64,
    last: u32,
    source: u32,
}

/// How an element occurs beyond the cells that it alone indexes. How often it does so is counted, each way in bits of its own.
const IN_CELLS: u64 = 1;
const IN_GROUPS: u64 = 1 << 21;
/// It is named in a cell that no element indexes.
const NAMED: u64 = 1 << 42;
/// The bits of a count.
const COUNT: u64 = (1 << 21) - 1;

/// All that a state says.
#[derive(Default)]
pub(super) struct StateFacts {
    /// For each element, what the cells say that it alone indexes and that hold no element.
    pub(super) own: Vec<u64>,
    /// For each element, all that is said of it alone.
    pub(super) sums: Vec<u64>,
    marks: Vec<u64>,
    pub(super) pairs: Vec<Pair>,
    ties: Vec<Tie>,
    ends: Vec<End>,
    /// The links and wide cells that hold elements.
    pub(super) named: Vec<NamedCell>,
    /// By family of wide cells: how many are undefined.
    undefined: Vec<u32>,
    /// The source that speaks, and whether what it says is taken away.
    source: u32,
    takes_away: bool,
    /// The sources that a step has changed, and by source whether it is one of them.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
}

impl StateFacts {
    pub(super) fn new(elements: usize) -> StateFacts {
        StateFacts {
            own: vec![0; elements],
            sums: vec![0; elements],
            marks: vec![0; elements],
            ..StateFacts::default()
        }
    }

    pub(super) fn has_ties(&self) -> bool {
        !self.ties.is_empty() || !self.pairs.is_empty()
    }

    /// How often what is known of elements is to be passed on at most before twins are looked for.
    pub(super) fn rounds(&self) -> usize {
        // Where most elements are tied by pairs, what is said of each alone will not tell them apart.
        if !self.pairs.is_empty() && self.pairs.len() * 2 >= self.sums.len() {
            ROUNDS
        } else if self.ties.is_empty() {
            0
        } else {
            TIED_ROUNDS
        }
    }

    /// Whether elements are tied by pairs only and these are the edges of a forest. `roots` is room to find out.
    pub(super) fn is_forest(&self, roots: &mut [u32]) -> bool {
        // A forest has fewer edges than nodes. Without edges, whoever is no twin is told apart by contents: if not, then
        // by an accident of the sums, which a search puts right.
        if !self.ties.is_empty() || self.pairs.is_empty() || self.pairs.len() >= roots.len() {
            return false;
        }
        for (root, element) in roots.iter_mut().zip(0..) {
            *root = element;
        }
        self.pairs.iter().all(|pair| {
            let (owner, value) = (root(roots, pair.owner), root(roots, pair.value));
            roots[owner as usize] = value;
            owner != value
        })
    }

    /// The ties: what each says without naming elements, and its elements.
    pub(super) fn ties(&self) -> impl Iterator<Item = (u64, &[End])> {
        let mut first = 0;
        self.ties.iter().map(move |tie| {
            let ends = &self.ends[first..tie.last as usize];
            first = tie.last as usize;
            (tie.word, ends)
        })
    }

    /// Whether something other than the cells that it alone indexes has to do with an element.
    pub(super) fn is_marked(&self, element: u32) -> bool {
        self.marks[element as usize] != 0
    }

    /// Whether a multiset has to do with an element.
    pub(super) fn in_groups(&self, element: u32) -> bool {
        self.marks[element as usize] & (COUNT * IN_GROUPS) != 0
    }

    /// Whether a cell that neither of two elements indexes names one of them: swapping them would change it.
    /// Does not look at cells that several elements index.
    pub(super) fn tells_apart(&self, left: u32, right: u32) -> bool {
        let either = |element: u32| element == left || element == right;
        (self.marks[left as usize] | self.marks[right as usize]) & (COUNT * NAMED) != 0
            || self.pairs.iter().any(|pair| either(pair.value) && !either(pair.owner))
    }

    /// What a state says by the cells that one element has to itself.
    pub(super) fn gather_own<C: Codes>(&mut self, structure: &StateStructure, cells: C) {
        // Salts are random: sums that agree by accident cost a search, nothing else.
        self.own.fill(0);
        structure.own.iter().for_each(|own| own.say(cells, &mut self.own));
    }

    /// The same, where it is known what another state says so, and in which cells they differ.
    pub(super) fn follow_own<C: Codes>(
        &mut self,
        structure: &StateStructure,
        (before, old): (&StateFacts, C),
        cells: C,
        differ: &[u32],
    ) {
        self.own.copy_from_slice(&before.own);
        for cell in differ {
            if let Concern::Own { element, salt } = structure.concerns[*cell as usize] {
                let change = cells.code(*cell).wrapping_sub(old.code(*cell)) as u64;
                let sum = &mut self.own[element as usize];
                *sum = sum.wrapping_add(salt.wrapping_mul(change));
            }
        }
    }

    /// The same, of a state in its packed form with few cells that have to do with elements.
    pub(super) fn gather_own_quickly(&mut self, quick: &Quick, state: &[u64]) {
        self.own.fill(0);
        quick.add_own(state, &mut self.own);
    }

    /// All that a state says.
    pub(super) fn gather<C: Codes>(
        &mut self,
        structure: &StateStructure,
        cells: C,
        contents: &mut BagContents,
    ) {
        self.gather_own(structure, cells);
        self.gather_others(structure, cells, contents);
    }

    /// What a state says by other cells than those that one element has to itself, of which it is known what they say.
    pub(super) fn gather_others<C: Codes>(
        &mut self,
        structure: &StateStructure,
        cells: C,
        contents: &mut BagContents,
    ) {
        self.pairs.clear();
        self.ties.clear();
        self.ends.clear();
        self.marks.fill(0);
        self.sums.copy_from_slice(&self.own);
        self.named.clear();
        self.takes_away = false;
        for (link, source) in structure.links.iter().zip(0..) {
            // What is undefined says nothing.
            let code = cells.code(link.at);
            if code != 0 {
                self.source = source;
                self.link(structure, link, code);
            }
        }
        self.gather_wide(structure, cells);
        self.gather_bags(structure, cells, contents);
    }

    fn gather_bags<C: Codes>(&mut self, structure: &StateStructure, cells: C, contents: &mut BagContents) {
        for (bag, source) in (0..structure.outer.len()).zip(structure.first_bag()..) {
            self.source = source;
            self.bag(structure, bag, cells, contents);
        }
    }

    /// What tells elements apart in a state in its packed form with few cells that have to do with elements, of which it is known
    /// what the cells say that one element has to itself. How elements are marked and who is named is not gathered: few ask.
    pub(super) fn gather_quickly(&mut self, quick: &Quick, state: &[u64]) {
        self.pairs.clear();
        self.sums.copy_from_slice(&self.own);
        quick.each_link(state, |link, code| match *link.says(code) {
            Said::Nothing => {}
            Said::Of { element, word } => {
                let sum = &mut self.sums[element as usize];
                *sum = sum.wrapping_add(word);
            }
            Said::Pair(pair) => self.pairs.push(pair),
        });
    }

    /// The same of multisets, after that. How they mark elements is remembered with it.
    pub(super) fn gather_bags_quickly<C: Codes>(
        &mut self,
        structure: &StateStructure,
        cells: C,
        contents: &mut BagContents,
    ) {
        self.ties.clear();
        self.ends.clear();
        self.marks.fill(0);
        self.takes_away = false;
        self.gather_bags(structure, cells, contents);
    }

    /// How elements are marked there.
    pub(super) fn mark_quickly(&mut self, quick: &Quick, state: &[u64]) {
        if !quick.bags {
            self.marks.fill(0);
        }
        quick.each_link(state, |link, code| {
            for ElementMark { element, mark } in link.noticed(code).marks {
                self.marks[element as usize] += mark;
            }
        });
    }

    /// Who is named there.
    pub(super) fn name_quickly(&mut self, quick: &Quick, state: &[u64]) {
        self.named.clear();
        quick.each_link(state, |link, code| self.named.extend(link.noticed(code).named));
    }

    /// What a link says where its cell has this code, and what else is known of it then.
    pub(super) fn said_by_link(structure: &StateStructure, source: u32, code: i64) -> (Said, Noticed) {
        let mut facts = StateFacts { source, ..StateFacts::new(structure.elements) };
        // What is undefined says nothing.
        if code != 0 {
            facts.link(structure, &structure.links[source as usize], code);
        }
        let mut noticed = Noticed { named: facts.named.pop(), ..Noticed::default() };
        let mut free = noticed.marks.iter_mut();
        for (mark, element) in facts.marks.into_iter().zip(0..).filter(|(mark, _)| *mark != 0) {
            *free.next().or_internal("a link marks two elements at most") = ElementMark { element, mark };
        }
        let mut spoken_of = facts.sums.into_iter().zip(0..).filter(|(word, _)| *word != 0);
        let said = match (spoken_of.next(), facts.pairs.pop()) {
            (None, None) => Said::Nothing,
            (Some((word, element)), None) => Said::Of { element, word },
            (None, Some(pair)) => Said::Pair(pair),
            (Some(_), Some(_)) => internal!("a link that makes a pair says nothing of one element alone"),
        };
        if spoken_of.next().is_some() {
            internal!("a link says something of one element at most");
        }
        (said, noticed)
    }

    fn gather_wide<C: Codes>(&mut self, structure: &StateStructure, cells: C) {
        self.undefined.clear();
        let mut source = structure.first_wide();
        for members in structure.families() {
            let codes = structure.wide_at(members.clone()).iter().map(|at| cells.code(*at));
            let undefined = codes.clone().filter(|code| *code == 0).count() as u32;
            self.undefined.push(undefined);
            let usual = usual(undefined, members.len());
            for code in codes {
                // What is undefined is no element, but the first value may be one.
                if code != usual || usual != 0 {
                    self.listen_outside(structure, source, Some(usual), cells);
                }
                source += 1;
            }
        }
    }

    /// The code that most cells of the family of a wide cell have: undefined or the first value of the type, as a rule.
    /// Those that have it need no ties, as they follow from the ties of the others. Other sources have no such code.
    fn usual(&self, structure: &StateStructure, source: u32) -> Option<i64> {
        let family = structure.family(source)? as usize;
        Some(usual(self.undefined[family], structure.family_size(family)))
    }

    /// All that a state says, where it is known what another says, in which cells they differ, and what the cells say that one
    /// element has to itself.
    pub(super) fn follow<C: Codes>(
        &mut self,
        structure: &StateStructure,
        (before, old): (&StateFacts, C),
        cells: C,
        differ: &[u32],
        contents: &mut BagContents,
    ) {
        self.sums.copy_from_slice(&before.sums);
        self.marks.copy_from_slice(&before.marks);
        self.undefined.clone_from(&before.undefined);
        self.changed.clear();
        self.is_changed.resize(structure.sources(), false);
        for cell in differ {
            match structure.concerns[*cell as usize] {
                Concern::Nobody => {}
                Concern::Own { element, salt } => {
                    let change = cells.code(*cell).wrapping_sub(old.code(*cell)) as u64;
                    let sum = &mut self.sums[element as usize];
                    *sum = sum.wrapping_add(salt.wrapping_mul(change));
                }
                Concern::Source(source) => {
                    self.add_changed(source);
                    if let Some(family) = structure.family(source) {
                        let undefined = &mut self.undefined[family as usize];
                        let blank = |state: C| u32::from(state.code(*cell) == 0);
                        *undefined = *undefined + blank(cells) - blank(old);
                    }
                }
            }
        }
        if let (Some(old), Some(words)) = (old.words(), cells.words()) {
            contents.each_difference(old, words, |bag| self.add_changed(structure.first_bag() + bag as u32));
        }
        self.change_families(structure, before);
        self.keep_ties(before);
        for at in 0..self.changed.len() {
            let source = self.changed[at];
            let (pairs, ties, ends) = (self.pairs.len(), self.ties.len(), self.ends.len());
            let named = self.named.len();
            self.takes_away = true;
            self.listen(structure, source, before.usual(structure, source), old, contents);
            self.takes_away = false;
            self.pairs.truncate(pairs);
            self.ties.truncate(ties);
            self.ends.truncate(ends);
            self.named.truncate(named);
            self.listen(structure, source, self.usual(structure, source), cells, contents);
        }
        for source in &self.changed {
            self.is_changed[*source as usize] = false;
        }
    }

    fn add_changed(&mut self, source: u32) {
        if !std::mem::replace(&mut self.is_changed[source as usize], true) {
            self.changed.push(source);
        }
    }

    /// Where another code has become usual in a family, all its cells have changed.
    fn change_families(&mut self, structure: &StateStructure, before: &StateFacts) {
        for at in 0..self.changed.len() {
            let source = self.changed[at];
            let Some(family) = structure.family(source) else { continue };
            if self.usual(structure, source) != before.usual(structure, source) {
                for source in structure.sources_of_family(family as usize) {
                    self.add_changed(source);
                }
            }
        }
    }

    /// Whether this is what a state says by the cells that one element has to itself.
    pub(super) fn are_own<C: Codes>(&self, structure: &StateStructure, cells: C) -> bool {
        let mut all = StateFacts::new(structure.elements);
        all.gather_own(structure, cells);
        self.own == all.own
    }

    /// Whether this is what a state says.
    pub(super) fn are_of<C: Codes>(&self, structure: &StateStructure, cells: C) -> bool {
        let mut all = StateFacts::new(structure.elements);
        all.gather(structure, cells, &mut BagContents::default());
        let pairs = |facts: &StateFacts| {
            let mut pairs: Vec<_> =
                facts.pairs.iter().map(|pair| (pair.source, pair.owner, pair.value)).collect();
            pairs.sort_unstable();
            pairs
        };
        let ties = |facts: &StateFacts| {
            let ends = |ends: &[End]| ends.iter().map(|end| (end.element, end.part)).collect::<Vec<_>>();
            let mut ties: Vec<_> = facts.ties().map(|(word, tied)| (word, ends(tied))).collect();
            ties.sort_unstable();
            ties
        };
        let named = |facts: &StateFacts| {
            let mut named = facts.named.clone();
            named.sort_unstable();
            named
        };
        (&self.own, &self.sums, &self.marks, pairs(self), ties(self), named(self))
            == (&all.own, &all.sums, &all.marks, pairs(&all), ties(&all), named(&all))
    }

    /// The ties of another state, but those from sources that have changed.
    fn keep_ties(&mut self, before: &StateFacts) {
        self.pairs.clear();
        self.ties.clear();
        self.ends.clear();
        self.named.clear();
        if self.changed.is_empty() {
            self.named.extend_from_slice(&before.named);
            self.pairs.extend_from_slice(&before.pairs);
            self.ties.extend_from_slice(&before.ties);
            self.ends.extend_from_slice(&before.ends);
            return;
        }
        let changed = |source: u32| self.is_changed[source as usize];
        self.named.extend(before.named.iter().filter(|named| !changed(named.source)));
        self.pairs.extend(before.pairs.iter().filter(|pair| !changed(pair.source)));
        let mut first = 0;
        for tie in &before.ties {
            let ends = &before.ends[first..tie.last as usize];
            first = tie.last as usize;
            if !changed(tie.source) {
                self.ends.extend_from_slice(ends);
                self.ties.push(Tie { last: self.ends.len() as u32, ..*tie });
            }
        }
    }

    /// Takes in what a source says.
    fn listen<C: Codes>(
        &mut self,
        structure: &StateStructure,
        source: u32,
        usual: Option<i64>,
        cells: C,
        contents: &mut BagContents,
    ) {
        match source.checked_sub(structure.first_bag()) {
            Some(bag) => {
                self.source = source;
                self.bag(structure, bag as usize, cells, contents);
            }
            None => self.listen_outside(structure, source, usual, cells),
        }
    }

    /// Takes in what a source says that is no multiset.
    fn listen_outside<C: Codes>(
        &mut self,
        structure: &StateStructure,
        source: u32,
        usual: Option<i64>,
        cells: C,
    ) {
        self.source = source;
        let at = source as usize;
        if let Some(link) = structure.links.get(at) {
            return self.link(structure, link, cells.code(link.at));
        }
        let cell = &structure.wide[at - structure.links.len()];
        let code = cells.code(cell.at);
        if Some(code) != usual || structure.element(cell, code).is_some() {
            self.wide(structure, cell, code);
        }
    }

    /// Something is said of an element, in the lower half of its sum: see [`StateStructure::weigh`](super::structure::StateStructure).
    fn add(&mut self, element: u32, word: u64, mark: u64) {
        let word = word >> u32::BITS;
        let (sum, marks) = (&mut self.sums[element as usize], &mut self.marks[element as usize]);
        match self.takes_away {
            false => (*sum, *marks) = (sum.wrapping_add(word), *marks + mark),
            true => (*sum, *marks) = (sum.wrapping_sub(word), *marks - mark),
        }
    }

    /// A cell that at most one element indexes and that may hold one.
    fn link(&mut self, structure: &StateStructure, link: &CellLink, code: i64) {
        let value = structure.linked(link, code);
        if let Some(element) = value {
            self.named.push(NamedCell { source: self.source, element });
        }
        match (link.owner, value) {
            (None, None) => {}
            (None, Some(value)) => self.add(value, mix(link.salt, VALUE), NAMED),
            (Some(owner), None) => self.add(owner, link.salt.wrapping_mul(code as u64), 0),
            (Some(owner), Some(value)) if owner == value => {
                self.add(owner, mix(link.salt, VALUE ^ KEY), IN_CELLS);
            }
            (Some(owner), Some(value)) => {
                self.pairs.push(Pair { owner, value, salt: link.salt, source: self.source });
                self.add(value, 0, IN_CELLS);
                // The name of an element of another sort is a content like any other.
                if structure.are_of_one_sort(owner, value) {
                    self.add(owner, 0, IN_CELLS);
                }
            }
        }
    }

    /// A cell that several elements index.
    fn wide(&mut self, structure: &StateStructure, cell: &ElementCell, code: i64) {
        let value = structure.element(cell, code);
        let first = self.ends.len();
        for (position, coordinate) in structure.coordinates(cell).iter().enumerate() {
            self.join(first, coordinate.element, part(position));
        }
        let word = match value {
            Some(element) => {
                self.named.push(NamedCell { source: self.source, element });
                self.join(first, element, VALUE);
                cell.salt
            }
            None => mix(cell.salt, code as u64),
        };
        self.tie(first, word, IN_CELLS);
    }

    /// A multiset.
    fn bag<C: Codes>(
        &mut self,
        structure: &StateStructure,
        bag: usize,
        cells: C,
        contents: &mut BagContents,
    ) {
        match contents.statement(structure, bag, cells) {
            Some(statement) => self.repeat(statement),
            None => self.each_group(structure, bag, cells),
        }
    }

    fn each_group<C: Codes>(&mut self, structure: &StateStructure, bag: usize, cells: C) {
        structure.groups_of(bag).iter().for_each(|group| self.group(structure, group, cells));
    }

    /// Finds what a multiset says: how many elements it speaks of alone, each with how often the multiset has to do with it and what is
    /// said; then each tie, with how many ends it has. Nothing else may have been said here.
    pub(super) fn said_by_bag<C: Codes>(
        &mut self,
        structure: &StateStructure,
        bag: usize,
        cells: C,
        said: &mut Vec<u64>,
    ) {
        self.each_group(structure, bag, cells);
        said.clear();
        said.push(0);
        for ((sum, marks), element) in self.sums.iter_mut().zip(&mut self.marks).zip(0..) {
            let (sum, marks) = (std::mem::take(sum), std::mem::take(marks));
            if (sum, marks) != (0, 0) {
                said.extend([(marks / IN_GROUPS) << u32::BITS | element, sum]);
                said[0] += 1;
            }
        }
        for (word, ends) in self.ties() {
            said.extend([word, ends.len() as u64]);
            said.extend(ends.iter().flat_map(|end| [u64::from(end.element), end.part]));
        }
        self.ties.clear();
        self.ends.clear();
    }

    /// Says what [`StateFacts::said_by_bag`] has found.
    fn repeat(&mut self, statement: &[u64]) {
        let Some((count, rest)) = statement.split_first() else { return };
        let (alone, mut ties) = rest.split_at(2 * *count as usize);
        for [element, word] in alone.as_chunks().0 {
            let (at, mark) = (*element as u32 as usize, (element >> u32::BITS) * IN_GROUPS);
            let (sum, marks) = (&mut self.sums[at], &mut self.marks[at]);
            match self.takes_away {
                false => (*sum, *marks) = (sum.wrapping_add(*word), *marks + mark),
                true => (*sum, *marks) = (sum.wrapping_sub(*word), *marks - mark),
            }
        }
        // What is taken away has no ties any more.
        while let ([word, count, rest @ ..], false) = (ties, self.takes_away) {
            let (ends, others) = rest.split_at(2 * *count as usize);
            let ends = ends.as_chunks().0.iter();
            self.ends.extend(ends.map(|[element, part]| End { element: *element as u32, part: *part }));
            self.ties.push(Tie { word: *word, last: self.ends.len() as u32, source: self.source });
            ties = others;
        }
    }

    fn group<C: Codes>(&mut self, structure: &StateStructure, group: &BagGroup, cells: C) {
        if cells.code(group.occupied) == 0 {
            return;
        }
        let first = self.ends.len();
        let outer = &structure.coordinates[group.coordinates.0 as usize..group.coordinates.1 as usize];
        for (position, coordinate) in outer.iter().enumerate() {
            self.join(first, coordinate.element, part(position));
        }
        let plain = &structure.plain[group.plain.0 as usize..group.plain.1 as usize];
        let mut word = plain.iter().fold(group.salt, |word, cell| word.wrapping_add(cell.says(cells)));
        for cell in &structure.grouped[group.cells.0 as usize..group.cells.1 as usize] {
            let code = cells.code(cell.at);
            let value = structure.element(cell, code);
            // Where elements index the inside of the group, who holds whom is not told: the leaf will tell.
            let said = value.map_or_else(|| mix(cell.salt, code as u64), |_| cell.salt);
            let inner = &structure.coordinates(cell)[cell.outer as usize..];
            for (position, coordinate) in inner.iter().enumerate() {
                self.join(first, coordinate.element, mix(said, part(position)));
            }
            match value {
                Some(element) => self.join(first, element, mix(said, VALUE)),
                None if inner.is_empty() => word = word.wrapping_add(said),
                None => {}
            }
        }
        self.tie(first, word, IN_GROUPS);
    }

    /// An element plays a part in the tie that is being made.
    fn join(&mut self, first: usize, element: u32, part: u64) {
        match self.ends[first..].iter_mut().find(|end| end.element == element) {
            Some(end) => end.part = end.part.wrapping_add(part),
            None => self.ends.push(End { element, part }),
        }
    }

    /// Ends the tie that is being made. With one element it is said of that one alone.
    fn tie(&mut self, first: usize, word: u64, mark: u64) {
        match self.ends[first..] {
            [] => {}
            [end] => {
                self.add(end.element, mix(word, end.part), mark);
                self.ends.truncate(first);
            }
            _ => {
                for at in first..self.ends.len() {
                    self.add(self.ends[at].element, 0, mark);
                }
                self.ties.push(Tie { word, last: self.ends.len() as u32, source: self.source });
            }
        }
    }
}

/// The code that most cells of a family have, of which so many are undefined.
fn usual(undefined: u32, members: usize) -> i64 {
    i64::from((undefined as usize) * 2 < members)
}

/// The root of the tree that an element is in. Paths become shorter on the way.
fn root(roots: &mut [u32], mut element: u32) -> u32 {
    while roots[element as usize] != element {
        let above = roots[element as usize];
        roots[element as usize] = roots[above as usize];
        element = above;
    }
    element
}

/// The part that an element plays as the index at a position.
fn part(position: usize) -> u64 {
    KEY.wrapping_mul(position as u64 + 1)
}
