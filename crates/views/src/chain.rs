//! What must be so where elements are kept in a list (see `shoal_analysis::with_arrivals`): parts of the state that no list
//! looks like are no parts of any state.
//!
//! That the list is one list, with nothing beside it, is what views of a few elements cannot show: a part that is cut off
//! looks like the middle of a long one.

use shoal_analysis::ArrivalList;
use shoal_model::TypedId;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{cell::Cell, layout::ViewLayout};

/// Where the cells of the list are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) sort: usize,
    first: usize,
    last: usize,
    before: usize,
    after: usize,
}

/// A side of an element in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// A link: the one comes right before the other.
type Link = (Cell, Cell);

impl Chain {
    pub(crate) fn new(list: &ArrivalList, layout: &ViewLayout) -> Chain {
        let at = |var: shoal_model::VarId| layout.vars[var.index()];
        Chain {
            sort: list.sort.index(),
            first: at(list.first),
            last: at(list.last),
            before: at(list.before),
            after: at(list.after),
        }
    }

    /// Whether cells with so many known elements can be a part of a list.
    pub(crate) fn allows(&self, cells: &[Cell], known: usize) -> bool {
        self.list(cells, known).is_part_of_a_list()
    }

    /// The same with one more element, which was this star if any cell refers to it, and which has those before and after it.
    pub(crate) fn allows_one_more(
        &self,
        cells: &[Cell],
        known: usize,
        name: Option<Cell>,
        beside: (Cell, Cell),
    ) -> bool {
        let mut list = self.list(cells, known);
        list.beside.push(beside);
        if let Some(name) = name {
            list.rename(name, Cell::elem(self.sort, known));
        }
        list.is_part_of_a_list()
    }

    fn list(&self, cells: &[Cell], known: usize) -> SeenOfList {
        let beside = (0..known).map(|element| (cells[self.before + element], cells[self.after + element]));
        let (first, last) = (cells[self.first], cells[self.last]);
        SeenOfList { sort: self.sort, first, last, beside: beside.collect() }
    }

    /// Whether an element that becomes known, and was this star if any cell refers to it, can have that neighbour. What is said
    /// no to here `allows` turns down: it is asked before the rest of the element is thought of.
    pub(crate) fn may_be_beside(
        &self,
        cells: &[Cell],
        known: usize,
        name: Option<Cell>,
        side: Side,
        neighbour: Cell,
    ) -> bool {
        let (mine, theirs, end) = match side {
            Side::Before => (self.before, self.after, self.last),
            Side::After => (self.after, self.before, self.first),
        };
        match neighbour.as_elem() {
            _ if cells[end] == neighbour => false,
            // It knows who is beside it.
            Some((_, element)) => name.is_some_and(|name| cells[theirs + element] == name),
            // Nobody else has it there, and nobody who is known is there.
            None => (0..known).all(|other| {
                cells[mine + other] != neighbour && name.is_none_or(|name| cells[theirs + other] != name)
            }),
        }
    }

    /// The cells of an element that say who is before and after it.
    pub(crate) fn beside(&self, element: usize) -> [(Side, usize); 2] {
        [(Side::Before, self.before + element), (Side::After, self.after + element)]
    }

    /// The stars that lead to more of the list: its ends, then those next to known elements.
    pub(crate) fn stars(&self, cells: &[Cell], known: usize) -> Vec<Cell> {
        let next = (0..known).flat_map(|element| [self.after + element, self.before + element]);
        let mut stars: Vec<Cell> = Vec::new();
        for at in [self.first, self.last].into_iter().chain(next) {
            if cells[at].as_star().is_some() && !stars.contains(&cells[at]) {
                stars.push(cells[at]);
            }
        }
        stars
    }
}

/// What is seen of a list.
struct SeenOfList {
    sort: usize,
    first: Cell,
    last: Cell,
    /// For each known element who is before and after it.
    beside: SmallVec<[(Cell, Cell); 8]>,
}

impl SeenOfList {
    fn rename(&mut self, from: Cell, to: Cell) {
        let beside = self.beside.iter_mut().flat_map(|(before, after)| [before, after]);
        let all = beside.chain([&mut self.first, &mut self.last]);
        all.filter(|cell| **cell == from).for_each(|cell| *cell = to);
    }

    fn is_part_of_a_list(&self) -> bool {
        let links = self.links();
        let (first, last) = (self.first, self.last);
        if mutant::is(Mutant::ListsAreKnown)
            && links.iter().any(|(a, b)| a.as_star().or(b.as_star()).is_some())
        {
            return false;
        }
        if first == Cell::UNDEFINED || last == Cell::UNDEFINED {
            return first == last && links.is_empty();
        }
        let single = |link: &Link| {
            let clashes = |other: &&Link| (other.0 == link.0) != (other.1 == link.1);
            link.1 != first && link.0 != last && links.iter().find(clashes).is_none()
        };
        links.iter().all(single) && self.ends(&links) && is_one_line(first, last, &links)
    }

    /// What comes right before what, each once.
    fn links(&self) -> SmallVec<[Link; 16]> {
        let mut links = SmallVec::new();
        for (element, (before, after)) in self.beside.iter().enumerate() {
            let is = Cell::elem(self.sort, element);
            let both = [(*before, is), (is, *after)];
            links.extend(both.into_iter().filter(|(a, b)| *a != Cell::UNDEFINED && *b != Cell::UNDEFINED));
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Whether those that have nobody before or after them are at the ends.
    fn ends(&self, links: &[Link]) -> bool {
        self.beside.iter().enumerate().all(|(element, (before, after))| {
            let is = Cell::elem(self.sort, element);
            let (is_first, is_last) = (is == self.first, is == self.last);
            let is_in = is_first || is_last || links.iter().any(|link| link.0 == is || link.1 == is);
            !is_in || (*before == Cell::UNDEFINED) == is_first && (*after == Cell::UNDEFINED) == is_last
        })
    }
}

/// Whether links, of which no two begin or end alike, are parts of one line from the first to the last: none goes round, and
/// if they lead from the first to the last there is nothing else.
fn is_one_line(first: Cell, last: Cell, links: &[Link]) -> bool {
    let next = |of: Cell| links.iter().find(|link| link.0 == of).map(|link| link.1);
    let walk = |from: Cell| {
        let (mut at, mut steps) = (from, 0);
        while let Some(to) = next(at).filter(|_| steps <= links.len()) {
            (at, steps) = (to, steps + 1);
        }
        (at, steps)
    };
    let (end, steps) = walk(first);
    let goes_round = links.iter().any(|link| walk(link.0).1 > links.len());
    !goes_round && (end != last || steps == links.len())
}
