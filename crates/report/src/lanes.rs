//! A story as text: a column for each lane, what a step does in the column of whose step it is.
//!
//! No lines are drawn between columns, so that it can be copied and read aloud. Where the columns do not fit, what happens
//! stands in one column after the name of the lane.

use std::io::{self, Write};

use shoal_model::{Model, Ratio};
use shoal_story::{Arrow, Change, ChangeKind, LaneKind, Obstacle, Row, Story, Target};

use crate::{Palette, instance_name, plural, trace::write_loop};

/// How much of a story is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoryDetail {
    /// Every step by itself, with its name.
    Steps,
    /// Steps that only move a process together.
    Folded,
    /// And those that do not matter as a number.
    Relevant,
    /// Only those that send or take messages.
    Messages,
}

impl StoryDetail {
    /// The level with a number, as people type it.
    pub fn of(number: u8) -> Option<StoryDetail> {
        [StoryDetail::Steps, StoryDetail::Folded, StoryDetail::Relevant, StoryDetail::Messages]
            .get(usize::from(number))
            .copied()
    }
}

/// Rows that are shown as one: one step, or several that say little.
#[derive(Clone, Debug)]
pub(crate) enum RowBlock<'a> {
    /// A step.
    Step(&'a Row),
    /// Steps that only move processes.
    Moves(Vec<&'a Row>),
    /// Steps of one lane, one after the other.
    Turn(Vec<&'a Row>),
    /// Steps that do not matter, or are not asked for.
    Left(usize),
}

/// One line of a block, in the column of a lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneCell<'a> {
    pub(crate) lane: usize,
    pub(crate) text: String,
    /// The message that it is one end of.
    pub(crate) arrow: Option<&'a Arrow>,
}

impl LaneCell<'_> {
    fn plain(lane: usize, text: String) -> Self {
        LaneCell { lane, text, arrow: None }
    }
}

/// The rows of a story at a level.
pub(crate) fn blocks(story: &Story, level: StoryDetail) -> Vec<RowBlock<'_>> {
    let mut blocks: Vec<RowBlock<'_>> = Vec::new();
    for row in &story.rows {
        let (taken, sent) = story.messages(row.number);
        let left = level >= StoryDetail::Relevant && !row.relevant
            || level == StoryDetail::Messages && taken.is_empty() && sent.is_empty();
        match blocks.last_mut() {
            Some(RowBlock::Left(count)) if left => *count += 1,
            _ if left => blocks.push(RowBlock::Left(1)),
            Some(RowBlock::Turn(rows))
                if level >= StoryDetail::Relevant && rows.iter().all(|it| it.lane == row.lane) =>
            {
                rows.push(row);
            }
            _ if level >= StoryDetail::Relevant => blocks.push(RowBlock::Turn(vec![row])),
            Some(RowBlock::Moves(rows)) if row.local && level >= StoryDetail::Folded => rows.push(row),
            _ if row.local && level >= StoryDetail::Folded => blocks.push(RowBlock::Moves(vec![row])),
            _ => blocks.push(RowBlock::Step(row)),
        }
    }
    blocks
}

/// Writes a story in columns that fit a width, or in one.
pub fn write_lanes(
    out: &mut dyn Write,
    model: &Model,
    story: &Story,
    level: StoryDetail,
    width: usize,
    palette: Palette,
) -> io::Result<()> {
    let page = Page::new(model, story, level, width);
    let mut text = Vec::new();
    page.write(&mut text, palette)?;
    // What is told in short is to be short: columns that make it long are given up.
    if page.column.is_some() && level >= StoryDetail::Relevant && lines(&text) > SHORT {
        let mut list = Vec::new();
        Page { column: None, ..page }.write(&mut list, palette)?;
        if lines(&list) < lines(&text) {
            text = list;
        }
    }
    out.write_all(&text)
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// So many lines are taken in at a glance.
const SHORT: usize = 22;

/// Columns narrower than this cannot be read.
const NARROWEST: usize = 22;
/// What stands before the first column: the number of a step.
const MARGIN: usize = 7;

pub(crate) struct Page<'a> {
    model: &'a Model,
    story: &'a Story,
    level: StoryDetail,
    /// The lanes that are shown, in order.
    pub(crate) shown: Vec<usize>,
    /// How wide a column is; nothing where there is one for all.
    column: Option<usize>,
    width: usize,
}

impl<'a> Page<'a> {
    pub(crate) fn new(model: &'a Model, story: &'a Story, level: StoryDetail, width: usize) -> Self {
        let busy = story.busy();
        let shown: Vec<usize> = (0..story.lanes.len()).filter(|lane| busy[*lane]).collect();
        let room = width.saturating_sub(MARGIN) / shown.len().max(1);
        let column = (room >= NARROWEST).then_some(room.min(46));
        Page { model, story, level, shown, column, width }
    }

