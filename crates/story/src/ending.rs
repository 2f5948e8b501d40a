//! The end of a run: who stands where, and why it cannot move.

use shoal_interpret::{Blame, Firing, Instance, Interpreter};
use shoal_model::{Domain, During, Model, Reason, RuleId, State, Trace, Type, TypeId, Value};
use shoal_syntax::Span;

use crate::{Lanes, Wrong};

/// How a run ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Where each lane stands, in the order of the lanes.
    pub standing: Vec<Standing>,
    /// The lane whose step goes wrong, if a step does.
    pub at: Option<usize>,
}

/// Where a lane stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Its place; empty if it has none.
    pub place: String,
    /// What is in its way, if nothing can move.
    pub obstacles: Vec<Obstacle>,
}

/// Why a rule may not fire.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// The rule.
    pub rule: RuleId,
    /// The part of its guard that is false.
    pub span: Span,
    /// What it waits for, as text.
    pub text: String,
    /// What it read, and what was there.
    pub reads: Vec<(String, String)>,
}

/// Rules that are looked at for one lane: a reader wants a few.
const OBSTACLES: usize = 4;

pub(crate) fn of(interpreter: &Interpreter<'_>, lanes: &Lanes, trace: &Trace, wrong: Wrong<'_>) -> Ending {
    let model = interpreter.model();
    let state = trace.last();
    let stuck = matches!(innermost(wrong.reason), Reason::Deadlock);
    let standing = (0..lanes.lanes().len())
        .map(|lane| Standing {
            place: place(model, lanes, state, lane),
            obstacles: if stuck { obstacles(interpreter, lanes, state, lane) } else { Vec::new() },
        })
        .collect();
    let at = match innermost(wrong.reason) {
        Reason::Fault(During::Body(rule, args, _) | During::Guard(rule, args), _) => {
            Some(lanes.actor(model, *rule, args))
        }
        _ => None,
    };
    Ending { standing, at }
}

fn innermost(reason: &Reason) -> &Reason {
    match reason {
        Reason::After(_, reason) => innermost(reason),
        other => other,
    }
}

/// The place of a process, the location of an automaton, or the first of an element's variables that is of a named kind.
pub(crate) fn place(model: &Model, lanes: &Lanes, state: &State, lane: usize) -> String {
    for (var, entry) in lanes.belongings(lane) {
        let (mut ty, mut value) = (model.vars[var].ty, state.value(var));
        if let (Some(at), Type::Array { element, .. }, Value::Array(values)) = (entry, model.kind(ty), value)
        {
            let Some(own) = values.get(at) else { continue };
            (ty, value) = (*element, own);
        }
        let field = lanes.place(var).unwrap_or(0);
        if let (Type::Record { fields }, Value::Record(values)) = (model.kind(ty), value)
            && let (Some(of), Some(own)) = (fields.get(field), values.get(field))
        {
            (ty, value) = (of.ty, own);
        }
        if names_places(model, ty) {
            return match value {
                Value::Undefined => String::new(),
                value => model.show(value).to_string(),
            };
        }
    }
    String::new()
}

fn names_places(model: &Model, ty: TypeId) -> bool {
    matches!(model.kind(ty), Type::Enum { .. })
}

/// Why none of a lane's rules may fire: first of those whose process is at the right place.
fn obstacles(interpreter: &Interpreter<'_>, lanes: &Lanes, state: &State, lane: usize) -> Vec<Obstacle> {
    let model = interpreter.model();
    let here = rules_here(model, lanes, state, lane);
    let mut found = Vec::new();
    for (rule, parameter) in lanes.rules_of(lane) {
        if here.as_ref().is_some_and(|here| !here.contains(&rule)) || found.len() == OBSTACLES {
            continue;
        }
        let instances = instances(model, lanes, rule, parameter, lane);
        let blamed = instances.iter().find_map(|instance| interpreter.why_disabled(state, instance));
        let Some(blame) = blamed else {
            found.extend(instances.iter().find_map(|instance| in_vain(interpreter, state, instance)));
            continue;
        };
        // That it stands elsewhere says nothing: where it stands is said.
        let own = lanes.places_of(model, lane);
        if here.is_none() && blame.cells.iter().all(|cell| own.iter().any(|place| place.meets(cell))) {
            continue;
        }
        // What a language keeps for itself is nobody's business.
        if blame.reads.iter().any(|(name, _)| name.starts_with('_')) {
            continue;
        }
        let reads = blame.reads.iter().map(|(name, value)| (name.clone(), model.show(value).to_string()));
        let reads = reads.collect();
        let (text, reads) = waits_for(&blame, reads);
        let obstacle = Obstacle { rule, span: blame.span, text, reads };
        let same = |other: &Obstacle| other.text == obstacle.text && other.reads == obstacle.reads;
        if !found.iter().any(same) {
            found.push(obstacle);
        }
    }
    found
}

