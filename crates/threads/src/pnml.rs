//! PNML place/transition nets.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use shoal_model::Model;
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::{
    Options, codes,
    net::{self, Bounds, Net, Rule},
};

/// Makes a model of a PNML file.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let text = sources.file(id).text();
    let whole = Span::new(id, 0, 0);
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let position = error.pos();
            let lines = text.split_inclusive('\n').take(position.row.saturating_sub(1) as usize);
            let start = lines.map(str::len).sum::<usize>() + position.col.saturating_sub(1) as usize;
            let start = (0..=start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let message = format!("the file is no XML: {error}");
            diagnostics.push(Diagnostic::error(codes::UNEXPECTED, Span::new(id, start, start), message));
            return (None, diagnostics);
        }
    };
    match read(&document, id) {
        Ok(net) => {
            let model = net::lower(net, whole, options, &mut diagnostics);
            (model, diagnostics)
        }
        Err(error) => {
            diagnostics.push(*error);
            (None, diagnostics)
        }
    }
}

type Fallible<T> = Result<T, Box<Diagnostic>>;

fn span(node: Node<'_, '_>, id: SourceId) -> Span {
    let range = node.range();
    Span::new(id, range.start, range.end.min(range.start + 80))
}

fn wrong<T>(node: Node<'_, '_>, id: SourceId, message: impl Into<String>) -> Fallible<T> {
    Err(Box::new(Diagnostic::error(codes::UNEXPECTED, span(node, id), message)))
}

fn read(document: &Document<'_>, id: SourceId) -> Fallible<Net> {
    let root = document.root_element();
    if root.tag_name().name() != "pnml" {
        return wrong(root, id, "the file is no PNML: its first element is not `pnml`");
    }
    let elements = |name: &'static str| root.descendants().filter(move |node| node.tag_name().name() == name);
    let nets: Vec<Node<'_, '_>> = elements("net").collect();
    let [one] = nets[..] else { return wrong(root, id, "a file with exactly one net is expected") };
    let kind = one.attribute("type").unwrap_or_default();
    if !kind.is_empty() && !kind.to_ascii_lowercase().contains("pt") {
        return Err(Box::new(Diagnostic::error(
            codes::UNSUPPORTED,
            span(one, id),
            format!("not supported: nets of type {kind:?}"),
        )));
    }
    let mut net = Net { target_span: span(one, id), ..Net::default() };
    let mut places: HashMap<&str, usize> = HashMap::new();
    for place in elements("place") {
        let name = identity(place, id)?;
        if places.insert(name, net.places.len()).is_some() {
            return wrong(place, id, format!("the place {name:?} stands there twice"));
        }
        net.places.push((name.into(), span(place, id)));
        net.init.push(Bounds::exactly(number(place, "initialMarking", id)?.unwrap_or(0)));
    }
    if net.places.is_empty() {
        return wrong(one, id, "the net has no places");
    }
    let mut arcs: HashMap<&str, [HashMap<usize, u64>; 2]> = HashMap::new();
    let mut names = Vec::new();
    for transition in elements("transition") {
        let name = identity(transition, id)?;
        if arcs.insert(name, Default::default()).is_some() {
            return wrong(transition, id, format!("the transition {name:?} stands there twice"));
        }
        names.push((name, span(transition, id)));
    }
    for arc in elements("arc") {
        let end = |name: &str| match arc.attribute(name) {
            Some(end) => Ok(end),
            None => wrong(arc, id, format!("an arc without {name:?}")),
        };
        if let Some(kind) = arc.children().find(|child| child.tag_name().name() == "type") {
            let kind = kind.attribute("value").unwrap_or_default();
            if kind != "normal" {
                return Err(Box::new(Diagnostic::error(
                    codes::UNSUPPORTED,
                    span(arc, id),
                    format!("not supported: arcs of type {kind:?}"),
                )));
            }
        }
        let (source, target) = (end("source")?, end("target")?);
        let weight = number(arc, "inscription", id)?.unwrap_or(1);
        let (transition, place, side) = match (places.get(source), places.get(target)) {
            (Some(place), None) => (target, *place, 0),
            (None, Some(place)) => (source, *place, 1),
            _ => return wrong(arc, id, "an arc leads from a place to a transition or back"),
        };
        match arcs.get_mut(transition) {
            Some(sides) => {
                let sum = sides[side].entry(place).or_default();
                *sum = sum.saturating_add(weight);
            }
            None => return wrong(arc, id, format!("there is no place or transition {transition:?}")),
        }
    }
    for (name, span) in names {
        let [take, give] = arcs.remove(name).unwrap_or_default();
        let mut guard: Vec<(usize, Bounds)> =
            take.iter().map(|(place, count)| (*place, Bounds::at_least(*count))).collect();
        guard.sort_unstable_by_key(|part| part.0);
        let mut touched: Vec<usize> = take.keys().chain(give.keys()).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        let effect = |place: usize| {
            let of = |side: &HashMap<usize, u64>| {
                i64::try_from(side.get(&place).copied().unwrap_or(0)).unwrap_or(i64::MAX / 2)
            };
            of(&give) - of(&take)
        };
        let updates = touched
            .into_iter()
            .filter(|place| effect(*place) != 0)
            .map(|place| (place, vec![place], effect(place)));
        net.rules.push(Rule { name: name.into(), guard, updates: updates.collect(), span });
    }
    Ok(net)
}

fn identity<'a>(node: Node<'a, '_>, id: SourceId) -> Fallible<&'a str> {
    match node.attribute("id") {
        Some(name) => Ok(name),
        None => wrong(node, id, format!("a {} without `id`", node.tag_name().name())),
    }
}

/// The number in the text of a part, if there is that part.
fn number(node: Node<'_, '_>, part: &str, id: SourceId) -> Fallible<Option<u64>> {
    let Some(part) = node.children().find(|child| child.tag_name().name() == part) else { return Ok(None) };
    let text = part.children().find(|child| child.tag_name().name() == "text").and_then(|text| text.text());
    match text.unwrap_or_default().trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => {
            Err(Box::new(Diagnostic::error(codes::NUMBER, span(part, id), "a number is expected here")))
        }
    }
}
