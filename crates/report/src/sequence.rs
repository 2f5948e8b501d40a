//! A story as a sequence diagram, in the languages of Mermaid and PlantUML.

use std::io::{self, Write};

use shoal_model::{Model, Ratio};
use shoal_story::{Change, ChangeKind, Story, Target};

use crate::{
    instance_name,
    lanes::{RowBlock, StoryDetail, blocks},
};

/// Longer diagrams are not drawn by anybody.
const ROWS: usize = 200;

/// Writes a story in Mermaid's language, which many web pages draw.
pub fn write_mermaid(
    out: &mut dyn Write,
    model: &Model,
    story: &Story,
    level: StoryDetail,
) -> io::Result<()> {
    writeln!(out, "sequenceDiagram\n    autonumber")?;
    let busy = story.busy();
    for (lane, declared) in story.lanes.iter().enumerate().filter(|(lane, _)| busy[*lane]) {
        writeln!(out, "    participant p{lane} as {}", mermaid_text(&declared.name))?;
    }
    for line in lines(model, story, level) {
        match line {
            SequenceLine::Message { from, to, label, open } => {
                let arrow = if open { "-)" } else { "->>" };
                writeln!(out, "    p{from}{arrow}p{to}: {}", mermaid_text(&label))?;
            }
            SequenceLine::Lost { from, label } => {
                writeln!(out, "    p{from}-xp{from}: {}", mermaid_text(&label))?;
            }
            SequenceLine::Note { lane, text } => {
                writeln!(out, "    Note over p{lane}: {}", mermaid_text(&text))?
            }
            SequenceLine::Wait(delay) => {
                if let Some((first, last)) = ends(&busy) {
                    writeln!(out, "    Note over p{first},p{last}: {delay} of time pass")?;
                }
            }
            SequenceLine::Begin => writeln!(out, "    loop again and again")?,
            SequenceLine::End => writeln!(out, "    end")?,
            SequenceLine::Cut(rest) => writeln!(out, "    %% {rest} more steps")?,
        }
    }
    Ok(())
}

/// Writes a story in PlantUML's language.
pub fn write_plantuml(
    out: &mut dyn Write,
    model: &Model,
    story: &Story,
    level: StoryDetail,
) -> io::Result<()> {
    writeln!(out, "@startuml")?;
    let busy = story.busy();
    for (lane, declared) in story.lanes.iter().enumerate().filter(|(lane, _)| busy[*lane]) {
        writeln!(out, "participant \"{}\" as p{lane}", plant_text(&declared.name))?;
    }
    for line in lines(model, story, level) {
        match line {
            SequenceLine::Message { from, to, label, open } => {
                let arrow = if open { "-->>o" } else { "->" };
                writeln!(out, "p{from} {arrow} p{to} : {}", plant_text(&label))?;
            }
            SequenceLine::Lost { from, label } => writeln!(out, "p{from} ->x] : {}", plant_text(&label))?,
            SequenceLine::Note { lane, text } => writeln!(out, "note over p{lane} : {}", plant_text(&text))?,
            SequenceLine::Wait(delay) => writeln!(out, "...{delay} of time pass...")?,
            SequenceLine::Begin => writeln!(out, "loop again and again")?,
            SequenceLine::End => writeln!(out, "end")?,
            SequenceLine::Cut(rest) => writeln!(out, "' {rest} more steps")?,
        }
    }
    writeln!(out, "@enduml")
}

enum SequenceLine {
    Message { from: usize, to: usize, label: String, open: bool },
    Lost { from: usize, label: String },
    Note { lane: usize, text: String },
    Wait(Ratio),
    Begin,
    End,
    Cut(usize),
}

/// What is drawn, from top to bottom. A message is drawn where it is taken; one that is never taken where it is sent.
fn lines(model: &Model, story: &Story, level: StoryDetail) -> Vec<SequenceLine> {
    let mut lines = Vec::new();
    let mut looping = false;
    for (at, block) in blocks(story, level).into_iter().enumerate() {
        if at == ROWS {
            lines.push(SequenceLine::Cut(story.rows.len().saturating_sub(ROWS)));
            break;
        }
        let RowBlock::Step(row) = block else { continue };
        if story.loops_to.is_some_and(|to| !looping && row.number > to) {
            looping = true;
            lines.push(SequenceLine::Begin);
        }
        if row.delay != Ratio::ZERO {
            lines.push(SequenceLine::Wait(row.delay));
        }
        let (taken, sent) = story.messages(row.number);
        for arrow in &taken {
            let to = match arrow.to {
                Target::Taken(_, lane) => lane,
                Target::InFlight(_) | Target::Lost(_) => row.lane,
            };
            lines.push(SequenceLine::Message {
                from: arrow.from.1,
                to,
                label: arrow.label.clone(),
                open: false,
            });
        }
        let open = sent.iter().filter_map(|arrow| match arrow.to {
            Target::InFlight(Some(to)) => Some(SequenceLine::Message {
                from: row.lane,
                to,
                label: format!("{} (never taken)", arrow.label),
                open: true,
            }),
            Target::InFlight(None) | Target::Lost(_) => {
                Some(SequenceLine::Lost { from: row.lane, label: arrow.label.clone() })
            }
            Target::Taken(..) => None,
        });
        let open: Vec<SequenceLine> = open.collect();
        let moved = |change: &&Change| change.kind != ChangeKind::Moved;
        let mut noted = false;
        for change in row.changes.iter().filter(moved) {
            let text = [&change.old, &change.new].map(|it| it.clone().unwrap_or_default()).join(" → ");
            lines.push(SequenceLine::Note {
                lane: change.lane,
                text: format!("{} {text}", change.path).trim().to_string(),
            });
            noted = true;
        }
        if !noted && open.is_empty() && taken.is_empty() && sent.is_empty() {
            lines
                .push(SequenceLine::Note { lane: row.lane, text: instance_name(model, row.rule, &row.args) });
        }
        lines.extend(open);
    }
    if looping {
        lines.push(SequenceLine::End);
    }
    if let Some(ending) = &story.ending {
        for (lane, standing) in ending.standing.iter().enumerate().filter(|(lane, _)| story.busy()[*lane]) {
            if !standing.place.is_empty() {
                lines.push(SequenceLine::Note { lane, text: format!("✗ {}", standing.place) });
            }
        }
    }
    lines
}

fn ends(busy: &[bool]) -> Option<(usize, usize)> {
    Some((busy.iter().position(|it| *it)?, busy.iter().rposition(|it| *it)?))
}

/// What Mermaid takes for its own signs is written by number.
fn mermaid_text(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '#' | ';' | ':' | '<' | '>' | '&' | '"' | '{' | '}' | '%' => {
                out.push_str(&format!("#{};", u32::from(character)));
            }
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    // A word by itself that ends a block in Mermaid's language.
    if out.eq_ignore_ascii_case("end") { "#101;nd".into() } else { out }
}

/// PlantUML reads marks of its own in texts; a backslash and a tilde take their meaning from them.
fn plant_text(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' => out.push('”'),
            '\\' | '~' | '<' | '*' | '_' | '/' | '-' => out.extend(['~', character]),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}
