//! A story as JSON, for those who draw it: what is in a picture is decided here, where it is drawn there.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};
use shoal_model::{Model, Ratio, RuleId, State, Trace};
use shoal_story::{
    Arrow, Because, Change, ClockLine, LaneKind, Moment, Obstacle, Story, Target, Template, Way, because,
};
use shoal_syntax::{SourceMap, Span};

use crate::{
    LabelledGraph, StoryDetail, instance_name,
    lanes::{Page, RowBlock, blocks},
    names::bare_name,
    one_line, picture_as_json, render_state,
};

/// Clocks of longer runs, and more clocks than this, are not drawn.
const MOST_MOMENTS: usize = 4_000;
const MOST_CLOCKS: usize = 24;

/// A part of a source, from its first character to behind its last.
pub fn range_as_json(sources: &SourceMap, span: Span) -> Json {
    let file = sources.file(span.source);
    let (from, to) = (file.position(span.start), file.position(span.end.max(span.start)));
    json!({ "file": file.name(), "line": from.line, "column": from.column, "end_line": to.line, "end_column": to.column })
}

/// Where a step stands in the source; nothing if there is none.
fn place_as_json(sources: &SourceMap, span: Span) -> Json {
    match sources.file(span.source).text() {
        "" => Json::Null,
        _ => range_as_json(sources, span),
    }
}

/// A story, folded as a level says: lanes, blocks of rows with their lines, messages, and how it ends.
pub fn story_as_json(model: &Model, sources: &SourceMap, story: &Story, level: StoryDetail) -> Json {
    let page = Page::of_cells(model, story, level, usize::MAX);
    let numbers: HashMap<*const Arrow, usize> =
        story.arrows.iter().enumerate().map(|(at, arrow)| (std::ptr::from_ref(arrow), at)).collect();
    let number = |arrow: &Arrow| numbers.get(&std::ptr::from_ref(arrow)).copied();
    let block = |block: &RowBlock<'_>| {
        let (kind, numbers, relevant) = match block {
            RowBlock::Step(row) => ("step", vec![row.number], row.relevant),
            RowBlock::Moves(rows) | RowBlock::Turn(rows) => {
                let kind = if matches!(block, RowBlock::Moves(_)) { "moves" } else { "turn" };
                let numbers = rows.iter().map(|row| row.number).collect();
                (kind, numbers, rows.iter().any(|row| row.relevant))
            }
            RowBlock::Left(count) => ("left", vec![0; *count], false),
        };
        let cell = |cell: &crate::lanes::LaneCell<'_>| json!({ "lane": cell.lane, "text": cell.text, "arrow": cell.arrow.and_then(number) });
        // A line each: what a turn sends may be what matters.
        let telling: Vec<RowBlock<'_>> = match block {
            RowBlock::Turn(rows) => {
                rows.iter().filter(|row| !row.local).map(|row| RowBlock::Step(row)).collect()
            }
            RowBlock::Step(_) | RowBlock::Moves(_) | RowBlock::Left(_) => Vec::new(),
        };
        let cells: Vec<Json> = match telling.is_empty() {
            true => page.cells(block).iter().map(cell).collect(),
            false => telling.iter().flat_map(|step| page.cells(step)).map(|it| cell(&it)).collect(),
        };
        json!({ "kind": kind, "first": numbers.first(), "last": numbers.last(), "count": numbers.len(), "relevant": relevant, "cells": cells })
    };
    let blocks: Vec<Json> = blocks(story, level).iter().map(block).collect();
    let told = told_lanes(story, &blocks);
    let lane = |(at, lane): (usize, &shoal_story::Lane)| {
        let kind = match lane.kind {
            LaneKind::Part => "part",
            LaneKind::Shared => "shared",
        };
        json!({ "name": lane.name, "kind": kind, "family": lane.family, "busy": told.contains(&(at as u64)) })
    };
    let ending = story.ending.as_ref().map(|ending| {
        let standing = ending.standing.iter().map(|standing| {
            let obstacles: Vec<Json> = standing.obstacles.iter().map(|it| obstacle(sources, it)).collect();
            json!({ "place": standing.place, "obstacles": obstacles })
        });
        json!({ "standing": standing.collect::<Vec<_>>(), "at": ending.at })
    });
    json!({
        "lanes": story.lanes.iter().enumerate().map(lane).collect::<Vec<_>>(),
        "blocks": blocks,
        "arrows": story.arrows.iter().map(arrow).collect::<Vec<_>>(),
        "steps": story.rows.len(),
        "loops_to": story.loops_to,
        "ending": ending,
        "bystanders": story.bystanders.iter().map(|group| group.text(story)).collect::<Vec<_>>(),
        "strange": story.strange,
        "clocks": clocks(story),
        "templates": story.templates.iter().map(|it| template(model, sources, it)).collect::<Vec<_>>(),
    })
}

