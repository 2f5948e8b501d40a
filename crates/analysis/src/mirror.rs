//! Mirror images among the conjuncts of a formula, and which elements they name.
//!
//! If a permutation of a symmetric sort changes neither the model nor its fairness constraints, it takes the runs that
//! violate a formula to those that violate its mirror image. So of the conjuncts of a formula that are mirror images of
//! each other one is enough.

use std::collections::{BTreeSet, HashSet};

use shoal_model::{
    Condition, ExprKind, Formula, Model, Node, PropertyKind, SortId, Swap, Value, walk_condition,
};

use crate::symmetry;

/// The elements that some conditions name: sort and number.
pub type Pins = BTreeSet<(SortId, u32)>;

/// The elements named by some conditions.
pub fn pins(conditions: &[Condition]) -> Pins {
    conditions.iter().flat_map(named).collect()
}

/// The conjuncts that must be looked at.
pub fn conjuncts<'f>(model: &Model, symmetric: &[SortId], formula: &'f Formula) -> Vec<&'f Formula> {
    let mut all = Vec::new();
    flatten(formula, &mut all);
    let free = free_elements(model, symmetric);
    let mut seen: Vec<Formula> = Vec::new();
    all.retain(|conjunct| {
        let image = normal_form(conjunct, &free);
        let new = !seen.contains(&image);
        if new {
            seen.push(image);
        }
        new
    });
    all
}

fn flatten<'f>(formula: &'f Formula, all: &mut Vec<&'f Formula>) {
    match formula {
        Formula::And(of) => of.iter().for_each(|of| flatten(of, all)),
        other => all.push(other),
    }
}

/// For each symmetric sort, the elements that may be exchanged: the model does not name them outside of its
/// temporal properties, and fairness is the same after the exchange.
fn free_elements(model: &Model, symmetric: &[SortId]) -> Vec<(SortId, Vec<u32>)> {
    let mut plain = model.clone();
    for property in plain.properties.iter_mut() {
        if !matches!(property.kind, PropertyKind::Assume(_)) {
            property.kind = PropertyKind::Assertion;
        }
    }
    let pinned = symmetry(&plain).sorts;
    let free = |sort: &SortId| {
        let stays = &pinned[*sort].pinned;
        // If only the steps are symmetric and not the starts, a run has no image that is a run.
        let proved = pinned[*sort].is_proved();
        let size = model.sorts[*sort].fixed_size().filter(|_| proved).unwrap_or(0);
        let free: Vec<u32> = (0..size).filter(|element| !stays.contains(element)).collect();
        let fair = free.windows(2).all(|pair| {
            let swap = Swap { sort: *sort, left: pair[0], right: pair[1] };
            model.fairness.iter().all(|condition| model.fairness.contains(&swap.condition(condition)))
        });
        (*sort, if fair { free } else { Vec::new() })
    };
    let distinct: BTreeSet<SortId> = symmetric.iter().copied().collect();
    distinct.iter().map(free).collect()
}

/// What is asked of fairness where one element stands for all that are like it.
#[derive(Clone, Debug, Default)]
pub struct FairRepresentatives {
    /// The constraints to look at, each with the number of the mark it is about, if it is.
    pub conditions: Vec<(Condition, Option<usize>)>,
    /// The elements that stand for others.
    pub marks: Vec<FairMark>,
}

/// An element that stands for others: what is said of it is said of each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairMark {
    /// Its sort.
    pub sort: SortId,
    /// Its number.
    pub element: u32,
    /// The others.
    pub others: Vec<u32>,
}

/// The constraints of fairness for a formula that names some elements. Of constraints that say the same of each of the other
/// elements, those of one are kept: it is marked. Where a constraint is about two such elements, all are kept.
pub fn fair_representatives(model: &Model, symmetric: &[SortId], own: &Pins) -> FairRepresentatives {
    let all = |condition: &Condition| (condition.clone(), None);
    let as_they_are =
        || FairRepresentatives { conditions: model.fairness.iter().map(all).collect(), marks: Vec::new() };
    if model.fairness.iter().all(|condition| named(condition).is_empty()) {
        return as_they_are();
    }
    let mut free = free_elements(model, symmetric);
    for (sort, elements) in &mut free {
        elements.retain(|element| !own.contains(&(*sort, *element)));
    }
    let about = |condition: &Condition| -> BTreeSet<(SortId, u32)> {
        let is_free = |(sort, element): &(SortId, u32)| {
            free.iter().any(|(of, elements)| of == sort && elements.contains(element))
        };
        named(condition).into_iter().filter(is_free).collect()
    };
    let abouts: Vec<BTreeSet<(SortId, u32)>> = model.fairness.iter().map(about).collect();
    if abouts.iter().any(|about| about.len() > 1) {
        return as_they_are();
    }
    let mut marks = Vec::new();
    for (sort, elements) in &free {
        let is_asked = abouts.iter().flatten().any(|(of, _)| of == sort);
        if let ([element, others @ ..], true) = (&elements[..], is_asked && elements.len() > 1) {
            marks.push(FairMark { sort: *sort, element: *element, others: others.to_vec() });
        }
    }
    let mut conditions = Vec::new();
    for (condition, about) in model.fairness.iter().zip(&abouts) {
        let mark = about.first().and_then(|(sort, _)| marks.iter().position(|mark| mark.sort == *sort));
        let is_kept = mark.is_none_or(|mark| about.contains(&(marks[mark].sort, marks[mark].element)));
        if is_kept {
            conditions.push((condition.clone(), mark));
        }
    }
    FairRepresentatives { conditions, marks }
}

/// The mirror image in which free elements are named in their order.
fn normal_form(formula: &Formula, free: &[(SortId, Vec<u32>)]) -> Formula {
    let mut image = formula.clone();
    for (sort, free) in free {
        let mut next = 0;
        loop {
            let mut seen = HashSet::new();
            let mut order = image
                .atoms()
                .into_iter()
                .flat_map(named)
                .filter(|(of, element)| of == sort && free.contains(element) && seen.insert(*element));
            let Some((_, element)) = order.nth(next) else { break };
            let swap = Swap { sort: *sort, left: free[next], right: element };
            drop(order);
            image = swap.formula(&image);
            next += 1;
        }
    }
    image
}

/// The elements a condition names, in order, again and again if it does.
pub fn named(condition: &Condition) -> Vec<(SortId, u32)> {
    let mut found = Vec::new();
    walk_condition(condition, &mut |node| {
        if let Node::Expr(expr) = node
            && let ExprKind::Const(Value::Elem(sort, element)) = &expr.kind
        {
            found.push((*sort, *element));
        }
    });
    found
}
