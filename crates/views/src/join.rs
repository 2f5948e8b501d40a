//! Listing the ways in which the last element of a view can be one more element of a structure.
//!
//! A view that agrees with the structure on all elements but the new one says what that one is like, up to which elements its
//! own stars are. What no list looks like is turned down before the rest of the element is thought of.

use shoal_model::{SortId, TypedId};
use shoal_syntax::Span;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    cell::Cell,
    chain::Side,
    decision::{RunResult, Stop},
    expand::{SiblingClass, Siblings, subsets_gone},
    shared::SharedReferences,
    store::{Member, ViewStore, meaning},
    structure::{Known, StandsFor, Structure},
    system::OpenSystem,
    task::{ExpansionKey, ViewNode},
};

/// More ways than this to fill the cells between a new element and the others are refused.
const MOST_FILLINGS: usize = 4096;

/// Which star an element was, and who is before and after it in a list.
type ListEnds = (Option<Cell>, Cell, Cell);

/// What does not change while an element is added, and what comes of it.
struct Joining<'a> {
    node: &'a ViewNode,
    key: &'a ExpansionKey,
    /// The stars of each sort that occur.
    stars: Vec<Vec<Cell>>,
    shared: &'a SharedReferences,
    /// What known elements refer to, and by which families.
    referred: SmallVec<[(Cell, u64); 16]>,
    /// Of each sort, the elements and stars that the common part does not show: what stars of a view may be.
    options: Vec<SmallVec<[Cell; 8]>>,
    /// For each cell of the new element, the family if it is a reference.
    families: Vec<Option<u8>>,
    /// For each cell of the new element, where the view shows it.
    shown: Vec<Option<usize>>,
    /// Where the view shows who is before and after the new element in the list, if there is one.
    beside: SmallVec<[(Side, usize); 2]>,
    /// Whether an element may stand there, for what was asked already.
    lists: Vec<(ListEnds, bool)>,
    found: Siblings,
}

/// A cell of the new element.
#[derive(Clone, Copy)]
enum NewCell {
    Is(Cell),
    /// What this star, of those that only the new element refers to, is.
    Star(usize),
    /// Between the new element and known ones that the view does not show.
    Open,
}

/// How the last element of a view is seen as the new element.
struct Meant<'a> {
    view: &'a [u32],
    /// The context predicates that the element satisfies.
    satisfied: u32,
    /// The star that the element was.
    name: Option<Cell>,
    /// What the stars of the view are that the common part tells of.
    known: &'a [(Cell, Cell)],
    /// The stars that only the new element refers to: first those beside it in the list.
    free: &'a [Cell],
    /// How many of them are beside it.
    listed: usize,
    /// Its cells.
    cells: &'a [NewCell],
}

/// What free stars are, in their order.
type Chosen = SmallVec<[Cell; 8]>;