/// The lanes of which something is told: in a line, at the end of a message that nobody takes, or where it goes wrong.
fn told_lanes(story: &Story, blocks: &[Json]) -> HashSet<u64> {
    let cells = blocks.iter().filter_map(|block| block["cells"].as_array()).flatten();
    let waited_for = story.arrows.iter().filter_map(|arrow| match arrow.to {
        Target::InFlight(lane) => lane,
        Target::Taken(..) | Target::Lost(_) => None,
    });
    let ends = story.ending.as_ref().and_then(|ending| ending.at);
    let lanes = waited_for.chain(ends).map(|lane| lane as u64);
    cells.filter_map(|cell| cell["lane"].as_u64()).chain(lanes).collect()
}

/// What the clocks show: pairs of the time and what is shown then, at the start and before and after each step.
fn clocks(story: &Story) -> Vec<Json> {
    let moment =
        |moment: &Moment| json!([moment.time.to_string(), moment.shows.map(|shows| shows.to_string())]);
    let line = |line: &ClockLine| json!({ "name": line.name, "compared": line.compared, "moments": line.moments.iter().map(moment).collect::<Vec<_>>() });
    let short = story.clocks.iter().filter(|line| line.moments.len() <= MOST_MOMENTS);
    short.take(MOST_CLOCKS).map(line).collect()
}

/// Parts that are alike, as the picture of an automaton. Ways are its edges, in the same order.
fn template(model: &Model, sources: &SourceMap, template: &Template) -> Json {
    let label = |way: &Way| {
        let mut names: Vec<String> =
            way.rules.iter().map(|rule| label_of(model, sources, *rule, &template.places)).collect();
        names.sort();
        names.dedup();
        names.retain(|name| !name.is_empty());
        names.join(" or ")
    };
    let graph = LabelledGraph {
        name: template.name.clone(),
        nodes: template.places.clone(),
        starts: vec![0],
        edges: template.ways.iter().map(|way| (way.from, label(way), way.to)).collect(),
    };
    json!({ "name": template.name, "lanes": template.lanes().collect::<Vec<_>>(), "picture": picture_as_json(&graph) })
}

/// What stands at a way: the name of the rule; where that only says from where to where, what has to hold.
fn label_of(model: &Model, sources: &SourceMap, rule: RuleId, places: &[String]) -> String {
    let rule = &model.rules[rule];
    if !rule.name.contains(" -> ") {
        return bare_name(&rule.name).to_string();
    }
    const LONGEST: usize = 40;
    let parts = rule.guard.iter().flat_map(|guard| guard.conjuncts());
    let mut texts: Vec<String> = parts.map(|part| one_line(sources.snippet(part.span))).collect();
    texts.dedup();
    // Where it stands is drawn.
    let says = |text: &String| !text.eq_ignore_ascii_case("true") && !places.contains(text);
    texts.retain(|text| (1..=LONGEST).contains(&text.chars().count()) && says(text));
    texts.join(" and ")
}

/// How many parts of each kind stand at each place in a state, and by which ways a rule may have brought them there.
pub fn standing_as_json(story: &Story, state: &State, rule: Option<RuleId>) -> Json {
    let one = |template: &Template| {
        let goes =
            |(at, way): (usize, &Way)| rule.is_some_and(|rule| way.rules.contains(&rule)).then_some(at);
        json!({ "counts": template.counts(state), "ways": template.ways.iter().enumerate().filter_map(goes).collect::<Vec<_>>() })
    };
    story.templates.iter().map(one).collect()
}

