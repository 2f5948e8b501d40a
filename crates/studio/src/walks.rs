//! Stepping by hand. A walk is the numbers of its moves, so every answer depends on the call alone, and an address can hold it.

use serde_json::{Value as Json, json};
use shoal::{
    Error, Loaded, ModelGraph, Move, MoveKind, Session, Simulation, Trace, WalkGoal, Watch,
    model::{Model, PropertyId, Ratio, Reason, RuleId, State, Step},
    story::{Directions, Lanes},
};
use shoal_report::{
    Arguments, StoryDetail, changes, instance_name, move_name, one_line, range_as_json, reason_in_words,
    standing_as_json, state_as_json, story_as_json, with_typed_value,
};

use crate::{
    Studio,
    api::{Call, CallError, object},
    http::percent_decoded,
    models::ModelCall,
};

/// Walks of more moves are refused.
const LONGEST: usize = 5_000;
/// So many moves are shown, and of so many it is said what they lead to: of fewer, where each leads to so many that they have as
/// many moves together.
const MOST_MOVES: usize = 500;
const LOOKED_AHEAD: usize = 100;
const MOVES_AHEAD: usize = 5_000;
/// So many states are looked at for one that somebody wants.
const MOST_STATES: usize = 200_000;

/// A part of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pace {
    /// The move with a number.
    Move(usize),
    /// Time passes.
    Wait(Ratio),
    /// The walk begins again with another value at a place: as it was written, the place and the value.
    Typed(String, String, String),
}

/// `0.4.1.w3~2.sx=3`: numbers of moves, times to wait, and values that were typed, whose dots are written as `%2E`.
fn parse(path: &str) -> Result<Vec<Pace>, CallError> {
    let wrong = |part: &str| {
        CallError::from(format!("{part:?} in the path is neither a move nor a time nor a value"))
    };
    let pace = |part: &str| {
        let known = match (part.strip_prefix('w'), part.strip_prefix('s')) {
            (Some(time), _) => {
                let (over, under) = time.split_once('~').unwrap_or((time, "1"));
                let parts = over.parse().ok().zip(under.parse().ok());
                parts.and_then(|(over, under)| Ratio::new(over, under)).map(Pace::Wait)
            }
            (_, Some(typed)) => percent_decoded(typed).and_then(|text| {
                let (place, value) = text.split_once('=')?;
                Some(Pace::Typed(part.into(), place.into(), value.into()))
            }),
            (None, None) => part.parse().ok().map(Pace::Move),
        };
        known.ok_or_else(|| wrong(part))
    };
    let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    if parts.len() > LONGEST {
        return Err(CallError::from(format!("a walk has at most {LONGEST} moves")));
    }
    parts.into_iter().map(pace).collect()
}

fn written(paces: &[Pace]) -> String {
    let pace = |pace: &Pace| match pace {
        Pace::Move(number) => number.to_string(),
        Pace::Wait(time) => match time.parts() {
            (over, 1) => format!("w{over}"),
            (over, under) => format!("w{over}~{under}"),
        },
        Pace::Typed(text, ..) => text.clone(),
    };
    paces.iter().map(pace).collect::<Vec<_>>().join(".")
}

/// Walks as far as the path leads: how far that is, and why not further.
fn follow(walk: &mut Simulation<'_>, model: &Model, paces: &[Pace]) -> (usize, Option<String>) {
    for (at, pace) in paces.iter().enumerate() {
        match pace {
            Pace::Typed(_, place, value) => {
                let Some(state) = walk.state() else {
                    return (at, Some("there is no state yet".into()));
                };
                match with_typed_value(model, state, place, value) {
                    Ok(state) => walk.begin_at(state),
                    Err(why) => return (at, Some(why)),
                }
            }
            Pace::Wait(time) => {
                if !walk.wait(*time) {
                    return (at, Some(format!("{time} time units may not pass there")));
                }
            }
            Pace::Move(number) => {
                let moves = walk.moves();
                let Some(next) = moves.get(*number) else {
                    return (at, Some(format!("there is no move {number} there, but {}", moves.len())));
                };
                if let Err(fault) = &next.result {
                    let name = move_name(model, walk.state(), next);
                    return (at, Some(format!("{name} ends in an error: {}", fault.kind)));
                }
                walk.take(next);
            }
        }
    }
    (paces.len(), None)
}

