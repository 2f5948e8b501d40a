//! The stable codes of these front ends' diagnostics.
//!
//! `E03xx` are errors of syntax and of names in all languages of process templates.

use shoal_syntax::Code;
pub use shoal_syntax::codes::{
    BAD_NUMBER, NOT_CONSTANT, TOO_DEEP, UNCLOSED, UNEXPECTED, UNKNOWN_CHARACTER, UNKNOWN_NAME,
};

/// A name that is declared twice.
pub const REDECLARED: Code = Code("E0312");
/// Something of one kind stands where another is needed.
pub const WRONG_KIND: Code = Code("E0313");
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
