//! A run told by who does what.
//!
//! A [`Story`] is made once of a run, and every picture of the run is drawn from it: lanes as text, sequence diagrams,
//! pages. It says whose each step is and whose each change (`lanes`), which changes are messages and where they are
//! taken (`arrows`), which steps what is wrong at the end hangs on (`relevance`), and who stands where at the end
//! and why it cannot move (`ending`). Nothing of it needs a word in the model.
//!
//! It is plain data: no format is made here.
#![deny(missing_docs)]

mod align;
mod arrows;
mod because;
mod changes;
mod clocks;
mod crowds;
mod directions;
mod ending;
mod infer;
mod lanes;
mod layout;
mod relevance;
mod templates;
mod values;

use shoal_interpret::{Blame, Instance, Interpreter};
use shoal_model::{Model, PropertyId, Ratio, Reason, RuleId, SortId, Trace, Value};
use shoal_syntax::Span;

pub use align::{Beside, align};
pub use because::{Because, because};
pub use changes::{Change, ChangeKind};
pub use clocks::{ClockLine, Moment, clocks_of};
pub use crowds::Bystanders;
pub use directions::{Directions, is_direction};
pub use ending::{Ending, Obstacle, Standing};
pub use lanes::{Lane, LaneKind, Lanes, ObservedParts};
pub use layout::{GraphLayout, LayoutGraph, layout};
pub use templates::{Template, Way, templates};
pub use values::short_value;

/// A run, told.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Who there is: first the parts, then what they share.
    pub lanes: Vec<Lane>,
    /// What happens, a row a step.
    pub rows: Vec<Row>,
    /// The messages.
    pub arrows: Vec<Arrow>,
    /// Of an infinite run: after the last row it goes on with the row after this one (0 is the start).
    pub loops_to: Option<usize>,
    /// What is wrong at the end, and where everybody stands; nothing if nothing is wrong.
    pub ending: Option<Ending>,
    /// The parts that nothing happens to and that can be exchanged for each other, by where they stand.
    pub bystanders: Vec<Bystanders>,
    /// What the clocks show, step by step.
    pub clocks: Vec<ClockLine>,
    /// Where the parts can stand.
    pub templates: Vec<Template>,
    /// Comments of the model on how to tell its runs that could not be followed.
    pub strange: Vec<String>,
    /// The rows in which messages are taken, with their numbers, in order.
    taken: Vec<(usize, usize)>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number; the first step is 1.
    pub number: usize,
    /// Whose step it is.
    pub lane: usize,
    /// Time that passes before it.
    pub delay: Ratio,
    /// The rule.
    pub rule: RuleId,
    /// The values of its parameters.
    pub args: Vec<Value>,
    /// Where it stands in the source.
    pub span: Span,
    /// What it changes, messages left out.
    pub changes: Vec<Change>,
    /// What it puts out.
    pub output: Vec<String>,
    /// Whether it only moves the place where its part stands.
    pub local: bool,
    /// Whether what is wrong at the end hangs on it.
    pub relevant: bool,
}

/// A message, from the step that sends it to the one that takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// The number of the row that sends it, and whose that is.
    pub from: (usize, usize),
    /// Where it goes.
    pub to: Target,
    /// What it says.
    pub label: String,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is taken in this row by this lane.
    Taken(usize, usize),
    /// Nobody takes it before the end; this lane could, if it is known.
    InFlight(Option<usize>),
    /// Another is written over it in this row.
    Lost(usize),
}

/// What a run shows: the property and what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Wrong<'a> {
    /// The property.
    pub property: PropertyId,
    /// What is wrong at the end.
    pub reason: &'a Reason,
    /// The parts of the condition that are to blame.
    pub causes: &'a [Blame],
}