impl OpenSystem<'_> {
    /// The ways to add an element that views suggest.
    pub(crate) fn elements(
        &self,
        store: &ViewStore,
        node: &ViewNode,
        key: &ExpansionKey,
    ) -> RunResult<Siblings> {
        let sort = key.sort;
        let Some((pivot, glance)) = &self.pivots[sort] else {
            let name = &self.model.sorts[SortId::from_index(sort)].name;
            let what = format!("internal error: an element of the data sort `{name}` is looked at");
            return Err(Stop::lacking(what, Span::default()));
        };
        let structure = &node.structure;
        let seen = self.project(pivot, &structure.cells, structure.bits, &node.satisfied, glance, true)?;
        let mut known = structure.known.clone();
        known[sort] += 1;
        let own: Vec<usize> = self.cells_of(&known, sort, known[sort] - 1).collect();
        let mut joining = Joining {
            node,
            key,
            stars: (0..self.any.len()).map(|sort| key.stars_of(node, sort)).collect(),
            shared: &store.shared,
            referred: self.references.referred(structure),
            options: Vec::new(),
            families: own.iter().map(|at| self.references.number(self.layout.cells[*at].family)).collect(),
            shown: own.iter().map(|at| self.shown_at(&known, sort, *at)).collect(),
            beside: self.shown_beside(sort),
            lists: Vec::new(),
            found: Siblings::new(sort, known, own),
        };
        let members = store.members(sort, &seen.view);
        // Mostly each suggests one.
        joining.found.reserve(members.len());
        for outside in &seen.ways {
            joining.options = (0..self.any.len()).map(|of| self.unseen(&joining, of, outside)).collect();
            // No element that is not known satisfies any other predicate.
            for member in members.iter().filter(|member| member.satisfied & !structure.bits == 0) {
                self.join(&mut joining, member, &store.views[member.view as usize], outside)?;
            }
        }
        Ok(joining.found.in_bucket(seen.view))
    }

    /// The elements and stars of a sort that the common part does not show.
    fn unseen(&self, joining: &Joining<'_>, of: usize, outside: &StandsFor) -> SmallVec<[Cell; 8]> {
        let common = if of == joining.key.sort { self.view[of] - 1 } else { self.view[of] };
        let known = if self.any[of] { joining.node.structure.known[of] } else { common };
        let elements = (common..known).map(|element| Cell::elem(of, element));
        let all = elements.chain(joining.stars[of].iter().copied());
        all.filter(|cell| outside.iter().all(|(_, is)| is != cell)).collect()
    }

    /// Where a view shows who is before and after its last element, if elements of the sort are kept in a list.
    fn shown_beside(&self, sort: usize) -> SmallVec<[(Side, usize); 2]> {
        let Some(chain) = self.chain.filter(|chain| chain.sort == sort) else { return SmallVec::new() };
        let beside = chain.beside(self.view[sort] - 1).into_iter();
        beside.filter_map(|(side, at)| Some((side, self.shape.position(at)?))).collect()
    }

    /// Where a view shows a cell of a new element, if it does.
    fn shown_at(&self, known: &Known, sort: usize, at: usize) -> Option<usize> {
        let (element, last) = (known[sort] - 1, self.view[sort] - 1);
        let mut from = at;
        for dim in &self.layout.cells[at].dims {
            if dim.sort == sort && dim.element == element {
                from = from - dim.element * dim.stride + last * dim.stride;
            } else {
                let common = if dim.sort == sort { last } else { self.view[dim.sort] };
                if dim.element >= common {
                    return None;
                }
            }
        }
        self.shape.position(from)
    }

    /// The ways in which the last element of a view can be a new element of a structure. The member and `outside` say
    /// which stars of the part that both have are which.
    fn join(
        &self,
        joining: &mut Joining<'_>,
        member: &Member,
        view: &[u32],
        outside: &StandsFor,
    ) -> RunResult {
        let (sort, wanted) = (joining.key.sort, joining.key.wanted);
        let last = Cell::elem(sort, self.view[sort] - 1);
        // What each star of the view is in the structure, as far as the common part tells.
        let mut known: SmallVec<[(Cell, Cell); 6]> = SmallVec::new();
        let mut named = None;
        for (star, in_view) in &member.way {
            let Some(in_structure) = meaning(outside, *star) else { return Ok(()) };
            if *in_view == last {
                // The new element is a star of the structure, not one of its known elements.
                if in_structure.as_star().is_none() {
                    return Ok(());
                }
                named = Some(in_structure);
            } else {
                known.push((*in_view, in_structure));
            }
        }
        let is_seen = |cell: &Cell| outside.iter().any(|(_, it)| it == cell);
        let names: SmallVec<[Option<Cell>; 4]> = match (named, wanted) {
            (Some(named), Some(wanted)) if named != wanted => return Ok(()),
            (Some(named), _) => SmallVec::from_slice(&[Some(named)]),
            (None, Some(wanted)) if is_seen(&wanted) => return Ok(()),
            (None, Some(wanted)) => SmallVec::from_slice(&[Some(wanted)]),
            (None, None) => {
                let hidden = joining.stars[sort].iter().filter(|star| !is_seen(star)).copied().map(Some);
                let hidden = hidden.filter(|_| !mutant::is(Mutant::WitnessesAreNoStars));
                std::iter::once(None).chain(hidden).collect()
            }
        };
        let is_free = |cell: &Cell| cell.as_star().is_some() && meaning(&known, *cell).is_none();
        let mut free: SmallVec<[Cell; 8]> =
            view[..view.len() - 1].iter().map(|cell| Cell(*cell)).filter(is_free).collect();
        free.sort_unstable();
        free.dedup();
        let is_listed = |star: &Cell| joining.beside.iter().any(|(_, at)| Cell(view[*at]) == *star);
        free.sort_by_key(|star| !is_listed(star));
        let listed = free.iter().filter(|star| is_listed(star)).count();
        let new = joining.found.newest();
        let cells: SmallVec<[NewCell; 32]> = joining
            .shown
            .iter()
            .map(|shown| match shown.map(|at| Cell(view[at])) {
                None => NewCell::Open,
                Some(cell) if cell == last => NewCell::Is(new),
                Some(cell) => match free.iter().position(|star| *star == cell) {
                    Some(star) => NewCell::Star(star),
                    None => NewCell::Is(meaning(&known, cell).unwrap_or(cell)),
                },
            })
            .collect();
        let fits = |at: usize| match cells[at] {
            NewCell::Is(cell) => self.may_refer(joining, at, cell),
            NewCell::Star(_) | NewCell::Open => true,
        };
        if !(0..cells.len()).all(fits) {
            return Ok(());
        }
        for name in names {
            let (known, free, cells, satisfied) = (&known[..], &free[..], &cells[..], member.satisfied);
            let meant = Meant { view, satisfied, name, known, free, listed, cells };
            self.assign(joining, &meant, &mut Chosen::new())?;
        }
        Ok(())
    }

    /// Gives the stars that only the new element refers to every meaning they can have.
    fn assign(&self, joining: &mut Joining<'_>, meant: &Meant<'_>, chosen: &mut Chosen) -> RunResult {
        if chosen.len() == meant.listed && !self.may_be_listed(joining, meant, chosen) {
            return Ok(());
        }
        let Some(star) = meant.free.get(chosen.len()) else { return self.fill(joining, meant, chosen) };
        let Some((of, _)) = star.as_star() else { return Ok(()) };
        let next = joining.key.stars[of];
        let is_new = |cell: &&Cell| cell.as_star().is_some_and(|(s, n)| s == of && n >= next as usize);
        let fresh = Cell::star(of, next + chosen.iter().filter(is_new).count() as u32);
        for at in 0..=joining.options[of].len() {
            let option = joining.options[of].get(at).copied().unwrap_or(fresh);
            let taken = Some(option) == meant.name
                || option != fresh && mutant::is(Mutant::NewStarsAreFresh)
                || chosen.contains(&option);
            let is_it = |at: &usize| matches!(meant.cells[*at], NewCell::Star(star) if star == chosen.len());
            if !taken
                && self.may_be(joining, meant, *star, option)
                && (0..meant.cells.len()).filter(is_it).all(|at| self.may_refer(joining, at, option))
            {
                chosen.push(option);
                self.assign(joining, meant, chosen)?;
                chosen.pop();
            }
        }
        Ok(())
    }

    /// Whether a cell of the new element may refer to what known ones refer to.
    fn may_refer(&self, joining: &mut Joining<'_>, at: usize, to: Cell) -> bool {
        let Some(number) = joining.families[at] else { return true };
        let Some((_, by)) = joining.referred.iter().find(|(of, _)| *of == to) else { return true };
        let clashes = joining.shared.clashes(&self.references, number, *by);
        if clashes != 0 {
            joining.found.clash(number, clashes);
        }
        clashes == 0
    }

    /// Whether a star of a view may stand for this, as far as the list tells.
    fn may_be(&self, joining: &Joining<'_>, meant: &Meant<'_>, star: Cell, is: Cell) -> bool {
        let Some(chain) = self.chain else { return true };
        let Structure { known, cells, .. } = &joining.node.structure;
        let fits = |side: Side| chain.may_be_beside(cells, known[chain.sort], meant.name, side, is);
        joining.beside.iter().all(|(side, at)| Cell(meant.view[*at]) != star || fits(*side))
    }

    /// Whether the new element may have those before and after it in the list that it has.
    fn may_be_listed(&self, joining: &mut Joining<'_>, meant: &Meant<'_>, chosen: &Chosen) -> bool {
        let (Some(chain), [(_, before), (_, after)]) = (self.chain, &joining.beside[..]) else { return true };
        let last = Cell::elem(chain.sort, self.view[chain.sort] - 1);
        let cell = |at: usize| match Cell(meant.view[at]) {
            cell if cell == last => joining.found.newest(),
            cell => match meant.free.iter().position(|star| *star == cell) {
                Some(star) => chosen[star],
                None => meaning(meant.known, cell).unwrap_or(cell),
            },
        };
        let key = (meant.name, cell(*before), cell(*after));
        if let Some((_, allowed)) = joining.lists.iter().find(|(of, _)| *of == key) {
            return *allowed;
        }
        let Structure { known, cells, .. } = &joining.node.structure;
        let allowed = chain.allows_one_more(cells, known[chain.sort], meant.name, (key.1, key.2));
        joining.lists.push((key, allowed));
        allowed
    }

    /// Finds the cells of the new element.
    fn fill(&self, joining: &mut Joining<'_>, meant: &Meant<'_>, chosen: &Chosen) -> RunResult {
        let Joining { node, key, found, .. } = joining;
        let value = |cell: &NewCell| match cell {
            NewCell::Is(cell) => *cell,
            NewCell::Star(star) => chosen[*star],
            NewCell::Open => Cell::ABSENT,
        };
        let mut cells: SmallVec<[Cell; 32]> = meant.cells.iter().map(value).collect();
        let mut stars = key.stars.clone();
        for (of, number) in chosen.iter().filter_map(|is| is.as_star()) {
            stars[of] = stars[of].max(number as u32 + 1);
        }
        // Cells between the new element and known ones that the view does not show may hold anything.
        let is_open = |at: &usize| matches!(meant.cells[*at], NewCell::Open);
        let open: SmallVec<[usize; 8]> = (0..cells.len()).filter(is_open).collect();
        let mut options = Vec::new();
        let mut ways = 1_usize;
        for at in &open {
            let values = self.finite_values(self.layout.cells[found.own_cell(*at)].ty)?;
            ways = ways.saturating_mul(values.len());
            options.push(values);
        }
        if ways > MOST_FILLINGS {
            return Err(Stop::lacking("arrays over two sorts with so many values".into(), Span::default()));
        }
        for mut number in 0..ways {
            for (at, values) in open.iter().zip(&options) {
                cells[*at] = values[number % values.len()];
                number /= values.len();
            }
            for bits in subsets_gone(node.structure.bits, meant.satisfied) {
                if found.len() % 3 == 2 && mutant::is(Mutant::WaysAreDropped) {
                    continue;
                }
                let class = SiblingClass { name: meant.name, bits, satisfied: meant.satisfied };
                found.push(class, &stars, &cells);
            }
        }
        Ok(())
    }
}
