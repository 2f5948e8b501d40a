//! Front end: Murphi, the union of the CMurphi and Rumur languages.
//!
//! [`load`] turns a source text into a [`Model`]. Where the two dialects of the language differ in meaning,
//! [`Options::dialect`] decides.

mod any;
pub mod ast;
pub mod codes;
pub mod lexer;
mod lower;
mod options;
pub mod parser;
pub mod token;
pub mod vocabulary;

use lower::NumberUses;
pub use options::{Dialect, Options};

use shoal_model::Model;
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

/// Makes a model of a source. There is a model unless the diagnostics have an error.
pub fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    if options.any.is_empty() { load_sized(sources, id, options) } else { any::load(sources, id, options) }
}

/// Makes a model in which all sorts have a number of elements.
fn load_sized(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let (model, diagnostics, _) = load_and_trace(sources, id, options, &[]);
    (model, diagnostics)
}

/// The same, and what constants with these names are used for.
fn load_and_trace(
    sources: &SourceMap,
    id: SourceId,
    options: &Options,
    names: &[String],
) -> (Option<Model>, Diagnostics, NumberUses) {
    let file = sources.file(id);
    let (program, mut diagnostics) = parser::parse(id, file.text());
    if diagnostics.has_errors() {
        return (None, diagnostics, NumberUses::default());
    }
    let (mut model, found, uses) = lower::lower_and_trace(&program, sources, options, names);
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return (None, diagnostics, NumberUses::default());
    }
    let stem = file.name().rsplit(['/', '\\']).next().unwrap_or_default();
    model.name = stem.strip_suffix(".m").unwrap_or(stem).to_string();
    if let Err(malformed) = shoal_model::verify(&model) {
        let message = format!("{malformed}; this is a mistake in Shoal, please report it");
        diagnostics.push(Diagnostic::error(codes::INTERNAL, malformed.span, message));
        return (None, diagnostics, NumberUses::default());
    }
    (Some(model), diagnostics, uses)
}

/// The place of a whole file, for messages that are about no part of it.
pub(crate) fn file_start(id: SourceId) -> Span {
    Span::new(id, 0, 0)
}
