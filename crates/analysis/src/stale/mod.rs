//! Stale values: parts of the state that nothing will read before they are written again.
//!
//! A protocol in one record keeps the sender of a message long after the message is gone. Where a part is *active* (some run
//! may read it before it is written) is found by following each rule from each value of one or two other parts, its
//! *controls* (the command of the message): [`follow`]. The reduced Model makes a part undefined at the end of every step
//! after which it is not active: [`reset`].
//!
//! Nothing rests on this analysis being right. A part is only reset if it is never undefined in the model, and every use of it
//! in the reduced Model is a read that faults where it is undefined. So as long as nothing faults in the reduced Model, every
//! run of the one is a run of the other with the same values wherever one is read; properties read nothing that is reset.
//! Who uses the Model must see that nothing faults in it.

mod follow;
mod parts;
mod reset;

use shoal_model::{GuardFaults, Model, Value};

use follow::Follow;
use parts::VarParts;

/// When a part of the state may still be read.
#[derive(Clone, Debug)]
struct Stale {
    part: usize,
    controls: Vec<usize>,
    /// The values of the controls with which it is active.
    active: Vec<Vec<Value>>,
}

/// A model in which stale values are undefined. Its starts, rules and properties have the same numbers as before.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// The model. It stands for the one that it was made of only if nothing faults in it.
    pub model: Model,
    /// The parts that are reset.
    pub parts: Vec<String>,
}

/// The model with stale values reset; nothing if there are none.
pub fn refresh(model: &Model) -> Option<Refreshed> {
    if model.guard_faults != GuardFaults::Violate
        || model.while_time_passes.is_some()
        || !model.agents.is_empty()
        || model.rules.len() > MOST_RULES
    {
        return None;
    }
    let parts = VarParts::new(model);
    let ordered = reset::references_last(model, &parts);
    let follow = Follow::new(&ordered, &parts);
    let stale: Vec<Stale> =
        parts.resettable.iter().filter_map(|part| controls(&ordered, &parts, &follow, *part)).collect();
    if stale.is_empty() {
        return None;
    }
    let names = stale.iter().map(|it| parts.name(model, it.part)).collect();
    Some(Refreshed { model: reset::reset(ordered, &parts, &stale), parts: names })
}

/// Larger models are left as they are.
const MOST_RULES: usize = 400;
/// Values of a control, and of all controls of a part together.
const MOST_VALUES: u64 = 12;
const MOST_TOGETHER: usize = 64;
/// Controls of a part.
const MOST_CONTROLS: usize = 2;

/// The controls that tell best when a part is active.
fn controls(model: &Model, parts: &VarParts, follow: &Follow<'_>, part: usize) -> Option<Stale> {
    let candidates = follow.controls(part);
    let mut best: Option<(Stale, f64)> = None;
    for _ in 0..MOST_CONTROLS {
        let chosen = best.as_ref().map_or(Vec::new(), |(stale, _)| stale.controls.clone());
        let share = best.as_ref().map_or(1.0, |(_, share)| *share);
        if share == 0.0 {
            break;
        }
        for candidate in candidates.iter().filter(|it| !chosen.contains(it)) {
            let controls: Vec<usize> = chosen.iter().copied().chain([*candidate]).collect();
            let Some(tuples) = tuples(model, parts, &controls) else { continue };
            let active = follow.active(part, &controls, &tuples);
            let share_now = active.len() as f64 / tuples.len() as f64;
            if share_now < share && best.as_ref().is_none_or(|(_, least)| share_now < *least) {
                best = Some((Stale { part, controls, active }, share_now));
            }
        }
    }
    best.map(|(stale, _)| stale)
}

fn tuples(model: &Model, parts: &VarParts, controls: &[usize]) -> Option<Vec<Vec<Value>>> {
    let mut all: Vec<Vec<Value>> = vec![Vec::new()];
    for control in controls {
        let ty = parts.all[*control].ty;
        model.cardinality(ty).filter(|count| *count <= MOST_VALUES)?;
        let more = |tuple: &Vec<Value>| {
            let tuple = tuple.clone();
            model.values(ty).map(move |value| tuple.iter().cloned().chain([value]).collect())
        };
        all = all.iter().flat_map(more).collect();
    }
    (all.len() <= MOST_TOGETHER).then_some(all)
}