    fn write(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        self.write_head(out, palette)?;
        for block in blocks(self.story, self.level) {
            let cells = self.cells(&block);
            match block {
                RowBlock::Left(count) => {
                    let what = match (self.level, count) {
                        (StoryDetail::Messages, _) => "without a message",
                        (_, 1) => "that does not matter",
                        _ => "that do not matter",
                    };
                    let text = format!("⋯ {} {what}", plural(count as u64, "step", "steps"));
                    writeln!(out, "{:>4}   {}", "", palette.faint(text))?;
                }
                RowBlock::Step(row) => self.write_cells(out, &row.number.to_string(), cells, palette)?,
                RowBlock::Moves(rows) | RowBlock::Turn(rows) => {
                    let number = rows.last().map_or(String::new(), |row| row.number.to_string());
                    self.write_cells(out, &number, cells, palette)?;
                }
            }
        }
        write_loop(out, self.story.loops_to, self.story.rows.len(), palette)?;
        self.write_standing(out, palette)?;
        self.story.strange.iter().try_for_each(|line| writeln!(out, "note: {line}"))
    }

    /// The names of the lanes, and how many there are besides that do nothing.
    fn write_head(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        let rest = self.rest();
        let Some(column) = self.column else {
            return match rest.is_empty() {
                true => Ok(()),
                false => writeln!(out, "{:>4}   {}", "", palette.faint(rest)),
            };
        };
        write!(out, "{:>4}   ", "")?;
        for (at, lane) in self.shown.iter().enumerate() {
            let name = cut(&self.story.lanes[*lane].name, column - 2);
            let wide = if at + 1 == self.shown.len() { 0 } else { column };
            write!(out, "{}", palette.strong(format!("{name:<wide$}")))?;
        }
        writeln!(out)?;
        match rest.is_empty() {
            true => Ok(()),
            false => writeln!(out, "{:>4}   {}", "", palette.faint(rest)),
        }
    }

    /// Who else there is: those that can be exchanged by where they stand, the others as a number.
    pub(crate) fn rest(&self) -> String {
        let idle = |lane: &usize| {
            !self.shown.contains(lane)
                && self.story.lanes[*lane].kind == LaneKind::Part
                && self.story.bystanders.iter().all(|group| !group.lanes.contains(lane))
        };
        let idle = (0..self.story.lanes.len()).filter(idle).count();
        let told_apart = (idle > 0).then(|| format!("{idle} more"));
        let groups = self.story.bystanders.iter().map(|group| group.text(self.story));
        let all: Vec<String> = groups.chain(told_apart).collect();
        if all.is_empty() { String::new() } else { format!("and nothing happens to {}", all.join(", ")) }
    }

    /// The lines of a block, each with its lane.
    pub(crate) fn cells(&self, block: &RowBlock<'a>) -> Vec<LaneCell<'a>> {
        match block {
            RowBlock::Step(row) => self.step(row),
            RowBlock::Moves(rows) => self.moves(rows),
            RowBlock::Turn(rows) => self.turn(rows),
            RowBlock::Left(_) => Vec::new(),
        }
    }

    /// The lines of a step.
    fn step(&self, row: &Row) -> Vec<LaneCell<'a>> {
        let (taken, sent) = self.story.messages(row.number);
        let own = |text: String| LaneCell::plain(row.lane, text);
        let mut cells = Vec::new();
        if self.level == StoryDetail::Steps {
            cells.push(own(instance_name(self.model, row.rule, &row.args)));
        }
        if row.delay != Ratio::ZERO {
            cells.push(own(format!("after {}", row.delay)));
        }
        let end = |arrow: &'a Arrow, lane: usize, text: String| LaneCell { lane, text, arrow: Some(arrow) };
        // Who takes it is another than whose step it is where parts move together.
        let taker = |arrow: &Arrow| match arrow.to {
            Target::Taken(_, lane) => lane,
            Target::InFlight(_) | Target::Lost(_) => row.lane,
        };
        cells.extend(taken.iter().map(|arrow| end(arrow, taker(arrow), self.received(arrow))));
        let says_more = row.changes.len() > 1 || !taken.is_empty() || !sent.is_empty();
        for change in &row.changes {
            // Where a process stands is of interest if it is all that happens.
            if change.kind != ChangeKind::Moved || !says_more || self.level == StoryDetail::Steps {
                cells.push(LaneCell::plain(change.lane, change_text(change)));
            }
        }
        cells.extend(sent.iter().map(|arrow| end(arrow, row.lane, self.sent(arrow))));
        cells.extend(row.output.iter().map(|line| own(format!("» {}", line.trim_end()))));
        // Whose step it is has to be seen.
        if cells.iter().all(|cell| cell.lane != row.lane) {
            cells.insert(0, own(self.action(row)));
        }
        cells
    }