/// How a run is to be told.
#[derive(Clone, Copy, Debug)]
pub struct Telling<'a> {
    /// What the author of the model asks for.
    pub directions: &'a Directions,
    /// The sorts whose elements are proved to be exchangeable.
    pub symmetric: &'a [SortId],
    /// What the run shows, if it shows anything wrong.
    pub wrong: Option<Wrong<'a>>,
}

/// Tells a run. The model has as many elements as the run; nothing if it cannot be run.
pub fn tell(model: &Model, trace: &Trace, telling: Telling<'_>) -> Option<Story> {
    told(model, trace, Lanes::of(model, trace, telling.directions), telling)
}

/// Tells a run of which only the states are known. The rules of the model say what its steps are called, and do nothing.
pub fn tell_observed(model: &Model, trace: &Trace, parts: &ObservedParts) -> Option<Story> {
    let telling = Telling { directions: &Directions::default(), symmetric: &[], wrong: None };
    told(model, trace, Lanes::observed(model, trace, parts), telling)
}

fn told(model: &Model, trace: &Trace, lanes: Lanes, telling: Telling<'_>) -> Option<Story> {
    let Telling { directions, symmetric, wrong } = telling;
    let interpreter = Interpreter::new(model).ok()?;
    let mut mail = arrows::Mail::new(&lanes);
    let (mut rows, mut syncs) = (Vec::new(), Vec::new());
    for (number, (step, before)) in trace.steps.iter().zip(trace.states()).enumerate() {
        let lane = lanes.actor(model, step.rule, &step.args);
        // Clocks that only went on are not changed by the step.
        let waited = interpreter.delay(before, step.delay);
        let before = waited.as_ref().unwrap_or(before);
        let mut found = changes::between(model, &lanes, before, &step.state);
        leave_out_births_and_deaths(&lanes, &mut found);
        let changes = mail.sort_out(model, number + 1, lane, found);
        together(model, number + 1, lane, step.rule, &changes, &mut syncs);
        let instance = Instance { rule: step.rule, args: step.args.clone() };
        let branch = interpreter.fire_with(before, &instance, &step.choices);
        rows.push(Row {
            number: number + 1,
            lane,
            delay: step.delay,
            rule: step.rule,
            args: step.args.clone(),
            span: model.place_of(step.rule, &step.args),
            local: false,
            relevant: true,
            output: branch.map(|branch| branch.output).unwrap_or_default(),
            changes,
        });
    }
    let mut arrows = mail.finish(model);
    arrows.append(&mut syncs);
    arrows.sort_by_key(|arrow| arrow.from);
    let mut speaks = vec![false; rows.len() + 1];
    for arrow in &arrows {
        speaks[arrow.from.0] = true;
        if let Target::Taken(at, _) = arrow.to {
            speaks[at] = true;
        }
    }
    for row in &mut rows {
        let moves = |change: &Change| change.kind == ChangeKind::Moved && change.lane == row.lane;
        row.local = row.changes.iter().all(moves) && row.output.is_empty() && !speaks[row.number];
    }
    if let Some(wrong) = wrong {
        relevance::mark(&interpreter, trace, wrong, &mut rows);
    }
    let ending = wrong.map(|wrong| ending::of(&interpreter, &lanes, trace, wrong));
    let mut story = Story {
        lanes: lanes.lanes().to_vec(),
        rows,
        arrows,
        loops_to: trace.loops_to,
        ending,
        bystanders: Vec::new(),
        clocks: clocks::of(&interpreter, trace),
        templates: templates(model, &lanes),
        strange: directions.strange(model),
        taken: Vec::new(),
    };
    let taken = story.arrows.iter().enumerate().filter_map(|(at, arrow)| match arrow.to {
        Target::Taken(row, _) => Some((row, at)),
        Target::InFlight(_) | Target::Lost(_) => None,
    });
    story.taken = taken.collect();
    story.taken.sort_unstable();
    story.bystanders = crowds::of(model, &lanes, trace.last(), &story, symmetric);
    Some(story)
}

