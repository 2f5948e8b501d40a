//! A story as one page that a browser opens: no network, no scripts, the same bytes for the same run.
//!
//! A lane is a vertical line with what it does to its right, a message a line from where it is sent to where it is taken. Below
//! stand the steps in full and the source with what failed marked. Text from a model is only ever text: it is escaped, and the
//! page forbids the browser to run or to fetch anything.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use shoal::{Loaded, Told};
use shoal_model::{Model, PropertyId, TypedId, Verdict, Violation};
use shoal_story::{Arrow, Story, Target};
use shoal_syntax::{SourceId, SourceMap, Span};

use crate::{
    Run,
    clocks::write_clocks,
    grouped, instance_name,
    lanes::{Page, RowBlock, StoryDetail, blocks},
    plural,
    text::{violation_in_words, why_violated, work},
};

/// What a page says around the story.
#[derive(Clone, Debug)]
pub struct PageHead<'a> {
    /// The model's file.
    pub file: &'a str,
    /// What is violated, such as `mutual exclusion`; nothing of a run that shows nothing wrong.
    pub violated: Option<&'a str>,
    /// Why it is violated: names and texts, as in the text for people.
    pub why: &'a [(&'static str, String)],
    /// Whether the model was there, and does what the run says.
    pub replayed: bool,
    /// What to type to see it again.
    pub command: &'a str,
    /// The parts of the source that failed.
    pub marked: &'a [Span],
    /// What else it says.
    pub options: &'a PageOptions,
}

/// What a page says beside the run.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// The date. Without one the same run gives the same bytes.
    pub stamp: Option<String>,
    /// Whether the text of the model stands in it.
    pub sources: bool,
}

impl Default for PageOptions {
    fn default() -> PageOptions {
        PageOptions { stamp: None, sources: true }
    }
}

const STYLE: &str = include_str!("page.css");

/// Writes a page.
pub fn write_page(
    out: &mut dyn Write,
    model: &Model,
    sources: &SourceMap,
    story: &Story,
    head: &PageHead<'_>,
) -> io::Result<()> {
    write_head(out, &format!("{}: {}", head.file, head.violated.unwrap_or("a run")))?;
    let steps = plural(story.rows.len() as u64, "step", "steps");
    match head.violated {
        Some(what) => writeln!(out, "<h1><span class=\"bad\">✗ violated</span> {}</h1>", escape(what))?,
        None => writeln!(out, "<h1>A run</h1>")?,
    }
    let replayed = if head.replayed { " · replayed" } else { "" };
    writeln!(out, "<p>{} · {steps}{replayed}</p>\n<table class=\"why\">", escape(head.file))?;
    for (name, text) in head.why {
        writeln!(out, "<tr><th>{name}</th><td><code>{}</code></td></tr>", escape(text))?;
    }
    writeln!(out, "</table>")?;
    PageDrawing::new(model, story).write(out)?;
    write_clocks(out, story)?;
    write_obstacles(out, story)?;
    write_rows(out, model, sources, story)?;
    if head.options.sources {
        write_sources(out, sources, head.marked)?;
    }
    writeln!(out, "<p class=\"faint\">Again: <code>{}</code></p>", escape(head.command))?;
    write_end(out, head.options)
}

/// What the page of a violation is about.
#[derive(Clone, Copy, Debug)]
pub struct ViolationPage<'a> {
    /// The model's file.
    pub file: &'a str,
    /// The property.
    pub property: PropertyId,
    /// Why it does not hold.
    pub violation: &'a Violation,
    /// What to type to see it again.
    pub command: &'a str,
    /// What else it says.
    pub options: &'a PageOptions,
}

/// Writes the page of a violation.
pub fn write_violation_page(
    out: &mut dyn Write,
    page: &ViolationPage<'_>,
    loaded: &Loaded,
    told: &Told,
) -> io::Result<()> {
    let why = why_violated(&told.model, &loaded.sources, page.property, page.violation, &told.causes);
    let marked: Vec<Span> = told.causes.iter().map(|cause| cause.span).collect();
    let property = &loaded.model.properties[page.property].name;
    let head = PageHead {
        file: page.file,
        violated: Some(property),
        why: &why,
        replayed: true,
        command: page.command,
        marked: &marked,
        options: page.options,
    };
    write_page(out, &told.model, &loaded.sources, &told.story, &head)
}

/// What every page begins with.
fn write_head(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"shoal\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escape(title)
    )
}

