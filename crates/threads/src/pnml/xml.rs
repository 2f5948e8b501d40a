//! The parts of PNML files that all kinds of nets have.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use shoal_syntax::{Diagnostic, SourceId, Span, cursor::Parsed};

use crate::codes;

/// Namespaces of attributes that say something of the file, not of the net.
const XML: &str = "http://www.w3.org/XML/1998/namespace";
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The kinds of nets of tokens without colours, as the last part of their address or as their name. What the core model leaves open
/// (tokens, numbers of arcs) is read as in a net of places and transitions, or refused by its name as there.
const KINDS: [&str; 7] =
    ["", "ptnet", "ptnetb", "p/t net", "p/t-net", "place/transition net", "pnmlcoremodel"];

/// The same of symmetric nets.
const COLOURED: &str = "symmetricnet";

/// Elements that say what a thing is called or how it is drawn, anywhere.
const DRAWN: [&str; 4] = ["name", "graphics", "labels", "arcpath"];

/// Attributes that say what a thing is called or how it is drawn.
const DRAWN_ATTRIBUTES: [&str; 9] = [
    "name",
    "positionX",
    "positionY",
    "nameOffsetX",
    "nameOffsetY",
    "displayName",
    "angle",
    "active",
    "xml:lang",
];

/// The parts of tool-specific elements that change nothing: units of nested-unit nets, and drawing.
const TOOL_PARTS: [&str; 22] = [
    "structure",
    "unit",
    "places",
    "subunits",
    "size",
    "tokengraphics",
    "tokenposition",
    "graphics",
    "position",
    "offset",
    "dimension",
    "fill",
    "line",
    "font",
    "bounds",
    "scale",
    "treewidthright",
    "overviewpanelvisible",
    "treeheightoverview",
    "treepanelvisible",
    "verticallayout",
    "orientation",
];

/// A file of which every element and attribute is known, or refused by its name.
#[derive(Clone, Copy)]
pub(super) struct NetXml {
    pub(super) id: SourceId,
}

/// What tokens are.
pub(super) enum NetKind {
    Plain,
    /// They have colours, of classes that the net declares.
    Coloured,
}