impl Studio {
    /// Where a path leads: the state, what may happen there, what may not and why.
    pub(crate) fn walk(&self, given: &mut Arguments) -> Call {
        let watch = given.watch()?;
        let call = ModelCall::take(&self.folder, given)?;
        let paces = parse(&given.text("path")?.unwrap_or_default())?;
        let watched = given.list("watch")?;
        let level = given.number("level", 3)?.unwrap_or(0);
        given.end()?;
        let session = self.session(&call)?;
        let watched = watched.iter().map(|text| (text.clone(), shoal::ask(session.loaded(), text)));
        let watched: Vec<_> = watched.collect();
        let mut answer = under(&watch, || {
            let model = &session.loaded().model;
            let mut walk = Simulation::new(model, 0)?;
            let (reached, why) = follow(&mut walk, model, &paces);
            let mut answer =
                look(&session, &walk, StoryDetail::of(level as u8).unwrap_or(StoryDetail::Steps));
            answer["path"] = json!(written(&paces[..reached]));
            answer["left"] = json!(paces.len() - reached);
            answer["why_left"] = json!(why);
            let value = |(text, asked): &(String, Result<shoal::Asked, Error>)| {
                let value = match (asked, walk.state()) {
                    (Err(error), _) => json!({ "error": why_not(error) }),
                    (Ok(_), None) => json!({ "error": "there is no state yet" }),
                    (Ok(asked), Some(state)) => match asked.value(state) {
                        Ok(value) => json!({ "value": model.show(&value).to_string() }),
                        Err(fault) => json!({ "error": fault.kind.to_string() }),
                    },
                };
                json!({ "expression": text, "result": value })
            };
            answer["watched"] = watched.iter().map(value).collect();
            Ok(answer)
        })?;
        answer["hash"] = json!(call.hash());
        answer["file"] = json!(call.file);
        object(answer)
    }

    /// Goes on: at random, to the nearest state where an expression holds, or to the nearest step of a rule.
    pub(crate) fn walk_on(&self, given: &mut Arguments) -> Call {
        let watch = given.watch()?;
        let call = ModelCall::take(&self.folder, given)?;
        let mut paces = parse(&given.text("path")?.unwrap_or_default())?;
        let (until, fires) = (given.text("until")?, given.text("fires")?);
        let stops = given.list("stops")?;
        let seed = given.number("seed", u64::MAX)?.unwrap_or(0);
        let steps = given.number("steps", LONGEST as u64)?.unwrap_or(20);
        given.end()?;
        let session = self.session(&call)?;
        let model = &session.loaded().model;
        let asked = until.map(|text| shoal::ask(session.loaded(), &text)).transpose()?;
        if asked.as_ref().is_some_and(|asked| !asked.is_condition()) {
            return Err(CallError::from("that is no condition".to_string()));
        }
        let fires = fires.map(|name| rule_named(model, &name)).transpose()?;
        let stops = stops.iter().map(|name| rule_named(model, name)).collect::<Result<Vec<_>, _>>()?;
        let (found, note) = under(&watch, || {
            let mut walk = Simulation::new(model, seed)?;
            let (reached, why) = follow(&mut walk, model, &paces);
            paces.truncate(reached);
            if let Some(why) = why {
                return Ok((false, why));
            }
            begin(&mut walk, &mut paces);
            Ok(match (fires, asked) {
                (Some(rule), _) => seek(&walk, &mut paces, WalkGoal::Fires(rule)),
                (None, Some(asked)) => {
                    seek(&walk, &mut paces, WalkGoal::Holds(&mut |state| asked.holds(state)))
                }
                (None, None) => wander(&mut walk, &mut paces, steps, &stops),
            })
        })?;
        object(json!({ "path": written(&paces), "found": found, "note": note }))
    }

    /// The walk that a run is up to a row, and with which values of constants.
    pub(crate) fn walk_of(&self, id: &str, row: Option<&str>) -> Call {
        let open = self.trace(id)?;
        open.needs_model()?;
        let row = match row {
            None => open.trace.steps.len(),
            Some(row) => row.parse().map_err(|_| "the row is a number".to_string())?,
        };
        let Some(saved) = open.saved() else {
            return Err(CallError::new(409, "not-yet", "the check is not over yet"));
        };
        let set: Json = saved.origin().set.into_iter().map(|(name, value)| (name, json!(value))).collect();
        let watch = Watch::start(shoal::Limits {
            time: Some(std::time::Duration::from_secs(30)),
            ..Default::default()
        });
        let model = open.loaded().model.sized_as(&open.trace.state);
        let paces = under(&watch, || paces_of(&model, &open.trace, row))?;
        object(json!({ "file": open.file(), "set": set, "path": written(&paces) }))
    }
}

