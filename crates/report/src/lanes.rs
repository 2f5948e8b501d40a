//! A story as text: a column for each lane, what a step does in the column of whose step it is.
//!
//! No lines are drawn between columns, so that it can be copied and read aloud. Where the columns do not fit, what happens
//! stands in one column after the name of the lane.

use std::io::{self, Write};

use shoal_model::{Model, Ratio};
use shoal_story::{Arrow, Change, ChangeKind, LaneKind, Obstacle, Row, Story, Target};

use crate::{Palette, instance_name, names::bare_name, plural, trace::write_loop, turns::net_changes};

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
    /// Steps of one lane, one after the other, with no time between them.
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
        // For a reader the processes are there from the beginning.
        let begins = blocks.is_empty() && taken.is_empty() && sent.is_empty() && only_begins(row);
        if level >= StoryDetail::Relevant && begins {
            continue;
        }
        let left = level >= StoryDetail::Relevant && !row.relevant
            || level == StoryDetail::Messages && taken.is_empty() && sent.is_empty();
        match blocks.last_mut() {
            Some(RowBlock::Left(count)) if left => *count += 1,
            _ if left => blocks.push(RowBlock::Left(1)),
            Some(RowBlock::Turn(rows))
                if level >= StoryDetail::Relevant
                    && row.delay == Ratio::ZERO
                    && rows.iter().all(|it| it.lane == row.lane) =>
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

/// Whether a step only makes processes begin.
fn only_begins(row: &Row) -> bool {
    let is_new = |change: &Change| change.kind == ChangeKind::Moved && change.old.as_deref() == Some("-");
    let is_own = |change: &Change| change.kind == ChangeKind::Moved && change.lane == row.lane;
    row.output.is_empty()
        && row.changes.iter().any(is_new)
        && row.changes.iter().all(|change| is_new(change) || is_own(change))
}

/// The room that there is for a story, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct LanesRoom<'n> {
    /// Columns of the terminal.
    pub width: usize,
    /// Lines that stand above it.
    pub above: usize,
    /// The names of the lanes that are told of; of all, if there are none.
    pub lanes: &'n [String],
}

impl LanesRoom<'_> {
    /// For all, with nothing above it.
    pub fn wide(width: usize) -> LanesRoom<'static> {
        LanesRoom { width, above: 0, lanes: &[] }
    }
}

/// Lets texts have more lines, one at a time, as long as they need them and there are some left.
fn fill(heights: &mut [usize], needs: &[usize], mut left: usize) {
    while left > 0 {
        let before = left;
        for (height, need) in heights.iter_mut().zip(needs) {
            if left > 0 && *height < *need {
                *height += 1;
                left -= 1;
            }
        }
        if left == before {
            return;
        }
    }
}

/// So many lines are taken in at a glance, with all that stands above.
const GLANCE: usize = 25;

/// Writes a story in columns that fit a width, or in one.
///
/// What is told in short is to be short: columns where all of it is taken in at a glance, else a list that is cut so far that it is.
pub fn write_lanes(
    out: &mut dyn Write,
    model: &Model,
    story: &Story,
    level: StoryDetail,
    room: LanesRoom<'_>,
    palette: Palette,
) -> io::Result<()> {
    let page = Page::new(model, story, level, room.width).only(room.lanes);
    if level < StoryDetail::Relevant {
        return page.write(out, palette);
    }
    let mut text = Vec::new();
    page.uncut().write(&mut text, palette)?;
    if lines(&text) + room.above > GLANCE {
        let mut list = Vec::new();
        page.as_list(GLANCE.saturating_sub(room.above))?.write(&mut list, palette)?;
        if lines(&list) < lines(&text) {
            text = list;
        }
    }
    out.write_all(&text)
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Columns narrower than this cannot be read, and the eye loses its line in wider ones.
const NARROWEST: usize = 22;
const WIDEST: usize = 46;
/// What stands before the first column: the number of a step.
const MARGIN: usize = 7;

#[derive(Clone)]
pub(crate) struct Page<'a> {
    model: &'a Model,
    story: &'a Story,
    level: StoryDetail,
    /// The lanes that are shown, in order.
    pub(crate) shown: Vec<usize>,
    /// How wide a column is; nothing where there is one for all.
    column: Option<usize>,
    width: usize,
    /// So many lines the texts have at most, one after the other; those beyond, and all if there are none, as many as may be.
    heights: Vec<usize>,
    tallest: usize,
    /// Whether a lane is what others share, and nothing in this run is its own doing.
    passive: Vec<bool>,
}

