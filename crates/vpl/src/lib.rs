//! VPL, the Verification Procedure Language: automata with clocks, what is to be verified, and how to manipulate their
//! state-graphs.
//!
//! The paper shows the language by examples only. What it leaves open is decided here: `and`, `or`, `not`, `implies` bind
//! as usual; `(...)` and `{...}` both group; a temporal operator reaches as far as it can; `forall j : A (...)` and
//! `exists j : A (...)` speak of all instances; bounds stand in brackets, `eventually[<= 5]`.

pub mod ast;
mod goals;
mod lower;
mod parser;
pub mod script;
mod usage;
pub mod vocabulary;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};
use shoal_template::Options;

/// Makes a model of a source, and the script of its manipulation part. There is a model unless the diagnostics have an
/// error.
pub fn load(
    sources: &SourceMap,
    id: SourceId,
    options: &Options,
) -> (Option<(Model, script::Script)>, Diagnostics) {
    let (program, mut diagnostics) = parser::parse(id, sources.file(id).text());
    let Some(program) = program.filter(|_| !diagnostics.has_errors()) else { return (None, diagnostics) };
    let (lowered, script) = match lower::lower(&program, sources.file(id).text(), options) {
        Ok((model, script)) => (Ok(model), Some(script)),
        Err(errors) => (Err(errors), None),
    };
    let model = shoal_template::finish(lowered, sources, id, &mut diagnostics);
    (model.zip(script), diagnostics)
}