/// The walk from a start state along some steps of a graph; nothing if its nodes are not what moves lead to.
pub(crate) fn path_of(model: &Model, graph: &ModelGraph, start: usize, way: &[usize]) -> Option<String> {
    if way.len() >= LONGEST {
        return None;
    }
    let mut walk = Simulation::new(model, 0).ok()?;
    let mut paces = Vec::new();
    let nodes = std::iter::once(start).chain(way.iter().map(|edge| graph.edges[*edge].to));
    for (at, node) in nodes.enumerate() {
        let edge = at.checked_sub(1).map(|at| &graph.edges[way[at]]);
        let moves = walk.moves();
        let is_it = |next: &Move| {
            let step =
                edge.is_none_or(|edge| next.what == MoveKind::Rule(edge.rule) && next.args == edge.args);
            step && next.result.as_ref() == Ok(&graph.nodes[node])
        };
        let number = moves.iter().position(is_it)?;
        walk.take(&moves[number]);
        paces.push(Pace::Move(number));
    }
    Some(written(&paces))
}

/// The run that a walk is.
pub(crate) fn run_of(loaded: &Loaded, path: &str, watch: &Watch) -> Result<Trace, CallError> {
    let paces = parse(path)?;
    under(watch, || {
        let mut walk = Simulation::new(&loaded.model, 0)?;
        let (_, why) = follow(&mut walk, &loaded.model, &paces);
        match (why, walk.trace()) {
            (Some(why), _) => Err(CallError::new(422, "not-possible", why)),
            (None, Some(trace)) => Ok(trace.clone()),
            (None, None) => Err(CallError::new(422, "not-possible", "the walk has not begun")),
        }
    })
}

/// Works as long as a watch allows.
fn under<T>(watch: &Watch, work: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
    shoal::under(watch, work).map_err(Error::Stopped)?
}

/// Why an expression has no value.
fn why_not(error: &Error) -> String {
    match error {
        Error::Source(rejected) => {
            rejected.diagnostics.iter().next().map_or_else(String::new, |first| first.message.clone())
        }
        other => other.to_string(),
    }
}

/// A model with one start begins there.
fn begin(walk: &mut Simulation<'_>, paces: &mut Vec<Pace>) {
    if walk.state().is_some() {
        return;
    }
    if let Some((at, first)) = walk.moves().iter().enumerate().find(|(_, next)| next.result.is_ok()) {
        walk.take(first);
        paces.push(Pace::Move(at));
    }
}

/// The rule with a name.
fn rule_named(model: &Model, name: &str) -> Result<RuleId, CallError> {
    let found = model.rules.enumerate().find(|(_, rule)| rule.name == name).map(|(id, _)| id);
    found.ok_or_else(|| CallError::from(format!("there is no rule {name:?}")))
}

/// Goes to the nearest place where a goal is reached.
fn seek(walk: &Simulation<'_>, paces: &mut Vec<Pace>, goal: WalkGoal<'_>) -> (bool, String) {
    match walk.find(goal, MOST_STATES) {
        (Some(numbers), looked) => {
            paces.extend(numbers.into_iter().map(Pace::Move));
            (true, format!("the nearest of {looked} states"))
        }
        (None, looked) if looked >= MOST_STATES => (false, format!("not among the nearest {looked} states")),
        (None, looked) => (false, format!("in none of the {looked} states that these moves lead to")),
    }
}

/// Goes on at random, until after a step of one of some rules.
fn wander(walk: &mut Simulation<'_>, paces: &mut Vec<Pace>, steps: u64, stops: &[RuleId]) -> (bool, String) {
    for made in 0..steps {
        let mut moves = walk.moves();
        let numbers: Vec<usize> = (0..moves.len()).filter(|at| moves[*at].result.is_ok()).collect();
        moves.retain(|next| next.result.is_ok());
        let Some(chosen) = walk.choose(&moves) else {
            return (true, format!("after {made} moves there is none left"));
        };
        let next = &moves[chosen];
        walk.take(next);
        paces.push(Pace::Move(numbers[chosen]));
        if let MoveKind::Rule(rule) = next.what
            && stops.contains(&rule)
        {
            let name = instance_name(walk.model(), rule, &next.args);
            return (true, format!("stopped after {name}, move {} at random", made + 1));
        }
    }
    (true, format!("{steps} moves at random"))
}

/// A run as a walk.
fn paces_of(model: &Model, trace: &Trace, row: usize) -> Result<Vec<Pace>, CallError> {
    let mut walk = Simulation::new(model, 0)?;
    let cannot = |at: usize| {
        CallError::new(422, "not-possible", format!("step {at} is none of the moves that are offered"))
    };
    let starts = walk.moves();
    let is_start = |next: &Move| next.result.as_ref() == Ok(&trace.state);
    let first = starts.iter().position(is_start).ok_or_else(|| cannot(0))?;
    walk.take(&starts[first]);
    let mut paces = vec![Pace::Move(first)];
    for (at, step) in trace.steps.iter().take(row).enumerate() {
        let step: &Step = step;
        let (wait, number) = walk.number_of(step).ok_or_else(|| cannot(at + 1))?;
        if wait != Ratio::ZERO {
            paces.push(Pace::Wait(wait));
            walk.wait(wait);
        }
        paces.push(Pace::Move(number));
        let moves = walk.moves();
        walk.take(moves.get(number).ok_or_else(|| cannot(at + 1))?);
    }
    Ok(paces)
}