impl<'a> Page<'a> {
    pub(crate) fn new(model: &'a Model, story: &'a Story, level: StoryDetail, width: usize) -> Self {
        let mut page = Page::of_cells(model, story, level, width);
        page.shown = page.told_of();
        page.measure();
        page
    }

    /// For those who only want the cells of its blocks: which lanes are shown is not found out, as that goes through all of them.
    pub(crate) fn of_cells(model: &'a Model, story: &'a Story, level: StoryDetail, width: usize) -> Self {
        let mut passive: Vec<bool> = story.lanes.iter().map(|lane| lane.kind == LaneKind::Shared).collect();
        story.rows.iter().for_each(|row| passive[row.lane] = false);
        Page {
            model,
            story,
            level,
            shown: Vec::new(),
            column: None,
            width,
            heights: Vec::new(),
            tallest: TALLEST,
            passive,
        }
    }

    /// The same of these lanes alone.
    fn only(mut self, names: &[String]) -> Self {
        if !names.is_empty() {
            self.shown.retain(|lane| names.contains(&self.story.lanes[*lane].name));
            self.measure();
        }
        self
    }

    /// How wide the columns are, if there is room for them.
    fn measure(&mut self) {
        let room = self.width.saturating_sub(MARGIN) / self.shown.len().max(1);
        self.column = (room >= NARROWEST).then_some(room.min(WIDEST));
    }

    /// The lanes that something is told of at this level, and the one whose step goes wrong.
    fn told_of(&self) -> Vec<usize> {
        let mut told: Vec<usize> = blocks(self.story, self.level)
            .iter()
            .flat_map(|block| self.cells(block))
            .map(|cell| cell.lane)
            .chain(self.story.ending.as_ref().and_then(|ending| ending.at))
            .collect();
        told.sort_unstable();
        told.dedup();
        told
    }

