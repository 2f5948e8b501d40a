//! The stable codes of what a reader of tokens says, in all languages that use [`lexer`](crate::lexer) and
//! [`cursor`](crate::cursor).

use crate::Code;

/// A character that means nothing.
pub const UNKNOWN_CHARACTER: Code = Code("E0301");
/// A comment or a text that is never closed.
pub const UNCLOSED: Code = Code("E0302");
/// A number that does not fit 64 bits.
pub const BAD_NUMBER: Code = Code("E0303");
/// Something else was expected here.
pub const UNEXPECTED: Code = Code("E0304");
/// Constructs are nested too deeply.
pub const TOO_DEEP: Code = Code("E0305");
/// A name that is not declared.
pub const UNKNOWN_NAME: Code = Code("E0311");
/// Something that must be known before the model runs.
pub const NOT_CONSTANT: Code = Code("E0314");