/// What there is to see where a walk has come to.
fn look(session: &Session, walk: &Simulation<'_>, level: StoryDetail) -> Json {
    let loaded = session.loaded();
    let model = &loaded.model;
    let state = walk.state();
    let moves = walk.moves();
    let findings = walk.findings(&loaded.asked);
    let disabled: Vec<Json> = walk
        .disabled()
        .iter()
        .map(|it| {
            let reads: Vec<Json> = it
                .why
                .reads
                .iter()
                .map(|(name, value)| json!({ "place": name, "value": model.show(value).to_string() }))
                .collect();
            let not = if it.why.value { "not " } else { "" };
            json!({
                "label": instance_name(model, it.rule, &it.args),
                "rule": model.rules[it.rule].name,
                "text": format!("{not}{}", one_line(&it.why.text)),
                "reads": reads,
                "range": range_as_json(&loaded.sources, it.why.span),
            })
        })
        .collect();
    let story = walk.trace().and_then(|trace| shoal::tell_walk(loaded, trace));
    let before = walk.trace().and_then(|trace| trace.states().nth(trace.steps.len().checked_sub(1)?));
    let last = walk.trace().and_then(|trace| trace.steps.last()).map(|step| step.rule);
    let standing = story.as_ref().zip(state).map(|(told, state)| standing_as_json(&told.story, state, last));
    json!({
        "steps": walk.trace().map(|trace| trace.steps.len()),
        "waited": walk.waited().to_string(),
        "state": state.map(|state| state_as_json(model, before, state)),
        "moves": offered(loaded, walk, &moves),
        "more_moves": moves.len().saturating_sub(MOST_MOVES),
        "disabled": disabled,
        "findings": findings.iter().map(|(property, reason)| finding(loaded, *property, reason)).collect::<Vec<_>>(),
        "moments": walk.moments().iter().take(200).map(|moment| json!(moment.to_string())).collect::<Vec<_>>(),
        "standing": standing,
        "story": story.map(|told| story_as_json(&told.model, &loaded.sources, &told.story, level)),
    })
}

fn finding(loaded: &Loaded, property: PropertyId, reason: &Reason) -> Json {
    json!({ "name": loaded.model.properties[property].name, "reason": reason_in_words(&loaded.model, &loaded.sources, reason) })
}

/// The moves, with what each changes and whether something is wrong after it.
fn offered(loaded: &Loaded, walk: &Simulation<'_>, moves: &[Move]) -> Vec<Json> {
    let model = &loaded.model;
    let shown = &moves[..moves.len().min(MOST_MOVES)];
    let ahead = LOOKED_AHEAD.min(MOVES_AHEAD / moves.len().max(1));
    let symmetry = shoal::symmetry_of_steps(model);
    let symmetric: Vec<_> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    let alike = walk.alike(shown, &symmetric);
    let directions = Directions::of(&loaded.sources);
    let lanes = walk.trace().map(|trace| Lanes::of(model, trace, &directions));
    let visited: Vec<&State> = walk.trace().into_iter().flat_map(Trace::states).collect();
    let one = |(at, next): (usize, &Move)| {
        let lane = match (&lanes, next.what) {
            (Some(lanes), MoveKind::Rule(rule)) => {
                Some(lanes.lanes()[lanes.actor(model, rule, &next.args)].name.clone())
            }
            _ => None,
        };
        let (effect, fault, wrong, same) = match &next.result {
            Err(fault) => (Vec::new(), Some(fault.kind.to_string()), Vec::new(), None),
            Ok(after) => {
                let effect = walk.state().map(|before| changes(model, before, after)).unwrap_or_default();
                let wrong = match at < ahead {
                    true => {
                        let found = walk.findings_in(after, &loaded.asked);
                        found.iter().map(|(property, _)| model.properties[*property].name.clone()).collect()
                    }
                    false => Vec::new(),
                };
                let effect: Vec<String> = effect.iter().map(ToString::to_string).collect();
                (effect, None, wrong, visited.iter().position(|known| *known == after))
            }
        };
        let rule = match next.what {
            MoveKind::Rule(rule) => Some(&model.rules[rule].name),
            MoveKind::Start(_) => None,
        };
        json!({
            "index": at,
            "label": move_name(model, walk.state(), next),
            "rule": rule,
            "lane": lane,
            "like": alike[at],
            "changes": effect,
            "fault": fault,
            "violates": wrong,
            "same_as": same,
            "delay": next.delay.to_string(),
            "output": next.output,
        })
    };
    shown.iter().enumerate().map(one).collect()
}