impl NetXml {
    /// The net of a document.
    pub(super) fn only_net<'a>(self, document: &'a Document<'a>) -> Parsed<(Node<'a, 'a>, NetKind)> {
        let root = document.root_element();
        if root.tag_name().name() != "pnml" {
            return self.wrong(root, "the file is no PNML: its first element is not `pnml`");
        }
        self.attributes(root, &[])?;
        self.only_its_own(root)?;
        let mut nets = Vec::new();
        for child in elements(root) {
            match child.tag_name().name() {
                "net" => nets.push(child),
                _ => self.other(root, child)?,
            }
        }
        let [one] = nets[..] else { return self.wrong(root, "a file with exactly one net is expected") };
        self.attributes(one, &["id", "type"])?;
        let kind = one.attribute("type").unwrap_or_default();
        let known = |kind: &str| KINDS.contains(&kind.to_ascii_lowercase().as_str());
        let last = kind.rsplit('/').next().unwrap_or_default().trim_end_matches(".pntd");
        match known(kind) || known(last) {
            true => Ok((one, NetKind::Plain)),
            false if last == COLOURED => Ok((one, NetKind::Coloured)),
            false => self.unsupported(one, format_args!("nets of type {kind:?}")),
        }
    }

    /// That no element or attribute has a prefix that makes it somebody else's: what it means there is not known here. What is for one
    /// tool, or for drawing, is not looked at.
    fn only_its_own(self, root: Node<'_, '_>) -> Parsed<()> {
        let mut open = vec![root];
        while let Some(of) = open.pop() {
            let name = of.tag_name().name();
            let other = of.tag_name().namespace().filter(|it| root.tag_name().namespace() != Some(it));
            if other.is_some_and(|namespace| of.lookup_prefix(namespace).is_some()) {
                return self.unsupported(of, format_args!("the element `{name}` of another namespace"));
            }
            let is_other =
                |namespace: Option<&str>| namespace.is_some_and(|it| it != XML && it != SCHEMA_INSTANCE);
            if let Some(attribute) = of.attributes().find(|attribute| is_other(attribute.namespace())) {
                let name = attribute.name();
                return self.unsupported(of, format_args!("the attribute `{name}` of another namespace"));
            }
            if !matches!(name, "toolspecific" | "graphics") {
                open.extend(elements(of));
            }
        }
        Ok(())
    }

    /// Takes each element of a net and of its pages, and what it stands in.
    pub(super) fn parts<'a>(
        self,
        of: Node<'a, 'a>,
        mut take: impl FnMut(Node<'a, 'a>, Node<'a, 'a>) -> Parsed<()>,
    ) -> Parsed<()> {
        let mut open = vec![of];
        while let Some(of) = open.pop() {
            let mut pages = Vec::new();
            for child in elements(of) {
                if child.tag_name().name() == "page" {
                    self.attributes(child, &["id"])?;
                    pages.push(child);
                } else {
                    take(of, child)?;
                }
            }
            open.extend(pages.into_iter().rev());
        }
        Ok(())
    }

    pub(super) fn span(self, node: Node<'_, '_>) -> Span {
        let range = node.range();
        Span::new(self.id, range.start, range.end.min(range.start + 80))
    }

    pub(super) fn wrong<T>(self, node: Node<'_, '_>, message: impl Into<String>) -> Parsed<T> {
        Err(Box::new(Diagnostic::error(codes::UNEXPECTED, self.span(node), message)))
    }

    pub(super) fn unsupported<T>(self, node: Node<'_, '_>, what: impl std::fmt::Display) -> Parsed<T> {
        Err(Box::new(Diagnostic::error(
            codes::UNSUPPORTED,
            self.span(node),
            format!("not supported: {what}"),
        )))
    }

    pub(super) fn identity<'a>(self, node: Node<'a, 'a>) -> Parsed<&'a str> {
        match node.attribute("id") {
            Some(name) => Ok(name),
            None => self.wrong(node, format!("a {} without `id`", node.tag_name().name())),
        }
    }

    /// Refuses attributes that are neither known nor only drawn. Where a schema stands is no concern of the net.
    pub(super) fn attributes(self, node: Node<'_, '_>, known: &[&str]) -> Parsed<()> {
        let strange = |name: &str| !known.contains(&name) && !DRAWN_ATTRIBUTES.contains(&name);
        let own = |namespace: Option<&str>| namespace != Some("http://www.w3.org/2001/XMLSchema-instance");
        match node.attributes().find(|attribute| own(attribute.namespace()) && strange(attribute.name())) {
            None => Ok(()),
            Some(attribute) => {
                let (name, of) = (attribute.name(), node.tag_name().name());
                self.unsupported(node, format_args!("the attribute `{name}` of `{of}`"))
            }
        }
    }

    /// An element that has no meaning of its own in its parent: it is drawn, or belongs to a tool, or is refused.
    pub(super) fn other(self, parent: Node<'_, '_>, node: Node<'_, '_>) -> Parsed<()> {
        let name = node.tag_name().name();
        if DRAWN.contains(&name) {
            return Ok(());
        }
        if name != "toolspecific" {
            return self.unsupported(node, format_args!("`{name}` in `{}`", parent.tag_name().name()));
        }
        let known =
            |node: &Node<'_, '_>| TOOL_PARTS.contains(&node.tag_name().name().to_ascii_lowercase().as_str());
        match node.descendants().skip(1).find(|part| part.is_element() && !known(part)) {
            None => Ok(()),
            Some(part) => {
                let tool = node.attribute("tool").unwrap_or_default();
                self.unsupported(part, format_args!("`{}` of the tool {tool:?}", part.tag_name().name()))
            }
        }
    }
}

/// Notes by what a thing can be called: its identifier, or else its name.
pub(super) fn call(names: &mut HashMap<String, usize>, id: &str, node: Node<'_, '_>, number: usize) {
    let name = node.children().find(|part| part.tag_name().name() == "name");
    let text = name.and_then(|name| name.children().find(|part| part.tag_name().name() == "text"));
    if let Some(shown) = text.and_then(|text| text.text()) {
        names.entry(shown.trim().to_string()).or_insert(number);
    }
    names.insert(id.to_string(), number);
}

/// The elements right inside of another.
pub(super) fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}