fn obstacle(sources: &SourceMap, obstacle: &Obstacle) -> Json {
    let read = |(name, value): &(String, String)| json!({ "place": name, "value": value });
    json!({
        "text": obstacle.text,
        "reads": obstacle.reads.iter().map(read).collect::<Vec<_>>(),
        "range": range_as_json(sources, obstacle.span),
    })
}

fn arrow(arrow: &Arrow) -> Json {
    let (kind, row, lane) = match arrow.to {
        Target::Taken(row, lane) => ("taken", Some(row), Some(lane)),
        Target::InFlight(lane) => ("in flight", None, lane),
        Target::Lost(row) => ("lost", Some(row), None),
    };
    json!({ "label": arrow.label, "from_row": arrow.from.0, "from_lane": arrow.from.1, "kind": kind, "to_row": row, "to_lane": lane })
}

/// One row of a story, in full: what fired, what it changed, and the whole state after it. Row 0 is the start. Nothing if there
/// is no such row.
pub fn row_as_json(
    model: &Model,
    sources: &SourceMap,
    story: &Story,
    trace: &Trace,
    number: usize,
) -> Option<Json> {
    let state = trace.states().nth(number)?;
    let before = number.checked_sub(1).and_then(|before| trace.states().nth(before));
    let Some(row) = number.checked_sub(1).and_then(|at| story.rows.get(at)) else {
        return (number == 0).then(|| {
            json!({ "number": 0, "rule": crate::start_name(model, trace.start, &trace.args), "lane": null, "range": place_as_json(sources, model.starts[trace.start].span), "delay": null,
                "changes": [], "takes": [], "sends": [], "output": [], "relevant": true, "because": [], "state": state_as_json(model, None, state), "standing": standing_as_json(story, state, None) })
        });
    };
    let variable = |change: &Change| change.cell.as_ref().map(|cell| model.vars[cell.var].name.as_str());
    let change = |change: &Change| json!({ "lane": change.lane, "path": change.path, "variable": variable(change), "old": change.old, "new": change.new });
    let reason = |it: &Because| json!({ "place": it.place, "value": it.value, "row": it.row });
    let (taken, sent) = story.messages(number);
    let labels = |arrows: Vec<&Arrow>| arrows.iter().map(|arrow| json!(arrow.label)).collect::<Vec<_>>();
    Some(json!({
        "number": number,
        "rule": instance_name(model, row.rule, &row.args),
        "lane": row.lane,
        "range": place_as_json(sources, row.span),
        "delay": (row.delay != Ratio::ZERO).then(|| row.delay.to_string()),
        "changes": row.changes.iter().map(change).collect::<Vec<_>>(),
        "takes": labels(taken),
        "sends": labels(sent),
        "output": row.output,
        "relevant": row.relevant,
        "because": because(model, trace, number).iter().map(reason).collect::<Vec<_>>(),
        "state": state_as_json(model, before, state),
        "standing": standing_as_json(story, state, Some(row.rule)),
    }))
}

/// A state, a part of it at a time, with whether it differs from the state before.
pub fn state_as_json(model: &Model, before: Option<&State>, state: &State) -> Json {
    let before: Option<HashSet<String>> =
        before.map(|before| render_state(model, before).into_iter().collect());
    let part = |line: &String| {
        let (place, value) = line.split_once(" = ").unwrap_or((line, ""));
        let changed = before.as_ref().is_some_and(|before| !before.contains(line));
        json!({ "place": place, "value": value, "changed": changed })
    };
    render_state(model, state).iter().map(part).collect()
}

/// The part of a condition that is to blame for a violation.
pub fn blame_as_json(model: &Model, sources: &SourceMap, cause: &shoal::Blame) -> Json {
    let pairs = |pairs: &[(String, shoal_model::Value)]| -> Vec<Json> {
        pairs
            .iter()
            .map(|(name, value)| json!({ "place": name, "value": model.show(value).to_string() }))
            .collect()
    };
    json!({
        "text": one_line(sources.snippet(cause.span)),
        "range": range_as_json(sources, cause.span),
        "bindings": pairs(&cause.bindings),
        "reads": pairs(&cause.reads),
    })
}
