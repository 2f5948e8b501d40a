//! The stable codes of this front end's diagnostics.
//!
//! `E03xx` are errors of syntax and of names in all languages of this crate.

use shoal_syntax::Code;

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
/// A name that is declared twice.
pub const REDECLARED: Code = Code("E0312");
/// Something of one kind stands where another is needed.
pub const WRONG_KIND: Code = Code("E0313");
/// Something that must be known before the model runs.
pub const NOT_CONSTANT: Code = Code("E0314");
/// A value that is outside what is allowed.
pub const OUT_OF_RANGE: Code = Code("E0315");
/// A `--set` that fits nothing in the model.
pub const BAD_SET: Code = Code("E0316");
/// A construct that Shoal does not support.
pub const UNSUPPORTED: Code = Code("E0317");
/// A declaration that is missing.
pub const MISSING: Code = Code("E0318");
/// XML that cannot be read.
pub const BAD_XML: Code = Code("E0319");

/// A query that is left out because it is not supported.
pub const QUERY_LEFT_OUT: Code = Code("W0302");

/// A mistake in Shoal itself.
pub const INTERNAL: Code = Code("E0901");
