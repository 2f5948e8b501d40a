//! The XML form: the same texts in other places.

use roxmltree::{Document, Node, ParsingOptions};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span, Spanned, cursor::Parsed};
use shoal_template::codes;

use super::{
    ast::{Edge, ExprKind, Location, Nta, Template},
    parser::{Parser, parse as parse_text, query},
};

pub(super) fn parse(source: SourceId, text: &str) -> Result<Nta, Diagnostics> {
    let mut reader = XmlReader { source, mistakes: Diagnostics::new() };
    let mut nta = Nta::default();
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    match Document::parse_with_options(text, options) {
        Ok(document) => {
            for node in document.root_element().children().filter(Node::is_element) {
                let read = reader.part(node, &mut nta);
                reader.keep(read);
            }
        }
        Err(error) => {
            let message = format!("this is not XML that can be read: {error}");
            reader.mistakes.push(Diagnostic::error(codes::BAD_XML, Span::new(source, 0, 0), message));
        }
    }
    if reader.mistakes.has_errors() { Err(reader.mistakes) } else { Ok(nta) }
}

/// Reads on behind mistakes: each text stands by itself, and each element.
struct XmlReader {
    source: SourceId,
    mistakes: Diagnostics,
}

impl XmlReader {
    /// The mistake of an element is told with the others.
    fn keep(&mut self, read: Parsed<()>) {
        if let Err(error) = read {
            self.mistakes.push(*error);
        }
    }

    /// The text of a node, unless there are mistakes in it, which are told with the others.
    fn text<T>(
        &mut self,
        node: Node<'_, '_>,
        part: impl FnOnce(&mut Parser<'_, '_>) -> Parsed<T>,
    ) -> Option<T> {
        match parse_text(self.source, &content(node), offset(node), part) {
            Ok(parsed) => Some(parsed),
            Err(mistakes) => {
                self.mistakes.extend(mistakes);
                None
            }
        }
    }

    fn part(&mut self, node: Node<'_, '_>, nta: &mut Nta) -> Parsed<()> {
        let source = self.source;
        match node.tag_name().name() {
            "declaration" => {
                let more = self.text(node, |parser| parser.declarations());
                nta.declarations.extend(more.into_iter().flatten());
            }
            "template" => nta.templates.push(self.template(node)?),
            "system" | "instantiation" => {
                let mut part = Nta::default();
                self.text(node, |parser| parser.whole(&mut part));
                nta.declarations.extend(part.declarations);
                nta.instances.extend(part.instances);
                nta.system.extend(part.system);
            }
            "queries" => {
                let formulas = node.descendants().filter(|node| node.has_tag_name("formula"));
                for formula in formulas.filter(|formula| !content(*formula).trim().is_empty()) {
                    nta.queries.push(query(source, &content(formula), place(source, formula)));
                }
            }
            other => return refused(source, node, &format!("the element `{other}`")),
        }
        Ok(())
    }

    fn template(&mut self, node: Node<'_, '_>) -> Parsed<Template> {
        let mut template = Template::default();
        once(self.source, node, &["name", "parameter", "init"])?;
        for child in node.children().filter(Node::is_element) {
            let read = self.part_of_template(child, &mut template);
            self.keep(read);
        }
        template.join_branches()?;
        Ok(template)
    }

    fn part_of_template(&mut self, child: Node<'_, '_>, template: &mut Template) -> Parsed<()> {
        let source = self.source;
        match child.tag_name().name() {
            "name" => {
                template.name = Some(Spanned::new(content(child).trim().to_string(), place(source, child)))
            }
            "parameter" => {
                let parameters = self.text(child, |parser| parser.parameters());
                template.parameters.extend(parameters.into_iter().flatten());
            }
            "declaration" => {
                let more = self.text(child, |parser| parser.declarations());
                template.declarations.extend(more.into_iter().flatten());
            }
            "location" => template.locations.push(self.location(child)?),
            "init" => match child.attribute("ref") {
                Some(start) => template.start = Some(start.to_string()),
                None => return refused(source, child, "an initial location without `ref`"),
            },
            "transition" => template.edges.push(self.edge(child)?),
            "branchpoint" => match child.attribute("id") {
                Some(id) => template.branchpoints.push(id.to_string()),
                None => return refused(source, child, "a branch point without `id`"),
            },
            other => return refused(source, child, &format!("the element `{other}`")),
        }
        Ok(())
    }

