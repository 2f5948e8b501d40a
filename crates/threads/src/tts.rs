//! Thread transition systems (`.tts` with `.prop`).
//!
//! A system with half a million edges stays small as a Model: the edges stand in tables, sorted by where they begin, and one
//! rule looks them up. Only broadcasts, of which there are few, are rules of their own.

mod lower;
mod parse;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};

use crate::Options;

/// Makes a model of a thread transition system. `property` is the companion file with the target.
pub(crate) fn load(
    sources: &SourceMap,
    id: SourceId,
    property: Option<SourceId>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let (file, mut diagnostics) = parse::parse(sources, id, property, options);
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let model = lower::lower(&file, id, options, &mut diagnostics);
    (model, diagnostics)
}
