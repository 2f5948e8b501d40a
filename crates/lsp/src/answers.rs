//! What is said to each request, from what is known of a document.

mod complete;
mod layout;
mod marks;
mod places;

use std::sync::Arc;

use serde_json::{Value, json};
use shoal::{
    syntax::{Diagnostic, Severity, Span, Vocabulary},
    vocabulary_of,
};

use crate::{analysis::TextAnalysis, checks::PropertyStanding, server::Document, text::IndexedText};

pub(crate) use self::{
    complete::completion,
    layout::{folds, formatting},
    marks::{TOKEN_MODIFIERS, TOKEN_TYPES, hints, lenses, outline, tokens},
    places::{definition, highlights, hover, prepare_rename, references, rename},
};

/// The main text of a model is its first source.
pub(super) const MAIN: u32 = 0;

/// A document of which everything is known that a request may ask.
pub(crate) struct DocumentView<'d> {
    pub(crate) uri: &'d str,
    pub(crate) text: &'d IndexedText,
    pub(crate) analysis: &'d Arc<TextAnalysis>,
    pub(crate) document: &'d Document,
}

impl DocumentView<'_> {
    /// A piece of the document itself; nothing if it stands in another file.
    pub(super) fn range(&self, span: Span) -> Option<Value> {
        (span.source.0 == MAIN).then(|| self.text.range(span.start as usize, span.end as usize))
    }

    /// The words of the language, if people write it.
    pub(super) fn vocabulary(&self) -> Option<&'static Vocabulary> {
        vocabulary_of(&crate::server::path_of(self.uri), self.document.language())
    }

    pub(super) fn offset(&self, params: &Value) -> Option<usize> {
        self.text.offset(&params["position"])
    }
}

/// All that is wrong in a document, and what its properties were found to be.
pub(crate) fn diagnostics(view: &DocumentView<'_>) -> Value {
    let mut found: Vec<Value> =
        view.analysis.diagnostics.iter().map(|diagnostic| one(view, diagnostic)).collect();
    if let Some(message) = &view.analysis.elsewhere {
        found.push(
            json!({"range": view.text.range(0, 0), "severity": 1, "source": "shoal", "message": message}),
        );
    }
    found.extend(verdicts(view));
    json!({"uri": view.uri, "version": view.analysis.version, "diagnostics": found})
}