    fn location(&mut self, node: Node<'_, '_>) -> Parsed<Location> {
        let source = self.source;
        let Some(id) = node.attribute("id").map(String::from) else {
            return refused(source, node, "a location without `id`");
        };
        only(source, node, &["name", "label", "urgent", "committed", "comment"])?;
        once(source, node, &["name"])?;
        let has = |tag: &str| node.children().any(|node| node.has_tag_name(tag));
        let named = node.children().find(|node| node.has_tag_name("name"));
        let name = named.map_or_else(|| format!("_{id}"), |name| content(name).trim().to_string());
        let mut invariant = None;
        for (kind, label) in labels(source, node)? {
            match kind {
                "invariant" => invariant = self.text(label, |parser| parser.conjunction_list()),
                // Rates matter to simulations only.
                "exponentialrate" | "comments" | "testcodeEnter" | "testcodeExit" => {}
                other => return refused(source, label, &format!("labels of the kind `{other}`")),
            }
        }
        let span = Span::new(source, node.range().start, node.range().start);
        Ok(Location {
            id,
            name: Spanned::new(name, span),
            invariant,
            urgent: has("urgent") || has("committed"),
            committed: has("committed"),
        })
    }

    fn edge(&mut self, node: Node<'_, '_>) -> Parsed<Edge> {
        let source = self.source;
        only(source, node, &["source", "target", "label", "nail", "comment"])?;
        once(source, node, &["source", "target"])?;
        let end = |tag: &str| {
            let found = node.children().find(|child| child.has_tag_name(tag));
            match found.and_then(|child| child.attribute("ref")) {
                Some(end) => Ok(end.to_string()),
                None => refused(source, node, &format!("a transition without `{tag}`")),
            }
        };
        let span = Span::new(source, node.range().start, node.range().start);
        let mut edge = Edge {
            from: end("source")?,
            to: end("target")?,
            select: Vec::new(),
            guard: None,
            sync: None,
            assigns: Vec::new(),
            span,
        };
        for (kind, label) in labels(source, node)? {
            match kind {
                "select" => {
                    edge.select.extend(self.text(label, |parser| parser.selects()).into_iter().flatten())
                }
                "guard" => edge.guard = self.text(label, |parser| parser.conjunction_list()),
                "synchronisation" => edge.sync = self.text(label, |parser| parser.sync()),
                "assignment" => {
                    edge.assigns.extend(self.text(label, |parser| parser.assigns()).into_iter().flatten())
                }
                "comments" | "testcode" => {}
                "probability" => {
                    let weight = self.text(label, |parser| parser.expr());
                    if weight.is_some_and(|weight| matches!(weight.kind, ExprKind::Number(0))) {
                        return refused(source, label, "branches of weight 0");
                    }
                }
                other => return refused(source, label, &format!("labels of the kind `{other}`")),
            }
        }
        Ok(edge)
    }
}

/// Nothing that is not understood is passed over.
fn refused<T>(source: SourceId, node: Node<'_, '_>, what: &str) -> Parsed<T> {
    let span = Span::new(source, node.range().start, node.range().start);
    Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, format!("not supported: {what}"))))
}

/// The text of a node; comments may stand in it.
fn content(node: Node<'_, '_>) -> String {
    node.children().filter(Node::is_text).filter_map(|part| part.text()).collect()
}

/// Where the text of a node begins. (Behind `&lt;` and its like, places in it are a little off.)
fn offset(node: Node<'_, '_>) -> usize {
    node.first_child().map_or(node.range().start, |text| text.range().start)
}

fn place(source: SourceId, node: Node<'_, '_>) -> Span {
    Span::new(source, offset(node), offset(node) + content(node).len())
}

/// That all elements of a node are known.
fn only(source: SourceId, node: Node<'_, '_>, known: &[&str]) -> Parsed<()> {
    let strange = |child: &Node<'_, '_>| child.is_element() && !known.contains(&child.tag_name().name());
    match node.children().find(strange) {
        Some(child) => refused(source, child, &format!("the element `{}`", child.tag_name().name())),
        None => Ok(()),
    }
}

/// That of each of some elements a node has one at most: which of two is meant nobody can say.
fn once(source: SourceId, node: Node<'_, '_>, tags: &[&str]) -> Parsed<()> {
    for tag in tags {
        if let Some(second) = node.children().filter(|child| child.has_tag_name(*tag)).nth(1) {
            return refused(source, second, &format!("two elements `{tag}` where one is meant"));
        }
    }
    Ok(())
}

/// The labels that say anything, with their kinds.
fn labels<'d, 'i>(source: SourceId, node: Node<'d, 'i>) -> Parsed<Vec<(&'d str, Node<'d, 'i>)>> {
    let mut found: Vec<(&str, Node<'_, '_>)> = Vec::new();
    for label in node.children().filter(|child| child.has_tag_name("label")) {
        let kind = label.attribute("kind").unwrap_or("");
        if content(label).trim().is_empty() {
            continue;
        }
        if found.iter().any(|(other, _)| *other == kind) {
            return refused(source, label, &format!("two labels of the kind `{kind}`"));
        }
        found.push((kind, label));
    }
    Ok(found)
}
