//! The stable codes of these front ends' diagnostics.
//!
//! `E03xx` are errors of syntax and of names in all languages of process templates.

use shoal_syntax::DiagnosticCode;
pub use shoal_syntax::codes::{
    BAD_NUMBER, NOT_CONSTANT, TOO_DEEP, UNCLOSED, UNEXPECTED, UNKNOWN_CHARACTER, UNKNOWN_NAME,
};

/// A name that is declared twice.
pub const REDECLARED: DiagnosticCode = DiagnosticCode("E0312");
/// Something of one kind stands where another is needed.
pub const WRONG_KIND: DiagnosticCode = DiagnosticCode("E0313");
/// A value that is outside what is allowed.
pub const OUT_OF_RANGE: DiagnosticCode = DiagnosticCode("E0315");
/// A `--set` that fits nothing in the model.
pub const BAD_SET: DiagnosticCode = DiagnosticCode("E0316");
/// A construct that Shoal does not support.
pub const UNSUPPORTED: DiagnosticCode = DiagnosticCode("E0317");
/// A declaration that is missing.
pub const MISSING: DiagnosticCode = DiagnosticCode("E0318");
/// XML that cannot be read.
pub const BAD_XML: DiagnosticCode = DiagnosticCode("E0319");

/// A query that is left out because it is not supported.
pub const QUERY_LEFT_OUT: DiagnosticCode = DiagnosticCode("W0302");

/// A mistake in Shoal itself.
pub const INTERNAL: DiagnosticCode = DiagnosticCode("E0901");
