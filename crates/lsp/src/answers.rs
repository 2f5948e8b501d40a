//! What is said to each request, from what is known of a document.

mod complete;
mod marks;
mod places;

use std::sync::Arc;

use serde_json::{Value, json};
use shoal::syntax::{Diagnostic, Severity, Span};

use crate::{analysis::Analysis, checks::Known, server::Document, text::Text};

pub(crate) use self::{
    complete::completion,
    marks::{TOKEN_TYPES, hints, lenses, outline, tokens},
    places::{definition, highlights, hover, prepare_rename, references, rename},
};

/// The main text of a model is its first source.
pub(super) const MAIN: u32 = 0;

/// A document of which everything is known that a request may ask.
pub(crate) struct View<'d> {
    pub(crate) uri: &'d str,
    pub(crate) text: &'d Text,
    pub(crate) analysis: &'d Arc<Analysis>,
    pub(crate) document: &'d Document,
}

impl View<'_> {
    /// A piece of the document itself; nothing if it stands in another file.
    pub(super) fn range(&self, span: Span) -> Option<Value> {
        (span.source.0 == MAIN).then(|| self.text.range(span.start as usize, span.end as usize))
    }

    pub(super) fn offset(&self, params: &Value) -> Option<usize> {
        self.text.offset(&params["position"])
    }
}

/// All that is wrong in a document, and what its properties were found to be.
pub(crate) fn diagnostics(view: &View<'_>) -> Value {
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

fn one(view: &View<'_>, diagnostic: &Diagnostic) -> Value {
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

fn related(view: &View<'_>, span: Span, text: &str) -> Option<Value> {
    Some(json!({"location": {"uri": view.uri, "range": view.range(span)?}, "message": text}))
}

/// Violated properties, with the steps that lead there, and those that are not decided.
fn verdicts(view: &View<'_>) -> Vec<Value> {
    let Some(loaded) = &view.analysis.loaded else { return Vec::new() };
    let mut found = Vec::new();
    for property in loaded.model.properties.iter() {
        let Some(known) = view.document.verdict(&property.name) else { continue };
        let place = view.range(head(view, property.span)).unwrap_or_else(|| view.text.range(0, 0));
        match known {
            Known::Holds => {}
            Known::Unknown(reason) => found.push(json!({
                "range": place, "severity": 3, "source": "shoal", "message": format!("not decided: {reason}"),
            })),
            Known::Violated(shown) => {
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
pub(super) fn head(view: &View<'_>, span: Span) -> Span {
    let text = view.text.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let length = text.find('\n').unwrap_or(text.len());
    Span { end: span.start + length as u32, ..span }
}

/// What mends a mistake whose message says how: `did you mean` with one word.
pub(crate) fn actions(view: &View<'_>, params: &Value) -> Value {
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
    json!(mends.collect::<Vec<_>>())
}
