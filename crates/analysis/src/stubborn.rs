//! Which instances of rules are independent of each other, for partial order reduction by stubborn sets.
//!
//! What an instance does (whether its guard holds or faults, and what its body does) depends on the spots that it touches,
//! and it changes only those that it writes. So two instances are independent of each other if neither writes what the other
//! touches. More is found by looking at values: two instances whose guards ask for different values of a spot are never both
//! able to fire; a step that leaves a value at a spot makes no guard hold that asks for another; and a property that
//! compares a spot with a constant does not notice a step between two other values.
//!
//! A fault is something that may happen, like a step. A guard whose first conjunct is false does not fault; but if the second
//! is false, the first may, and so what the first reads counts as well, unless it cannot fault.

mod doing;
mod spots;

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    BitSet, Condition, Domain, Expr, ExprKind, GuardFaults, Model, Node, Part, Parts, Place, RuleId, Value,
    walk_condition,
};

use crate::{FieldPath, effects::of_condition};
use doing::{Conjunct, InstanceEffects, SpotTest, doing};
use spots::Spots;

/// No more parts than this: each is compared with every other.
const MOST_PARTS: usize = 1 << 10;

/// The parts of a model, where these conditions are asked of states, and these slots may be undefined (all, if nothing is
/// known). Otherwise why there are none.
pub fn parts(
    model: &Model,
    conditions: &[&Condition],
    blank: Option<&BTreeSet<FieldPath>>,
) -> Result<Parts, &'static str> {
    if model.has_unfixed_sorts() {
        return Err("elements come and go");
    }
    if model.while_time_passes.is_some() || model.rules.iter().any(|rule| rule.urgent) {
        return Err("time passes");
    }
    if model.rules.iter().zip(model.rules.iter().skip(1)).any(|(a, b)| a.priority != b.priority) {
        return Err("some rules outrank others");
    }
    let spots = Spots::new(model, blank).ok_or("the state has too many parts")?;
    let (given, instances) = instances(model).ok_or("there are too many instances of rules")?;
    let doing = |(rule, args): &PartialInstance| doing(model, &spots, &model.rules[*rule], args);
    let doings: Vec<InstanceEffects> = instances.iter().map(doing).collect();
    let seen = seen(model, conditions, &spots).ok_or("a property is too large to look at")?;
    let set = |wanted: &dyn Fn(usize) -> bool| {
        let mut set = BitSet::new(doings.len());
        set.extend((0..doings.len()).filter(|part| wanted(*part)));
        set
    };
    let visible = set(&|part| is_visible(&doings[part], &seen));
    let violates = model.guard_faults == GuardFaults::Violate;
    let part = |(at, (rule, args)): (usize, PartialInstance)| {
        let doing = &doings[at];
        let conflicts = set(&|other| other != at && conflict(doing, &doings[other]));
        let whole = set(&|other| may_enable(&doings[other], doing));
        let given = args.len() == model.rules[rule].params.len();
        let conjuncts = if given { doing.conjuncts.len() } else { 0 };
        let of_conjunct = |conjunct| set(&|other| may_satisfy(&doings[other], doing, conjunct, violates));
        let enablers = (0..conjuncts).map(of_conjunct).chain([whole]).collect();
        Part { rule, args, conflicts, enablers }
    };
    let all = instances.into_iter().enumerate().map(part).collect();
    Ok(Parts { given, all, visible })
}

/// A rule and the values of its first parameters.
type PartialInstance = (RuleId, Vec<Value>);

/// How many of the first parameters of each rule are given, and the instances with values for those. Nothing if there are
/// too many.
fn instances(model: &Model) -> Option<(Vec<usize>, Vec<PartialInstance>)> {
    // Rules with many instances are split less.
    [MOST_PARTS, 256, 64, 16, 4, 1].into_iter().find_map(|most| {
        let (mut given, mut all) = (Vec::new(), Vec::new());
        for (id, rule) in model.rules.enumerate() {
            let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
            let mut params = 0;
            for param in &rule.params {
                let Some(values) = values(model, &param.domain, most) else { break };
                if rows.len() * values.len() > most {
                    break;
                }
                let with = |row: Vec<Value>| {
                    values.iter().map(move |value| [&row[..], std::slice::from_ref(value)].concat())
                };
                rows = rows.into_iter().flat_map(with).collect();
                params += 1;
            }
            given.push(params);
            all.extend(rows.into_iter().map(|row| (id, row)));
        }
        (all.len() <= MOST_PARTS).then_some((given, all))
    })
}