/// Parts that move together in one step: a message that is sent and taken at once.
fn together(
    model: &Model,
    row: usize,
    lane: usize,
    rule: RuleId,
    changes: &[Change],
    found: &mut Vec<Arrow>,
) {
    let nowhere = |place: &Option<String>| place.as_deref().is_none_or(|place| place == "-");
    let moves =
        |change: &&Change| change.kind == ChangeKind::Moved && !nowhere(&change.old) && !nowhere(&change.new);
    // The names of such rules name both: `Box: Free -> Taken, Train(0): Halted -> Restart`.
    let names_both = model.rules[rule].name.matches(": ").count() > 1;
    if !names_both || !changes.iter().filter(moves).any(|change| change.lane == lane) {
        return;
    }
    // What is said stands in the names of rules: `A: q!1,x (line 7) -> B: q?y,z (line 9)`.
    let first = model.rules[rule].name.split(" -> ").next().unwrap_or_default();
    let said = first.split_once('!').map_or("sync", |(_, said)| said);
    let label = said.rsplit_once(" (line ").map_or(said, |(said, _)| said).to_string();
    let mut with: Vec<usize> = changes.iter().filter(moves).map(|change| change.lane).collect();
    with.retain(|other| *other != lane);
    with.dedup();
    let arrow = |to: usize| Arrow { from: (row, lane), to: Target::Taken(row, to), label: label.clone() };
    found.extend(with.into_iter().map(arrow));
}

/// A process that begins gets its first values, and one that ends forgets all it knew: neither is anything to tell.
fn leave_out_births_and_deaths(lanes: &Lanes, found: &mut Vec<changes::Raw>) {
    let nowhere = |place: &Option<String>| place.as_deref() == Some("-");
    let ends = |raw: &changes::Raw| {
        raw.change.kind == ChangeKind::Moved && (nowhere(&raw.change.new) || nowhere(&raw.change.old))
    };
    let dead: Vec<usize> = found.iter().filter(|raw| ends(raw)).map(|raw| raw.change.lane).collect();
    let own = |raw: &changes::Raw| {
        let var = raw.change.cell.as_ref().map(|cell| cell.var);
        var.is_some_and(|var| lanes.place(var).is_some()) && dead.contains(&raw.change.lane)
    };
    found.retain(|raw| raw.change.kind == ChangeKind::Moved || !own(raw));
}

impl Story {
    /// The lanes that do something, or that something is done to: the others stay as they were.
    pub fn busy(&self) -> Vec<bool> {
        let mut busy = vec![false; self.lanes.len()];
        for row in &self.rows {
            busy[row.lane] = true;
            row.changes.iter().for_each(|change| busy[change.lane] = true);
        }
        for arrow in &self.arrows {
            busy[arrow.from.1] = true;
            if let Target::Taken(_, lane) | Target::InFlight(Some(lane)) = arrow.to {
                busy[lane] = true;
            }
        }
        busy
    }

    /// The messages that a row takes, then those that it sends.
    pub fn messages(&self, row: usize) -> (Vec<&Arrow>, Vec<&Arrow>) {
        // Both lists are in the order of their rows.
        let first = self.taken.partition_point(|(at, _)| *at < row);
        let taken = self.taken[first..].iter().take_while(|(at, _)| *at == row);
        let from = self.arrows.partition_point(|arrow| arrow.from.0 < row);
        let sent = self.arrows[from..].iter().take_while(|arrow| arrow.from.0 == row);
        (taken.map(|(_, at)| &self.arrows[*at]).collect(), sent.collect())
    }
}

/// The first word of a name as people write them: `home takes`, `SendInv`, `recv_ack`.
pub(crate) fn first_word(name: &str) -> String {
    let mut word = String::new();
    for (at, character) in name.chars().enumerate() {
        let ends = !character.is_alphanumeric() || at > 0 && character.is_uppercase();
        if ends {
            break;
        }
        word.extend(character.to_lowercase());
    }
    word
}
