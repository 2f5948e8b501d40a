//! Concurrent boolean programs, in the dialect of SATABS and BOPPO (`.bp`; labels may be numbers) and in that of BoPP (`.nbp`).
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

/// How expressions are read: whether `a & b = c` is `(a & b) = c` or `a & (b = c)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As SATABS does: equality binds loosest.
    Satabs,
    /// As BoPP does: equality binds tightest.
    Bopp,
}

/// Makes a model of a boolean program.
pub(crate) fn load(
    sources: &SourceMap,
    id: SourceId,
    dialect: Dialect,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let program = match parser::parse(sources.file(id).text(), id, dialect) {
        Ok(program) => program,
        Err(error) => {
            diagnostics.push(*error);
            return (None, diagnostics);
        }
    };
    let Some(mut code) = inline::inline(&program, id, dialect, options, &mut diagnostics) else {
        return (None, diagnostics);
    };
    if let Err(error) = flow::simplify(&mut code) {
        diagnostics.push(*error);
        return (None, diagnostics);
    }
    let model = lower::lower(&code, sources, id, options, &mut diagnostics);
    (model, diagnostics)
}
