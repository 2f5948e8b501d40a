//! The stable codes of these front ends' diagnostics, one table for all of them.

use shoal_syntax::Code;

/// Something else was expected here.
pub const UNEXPECTED: Code = Code("E0701");
/// A number that is too large, or outside of what the header says.
pub const NUMBER: Code = Code("E0702");
/// A name that is not declared.
pub const UNKNOWN_NAME: Code = Code("E0703");
/// A name that is declared twice.
pub const REDECLARED: Code = Code("E0704");
/// Nothing is asked: there is no target and no assertion.
pub const NO_TARGET: Code = Code("E0705");
/// An initial state that cannot be read.
pub const BAD_INIT: Code = Code("E0706");
/// A procedure that calls itself.
pub const RECURSION: Code = Code("E0707");
/// A part of the language that is not read.
pub const UNSUPPORTED: Code = Code("E0708");
/// A call or an assignment with the wrong number of values.
pub const ARITY: Code = Code("E0709");
/// A `--set` that fits nothing.
pub const BAD_SETTING: Code = Code("E0710");
/// Sections of atomic code that do not match.
pub const ATOMIC: Code = Code("E0711");
/// A file that is too large to be made a model of.
pub const TOO_LARGE: Code = Code("E0712");
/// The made model is malformed: a mistake in Shoal.
pub const INTERNAL: Code = Code("E0790");
/// A step that changes nothing is left out.
pub const SELF_LOOP: Code = Code("W0701");
/// A target that names states which do not exist.
pub const STRANGE_TARGET: Code = Code("W0703");
/// A program without assertions.
pub const NOTHING_ASKED: Code = Code("W0704");
/// Something that is read and has no meaning here.
pub const IGNORED: Code = Code("W0702");
