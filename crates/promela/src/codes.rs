//! The stable codes of this front end's diagnostics, one table for all of them.
//!
//! `E060x` are lexical errors and errors of the preprocessor, `E061x` errors of syntax, `E062x` to `E063x` errors of
//! meaning.

use shoal_syntax::DiagnosticCode;

/// A character that means nothing in Promela.
pub const UNKNOWN_CHARACTER: DiagnosticCode = DiagnosticCode("E0601");
/// A comment without its end.
pub const UNCLOSED_COMMENT: DiagnosticCode = DiagnosticCode("E0602");
/// A string or a character without its closing quote.
pub const UNCLOSED_STRING: DiagnosticCode = DiagnosticCode("E0603");
/// A number that does not fit 64 bits.
pub const NUMBER_TOO_LARGE: DiagnosticCode = DiagnosticCode("E0604");
/// A directive or a macro that cannot be used as it stands.
pub const DIRECTIVE: DiagnosticCode = DiagnosticCode("E0605");

/// Something else was expected here.
pub const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0610");
/// Constructs are nested too deeply, or an inline calls itself.
pub const TOO_DEEP: DiagnosticCode = DiagnosticCode("E0611");
/// A statement or a declaration that cannot stand where it stands.
pub const MISPLACED: DiagnosticCode = DiagnosticCode("E0612");

/// A name that is not declared.
pub const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0620");
/// A name that is declared twice.
pub const DECLARED_TWICE: DiagnosticCode = DiagnosticCode("E0621");
/// Something else than a variable stands where one is needed.
pub const NOT_A_VARIABLE: DiagnosticCode = DiagnosticCode("E0622");
/// A constant is needed, or its value is not possible.
pub const BAD_CONSTANT: DiagnosticCode = DiagnosticCode("E0623");
/// A value of one type stands where another is needed.
pub const BAD_TYPE: DiagnosticCode = DiagnosticCode("E0624");
/// Too many or too few arguments or parts of a message.
pub const WRONG_COUNT: DiagnosticCode = DiagnosticCode("E0625");
/// A label that does not exist, or exists twice.
pub const BAD_LABEL: DiagnosticCode = DiagnosticCode("E0626");
/// An effect where nothing may change.
pub const IMPURE: DiagnosticCode = DiagnosticCode("E0627");
/// A construct that is not supported.
pub const UNSUPPORTED: DiagnosticCode = DiagnosticCode("E0630");
/// A `--set` that fits no macro.
pub const BAD_SET: DiagnosticCode = DiagnosticCode("E0631");
/// The model has no process.
pub const NO_PROCESS: DiagnosticCode = DiagnosticCode("E0632");
/// A number that cannot be any.
pub const NOT_ANY: DiagnosticCode = DiagnosticCode("E0633");
/// A jump to another label than its block suggests.
pub const OTHER_LABEL: DiagnosticCode = DiagnosticCode("W0601");
/// A mistake in Shoal.
pub const INTERNAL: DiagnosticCode = DiagnosticCode("E0901");
