//! Symmetry inside diagrams: every set of states is replaced by representatives of its orbits.
//!
//! The orbit relation is never built (Emerson and Wahl's dynamic symmetry reduction): two elements that are out of order
//! are exchanged in all states at once, until no two are. What the order is decides how good the representatives are:
//!
//! - *sorted* (the default): by keys that do not say which number an element has, then by the whole state. A state that
//!   no exchange of two elements makes smaller need not be the least of its orbit, so at the end, where there are few
//!   enough permutations, all of them are tried; then there is exactly one representative of each orbit.
//! - *gasr*: the graph automorphism symmetry reduction of Wang et al. (Red 5.0), one pass of its `reverse(i, j)`.
//! - *multiple*: by data alone. Elements that point differently are not told apart, and several representatives stay.
//!
//! Whatever the order, a state is only ever replaced by one of its orbit, and only elements are exchanged that the
//! symmetry analysis has proved to be interchangeable and that nothing names. So no violation is missed and none invented.

mod order;
mod permute;
mod runs;

use shoal_model::{Job, Model, Representatives, SortId, Type, TypedId};

use crate::{
    dd::{Bdd, Dd, DdResult, Renaming},
    layout::BitLayout,
};
use order::PermuteOrder;
use permute::{ElementPermutation, PermuteGround};

/// How representatives are found.
pub struct RepresentativeChoice {
    /// The sorts.
    pub sorts: Vec<SortId>,
    exchanges: Vec<PermutationStep>,
    /// Whether one pass is all.
    one_pass: bool,
    /// All permutations, where there are few.
    all: Vec<PermutationStep>,
}

/// A permutation, and where it is applied.
struct PermutationStep {
    order: PermuteOrder,
    renaming: Renaming,
}

/// So many permutations of all sorts together are tried to have exactly one representative of each orbit.
const MOST_PERMUTATIONS: usize = 720;

impl RepresentativeChoice {
    /// For the sorts of a job; nothing if there is nothing to exchange.
    pub(crate) fn new(
        model: &Model,
        job: &Job,
        layout: &BitLayout,
        dd: &Dd,
    ) -> DdResult<Option<RepresentativeChoice>> {
        let ground = PermuteGround { model, layout, dd };
        let how = job.strategy.representatives;
        let known = shoal_analysis::symmetry(model);
        let (mut sorts, mut exchanges) = (Vec::new(), Vec::new());
        for sort in job.symmetric.iter().filter(|sort| !in_a_bag(model, **sort)) {
            let Some(size) = model.sorts[*sort].fixed_size() else { continue };
            let free: Vec<u32> = (0..size).filter(|it| !known.sorts[*sort].pinned.contains(it)).collect();
            let pairs = free.iter().enumerate().flat_map(|(at, i)| free[at + 1..].iter().map(|j| (*i, *j)));
            for pair in pairs {
                let Some(exchange) = exchange(&ground, how, *sort, size, pair)? else { return Ok(None) };
                exchanges.push(exchange);
            }
            if free.len() > 1 {
                sorts.push(FreeElements { sort: *sort, size, elements: free });
            }
        }
        let all = match how {
            Representatives::Exact => permutations(&ground, &sorts)?,
            _ => Vec::new(),
        };
        let sorts = sorts.into_iter().map(|free| free.sort).collect();
        let one_pass = how == Representatives::Gasr;
        Ok((!exchanges.is_empty()).then_some(RepresentativeChoice { sorts, exchanges, one_pass, all }))
    }

    /// Representatives of the states of a set.
    pub(crate) fn representatives(&self, set: &Bdd) -> DdResult<Bdd> {
        sort(&self.exchanges, set, self.one_pass)
    }

    /// Exactly one representative of each orbit where there are few permutations; else those there are.
    pub(crate) fn fewest(&self, set: &Bdd) -> DdResult<Bdd> {
        sort(&self.all, set, false)
    }

    /// Whether a set is known to have no two states of an orbit. Only then is a state found as soon as its orbit is.
    pub(crate) fn is_one_of_each(&self, set: &Bdd) -> DdResult<bool> {
        Ok(!self.all.is_empty() && self.fewest(set)? == *set)
    }

    /// All states of the orbits of a set.
    pub(crate) fn orbits(&self, set: &Bdd) -> DdResult<Bdd> {
        let mut all = set.clone();
        loop {
            let before = all.clone();
            for exchange in &self.exchanges {
                all = all.or(&all.rename(&exchange.renaming)?)?;
            }
            if all == before {
                return Ok(all);
            }
        }
    }
}

