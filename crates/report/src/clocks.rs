//! The clocks of a run as a picture: time goes to the right, and each clock climbs with it until it is set back.

use std::io::{self, Write};

use shoal_model::Ratio;
use shoal_story::{ClockLine, Moment, Story};

use crate::page::escape;

/// A clock's strip.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 44.0;
/// Where strips begin, behind the names.
const LEFT: f64 = 150.0;
const GAP: f64 = 14.0;
/// More clocks than this are not drawn: a reader has given up before.
const MOST: usize = 24;

fn as_number(ratio: Ratio) -> f64 {
    let (numerator, denominator) = ratio.parts();
    numerator as f64 / denominator as f64
}

/// Writes the strips; nothing if there are no clocks or no time passes.
pub(crate) fn write_clocks(out: &mut dyn Write, story: &Story) -> io::Result<()> {
    let last = |line: &ClockLine| line.moments.last().map_or(0.0, |moment| as_number(moment.time));
    let end = story.clocks.iter().map(last).fold(0.0, f64::max);
    if end == 0.0 {
        return Ok(());
    }
    let drawn = &story.clocks[..story.clocks.len().min(MOST)];
    let height = GAP + drawn.len() as f64 * (HEIGHT + GAP);
    let width = LEFT + WIDTH + 60.0;
    writeln!(
        out,
        "<h2>Clocks</h2>\n<div class=\"lanes\"><svg width=\"{width}\" height=\"{height}\" role=\"img\">"
    )?;
    for (at, line) in drawn.iter().enumerate() {
        let bottom = (at + 1) as f64 * (HEIGHT + GAP);
        write_strip(out, line, bottom, end)?;
    }
    writeln!(out, "</svg></div>\n<p class=\"faint\">Time goes to the right, from 0 to {end}.</p>")?;
    match story.clocks.len() - drawn.len() {
        0 => Ok(()),
        rest => writeln!(out, "<p class=\"faint\">{rest} more clocks are not drawn.</p>"),
    }
}

fn write_strip(out: &mut dyn Write, line: &ClockLine, bottom: f64, end: f64) -> io::Result<()> {
    let shown = line.moments.iter().filter_map(|moment| moment.shows.map(as_number));
    let greatest = shown.fold(0.0, f64::max);
    let x = |moment: &Moment| LEFT + WIDTH * as_number(moment.time) / end;
    let y = |shows: f64| bottom - if greatest > 0.0 { HEIGHT * shows / greatest } else { 0.0 };
    let (right, top) = (LEFT + WIDTH, bottom - HEIGHT);
    writeln!(
        out,
        "<text class=\"name\" x=\"0\" y=\"{}\">{}</text>",
        bottom - HEIGHT / 3.0,
        escape(&line.name)
    )?;
    writeln!(out, "<line class=\"lane\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>")?;
    writeln!(out, "<text class=\"number\" x=\"{}\" y=\"{}\">{greatest}</text>", LEFT - 6.0, top + 9.0)?;
    // A clock that is not there for a while has a line for each time that it is.
    for piece in line.moments.split(|moment| moment.shows.is_none()).filter(|piece| piece.len() > 1) {
        let points: Vec<String> = piece
            .iter()
            .filter_map(|moment| Some(format!("{:.1},{:.1}", x(moment), y(as_number(moment.shows?)))))
            .collect();
        writeln!(out, "<polyline class=\"clock\" points=\"{}\"/>", points.join(" "))?;
    }
    Ok(())
}