fn one(view: &DocumentView<'_>, diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let elsewhere = || view.analysis.sources.locate(diagnostic.primary.span);
    let (range, mut message) = match view.range(diagnostic.primary.span) {
        Some(range) => (range, diagnostic.message.clone()),
        None => (view.text.range(0, 0), format!("{}: {}", elsewhere(), diagnostic.message)),
    };
    if let Some(help) = &diagnostic.help {
        message += &format!("\n{help}");
    }
    let related = diagnostic.secondary.iter().filter_map(|label| related(view, label.span, &label.text));
    json!({
        "range": range, "severity": severity, "source": "shoal", "code": diagnostic.code.0, "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

fn related(view: &DocumentView<'_>, span: Span, text: &str) -> Option<Value> {
    Some(json!({"location": {"uri": view.uri, "range": view.range(span)?}, "message": text}))
}

/// Violated properties, with the steps that lead there, and those that are not decided.
fn verdicts(view: &DocumentView<'_>) -> Vec<Value> {
    let Some(loaded) = &view.analysis.loaded else { return Vec::new() };
    let mut found = Vec::new();
    for property in loaded.model.properties.iter() {
        let Some(known) = view.document.verdict(&property.name) else { continue };
        let place = view.range(head(view, property.span)).unwrap_or_else(|| view.text.range(0, 0));
        match known {
            PropertyStanding::Holds => {}
            PropertyStanding::Unknown(reason) => found.push(json!({
                "range": place, "severity": 3, "source": "shoal", "message": format!("not decided: {reason}"),
            })),
            PropertyStanding::Violated(shown) => {
                let steps = shown.steps.iter().filter_map(|(span, text)| related(view, *span, text));
                let length = shown.length.map_or("".into(), |length| format!(" in {length} steps"));
                found.push(json!({
                    "range": place, "severity": 1, "source": "shoal",
                    "message": format!("{} is violated{length}", property.title()),
                    "relatedInformation": steps.collect::<Vec<_>>(),
                }));
                let parts = shown.parts.iter().filter_map(|(span, text)| Some((view.range(*span)?, text)));
                found.extend(parts.map(|(range, text)| {
                    json!({"range": range, "severity": 2, "source": "shoal", "message": text})
                }));
            }
        }
    }
    found
}

/// The first line of a piece of text: what an editor underlines.
pub(super) fn head(view: &DocumentView<'_>, span: Span) -> Span {
    let text = view.text.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let length = text.find('\n').unwrap_or(text.len());
    Span { end: span.start + length as u32, ..span }
}

/// What mends a mistake whose message says how: `did you mean` with one word.
pub(crate) fn actions(view: &DocumentView<'_>, params: &Value) -> Value {
    let (Some(from), Some(to)) =
        (view.text.offset(&params["range"]["start"]), view.text.offset(&params["range"]["end"]))
    else {
        return Value::Null;
    };
    let mends = view.analysis.diagnostics.iter().filter_map(|diagnostic| {
        let span = diagnostic.primary.span;
        let meets = span.source.0 == MAIN && span.start as usize <= to && from <= span.end as usize;
        let word = diagnostic.help.as_deref()?.strip_prefix("did you mean `")?.strip_suffix("`?")?;
        // What stands there is a word too: anything else is not what is meant to be replaced.
        let (start, old) = view.text.word(span.start as usize)?;
        let range = view.text.range(start, start + old.len());
        meets.then(|| {
            json!({
                "title": format!("Replace `{old}` by `{word}`"), "kind": "quickfix", "isPreferred": true,
                "diagnostics": [one(view, diagnostic)],
                "edit": {"changes": {view.uri: [{"range": range, "newText": word}]}},
            })
        })
    });
    json!(mends.chain(scalarsets(view, from, to)).collect::<Vec<_>>())
}

/// Ranges of a Murphi model that nothing orders can be scalarsets; where `name: 1..N` or `name: 0..N-1` stands, that is one edit.
fn scalarsets(view: &DocumentView<'_>, from: usize, to: usize) -> Vec<Value> {
    let Some(loaded) = view.analysis.loaded.as_ref().filter(|it| it.language == "Murphi") else {
        return Vec::new();
    };
    let text = &view.text.text;
    let mut actions = Vec::new();
    for hint in shoal::scalarset_hints(&loaded.model).iter().filter(|hint| hint.with.is_empty()) {
        let Some((start, end, size)) = range_declared(text, &hint.name) else { continue };
        let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        if from > line_end || to < line_start {
            continue;
        }
        actions.push(json!({
            "title": format!("Make `{}` a scalarset: nothing orders it", hint.name), "kind": "refactor.rewrite",
            "edit": {"changes": {view.uri: [
                {"range": view.text.range(start, end), "newText": format!("scalarset({size})")},
            ]}},
        }));
    }
    actions
}

/// Where the range of a type stands, and how many values it has: of `name: 1..N` and `name: 0..N-1`.
fn range_declared(text: &str, name: &str) -> Option<(usize, usize, String)> {
    let is_head = |at: &usize| {
        !text[..*at].chars().next_back().is_some_and(crate::text::is_word)
            && text[at + name.len()..].trim_start().starts_with(':')
    };
    let at = text.match_indices(name).map(|(at, _)| at).find(is_head)?;
    let colon = at + name.len() + text[at + name.len()..].find(':')? + 1;
    let end = colon + text[colon..].find(';')?;
    let (first, last) = text[colon..end].split_once("..")?;
    let start = colon + (text[colon..end].len() - text[colon..end].trim_start().len());
    let size = match (first.trim(), last.trim()) {
        ("1", last) => last.to_string(),
        ("0", last) => match last.strip_suffix('1').and_then(|it| it.trim_end().strip_suffix('-')) {
            Some(size) => size.trim().to_string(),
            None => format!("{} + 1", last),
        },
        _ => return None,
    };
    Some((start, start + text[start..end].trim_end().len(), size))
}