/// A page that leads to those of violations.
#[derive(Clone, Copy, Debug)]
pub struct IndexPage<'a> {
    /// The run.
    pub run: &'a Run<'a>,
    /// The page of each violation.
    pub pages: &'a [(PropertyId, String)],
    /// What else it says.
    pub options: &'a PageOptions,
}

/// Writes the page of a run: verdicts, what was done, and the source with how often each rule fired.
pub fn write_index(out: &mut dyn Write, page: &IndexPage<'_>) -> io::Result<()> {
    let run = page.run;
    write_head(out, run.file)?;
    writeln!(out, "<h1>{}</h1>\n<table class=\"verdicts\">", escape(run.file))?;
    for result in run.results_by_weight() {
        let (class, word, why) = match &result.verdict {
            Verdict::Holds => ("good", "✓ holds", String::new()),
            Verdict::Violated(violation) => {
                ("bad", "✗ violated", violation_in_words(run, result.property, violation))
            }
            Verdict::Unknown(reason) => ("doubt", "? unknown", reason.to_string()),
        };
        let title = escape(&run.title(run.property(result)));
        let link = page.pages.iter().find(|(property, _)| *property == result.property);
        let title = match link {
            Some((_, name)) => format!("<a href=\"{}\">{title}</a>", escape(name)),
            None => title,
        };
        writeln!(
            out,
            "<tr><td class=\"{class}\">{word}</td><td>{title}</td><td class=\"faint\">{}</td></tr>",
            escape(&why)
        )?;
    }
    writeln!(out, "</table>")?;
    for statistics in run.deciding() {
        writeln!(out, "<p class=\"faint\">{}</p>", escape(&work(run, statistics)))?;
    }
    if page.options.sources {
        write_coverage(out, run)?;
    }
    write_end(out, page.options)
}

/// What every page ends with: the version, and the date if that is wanted.
fn write_end(out: &mut dyn Write, options: &PageOptions) -> io::Result<()> {
    let stamp = options.stamp.as_ref().map(|stamp| format!(" · {}", escape(stamp))).unwrap_or_default();
    writeln!(out, "<p class=\"faint\">Shoal {}{stamp}</p>\n</body>\n</html>", env!("CARGO_PKG_VERSION"))
}

/// The sources, with how often the rule that begins on a line fired.
fn write_coverage(out: &mut dyn Write, run: &Run<'_>) -> io::Result<()> {
    let fired = &run.outcome().statistics.fired;
    for (at, file) in run.sources().files().enumerate() {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for (id, rule) in run.model().rules.enumerate().filter(|(_, rule)| rule.span.source.0 as usize == at)
        {
            if let Some(count) = fired.get(id.index()) {
                *counts.entry(file.position(rule.span.start).line).or_default() += count;
            }
        }
        writeln!(out, "<h2>{}</h2>\n<pre>", escape(file.name()))?;
        for (line, text) in file.text().lines().enumerate() {
            let number = line + 1;
            let (class, count) = match counts.get(&number) {
                Some(0) => ("never", "never".to_string()),
                Some(count) => ("fired", grouped(*count)),
                None => ("plain", String::new()),
            };
            writeln!(out, "<span class=\"{class}\">{count:>10}</span> {number:>5}  {}", escape(text))?;
        }
        writeln!(out, "</pre>")?;
    }
    Ok(())
}

/// Characters that mean something in the page are written by name; what a page cannot hold is left out.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            character if character.is_control() => out.push('\u{FFFD}'),
            character => out.push(character),
        }
    }
    out
}

const COLUMN: usize = 280;
const LEFT: usize = 46;
const LINE: usize = 18;
const HEAD: usize = 34;
/// What fits beside a lane.
const LETTERS: usize = 34;
/// More is not drawn; the steps below have all of it.
const DRAWN: usize = 2_000;

struct PageDrawing<'a> {
    story: &'a Story,
    page: Page<'a>,
    /// Where each end of a message is: the message by its place in the story, and the row.
    ends: BTreeMap<(usize, usize, usize), (usize, usize)>,
    text: String,
    height: usize,
}

impl<'a> PageDrawing<'a> {
    fn new(model: &'a Model, story: &'a Story) -> Self {
        let page = Page::new(model, story, StoryDetail::Folded, usize::MAX);
        PageDrawing { story, page, ends: BTreeMap::new(), text: String::new(), height: HEAD }
    }

    fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        let all = blocks(self.story, StoryDetail::Folded);
        let drawn = all.len().min(DRAWN);
        for block in &all[..drawn] {
            self.block(block);
        }
        self.standing();
        let width = LEFT + self.page.shown.len() * COLUMN + 20;
        let height = self.height + LINE;
        writeln!(out, "<div class=\"lanes\"><svg width=\"{width}\" height=\"{height}\" role=\"img\">")?;
        for (at, lane) in self.page.shown.iter().enumerate() {
            let x = LEFT + at * COLUMN;
            let name = escape(&clip(&self.story.lanes[*lane].name));
            writeln!(out, "<text class=\"name\" x=\"{x}\" y=\"20\">{name}</text>")?;
            writeln!(
                out,
                "<line class=\"lane\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{}\"/>",
                self.height
            )?;
        }
        for (at, arrow) in self.story.arrows.iter().enumerate() {
            self.arrow(out, at, arrow)?;
        }
        out.write_all(self.text.as_bytes())?;
        writeln!(out, "</svg></div>")?;
        for line in [self.page.rest()].iter().chain(&self.story.strange).filter(|line| !line.is_empty()) {
            writeln!(out, "<p class=\"faint\">{}</p>", escape(line))?;
        }
        match all.len() - drawn {
            0 => Ok(()),
            rest => writeln!(out, "<p class=\"faint\">{rest} more rows are not drawn.</p>"),
        }
    }

    fn column(&self, lane: usize) -> Option<usize> {
        self.page.shown.iter().position(|shown| *shown == lane).map(|at| LEFT + at * COLUMN)
    }

    fn block(&mut self, block: &RowBlock<'a>) {
        let cells = self.page.cells(block);
        let (number, relevant) = match block {
            RowBlock::Step(row) => (row.number, row.relevant),
            RowBlock::Moves(rows) | RowBlock::Turn(rows) => {
                (rows.last().map_or(0, |row| row.number), rows.iter().any(|row| row.relevant))
            }
            RowBlock::Left(_) => return,
        };
        let class = if relevant { "" } else { " class=\"aside\"" };
        let y = self.height + LINE;
        self.text.push_str(&format!(
            "<g{class}><a href=\"#step{number}\"><text class=\"number\" x=\"{}\" y=\"{y}\">{number}</text></a>\n",
            LEFT - 14
        ));
        let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
        for cell in cells {
            let Some(x) = self.column(cell.lane) else { continue };
            let line = lines.entry(cell.lane).or_insert(0);
            let y = y + *line * LINE;
            *line += 1;
            let mut class = "";
            if let Some(arrow) = cell.arrow {
                let at = self.story.arrows.iter().position(|known| std::ptr::eq(known, arrow)).unwrap_or(0);
                self.ends.insert((at, number, cell.lane), (x, y - 5));
                class = if matches!(arrow.to, Target::Taken(..)) {
                    " class=\"message\""
                } else {
                    " class=\"open\""
                };
            } else {
                self.text.push_str(&format!("<circle cx=\"{x}\" cy=\"{}\" r=\"3\"/>", y - 5));
            }
            let text = escape(&clip(&cell.text));
            let full = escape(&cell.text);
            self.text.push_str(&format!(
                "<text{class} x=\"{}\" y=\"{y}\">{text}<title>{full}</title></text>\n",
                x + 9
            ));
        }
        self.text.push_str("</g>\n");
        self.height += lines.values().max().copied().unwrap_or(1) * LINE + 6;
    }

    /// A message, between the two lines of text that are its ends.
    fn arrow(&self, out: &mut dyn Write, at: usize, arrow: &Arrow) -> io::Result<()> {
        let Some((x, y)) = self.ends.get(&(at, arrow.from.0, arrow.from.1)).copied() else { return Ok(()) };
        let (class, end) = match arrow.to {
            Target::Taken(row, lane) => {
                // It leaves below what is said and comes in above what is taken, so that no line goes through words.
                let height = |y: usize| if row == arrow.from.0 { y + LINE / 2 } else { y.saturating_sub(8) };
                ("message", self.ends.get(&(at, row, lane)).map(|(x, y)| (*x, height(*y))))
            }
            Target::InFlight(Some(lane)) => ("open", self.column(lane).map(|to| (to, y + LINE))),
            Target::InFlight(None) | Target::Lost(_) => ("open", Some((x + 40, y + LINE))),
        };
        let Some((to_x, to_y)) = end else { return Ok(()) };
        let y = y + LINE / 2;
        writeln!(out, "<line class=\"{class}\" x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\"/>")?;
        let back = if to_x >= x { -7 } else { 7 };
        let tip = to_x as i64;
        writeln!(out, "<path class=\"{class} tip\" d=\"M{tip} {to_y} l{back} -4 l0 8 z\"/>",)
    }

    fn standing(&mut self) {
        let Some(ending) = &self.story.ending else { return };
        let y = self.height + LINE;
        self.text.push_str(&format!("<text class=\"bad\" x=\"{}\" y=\"{y}\">✗</text>", LEFT - 22));
        for lane in self.page.shown.clone() {
            let place = &ending.standing[lane].place;
            if let Some(x) = self.column(lane).filter(|_| !place.is_empty()) {
                let place = escape(&clip(place));
                self.text
                    .push_str(&format!("<text class=\"bad\" x=\"{}\" y=\"{y}\">{place}</text>\n", x + 9));
            }
        }
        self.height = y + 6;
    }
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(LETTERS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Why nobody can move.
fn write_obstacles(out: &mut dyn Write, story: &Story) -> io::Result<()> {
    let Some(ending) = &story.ending else { return Ok(()) };
    if ending.standing.iter().all(|standing| standing.obstacles.is_empty()) {
        return Ok(());
    }
    writeln!(out, "<h2>Why nothing can move</h2>\n<table class=\"why\">")?;
    for (lane, standing) in ending.standing.iter().enumerate() {
        for obstacle in &standing.obstacles {
            let reads: Vec<String> =
                obstacle.reads.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            writeln!(
                out,
                "<tr><th>{} {}</th><td><code>{}</code> <span class=\"faint\">{}</span></td></tr>",
                escape(&story.lanes[lane].name),
                escape(&standing.place),
                escape(&obstacle.text),
                escape(&reads.join(", "))
            )?;
        }
    }
    writeln!(out, "</table>")
}

/// Every step in full: what fired, where it stands, what it changed.
fn write_rows(out: &mut dyn Write, model: &Model, sources: &SourceMap, story: &Story) -> io::Result<()> {
    writeln!(out, "<h2>Steps</h2>")?;
    for row in &story.rows {
        let rule = escape(&instance_name(model, row.rule, &row.args));
        let lane = escape(&story.lanes[row.lane].name);
        let place = match sources.file(row.span.source).text() {
            "" => String::new(),
            _ => format!(" · {}", escape(&sources.locate(row.span))),
        };
        writeln!(
            out,
            "<details id=\"step{0}\"><summary>{0} <b>{rule}</b> <span class=\"faint\">{lane}{place}</span></summary>\n<table>",
            row.number
        )?;
        for change in &row.changes {
            let owner = escape(&story.lanes[change.lane].name);
            let path = escape(&change.path);
            let [old, new] = [&change.old, &change.new].map(|it| escape(it.as_deref().unwrap_or_default()));
            writeln!(out, "<tr><th>{owner}</th><td>{path}</td><td>{old}</td><td>→ {new}</td></tr>")?;
        }
        let (taken, sent) = story.messages(row.number);
        for (word, arrow) in taken.iter().map(|it| ("takes", it)).chain(sent.iter().map(|it| ("sends", it))) {
            writeln!(out, "<tr><th>{word}</th><td colspan=\"3\">{}</td></tr>", escape(&arrow.label))?;
        }
        writeln!(out, "</table></details>")?;
    }
    Ok(())
}

/// The sources, with what failed marked.
fn write_sources(out: &mut dyn Write, sources: &SourceMap, marked: &[Span]) -> io::Result<()> {
    for (at, file) in sources.files().enumerate().filter(|(_, file)| !file.text().is_empty()) {
        let (id, name, text) = (SourceId(at as u32), file.name(), file.text());
        writeln!(out, "<details><summary><b>{}</b></summary>\n<pre>", escape(name))?;
        let mut spans: Vec<&Span> =
            marked.iter().filter(|span| span.source == id && span.start < span.end).collect();
        spans.sort_by_key(|span| span.start);
        let mut at = 0;
        for span in spans {
            let (start, end) = (span.start as usize, span.end as usize);
            let (Some(before), Some(part)) = (text.get(at..start), text.get(start..end)) else { continue };
            write!(out, "{}<mark>{}</mark>", escape(before), escape(part))?;
            at = end;
        }
        writeln!(out, "{}</pre></details>", escape(text.get(at..).unwrap_or_default()))?;
    }
    Ok(())
}
