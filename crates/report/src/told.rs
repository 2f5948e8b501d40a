//! A story as JSON, for those who draw it: what is in a picture is decided here, where it is drawn there.

use serde_json::{Value as Json, json};
use shoal_model::{Model, Ratio, State, Trace};
use shoal_story::{Arrow, Change, LaneKind, Obstacle, Story, Target};
use shoal_syntax::{SourceMap, Span};

use crate::{
    Level, instance_name,
    lanes::{Block, Page, blocks},
    one_line, render_state,
};

/// A part of a source, from its first character to behind its last.
pub fn range_as_json(sources: &SourceMap, span: Span) -> Json {
    let file = sources.file(span.source);
    let (from, to) = (file.position(span.start), file.position(span.end.max(span.start)));
    json!({ "file": file.name(), "line": from.line, "column": from.column, "end_line": to.line, "end_column": to.column })
}

/// A story, folded as a level says: lanes, blocks of rows with their lines, messages, and how it ends.
pub fn story_as_json(model: &Model, sources: &SourceMap, story: &Story, level: Level) -> Json {
    let page = Page::new(model, story, level, usize::MAX);
    let busy = story.busy();
    let lane = |(at, lane): (usize, &shoal_story::Lane)| {
        let kind = match lane.kind {
            LaneKind::Part => "part",
            LaneKind::Shared => "shared",
        };
        json!({ "name": lane.name, "kind": kind, "family": lane.family, "busy": busy[at] })
    };
    let number = |arrow: &Arrow| story.arrows.iter().position(|known| std::ptr::eq(known, arrow));
    let block = |block: &Block<'_>| {
        let (kind, numbers, relevant) = match block {
            Block::Step(row) => ("step", vec![row.number], row.relevant),
            Block::Moves(rows) | Block::Turn(rows) => {
                let kind = if matches!(block, Block::Moves(_)) { "moves" } else { "turn" };
                let numbers = rows.iter().map(|row| row.number).collect();
                (kind, numbers, rows.iter().any(|row| row.relevant))
            }
            Block::Left(count) => ("left", vec![0; *count], false),
        };
        let cell = |cell: &crate::lanes::Cell<'_>| json!({ "lane": cell.lane, "text": cell.text, "arrow": cell.arrow.and_then(number) });
        // A line each: what a turn sends may be what matters.
        let telling: Vec<Block<'_>> = match block {
            Block::Turn(rows) => rows.iter().filter(|row| !row.local).map(|row| Block::Step(row)).collect(),
            Block::Step(_) | Block::Moves(_) | Block::Left(_) => Vec::new(),
        };
        let cells: Vec<Json> = match telling.is_empty() {
            true => page.cells(block).iter().map(cell).collect(),
            false => telling.iter().flat_map(|step| page.cells(step)).map(|it| cell(&it)).collect(),
        };
        json!({ "kind": kind, "first": numbers.first(), "last": numbers.last(), "count": numbers.len(), "relevant": relevant, "cells": cells })
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
        "blocks": blocks(story, level).iter().map(block).collect::<Vec<_>>(),
        "arrows": story.arrows.iter().map(arrow).collect::<Vec<_>>(),
        "steps": story.rows.len(),
        "loops_to": story.loops_to,
        "ending": ending,
        "bystanders": story.bystanders.iter().map(|group| group.text(story)).collect::<Vec<_>>(),
        "strange": story.strange,
    })
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
            json!({ "number": 0, "rule": crate::start_name(model, trace.start, &trace.args), "lane": null, "range": range_as_json(sources, model.starts[trace.start].span), "delay": null,
                "changes": [], "takes": [], "sends": [], "output": [], "relevant": true, "state": state_as_json(model, None, state) })
        });
    };
    let change = |change: &Change| json!({ "lane": change.lane, "path": change.path, "old": change.old, "new": change.new });
    let (taken, sent) = story.messages(number);
    let labels = |arrows: Vec<&Arrow>| arrows.iter().map(|arrow| json!(arrow.label)).collect::<Vec<_>>();
    Some(json!({
        "number": number,
        "rule": instance_name(model, row.rule, &row.args),
        "lane": row.lane,
        "range": range_as_json(sources, row.span),
        "delay": (row.delay != Ratio::ZERO).then(|| row.delay.to_string()),
        "changes": row.changes.iter().map(change).collect::<Vec<_>>(),
        "takes": labels(taken),
        "sends": labels(sent),
        "output": row.output,
        "relevant": row.relevant,
        "state": state_as_json(model, before, state),
    }))
}

/// A state, a part of it at a time, with whether it differs from the state before.
pub fn state_as_json(model: &Model, before: Option<&State>, state: &State) -> Json {
    let before: Option<Vec<String>> = before.map(|before| render_state(model, before));
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