/// Applies each permutation where it is to be applied, until none is.
fn sort(exchanges: &[PermutationStep], set: &Bdd, one_pass: bool) -> DdResult<Bdd> {
    let no = set.minus(set)?;
    let mut set = set.clone();
    loop {
        let before = set.clone();
        for exchange in exchanges {
            let wrong = exchange.order.wrong(&set, no.clone())?;
            if !wrong.is_false() {
                set = set.minus(&wrong)?.or(&wrong.rename(&exchange.renaming)?)?;
            }
        }
        if one_pass || set == before {
            return Ok(set);
        }
    }
}

/// The exchange of two elements; nothing if cells that should be alike are not.
fn exchange(
    ground: &PermuteGround<'_>,
    how: Representatives,
    sort: SortId,
    size: u32,
    pair: (u32, u32),
) -> DdResult<Option<PermutationStep>> {
    let swap = ElementPermutation::swap(sort, size, pair.0, pair.1);
    let (Some(after), Some(renaming)) = (ground.after(&swap)?, ground.renaming(&swap)?) else {
        return Ok(None);
    };
    let order = match how {
        Representatives::Exact | Representatives::Fast => ground.by_keys(sort, pair, &after)?,
        Representatives::Gasr => ground.reversed(sort, pair)?,
        Representatives::Multiple => ground.by_data(sort, pair)?,
    };
    Ok(Some(PermutationStep { order, renaming }))
}

/// A sort with its elements that nothing names.
struct FreeElements {
    sort: SortId,
    size: u32,
    elements: Vec<u32>,
}

impl FreeElements {
    /// All permutations of these elements.
    fn permutations(&self) -> impl Iterator<Item = Vec<u32>> {
        let mut orders: Vec<Vec<u32>> = vec![Vec::new()];
        for _ in &self.elements {
            let longer = |order: &Vec<u32>| {
                let rest = self.elements.iter().filter(|it| !order.contains(it)).collect::<Vec<_>>();
                rest.into_iter().map(|it| [order.as_slice(), &[*it]].concat()).collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        orders.into_iter().map(|order| {
            let mut to: Vec<u32> = (0..self.size).collect();
            self.elements.iter().zip(&order).for_each(|(from, at)| to[*from as usize] = *at);
            to
        })
    }
}

/// Whether there are few permutations of these sorts together.
fn are_few(sorts: &[FreeElements]) -> bool {
    let mut factors = sorts.iter().flat_map(|free| 1..=free.elements.len());
    let count = factors.try_fold(1_usize, |count, factor| count.checked_mul(factor));
    count.is_some_and(|count| count <= MOST_PERMUTATIONS)
}

/// All permutations of all sorts together, each to be applied where it makes the state smaller. If there are too many, those
/// of each sort alone, as far as there are few.
fn permutations(ground: &PermuteGround<'_>, sorts: &[FreeElements]) -> DdResult<Vec<PermutationStep>> {
    let together = if are_few(sorts) { sorts.len() } else { 1 };
    let mut all = Vec::new();
    for sorts in sorts.chunks(together.max(1)).filter(|sorts| are_few(sorts)) {
        let mut permutations = vec![ElementPermutation::default()];
        for free in sorts {
            let with = |known: &ElementPermutation| {
                free.permutations().map(|to| known.with(free.sort, to)).collect::<Vec<_>>()
            };
            permutations = permutations.iter().flat_map(with).collect();
        }
        for permutation in permutations.iter().filter(|it| !it.is_identity()) {
            if let (Some(after), Some(renaming)) = (ground.after(permutation)?, ground.renaming(permutation)?)
            {
                all.push(PermutationStep { order: ground.before_and_after(&after)?, renaming });
            }
        }
    }
    Ok(all)
}

/// Whether a multiset holds elements of a sort. Exchanging two of them would leave it out of order.
fn in_a_bag(model: &Model, sort: SortId) -> bool {
    let bag = |kind: &Type| match kind {
        Type::Multiset { element, .. } => {
            model.type_contains(*element, &|kind| matches!(kind, Type::Ref { sort: of, .. } if *of == sort))
        }
        _ => false,
    };
    model.vars.iter().any(|var| model.type_contains(var.ty, &bag))
}

/// Whether a job asks for nothing but what representatives alone can answer.
pub(crate) fn is_enough(model: &Model, job: &Job) -> bool {
    use shoal_model::PropertyKind::{AlwaysPossible, Temporal};
    let asks = |kind: &_| matches!(kind, AlwaysPossible(_) | Temporal(..));
    !job.properties.iter().any(|id| asks(&model.properties[*id].kind))
        && job.symmetric.iter().any(|sort| sort.index() < model.sorts.len())
}
