//! Small state graphs as pictures, for users without Graphviz.

use std::io::{self, Write};

use layout::{
    backends::svg::SVGWriter,
    core::{base::Orientation, color::Color, style::StyleAttr},
    std_shapes::{
        render::get_shape_size,
        shapes::{Arrow, Element, ShapeKind},
    },
    topo::layout::VisualGraph,
};

use shoal_syntax::escaped;

use crate::LabelledGraph;

/// The most steps that are drawn: nobody reads a picture of more, and to lay it out takes time that grows with more than
/// the square of their number (2 s for so many).
pub const DRAWN_STEPS: usize = 300;

const FONT: usize = 12;

/// Draws a graph, from the start states downwards.
pub fn write_svg(out: &mut dyn Write, graph: &LabelledGraph) -> io::Result<()> {
    // The library gives up on a graph without nodes.
    if graph.nodes.is_empty() {
        return writeln!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>");
    }
    let mut picture = VisualGraph::new(Orientation::TopToBottom);
    let draw = |(number, text): (usize, &String)| {
        let shape = ShapeKind::new_box(&shown(text));
        let width = if graph.starts.contains(&number) { 3 } else { 1 };
        let look = StyleAttr::new(Color::fast("black"), width, Some(Color::fast("white")), 5, FONT);
        let size = get_shape_size(Orientation::TopToBottom, &shape, FONT, false);
        Element::create(shape, look, Orientation::TopToBottom, size)
    };
    let elements: Vec<Element> = graph.nodes.iter().enumerate().map(draw).collect();
    let nodes: Vec<_> = elements.into_iter().map(|element| picture.add_node(element)).collect();
    for (from, label, to) in &graph.edges {
        picture.add_edge(Arrow::simple(&shown(label)), nodes[*from], nodes[*to]);
    }
    let mut svg = SVGWriter::new();
    picture.do_it(false, false, false, &mut svg);
    out.write_all(svg.finalize().as_bytes())
}

/// Text without what XML does not allow. Lines stay lines.
fn shown(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
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
                assert!(boxes >= count, "{text}");
            }
        }
    }
}
