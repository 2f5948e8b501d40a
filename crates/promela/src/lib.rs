//! Front end: Promela, the language of SPIN 6.5.
//!
//! [`load`] turns a source text into a [`Model`]. The way of a source through the modules:
//!
//! - `lexer`, `preprocess`: tokens, with macros expanded.
//! - `parser`, `ast`: the syntax tree; variables are resolved and inlines expanded on the way.
//! - `flow`: the control locations of proctypes and the steps between them, the same that SPIN has.
//! - `lower`: one rule a step.
//! - `any`: any number of processes.

mod any;
pub mod ast;
pub mod codes;
mod flow;
pub mod lexer;
mod lower;
mod options;
mod parser;
mod preprocess;
pub mod token;
pub mod vocabulary;
mod walk;

pub use options::Options;
pub use preprocess::{included, includes};

use shoal_model::Model;
use shoal_syntax::{Advice, Diagnostic, Diagnostics, Settable, SourceId, SourceMap, Span};

/// Makes a model of a source. There is a model unless the diagnostics have an error. The files that it includes are
/// looked for among the sources, by name.
pub fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    if options.any.is_empty() {
        load_sized(sources, id, options, &[])
    } else {
        any::load(sources, id, options)
    }
}

/// The same with a number of processes everywhere. `any_counts` are the places of those that may be any number.
fn load_sized(
    sources: &SourceMap,
    id: SourceId,
    options: &Options,
    any_counts: &[Span],
) -> (Option<Model>, Diagnostics) {
    let file = sources.file(id);
    let preprocessed = preprocess::preprocess(sources, id, &options.set);
    let mut diagnostics = preprocessed.diagnostics;
    for (name, _) in &options.set {
        if !preprocessed.names.contains(name.as_str()) {
            let message = format!("there is no macro `{name}` to set");
            let near = shoal_syntax::did_you_mean(name, preprocessed.names.iter().map(|name| &**name));
            let error = Diagnostic::error(codes::BAD_SET, Span::new(id, 0, 0), message);
            diagnostics.push(match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.advise(Advice::SetDeclared(Settable::Macro)),
            });
        }
    }
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let (mut program, found) = parser::parse(preprocessed.tokens, options.dynamic);
    program.any_counts = any_counts.to_vec();
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let (model, found) = lower::lower(&program, sources, id, options);
    diagnostics.extend(found);
    let Some(mut model) = model.filter(|_| !diagnostics.has_errors()) else { return (None, diagnostics) };
    let stem = file.name().rsplit(['/', '\\']).next().unwrap_or_default();
    model.name = stem.rsplit_once('.').map_or(stem, |(name, _)| name).to_string();
    if let Err(malformed) = shoal_model::verify(&model) {
        let message = format!("{malformed}; this is a mistake in Shoal, please report it");
        diagnostics.push(Diagnostic::error(codes::INTERNAL, malformed.span, message));
        return (None, diagnostics);
    }
    (Some(model), diagnostics)
}