    /// The same with nothing cut.
    fn uncut(&self) -> Page<'a> {
        Page { tallest: usize::MAX, ..self.clone() }
    }

    /// The same in one column and, if that is possible at all, in so many lines: what is too long is cut where it takes most.
    fn as_list(&self, room: usize) -> io::Result<Page<'a>> {
        let mut list = Page { column: None, tallest: usize::MAX, ..self.clone() };
        let blocks = blocks(self.story, self.level);
        let cells = blocks.iter().flat_map(|block| self.shown_cells(block));
        let needs: Vec<usize> =
            cells.map(|cell| wrap(&cell.text, list.list_width(), usize::MAX).len()).collect();
        list.heights = vec![1; needs.len()];
        let mut text = Vec::new();
        list.write(&mut text, Palette::plain())?;
        fill(&mut list.heights, &needs, room.saturating_sub(lines(&text)));
        Ok(list)
    }

    fn write(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        self.write_head(out, palette)?;
        let mut heights = self.heights.iter().copied().chain(std::iter::repeat(self.tallest));
        for block in blocks(self.story, self.level) {
            let cells = self.shown_cells(&block);
            let heights: Vec<usize> = heights.by_ref().take(cells.len()).collect();
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
                RowBlock::Step(row) => {
                    self.write_cells(out, &row.number.to_string(), &cells, &heights, palette)?;
                }
                RowBlock::Moves(rows) | RowBlock::Turn(rows) => {
                    let number = rows.last().map_or(String::new(), |row| row.number.to_string());
                    self.write_cells(out, &number, &cells, &heights, palette)?;
                }
            }
        }
        write_loop(out, self.story.loops_to, self.story.rows.len(), palette)?;
        self.write_standing(out, palette)?;
        self.story.strange.iter().try_for_each(|line| writeln!(out, "note: {line}"))
    }

    /// The names of the lanes, and how many there are besides that do nothing.
    fn write_head(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        let Some(column) = self.column else { return self.write_rest(out, palette) };
        write!(out, "{:>4}   ", "")?;
        for (at, lane) in self.shown.iter().enumerate() {
            let name = cut(&self.story.lanes[*lane].name, column - 2);
            let wide = if at + 1 == self.shown.len() { 0 } else { column };
            write!(out, "{}", palette.strong(format!("{name:<wide$}")))?;
        }
        writeln!(out)?;
        self.write_rest(out, palette)
    }

    fn write_rest(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        let rest = self.rest();
        let lines = wrap(&rest, self.width.saturating_sub(MARGIN).max(40), TALLEST);
        let lines = lines.iter().filter(|line| !line.is_empty());
        lines.into_iter().try_for_each(|line| writeln!(out, "{:>4}   {}", "", palette.faint(line)))
    }

    /// Who else there is: those that can be exchanged by where they stand, the others as a number.
    pub(crate) fn rest(&self) -> String {
        let busy = self.story.busy();
        let idle = |lane: &usize| {
            !busy[*lane]
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

    /// Those of the lanes that are shown.
    fn shown_cells(&self, block: &RowBlock<'a>) -> Vec<LaneCell<'a>> {
        self.cells(block).into_iter().filter(|cell| self.shown.contains(&cell.lane)).collect()
    }

    /// The lines of a step.
    fn step(&self, row: &Row) -> Vec<LaneCell<'a>> {
        let mut cells = self.telling(row, &row.changes);
        if self.level == StoryDetail::Steps {
            cells.insert(0, LaneCell::plain(row.lane, instance_name(self.model, row.rule, &row.args)));
        }
        self.with_actor(row, cells)
    }

    /// Whose step it is has to be seen.
    fn with_actor(&self, row: &Row, mut cells: Vec<LaneCell<'a>>) -> Vec<LaneCell<'a>> {
        if cells.iter().all(|cell| cell.lane != row.lane) {
            cells.insert(0, LaneCell::plain(row.lane, self.action(row)));
        }
        cells
    }

    /// What a step does: what it takes, some changes, what it sends and puts out.
    fn telling(&self, row: &Row, changes: &[Change]) -> Vec<LaneCell<'a>> {
        let (taken, sent) = self.story.messages(row.number);
        let own = |text: String| LaneCell::plain(row.lane, text);
        let mut cells = Vec::new();
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
        for change in changes {
            // Where a process stands is of interest if it is all that happens.
            if change.kind != ChangeKind::Moved || !says_more || self.level == StoryDetail::Steps {
                cells.push(LaneCell::plain(change.lane, change_text(change)));
            }
        }
        cells.extend(sent.iter().map(|arrow| end(arrow, row.lane, self.sent(arrow))));
        cells.extend(row.output.iter().map(|line| own(format!("» {}", line.trim_end()))));
        cells
    }

    /// The steps of one lane in a few lines: one for itself, one for each other that it changes something of. What it leaves
    /// behind is told, not how it came there; and that it goes on only if that is all it does.
    fn turn(&self, rows: &[&Row]) -> Vec<LaneCell<'a>> {
        let telling: Vec<&Row> = rows.iter().filter(|row| !row.local).copied().collect();
        let Some(last) = telling.last() else { return self.moves(rows) };
        let mut lines: Vec<LaneCell<'a>> = Vec::new();
        let net = net_changes(&telling);
        for mut cell in telling.iter().zip(&net).flat_map(|(row, changes)| self.telling(row, changes)) {
            // What nobody does anything with but change it stands where it is changed.
            if self.passive[cell.lane] {
                cell.lane = last.lane;
            }
            match lines.iter_mut().find(|line| line.lane == cell.lane) {
                Some(line) => line.text = format!("{}; {}", line.text, cell.text),
                None => lines.push(cell),
            }
        }
        self.with_actor(last, lines)
    }

    /// What a rule is called, without what its column says.
    fn action(&self, row: &Row) -> String {
        match bare_name(&self.model.rules[row.rule].name) {
            "" => instance_name(self.model, row.rule, &row.args),
            name => name.to_string(),
        }
    }

    fn received(&self, arrow: &Arrow) -> String {
        match arrow.from.0 {
            0 => format!("◀─ {}", arrow.label),
            _ => format!("◀─ {}: {}", self.story.lanes[arrow.from.1].name, arrow.label),
        }
    }

    fn sent(&self, arrow: &Arrow) -> String {
        let name = |lane: usize| &self.story.lanes[lane].name;
        // A walk may go on.
        let open = if self.story.ending.is_some() { "never taken" } else { "not taken yet" };
        match arrow.to {
            Target::Taken(_, lane) => format!("{} ─▶ {}", arrow.label, name(lane)),
            Target::InFlight(Some(lane)) => format!("{} ─▶ {} ({open})", arrow.label, name(lane)),
            Target::InFlight(None) => format!("{} ─▶ ({open})", arrow.label),
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

    /// Writes the lines of one block, each in the column of its lane, in at most so many lines for each.
    fn write_cells(
        &self,
        out: &mut dyn Write,
        number: &str,
        cells: &[LaneCell<'_>],
        heights: &[usize],
        palette: Palette,
    ) -> io::Result<()> {
        let Some(column) = self.column else {
            return self.write_list(out, number, cells, heights, palette);
        };
        let mut columns: Vec<Vec<String>> = vec![Vec::new(); self.shown.len()];
        for (LaneCell { lane, text, .. }, height) in cells.iter().zip(heights) {
            if let Some(at) = self.shown.iter().position(|shown| shown == lane) {
                columns[at].extend(wrap(text, column - 2, *height));
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

    /// The room for a text after the name of its lane.
    fn list_width(&self) -> usize {
        self.width.saturating_sub(MARGIN + self.names() + 1).max(40)
    }

    /// Writes the lines of one block one below the other, each after the name of its lane.
    fn write_list(
        &self,
        out: &mut dyn Write,
        number: &str,
        cells: &[LaneCell<'_>],
        heights: &[usize],
        palette: Palette,
    ) -> io::Result<()> {
        let wide = self.names();
        for (at, (LaneCell { lane, text, .. }, height)) in cells.iter().zip(heights).enumerate() {
            let name = cut(&self.story.lanes[*lane].name, wide);
            for (line, text) in wrap(text, self.list_width(), *height).iter().enumerate() {
                let number = if (at, line) == (0, 0) { number } else { "" };
                let name = palette.strong(format!("{:<wide$}", if line == 0 { &name } else { "" }));
                writeln!(out, "{number:>4}   {name} {text}")?;
            }
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
            let why = obstacles_text(&standing.obstacles);
            if !why.is_empty() {
                let who = format!("{name}{at}");
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
        for (at, line) in wrap(&text, self.width.saturating_sub(MARGIN).max(40), TALLEST).iter().enumerate() {
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
        self.write_cells(&mut text, "", &cells, &vec![TALLEST; cells.len()], palette)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        write!(out, "{mark}{}", text.strip_prefix("    ").unwrap_or(&text))
    }
}

/// What is in the way of a part, and what is there instead: `waits for a message in a or b, or needs x = 1, but it is 2`.
fn obstacles_text(obstacles: &[Obstacle]) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in obstacles.iter().map(obstacle_text) {
        // What several wait for in the same words is said once.
        let same = all
            .last_mut()
            .filter(|last| WAITING.iter().any(|words| last.starts_with(words) && text.starts_with(words)));
        match (same, WAITING.iter().find_map(|words| text.strip_prefix(words))) {
            (Some(last), Some(what)) => *last = format!("{last} or {what}"),
            _ => all.push(text),
        }
    }
    all.join(", or ")
}

/// How it begins what somebody waits for.
const WAITING: [&str; 2] = ["waits for a message in ", "waits for room in "];

fn obstacle_text(obstacle: &Obstacle) -> String {
    let text = obstacle.text.replacen("needs (", "needs ", 1);
    let text = match (text.len() < obstacle.text.len(), text.strip_suffix(')')) {
        (true, Some(inner)) if !inner.contains(['(', ')']) => inner.to_string(),
        _ => obstacle.text.clone(),
    };
    match obstacle.reads.as_slice() {
        [] => text,
        [(name, value)] if text.contains(name.as_str()) => format!("{text}, but it is {value}"),
        reads => {
            let reads: Vec<String> = reads.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{text}, but {}", reads.join(", "))
        }
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

/// So many lines a text has at most.
const TALLEST: usize = 6;

/// A text in lines of a width, broken at blanks where there are any; what is too long for so many lines is cut.
fn wrap(text: &str, width: usize, tallest: usize) -> Vec<String> {
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
    if lines.len() > tallest {
        lines.truncate(tallest);
        lines[tallest - 1].push('…');
    }
    lines.iter().map(|line| cut(line, width)).collect()
}
