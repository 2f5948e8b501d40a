//! State graphs for other tools: DOT for pictures, GraphML for yEd, Gephi and libraries, AUT (Aldébaran) for CADP, mCRL2 and LTSmin.

use std::io::{self, Write};

use shoal_syntax::escaped;

use crate::{page::escape, svg::place};

/// A graph with text on its nodes and edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelledGraph {
    /// Its name.
    pub name: String,
    /// What is written in each node.
    pub nodes: Vec<String>,
    /// The start states.
    pub starts: Vec<usize>,
    /// From, what fired, to.
    pub edges: Vec<(usize, String, usize)>,
}

/// Writes a graph for Graphviz.
pub fn write_dot(out: &mut dyn Write, graph: &LabelledGraph) -> io::Result<()> {
    writeln!(out, "digraph {} {{", quoted(&graph.name))?;
    writeln!(out, "  node [shape=box, fontname=\"monospace\", fontsize=10];")?;
    writeln!(out, "  edge [fontname=\"monospace\", fontsize=9];")?;
    for (number, label) in graph.nodes.iter().enumerate() {
        let style = if graph.starts.contains(&number) { ", style=bold" } else { "" };
        writeln!(out, "  s{number} [label={}{style}];", quoted(label))?;
    }
    for (from, label, to) in &graph.edges {
        writeln!(out, "  s{from} -> s{to} [label={}];", quoted(label))?;
    }
    writeln!(out, "}}")
}

/// Writes a graph as GraphML, with where our own pictures have its nodes.
pub fn write_graphml(out: &mut dyn Write, graph: &LabelledGraph) -> io::Result<()> {
    let text = |text: &str| escape(&text.split('\n').map(escaped).collect::<Vec<_>>().join("\n"));
    let placed = place(graph, &|number| vec![number.to_string()]);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
    )?;
    for (id, of, kind) in [
        ("state", "node", "string"),
        ("start", "node", "boolean"),
        ("x", "node", "double"),
        ("y", "node", "double"),
        ("rule", "edge", "string"),
    ] {
        writeln!(out, "<key id=\"{id}\" for=\"{of}\" attr.name=\"{id}\" attr.type=\"{kind}\"/>")?;
    }
    writeln!(out, "<graph id=\"{}\" edgedefault=\"directed\">", text(&graph.name))?;
    for (number, label) in graph.nodes.iter().enumerate() {
        let start = graph.starts.contains(&number);
        let (x, y) = (placed.x[number], placed.y[number]);
        writeln!(
            out,
            "<node id=\"s{number}\"><data key=\"state\">{}</data><data key=\"start\">{start}</data><data key=\"x\">{x:.1}</data><data key=\"y\">{y:.1}</data></node>",
            text(label)
        )?;
    }
    for (from, label, to) in &graph.edges {
        writeln!(
            out,
            "<edge source=\"s{from}\" target=\"s{to}\"><data key=\"rule\">{}</data></edge>",
            text(label)
        )?;
    }
    writeln!(out, "</graph>\n</graphml>")
}

/// Writes a graph as AUT. The format has one initial state: where there are several, a state before them is
/// added that leads to each by the internal action `i`.
pub fn write_aut(out: &mut dyn Write, graph: &LabelledGraph) -> io::Result<()> {
    let several = graph.starts.len() != 1;
    let extra = if several { graph.starts.len() } else { 0 };
    let first = if several { graph.nodes.len() } else { graph.starts[0] };
    let nodes = graph.nodes.len() + usize::from(several);
    writeln!(out, "des ({first}, {}, {nodes})", graph.edges.len() + extra)?;
    for start in graph.starts.iter().filter(|_| several) {
        writeln!(out, "({first}, \"i\", {start})")?;
    }
    for (from, label, to) in &graph.edges {
        writeln!(out, "({from}, {}, {to})", quoted(label))?;
    }
    Ok(())
}

/// Text in quotes. Lines stay lines; whatever else could act is written out first.
fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escaped).collect();
    format!("\"{}\"", lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> LabelledGraph {
        LabelledGraph {
            name: "g".into(),
            nodes: vec!["x = 0".into(), "x = \"1\"\ny = 2".into()],
            starts: vec![0],
            edges: vec![(0, "up".into(), 1), (1, "down".into(), 0)],
        }
    }

    #[test]
    fn dot_and_aut_are_written() {
        let (mut dot, mut aut) = (Vec::new(), Vec::new());
        write_dot(&mut dot, &graph()).unwrap();
        write_aut(&mut aut, &graph()).unwrap();
        let dot = String::from_utf8(dot).unwrap();
        assert!(dot.contains(r#"s1 [label="x = \"1\"\ny = 2"];"#), "{dot}");
        assert!(dot.contains(r#"s0 -> s1 [label="up"];"#));
        assert_eq!(String::from_utf8(aut).unwrap(), "des (0, 2, 2)\n(0, \"up\", 1)\n(1, \"down\", 0)\n");
    }

    #[test]
    fn graphml_is_xml_and_has_everything() {
        let odd: String = (0..0x100).filter_map(char::from_u32).chain(['\u{ffff}', '\u{202e}']).collect();
        let mut odd_graph = graph();
        odd_graph.name = odd.clone();
        odd_graph.nodes[0] = odd.clone();
        odd_graph.edges[0].1 = odd;
        for graph in [graph(), odd_graph, LabelledGraph::default()] {
            let mut out = Vec::new();
            write_graphml(&mut out, &graph).unwrap();
            let text = String::from_utf8(out).unwrap();
            let read = roxmltree::Document::parse(&text).unwrap();
            let count = |tag: &str| {
                read.descendants()
                    .filter(|node| node.has_tag_name(("http://graphml.graphdrawing.org/xmlns", tag)))
                    .count()
            };
            assert_eq!((count("node"), count("edge")), (graph.nodes.len(), graph.edges.len()));
        }
    }

    #[test]
    fn several_starts_get_one_before_them() {
        let mut aut = Vec::new();
        write_aut(&mut aut, &LabelledGraph { starts: vec![0, 1], ..graph() }).unwrap();
        assert!(String::from_utf8(aut).unwrap().starts_with("des (2, 4, 3)\n(2, \"i\", 0)\n(2, \"i\", 1)\n"));
    }
}
