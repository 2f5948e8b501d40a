//! The stable codes of these front ends' diagnostics, one table for all of them.

use shoal_syntax::DiagnosticCode;

/// Something else was expected here.
pub const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0701");
/// A number that is too large, or outside of what the header says.
pub const NUMBER: DiagnosticCode = DiagnosticCode("E0702");
/// A name that is not declared.
pub const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0703");
/// A name that is declared twice.
pub const REDECLARED: DiagnosticCode = DiagnosticCode("E0704");
/// Nothing is asked: there is no target and no assertion.
pub const NO_TARGET: DiagnosticCode = DiagnosticCode("E0705");
/// An initial state that cannot be read.
pub const BAD_INIT: DiagnosticCode = DiagnosticCode("E0706");
/// A procedure that calls itself.
pub const RECURSION: DiagnosticCode = DiagnosticCode("E0707");
/// A part of the language that is not read.
pub const UNSUPPORTED: DiagnosticCode = DiagnosticCode("E0708");
/// A call or an assignment with the wrong number of values.
pub const ARITY: DiagnosticCode = DiagnosticCode("E0709");
/// A `--set` that fits nothing.
pub const BAD_SETTING: DiagnosticCode = DiagnosticCode("E0710");
/// Sections of atomic code that do not match.
pub const ATOMIC: DiagnosticCode = DiagnosticCode("E0711");
/// A file that is too large to be made a model of.
pub const TOO_LARGE: DiagnosticCode = DiagnosticCode("E0712");
/// The made model is malformed: a mistake in Shoal.
pub const INTERNAL: DiagnosticCode = DiagnosticCode("E0790");
/// A step that changes nothing is left out.
pub const SELF_LOOP: DiagnosticCode = DiagnosticCode("W0701");
/// A target that names states which do not exist.
pub const STRANGE_TARGET: DiagnosticCode = DiagnosticCode("W0703");
/// A program without assertions.
pub const NOTHING_ASKED: DiagnosticCode = DiagnosticCode("W0704");
/// Something that is read and has no meaning here.
pub const IGNORED: DiagnosticCode = DiagnosticCode("W0702");
