//! The stable codes of this front end's diagnostics, one table for all of them.
//!
//! `E010x` are lexical errors, `E011x` to `E013x` errors of syntax.

use shoal_syntax::DiagnosticCode;

/// A character that means nothing in Murphi.
pub const UNKNOWN_CHARACTER: DiagnosticCode = DiagnosticCode("E0101");
/// A name that begins with `_` or a digit.
pub const BAD_NAME: DiagnosticCode = DiagnosticCode("E0102");
/// A string without its closing quote.
pub const UNCLOSED_STRING: DiagnosticCode = DiagnosticCode("E0103");
/// A comment `/*` without `*/`.
pub const UNCLOSED_COMMENT: DiagnosticCode = DiagnosticCode("E0104");
/// A number that does not fit 64 bits.
pub const NUMBER_TOO_LARGE: DiagnosticCode = DiagnosticCode("E0105");

/// Something else was expected here.
pub const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0110");
/// A `;` is missing between two statements.
pub const MISSING_SEMICOLON: DiagnosticCode = DiagnosticCode("E0111");
/// `=` for `:=`, or `:=` for `=`.
pub const ASSIGN_OR_EQUAL: DiagnosticCode = DiagnosticCode("E0112");
/// A closing word that does not fit what is open, such as `endfor` for an `if`.
pub const WRONG_CLOSER: DiagnosticCode = DiagnosticCode("E0113");
/// Something is opened and never closed.
pub const MISSING_END: DiagnosticCode = DiagnosticCode("E0114");
/// An `end` where nothing is open.
pub const STRAY_CLOSER: DiagnosticCode = DiagnosticCode("E0115");
/// `a -> b -> c`, `0 <= x <= 3` or `a ? b : c ? d : e`.
pub const NOT_ASSOCIATIVE: DiagnosticCode = DiagnosticCode("E0116");
/// Constructs are nested too deeply.
pub const TOO_DEEP: DiagnosticCode = DiagnosticCode("E0117");
/// A rule whose body begins without `==>` or `begin`.
pub const RULE_HEADER: DiagnosticCode = DiagnosticCode("E0118");
/// A keyword stands where a name is needed.
pub const KEYWORD_AS_NAME: DiagnosticCode = DiagnosticCode("E0119");
/// A part of the language that is deliberately not read, such as CMurphi's `pctl`.
pub const UNSUPPORTED_SYNTAX: DiagnosticCode = DiagnosticCode("E0120");

/// A name that is not declared.
pub const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0201");
/// A name that is declared twice in one scope.
pub const REDECLARED: DiagnosticCode = DiagnosticCode("E0202");
/// A name of one kind where another is needed, such as a type used as a value.
pub const WRONG_KIND: DiagnosticCode = DiagnosticCode("E0203");
/// A value of the wrong type.
pub const TYPE_MISMATCH: DiagnosticCode = DiagnosticCode("E0204");
/// Something that must be known before the model runs.
pub const NOT_CONSTANT: DiagnosticCode = DiagnosticCode("E0205");
/// A range, scalarset, union or multiset that cannot exist.
pub const BAD_TYPE: DiagnosticCode = DiagnosticCode("E0206");
/// Something that cannot be assigned to.
pub const NOT_ASSIGNABLE: DiagnosticCode = DiagnosticCode("E0207");
/// A field that the record does not have.
pub const NO_FIELD: DiagnosticCode = DiagnosticCode("E0208");
/// An index on something that is not an array.
pub const NOT_INDEXABLE: DiagnosticCode = DiagnosticCode("E0209");
/// A call that does not fit what is called.
pub const BAD_CALL: DiagnosticCode = DiagnosticCode("E0210");
/// A `return` that does not fit where it stands.
pub const BAD_RETURN: DiagnosticCode = DiagnosticCode("E0211");
/// A guard or property that changes the state.
pub const IMPURE: DiagnosticCode = DiagnosticCode("E0212");
/// A multiset slot that was not chosen from that multiset.
pub const BAD_SLOT: DiagnosticCode = DiagnosticCode("E0213");
/// A model without a start state.
pub const NO_START: DiagnosticCode = DiagnosticCode("E0214");
/// A construct that Shoal does not support.
pub const UNSUPPORTED: DiagnosticCode = DiagnosticCode("E0215");
/// A `--set` that fits no constant.
pub const BAD_SET: DiagnosticCode = DiagnosticCode("E0216");
/// A property that cannot stand where it does.
pub const MISPLACED_PROPERTY: DiagnosticCode = DiagnosticCode("E0217");
/// A name that cannot be set to `any`.
pub const NOT_ANY: DiagnosticCode = DiagnosticCode("E0218");

/// `clear` of a scalarset: one element is made special.
pub const CLEARED_SCALARSET: DiagnosticCode = DiagnosticCode("W0301");

/// A mistake in Shoal itself.
pub const INTERNAL: DiagnosticCode = DiagnosticCode("E0900");
