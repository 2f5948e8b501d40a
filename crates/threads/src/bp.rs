//! Concurrent boolean programs (`.bp`), in the dialect of SATABS and BOPPO; labels may be numbers, as in BoPP.
//!
//! A source is parsed to statements, procedures are inlined to flat code, the code is simplified (dead locals are forgotten,
//! steps that do nothing are left out), and each instruction becomes a rule.

mod ast;
mod flat;
mod flow;
mod inline;
mod lexer;
mod lower;
mod parser;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};

use crate::Options;

/// Makes a model of a boolean program.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let program = match parser::parse(sources.file(id).text(), id) {
        Ok(program) => program,
        Err(error) => {
            diagnostics.push(*error);
            return (None, diagnostics);
        }
    };
    let Some(mut code) = inline::inline(&program, id, options, &mut diagnostics) else {
        return (None, diagnostics);
    };
    if let Err(error) = flow::simplify(&mut code) {
        diagnostics.push(*error);
        return (None, diagnostics);
    }
    let model = lower::lower(&code, sources, id, options, &mut diagnostics);
    (model, diagnostics)
}
