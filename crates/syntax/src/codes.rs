//! The stable codes of what a reader of tokens says, in all languages that use [`lexer`](crate::lexer) and
//! [`cursor`](crate::cursor).

use crate::DiagnosticCode;

/// A character that means nothing.
pub const UNKNOWN_CHARACTER: DiagnosticCode = DiagnosticCode("E0301");
/// A comment or a text that is never closed.
pub const UNCLOSED: DiagnosticCode = DiagnosticCode("E0302");
/// A number that does not fit 64 bits.
pub const BAD_NUMBER: DiagnosticCode = DiagnosticCode("E0303");
/// Something else was expected here.
pub const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0304");
/// Constructs are nested too deeply.
pub const TOO_DEEP: DiagnosticCode = DiagnosticCode("E0305");
/// A name that is not declared.
pub const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0311");
/// Something that must be known before the model runs.
pub const NOT_CONSTANT: DiagnosticCode = DiagnosticCode("E0314");
