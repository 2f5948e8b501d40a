//! The stable codes of this front end's diagnostics, one table for all of them.
//!
//! `E010x` are lexical errors, `E011x` to `E013x` errors of syntax.

use shoal_syntax::Code;

/// A character that means nothing in Murphi.
pub const UNKNOWN_CHARACTER: Code = Code("E0101");
/// A name that begins with `_` or a digit.
pub const BAD_NAME: Code = Code("E0102");
/// A string without its closing quote.
pub const UNCLOSED_STRING: Code = Code("E0103");
/// A comment `/*` without `*/`.
pub const UNCLOSED_COMMENT: Code = Code("E0104");
/// A number that does not fit 64 bits.
pub const NUMBER_TOO_LARGE: Code = Code("E0105");

/// Something else was expected here.
pub const UNEXPECTED: Code = Code("E0110");
/// A `;` is missing between two statements.
pub const MISSING_SEMICOLON: Code = Code("E0111");
/// `=` for `:=`, or `:=` for `=`.
pub const ASSIGN_OR_EQUAL: Code = Code("E0112");
/// A closing word that does not fit what is open, such as `endfor` for an `if`.
pub const WRONG_CLOSER: Code = Code("E0113");
/// Something is opened and never closed.
pub const MISSING_END: Code = Code("E0114");
/// An `end` where nothing is open.
pub const STRAY_CLOSER: Code = Code("E0115");
/// `a -> b -> c`, `0 <= x <= 3` or `a ? b : c ? d : e`.
pub const NOT_ASSOCIATIVE: Code = Code("E0116");
/// Constructs are nested too deeply.
pub const TOO_DEEP: Code = Code("E0117");
/// A rule whose body begins without `==>` or `begin`.
pub const RULE_HEADER: Code = Code("E0118");
/// A keyword stands where a name is needed.
pub const KEYWORD_AS_NAME: Code = Code("E0119");
/// A part of the language that is deliberately not read, such as CMurphi's `pctl`.
pub const UNSUPPORTED_SYNTAX: Code = Code("E0120");

/// A name that is not declared.
pub const UNKNOWN_NAME: Code = Code("E0201");
/// A name that is declared twice in one scope.
pub const REDECLARED: Code = Code("E0202");
/// A name of one kind where another is needed, such as a type used as a value.
pub const WRONG_KIND: Code = Code("E0203");
/// A value of the wrong type.
pub const TYPE_MISMATCH: Code = Code("E0204");
/// Something that must be known before the model runs.
pub const NOT_CONSTANT: Code = Code("E0205");
/// A range, scalarset, union or multiset that cannot exist.
pub const BAD_TYPE: Code = Code("E0206");
/// Something that cannot be assigned to.
pub const NOT_ASSIGNABLE: Code = Code("E0207");
/// A field that the record does not have.
pub const NO_FIELD: Code = Code("E0208");
/// An index on something that is not an array.
pub const NOT_INDEXABLE: Code = Code("E0209");
/// A call that does not fit what is called.
pub const BAD_CALL: Code = Code("E0210");
/// A `return` that does not fit where it stands.
pub const BAD_RETURN: Code = Code("E0211");
/// A guard or property that changes the state.
pub const IMPURE: Code = Code("E0212");
/// A multiset slot that was not chosen from that multiset.
pub const BAD_SLOT: Code = Code("E0213");
/// A model without a start state.
pub const NO_START: Code = Code("E0214");
/// A construct that Shoal does not support.
pub const UNSUPPORTED: Code = Code("E0215");
/// A `--set` that fits no constant.
pub const BAD_SET: Code = Code("E0216");
/// A property that cannot stand where it does.
pub const MISPLACED_PROPERTY: Code = Code("E0217");
/// A name that cannot be set to `any`.
pub const NOT_ANY: Code = Code("E0218");

/// `clear` of a scalarset: one element is made special.
pub const CLEARED_SCALARSET: Code = Code("W0301");

/// A mistake in Shoal itself.
pub const INTERNAL: Code = Code("E0900");
