//! Source files, spans and diagnostics, and a toolkit for front ends: [`lexer`] and [`cursor`]. This crate knows no language
//! and prints nothing.
//!
//! A front end turns text into a model and a list of [`Diagnostic`]s; `shoal-report` renders them.

mod advice;
pub mod codes;
pub mod cursor;
mod diagnostic;
mod escape;
mod fold;
mod layout;
pub mod lexer;
mod lines;
mod remark;
mod source;
mod suggest;
mod vocabulary;

pub use advice::{Advice, Settable, Words};
pub use diagnostic::{Diagnostic, DiagnosticCode, Diagnostics, Label, OrReported, Reported, Severity};
pub use escape::{acts, escaped};
pub use fold::Fold;
pub use remark::remarks;
pub use source::{Position, SourceFile, SourceId, SourceMap, Span, Spanned, without_mark};
pub use suggest::did_you_mean;
pub use vocabulary::{LayoutWords, Piece, PieceKind, Vocabulary, WordRole, words_in_literals};
