//! The manipulation part, ready to be run: what a runner needs to know beside the statements.

use super::ast::Stmt;

/// A manipulation part. Who runs it gives the functions on graphs their meaning.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What is to be done.
    pub statements: Vec<Stmt>,
    /// The families of automata: name, first index, number; no number if there may be any.
    pub families: Vec<(String, i64, Option<u32>)>,
}