    /// The steps of one lane in a few lines: one for itself, one for each other that it changes something of. That it goes on
    /// is only told if that is all it does.
    fn turn(&self, rows: &[&Row]) -> Vec<LaneCell<'a>> {
        let telling: Vec<&Row> = rows.iter().filter(|row| !row.local).copied().collect();
        if telling.is_empty() {
            return self.moves(rows);
        }
        let mut lines: Vec<LaneCell<'a>> = Vec::new();
        for cell in telling.iter().flat_map(|row| self.step(row)) {
            match lines.iter_mut().find(|line| line.lane == cell.lane) {
                Some(line) => line.text = format!("{}; {}", line.text, cell.text),
                None => lines.push(cell),
            }
        }
        lines
    }

    /// What a rule is called, without what its column says.
    fn action(&self, row: &Row) -> String {
        let rule = &self.model.rules[row.rule];
        let (_, name) = rule.name.split_once(": ").unwrap_or(("", &rule.name));
        let name = name.rsplit_once(" (line ").map_or(name, |(name, _)| name);
        if name.is_empty() { instance_name(self.model, row.rule, &row.args) } else { name.to_string() }
    }

    fn received(&self, arrow: &Arrow) -> String {
        match arrow.from.0 {
            0 => format!("◀─ {}", arrow.label),
            _ => format!("◀─ {}: {}", self.story.lanes[arrow.from.1].name, arrow.label),
        }
    }

    fn sent(&self, arrow: &Arrow) -> String {
        let name = |lane: usize| &self.story.lanes[lane].name;
        match arrow.to {
            Target::Taken(_, lane) => format!("{} ─▶ {}", arrow.label, name(lane)),
            Target::InFlight(Some(lane)) => format!("{} ─▶ {} (never taken)", arrow.label, name(lane)),
            Target::InFlight(None) => format!("{} ─▶ (never taken)", arrow.label),
            Target::Lost(_) => format!("{} ─✗ (written over)", arrow.label),
        }
    }

    /// Several steps that only move processes: for each of them from where to where.
    fn moves(&self, rows: &[&Row]) -> Vec<LaneCell<'a>> {
        let mut cells: Vec<(usize, usize, String, String)> = Vec::new();
        for row in rows {
            let name = || instance_name(self.model, row.rule, &row.args);
            let (old, new) = match row.changes.first() {
                Some(Change { old: Some(old), new: Some(new), .. }) => (old.clone(), new.clone()),
                _ => (name(), String::new()),
            };
            match cells.iter_mut().find(|(lane, ..)| *lane == row.lane) {
                Some((_, count, _, to)) => (*count, *to) = (*count + 1, new),
                None => cells.push((row.lane, 1, old, new)),
            }
        }
        let text = |(lane, count, old, new): (usize, usize, String, String)| {
            let times = if count > 1 { format!("×{count} ") } else { String::new() };
            let way = if new.is_empty() { old } else { format!("{old} → {new}") };
            LaneCell::plain(lane, format!("{times}{way}"))
        };
        cells.into_iter().map(text).collect()
    }

    /// How wide the names of lanes are where there is one column for all.
    fn names(&self) -> usize {
        let longest = self.shown.iter().map(|lane| self.story.lanes[*lane].name.chars().count()).max();
        longest.unwrap_or(0).clamp(10, (self.width / 4).clamp(16, 24))
    }

    /// Writes the lines of one block, each in the column of its lane.
    fn write_cells(
        &self,
        out: &mut dyn Write,
        number: &str,
        cells: Vec<LaneCell<'_>>,
        palette: Palette,
    ) -> io::Result<()> {
        let Some(column) = self.column else {
            for (at, LaneCell { lane, text, .. }) in cells.iter().enumerate() {
                let number = if at == 0 { number } else { "" };
                let wide = self.names();
                let name = palette.strong(format!("{:<wide$}", cut(&self.story.lanes[*lane].name, wide)));
                let text = cut(text, self.width.saturating_sub(MARGIN + wide + 1).max(40));
                writeln!(out, "{number:>4}   {name} {text}")?;
            }
            return Ok(());
        };
        let mut columns: Vec<Vec<String>> = vec![Vec::new(); self.shown.len()];
        for LaneCell { lane, text, .. } in cells {
            if let Some(at) = self.shown.iter().position(|shown| *shown == lane) {
                columns[at].extend(wrap(&text, column - 2));
            }
        }
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let number = if line == 0 { number } else { "" };
            let cell =
                |lines: &Vec<String>| format!("{:<column$}", lines.get(line).map_or("", String::as_str));
            let text: String = columns.iter().map(cell).collect();
            writeln!(out, "{number:>4}   {}", text.trim_end())?;
        }
        Ok(())
    }

    /// Where everybody stands at the end, and what is in the way of those who cannot move.
    fn write_standing(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        let Some(ending) = &self.story.ending else { return Ok(()) };
        let stuck = ending.standing.iter().any(|standing| !standing.obstacles.is_empty());
        if !stuck {
            let cells: Vec<LaneCell<'_>> = self
                .shown
                .iter()
                .filter(|lane| !ending.standing[**lane].place.is_empty())
                .map(|lane| LaneCell::plain(*lane, ending.standing[*lane].place.clone()))
                .collect();
            let mark = palette.bad("   ✗").to_string();
            if self.column.is_none() {
                return self.write_places(out, &mark);
            }
            return if cells.is_empty() { Ok(()) } else { self.write_marked(out, &mark, cells, palette) };
        }
        for (lane, standing) in ending.standing.iter().enumerate() {
            let (name, place) = (&self.story.lanes[lane].name, &standing.place);
            let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
            let why: Vec<String> = standing.obstacles.iter().map(obstacle_text).collect();
            if !why.is_empty() {
                let (who, why) = (format!("{name}{at}"), why.join(", or "));
                writeln!(out, "   {}  {:<24} {}", palette.bad("✗"), who, cut(&why, self.width.max(60)))?;
            }
        }
        Ok(())
    }

    /// Who stands where, in a few lines: those at one place together.
    fn write_places(&self, out: &mut dyn Write, mark: &str) -> io::Result<()> {
        let Some(ending) = &self.story.ending else { return Ok(()) };
        let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
        for lane in &self.shown {
            let (name, place) =
                (self.story.lanes[*lane].name.as_str(), ending.standing[*lane].place.as_str());
            match places.iter_mut().find(|(known, _)| *known == place) {
                _ if place.is_empty() => {}
                Some((_, names)) => names.push(name),
                None => places.push((place, vec![name])),
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        let words = places.iter().map(|(place, names)| format!("{} at {place}", names.join(", ")));
        let text = words.collect::<Vec<_>>().join("; ");
        for (at, line) in wrap(&text, self.width.saturating_sub(MARGIN).max(40)).iter().enumerate() {
            writeln!(out, "{}   {line}", if at == 0 { mark } else { "    " })?;
        }
        Ok(())
    }

    fn write_marked(
        &self,
        out: &mut dyn Write,
        mark: &str,
        cells: Vec<LaneCell<'_>>,
        palette: Palette,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        self.write_cells(&mut text, "", cells, palette)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        write!(out, "{mark}{}", text.strip_prefix("    ").unwrap_or(&text))
    }
}

/// What is in the way of a part, and what is there instead.
fn obstacle_text(obstacle: &Obstacle) -> String {
    let reads: Vec<String> = obstacle.reads.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    match reads.is_empty() {
        true => obstacle.text.clone(),
        false => format!("{}, but {}", obstacle.text, reads.join(", ")),
    }
}

/// Values that are longer are not repeated.
const LARGE: usize = 30;

/// What a change says in its lane.
fn change_text(change: &Change) -> String {
    let path = if change.path.is_empty() { String::new() } else { format!("{} ", change.path) };
    match (&change.old, &change.new) {
        // What a large record was before it was cleared is told where it became that.
        (Some(old), Some(new)) if new == "–" && old.chars().count() > LARGE => format!("{path}cleared"),
        (Some(old), Some(new)) => format!("{path}{old} → {new}"),
        (None, Some(new)) => format!("{path}+ {new}"),
        (Some(old), None) => format!("{path}− {old}"),
        (None, None) => path,
    }
}

/// A text cut to a width, with a mark where it was.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.into(),
        Some(_) => format!("{}…", text.chars().take(width.saturating_sub(1)).collect::<String>()),
    }
}

/// Longer texts are cut: a page with `trace show --level 0` has all of it.
const TALLEST: usize = 6;

/// A text in lines of a width, broken at blanks where there are any; what is too long for a few lines is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
            line.push_str("  ");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    if lines.len() > TALLEST {
        lines.truncate(TALLEST);
        lines[TALLEST - 1].push('…');
    }
    lines.iter().map(|line| cut(line, width)).collect()
}