/// The values of a domain that is fixed and has no more than `most`.
fn values(model: &Model, domain: &Domain, most: usize) -> Option<Vec<Value>> {
    let constant = |expr: &Expr| match &expr.kind {
        ExprKind::Const(value) => value.as_int(),
        _ => None,
    };
    match domain {
        Domain::Type(ty) => {
            model.cardinality(*ty).filter(|count| *count <= most as u64)?;
            Some(model.values(*ty).collect())
        }
        Domain::Range { from, to, by } => {
            let (from, to) = (constant(from)?, constant(to)?);
            let fits = constant(by)? == 1 && to.checked_sub(from)? < most as i64;
            fits.then(|| (from..=to).map(Value::Int).collect())
        }
        Domain::Slots(_) => None,
    }
}

/// Whether the order of an instance whose guard holds and of another may make a difference.
fn conflict(doing: &InstanceEffects, other: &InstanceEffects) -> bool {
    let excluded = |test: &SpotTest| doing.facts().any(|holds| holds.excludes(test));
    (other.disturbs(&doing.touched) || doing.disturbs(&other.touched))
        && !refutable(other).any(|tests| tests.iter().all(excluded))
}

/// Tests of which one must hold for an instance to fire or fault: nothing before them can fault.
fn refutable(doing: &InstanceEffects) -> impl Iterator<Item = &Vec<SpotTest>> {
    let safe = doing.conjuncts.iter().take_while(|conjunct| conjunct.safe).count();
    let first = doing.conjuncts.iter().take(if doing.plain { safe + 1 } else { 0 });
    // The first of several alternatives may fault where the second is excluded, unless none can.
    let alone =
        |conjunct: &&Conjunct| conjunct.safe || conjunct.tests.as_ref().is_some_and(|it| it.len() == 1);
    first.filter(alone).filter_map(|conjunct| conjunct.tests.as_ref())
}

/// Whether a step of the other may make a guard hold or fault that does not.
fn may_enable(other: &InstanceEffects, doing: &InstanceEffects) -> bool {
    other.disturbs(&doing.before) || doing.conjuncts.iter().any(|conjunct| other.disturbs(&conjunct.reads))
}

/// Whether a step of the other may make a guard hold or fault of which this conjunct is false.
fn may_satisfy(other: &InstanceEffects, doing: &InstanceEffects, conjunct: usize, violates: bool) -> bool {
    let (before, conjunct) = (&doing.conjuncts[..conjunct], &doing.conjuncts[conjunct]);
    let faults = || before.iter().any(|before| !before.safe && other.disturbs(&before.reads));
    other.disturbs(&doing.before) || other.may_satisfy(conjunct) || violates && faults()
}

/// What conditions read: the spots, each with the constants it is compared with, if that is all that is done with it.
type SpotReads = BTreeMap<usize, Option<Vec<Value>>>;

fn seen(model: &Model, conditions: &[&Condition], spots: &Spots<'_>) -> Option<SpotReads> {
    let mut seen = SpotReads::new();
    for condition in conditions {
        // Places that are compared with constants, by where they stand.
        let mut compared: Vec<(&Place, &Value)> = Vec::new();
        walk_condition(condition, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Equal(left, right), .. }) = node
                && let (ExprKind::Read(place), ExprKind::Const(value))
                | (ExprKind::Const(value), ExprKind::Read(place)) = (&left.kind, &right.kind)
            {
                compared.push((place, value));
            }
        });
        let footprint = of_condition(model, condition);
        if !footprint.events.is_empty() {
            return None;
        }
        for access in &footprint.accesses {
            let value = compared.iter().find(|(place, _)| std::ptr::eq(*place, access.place));
            for spot in spots.of(&access.location)?.spots {
                let values = seen.entry(spot).or_insert_with(|| Some(Vec::new()));
                match value {
                    Some((_, value)) => values.iter_mut().for_each(|values| values.push((*value).clone())),
                    None => *values = None,
                }
            }
        }
    }
    Some(seen)
}

/// Whether a step of an instance may change what is seen.
fn is_visible(doing: &InstanceEffects, seen: &SpotReads) -> bool {
    doing.leaves.iter().any(|(spot, left)| match (seen.get(spot), left, doing.finds(*spot)) {
        (None, ..) => false,
        (Some(Some(compared)), Some(left), Some(found)) => {
            compared.contains(found) || left.iter().any(|value| compared.contains(value))
        }
        _ => true,
    })
}
