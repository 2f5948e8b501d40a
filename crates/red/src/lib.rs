//! Red models: templates of processes that point to each other.
//!
//! Every process is a structure with local variables, and a pointer's value is a process or NULL. The paper defines
//! expressions and what they mean; it shows declarations by one example and automata by drawings. What it leaves open is
//! decided here: families of processes (`process node : M { ... }`) give the paper's disjoint parts of a program and its
//! dummy processes, `initially` says what the paper leaves to the first transition, and connectives stop early unless
//! `connectives strict;` asks for the paper's.

pub mod ast;
mod declare;
mod expr;
mod lower;
mod parser;
pub mod vocabulary;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};
use shoal_template::Options;

/// Makes a model of a source. There is a model unless the diagnostics have an error.
pub fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let text = sources.file(id).text();
    let (program, mut diagnostics) = parser::parse(id, text);
    let Some(program) = program.filter(|_| !diagnostics.has_errors()) else { return (None, diagnostics) };
    let lowered = lower::lower(&program, text, options);
    (shoal_template::finish(lowered, sources, id, &mut diagnostics), diagnostics)
}
