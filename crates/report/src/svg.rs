//! State graphs as pictures, for users without Graphviz: our own layout, by the distance from a start.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use serde_json::{Value as Json, json};
use shoal_story::{GraphLayout, LayoutGraph, layout};
use shoal_syntax::escaped;

use crate::{LabelledGraph, page::escape};

/// With more nodes than this, states are numbers and what is in them is seen when one points at them.
const WRITTEN_NODES: usize = 300;
/// With more steps than this, their names are seen when one points at them.
const WRITTEN_STEPS: usize = 80;
/// So wide is a letter and so high a line.
const LETTER: f64 = 6.3;
const LINE: f64 = 13.0;

/// Draws a graph, from the start states downwards.
pub fn write_svg(out: &mut dyn Write, graph: &LabelledGraph) -> io::Result<()> {
    let written = graph.nodes.len() <= WRITTEN_NODES;
    let lines = |number: usize| -> Vec<String> {
        match written && !graph.nodes[number].is_empty() {
            true => graph.nodes[number].split('\n').map(shown).collect(),
            false => vec![number.to_string()],
        }
    };
    let placed = place(graph, &lines);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" font-family=\"monospace\" font-size=\"10\">",
        placed.width, placed.height
    )?;
    writeln!(
        out,
        "<style>rect{{fill:#fff;stroke:#345}}.s{{stroke-width:3}}path{{fill:none;stroke:#468}}.b{{stroke:#a76;stroke-dasharray:4 3}}.t{{fill:#468;stroke:none}}.l{{fill:#06c;paint-order:stroke;stroke:#fff;stroke-width:3px}}</style>"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" stroke=\"none\"/>")?;
    let sizes = sizes(graph, &lines);
    for (number, (from, label, to)) in graph.edges.iter().enumerate() {
        write_edge(out, &placed, &sizes, (*from, *to), label, number, graph.edges.len() <= WRITTEN_STEPS)?;
    }
    for (number, (width, height)) in sizes.iter().enumerate() {
        let (left, top) = (placed.x[number] - width / 2.0, placed.y[number] - height / 2.0);
        let class = if graph.starts.contains(&number) { " class=\"s\"" } else { "" };
        write!(
            out,
            "<g><rect{class} x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\"/>"
        )?;
        for (at, line) in lines(number).iter().enumerate() {
            let y = top + 13.0 + at as f64 * LINE;
            write!(out, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", left + 6.0, escape(line))?;
        }
        if !written {
            write!(out, "<title>{}</title>", escape(&shown(&graph.nodes[number].replace('\n', "; "))))?;
        }
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")
}

/// Where the nodes of a graph go when a picture of it is drawn.
pub(crate) fn place(graph: &LabelledGraph, lines: &dyn Fn(usize) -> Vec<String>) -> GraphLayout {
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(|(from, _, to)| (*from, *to)).collect();
    layout(&LayoutGraph {
        sizes: &sizes(graph, lines),
        edges: &edges,
        starts: &graph.starts,
        levels: &[],
        before: &[],
    })
}

/// A graph as JSON, for those who draw it: where each node is, how large, and what stands in it.
pub fn picture_as_json(graph: &LabelledGraph) -> Json {
    picture_from(graph, &[], &[])
}

/// The same of a part of a graph, with the levels of its nodes and with nodes that were somewhere before.
pub fn picture_from(graph: &LabelledGraph, levels: &[usize], before: &[Option<f64>]) -> Json {
    let lines = |number: usize| -> Vec<String> { graph.nodes[number].split('\n').map(shown).collect() };
    let sizes = sizes(graph, &lines);
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(|(from, _, to)| (*from, *to)).collect();
    let placed = layout(&LayoutGraph { sizes: &sizes, edges: &edges, starts: &graph.starts, levels, before });
    let node = |number: usize| json!({ "x": placed.x[number], "y": placed.y[number], "width": sizes[number].0, "height": sizes[number].1, "level": placed.level[number], "lines": lines(number) });
    let edge = |(from, label, to): &(usize, String, usize)| json!({ "from": from, "to": to, "label": label });
    json!({
        "width": placed.width,
        "height": placed.height,
        "nodes": (0..graph.nodes.len()).map(node).collect::<Vec<_>>(),
        "edges": graph.edges.iter().map(edge).collect::<Vec<_>>(),
    })
}

fn sizes(graph: &LabelledGraph, lines: &dyn Fn(usize) -> Vec<String>) -> Vec<(f64, f64)> {
    let size = |number: usize| {
        let lines = lines(number);
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        (longest as f64 * LETTER + 12.0, lines.len() as f64 * LINE + 8.0)
    };
    (0..graph.nodes.len()).map(size).collect()
}

/// A step: down as a line, within a level as an arc above it, up as a dashed curve at the side, to itself as a loop.
fn write_edge(
    out: &mut dyn Write,
    placed: &GraphLayout,
    sizes: &[(f64, f64)],
    (from, to): (usize, usize),
    label: &str,
    number: usize,
    is_written: bool,
) -> io::Result<()> {
    let (x, y, half) = (placed.x[from], placed.y[from], sizes[from].1 / 2.0);
    let (to_x, to_y, to_half) = (placed.x[to], placed.y[to], sizes[to].1 / 2.0);
    let down = placed.level[to] > placed.level[from];
    let (class, way, at, tip) = if from == to {
        let right = x + sizes[from].0 / 2.0;
        let way = format!("M{right:.1} {:.1} c16 -10 16 14 0 4", y - 2.0);
        ("", way, (right + 14.0, y), (right, y + 2.0, -1.0, 0.0))
    } else if down {
        let (top, bottom) = (y + half, to_y - to_half);
        let bend = (bottom - top) / 2.0;
        let way = format!(
            "M{x:.1} {top:.1} C{x:.1} {:.1} {to_x:.1} {:.1} {to_x:.1} {bottom:.1}",
            top + bend,
            bottom - bend
        );
        // Labels of edges that begin together stand at different heights.
        let share = 0.45 + 0.12 * (number % 4) as f64;
        ("", way, (x + (to_x - x) * share, top + (bottom - top) * share), (to_x, bottom, 0.0, 1.0))
    } else if placed.level[to] == placed.level[from] {
        let (top, to_top) = (y - half, to_y - to_half);
        let rise = 18.0 + (to_x - x).abs().min(300.0) / 12.0;
        let way = format!(
            "M{x:.1} {top:.1} C{x:.1} {:.1} {to_x:.1} {:.1} {to_x:.1} {to_top:.1}",
            top - rise,
            to_top - rise
        );
        ("", way, ((x + to_x) / 2.0, top - rise * 0.75), (to_x, to_top, 0.0, 1.0))
    } else {
        let (side, to_side) = (x - sizes[from].0 / 2.0, to_x - sizes[to].0 / 2.0);
        let left = side.min(to_side) - 24.0;
        let way = format!("M{side:.1} {y:.1} C{left:.1} {y:.1} {left:.1} {to_y:.1} {to_side:.1} {to_y:.1}");
        (" class=\"b\"", way, (left + 6.0, (y + to_y) / 2.0), (to_side, to_y, 1.0, 0.0))
    };
    let mut text = format!("<g><path{class} d=\"{way}\"/>");
    let (tip_x, tip_y, along, below) = tip;
    let (wing_x, wing_y) = (3.0 * below, 3.0 * along);
    let _ = write!(
        text,
        "<path class=\"t\" d=\"M{tip_x:.1} {tip_y:.1} L{:.1} {:.1} L{:.1} {:.1} z\"/>",
        tip_x - 6.0 * along - wing_x,
        tip_y - 6.0 * below - wing_y,
        tip_x - 6.0 * along + wing_x,
        tip_y - 6.0 * below + wing_y
    );
    let label = escape(&shown(label));
    match is_written {
        true => {
            let _ = write!(
                text,
                "<text class=\"l\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                at.0, at.1
            );
        }
        false => {
            let _ = write!(text, "<title>{label}</title>");
        }
    }
    writeln!(out, "{text}</g>")
}

/// Text without what XML does not allow.
fn shown(text: &str) -> String {
    escaped(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_makes_a_picture_that_cannot_be_read() {
        let odd: String =
            (0..0x100).filter_map(char::from_u32).chain(['\u{fffe}', '\u{ffff}', '\u{202e}']).collect();
        let edges = vec![(0, odd.clone(), 0)];
        let graph = LabelledGraph { name: odd.clone(), nodes: vec![odd], starts: vec![0], edges };
        let mut svg = Vec::new();
        write_svg(&mut svg, &graph).unwrap();
        roxmltree::Document::parse(&String::from_utf8(svg).unwrap()).unwrap();
    }

    /// All ways to connect up to three states: loops, double edges, parts without a start, no states at all.
    #[test]
    fn small_graphs_are_drawn() {
        for count in 0..=3 {
            let pairs: Vec<_> = (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).collect();
            for chosen in 0..1_u32 << pairs.len() {
                let present = pairs.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
                let mut edges: Vec<_> =
                    present.map(|(_, (from, to))| (*from, "a < b & c".to_string(), *to)).collect();
                edges.extend(edges.first().cloned());
                let nodes = (0..count).map(|at| format!("x = {at}\ny = \"<\"")).collect();
                let graph = LabelledGraph { name: "g".into(), nodes, starts: vec![0; count.min(1)], edges };
                let mut svg = Vec::new();
                write_svg(&mut svg, &graph).unwrap();
                let text = String::from_utf8(svg).unwrap();
                let drawn = roxmltree::Document::parse(&text).unwrap();
                let boxes = drawn.descendants().filter(|node| node.has_tag_name("rect")).count();
                assert_eq!(boxes, count + 1, "{text}");
            }
        }
    }

    /// Nobody reads all names of a large picture; they are there for who points at them.
    #[test]
    fn large_graphs_are_drawn_too() {
        let nodes: Vec<String> = (0..2_000).map(|at| format!("x = {at}")).collect();
        let edges = (1..2_000).map(|at| (at / 3, format!("step {at}"), at)).collect();
        let graph = LabelledGraph { name: "g".into(), nodes, starts: vec![0], edges };
        let mut svg = Vec::new();
        write_svg(&mut svg, &graph).unwrap();
        let text = String::from_utf8(svg).unwrap();
        assert!(text.contains("<title>step 1999</title>") && text.contains("<title>x = 1999</title>"));
    }
}
