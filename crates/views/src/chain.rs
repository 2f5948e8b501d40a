//! What must be so where elements are kept in a list (see `shoal_analysis::with_arrivals`): parts of the state that no list
//! looks like are no parts of any state.
//!
//! That the list is one list, with nothing beside it, is what views of a few elements cannot show: a part that is cut off
//! looks like the middle of a long one.

use shoal_analysis::ArrivalList;
use shoal_model::TypedId;

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
        let links = self.links(cells, known);
        let (first, last) = (cells[self.first], cells[self.last]);
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
        links.iter().all(single) && self.ends(cells, known, &links) && is_one_line(first, last, &links)
    }

    /// What comes right before what, each once.
    fn links(&self, cells: &[Cell], known: usize) -> Vec<Link> {
        let mut links = Vec::new();
        for element in 0..known {
            let is = Cell::elem(self.sort, element);
            let (before, after) = (cells[self.before + element], cells[self.after + element]);
            let both = [(before, is), (is, after)];
            links.extend(both.into_iter().filter(|(a, b)| *a != Cell::UNDEFINED && *b != Cell::UNDEFINED));
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Whether those that have nobody before or after them are at the ends.
    fn ends(&self, cells: &[Cell], known: usize, links: &[Link]) -> bool {
        (0..known).all(|element| {
            let is = Cell::elem(self.sort, element);
            let (is_first, is_last) = (is == cells[self.first], is == cells[self.last]);
            let is_in = is_first || is_last || links.iter().any(|link| link.0 == is || link.1 == is);
            let alone = |at: usize| cells[at + element] == Cell::UNDEFINED;
            !is_in || alone(self.before) == is_first && alone(self.after) == is_last
        })
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