/// A rule that may fire, and why that leads nowhere: an assumption in its body fails, or it changes nothing.
fn in_vain(interpreter: &Interpreter<'_>, state: &State, instance: &Instance) -> Option<Obstacle> {
    let model = interpreter.model();
    let rule = &model.rules[instance.rule];
    let (mut dropped, mut same) = (None, false);
    for branch in interpreter.fire(state, instance) {
        match branch.result {
            Firing::Discarded => dropped = interpreter.why_asserted(state, instance, &branch.choices),
            Firing::State(after) => same |= after == *state,
            Firing::Fault(_) => return None,
        }
    }
    if let Some(blame) = dropped {
        let reads = blame.reads.iter().map(|(name, value)| (name.clone(), model.show(value).to_string()));
        let not = if blame.value { "not " } else { "" };
        let text = format!("{} needs {not}{}", rule.name, blame.text);
        return Some(Obstacle { rule: instance.rule, span: blame.span, text, reads: reads.collect() });
    }
    let text = format!("{} changes nothing", rule.name);
    same.then_some(Obstacle { rule: instance.rule, span: rule.span, text, reads: Vec::new() })
}

/// What a part of a guard waits for, in words where it is about a channel, and what it read.
fn waits_for(blame: &Blame, reads: Vec<(String, String)>) -> (String, Vec<(String, String)>) {
    if let [(name, _)] = reads.as_slice()
        && let Some(channel) = name.strip_suffix(".len")
    {
        let text = match blame.value {
            true => format!("waits for a message in {channel}"),
            false => format!("waits for room in {channel}"),
        };
        return (text, Vec::new());
    }
    // The part is true where it should be false, or the other way round.
    let not = if blame.value { "not " } else { "" };
    (format!("needs {not}{}", blame.text), reads)
}

/// The rules of the place where a process stands; nothing if the lane is no process.
fn rules_here(model: &Model, lanes: &Lanes, state: &State, lane: usize) -> Option<Vec<RuleId>> {
    let (var, entry) = lanes.belongings(lane).find(|(var, _)| lanes.place(*var).is_some())?;
    let agents = model.agents.iter().find(|agents| agents.var == var)?;
    let mut ty = model.vars[var].ty;
    let mut value = state.value(var);
    if let (Some(at), Type::Array { element, .. }, Value::Array(values)) = (entry, model.kind(ty), value) {
        (ty, value) = (*element, values.get(at)?);
    }
    let (Type::Record { fields }, Value::Record(values)) = (model.kind(ty), value) else { return None };
    let field = agents.field as usize;
    let at = model.ordinal(fields.get(field)?.ty, values.get(field)?)?;
    Some(agents.locations.get(at as usize)?.rules.clone())
}

/// Instances of a rule that are a lane's: one for each value of each other parameter, up to a few.
fn instances(
    model: &Model,
    lanes: &Lanes,
    rule: RuleId,
    parameter: Option<(usize, usize)>,
    lane: usize,
) -> Vec<Instance> {
    const MOST: usize = 16;
    let mut all = vec![Vec::new()];
    for (at, declared) in model.rules[rule].params.iter().enumerate() {
        let Domain::Type(ty) = &declared.domain else { return Vec::new() };
        let mut longer = Vec::new();
        for args in &all {
            for value in model.values(*ty).take(MOST) {
                let mut args: Vec<Value> = args.clone();
                args.push(value);
                let own =
                    parameter.is_none_or(|(own, _)| own != at || lanes.actor(model, rule, &args) == lane);
                if own && longer.len() < MOST {
                    longer.push(args);
                }
            }
        }
        all = longer;
    }
    all.into_iter().map(|args| Instance { rule, args }).collect()
}
