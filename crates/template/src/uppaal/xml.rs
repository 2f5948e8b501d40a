//! The XML form: the same texts in other places.

use roxmltree::{Document, Node, ParsingOptions};
use shoal_syntax::{Diagnostic, SourceId, Span, Spanned};

use super::{
    ast::{Edge, Location, Nta, Template},
    parser::{parse as parse_text, query},
};
use crate::{codes, cursor::Parsed};

pub(super) fn parse(source: SourceId, text: &str) -> Parsed<Nta> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let message = format!("this is not XML that can be read: {error}");
        Box::new(Diagnostic::error(codes::BAD_XML, Span::new(source, 0, 0), message))
    })?;
    let mut nta = Nta::default();
    for node in document.root_element().children().filter(Node::is_element) {
        match node.tag_name().name() {
            "declaration" => {
                nta.declarations =
                    parse_text(source, content(node), offset(node), |parser| parser.declarations())?;
            }
            "template" => nta.templates.push(template(source, node)?),
            "system" | "instantiation" => {
                let mut part = Nta::default();
                parse_text(source, content(node), offset(node), |parser| parser.whole(&mut part))?;
                nta.declarations.extend(part.declarations);
                nta.instances.extend(part.instances);
                nta.system.extend(part.system);
            }
            "queries" => {
                let formulas = node.descendants().filter(|node| node.has_tag_name("formula"));
                for formula in formulas.filter(|formula| !content(*formula).trim().is_empty()) {
                    nta.queries.push(query(source, content(formula), place(source, formula)));
                }
            }
            _ => {}
        }
    }
    Ok(nta)
}

fn content<'d>(node: Node<'d, '_>) -> &'d str {
    node.text().unwrap_or_default()
}

/// Where the text of a node begins. (Behind `&lt;` and its like, places in it are a little off.)
fn offset(node: Node<'_, '_>) -> usize {
    node.first_child().map_or(node.range().start, |text| text.range().start)
}

fn place(source: SourceId, node: Node<'_, '_>) -> Span {
    Span::new(source, offset(node), offset(node) + content(node).len())
}

fn template(source: SourceId, node: Node<'_, '_>) -> Parsed<Template> {
    let mut template = Template::default();
    for child in node.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "name" => {
                template.name = Some(Spanned::new(content(child).trim().to_string(), place(source, child)))
            }
            "parameter" => {
                template.parameters =
                    parse_text(source, content(child), offset(child), |parser| parser.parameters())?;
            }
            "declaration" => {
                template.declarations =
                    parse_text(source, content(child), offset(child), |parser| parser.declarations())?;
            }
            "location" => {
                let id = child.attribute("id").unwrap_or_default().to_string();
                let has = |tag: &str| child.children().any(|node| node.has_tag_name(tag));
                let named = child.children().find(|node| node.has_tag_name("name"));
                let name = named.map_or_else(|| format!("_{id}"), |name| content(name).trim().to_string());
                let invariant = match label(child, "invariant") {
                    Some(label) => Some(parse_text(source, content(label), offset(label), |parser| {
                        parser.conjunction_list()
                    })?),
                    None => None,
                };
                let span = Span::new(source, child.range().start, child.range().start);
                template.locations.push(Location {
                    id,
                    name: Spanned::new(name, span),
                    invariant,
                    urgent: has("urgent") || has("committed"),
                    committed: has("committed"),
                });
            }
            "init" => template.start = child.attribute("ref").map(String::from),
            "transition" => template.edges.push(edge(source, child)?),
            "branchpoint" => {
                let span = Span::new(source, child.range().start, child.range().start);
                let message = "not supported: probabilities";
                return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, message)));
            }
            _ => {}
        }
    }
    Ok(template)
}

/// The label of a kind, if it says anything.
fn label<'d, 'i>(node: Node<'d, 'i>, kind: &str) -> Option<Node<'d, 'i>> {
    let labels = node.children().filter(|child| child.has_tag_name("label"));
    labels
        .into_iter()
        .find(|label| label.attribute("kind") == Some(kind) && !content(*label).trim().is_empty())
}

fn edge(source: SourceId, node: Node<'_, '_>) -> Parsed<Edge> {
    let end = |tag: &str| {
        let found = node.children().find(|child| child.has_tag_name(tag));
        found.and_then(|child| child.attribute("ref")).unwrap_or_default().to_string()
    };
    let span = Span::new(source, node.range().start, node.range().start);
    let mut edge = Edge {
        from: end("source"),
        to: end("target"),
        select: Vec::new(),
        guard: None,
        sync: None,
        assigns: Vec::new(),
        span,
    };
    if let Some(label) = label(node, "select") {
        edge.select = parse_text(source, content(label), offset(label), |parser| parser.selects())?;
    }
    if let Some(label) = label(node, "guard") {
        edge.guard =
            Some(parse_text(source, content(label), offset(label), |parser| parser.conjunction_list())?);
    }
    if let Some(label) = label(node, "synchronisation") {
        edge.sync = Some(parse_text(source, content(label), offset(label), |parser| parser.sync())?);
    }
    if let Some(label) = label(node, "assignment") {
        edge.assigns = parse_text(source, content(label), offset(label), |parser| parser.assigns())?;
    }
    Ok(edge)
}
