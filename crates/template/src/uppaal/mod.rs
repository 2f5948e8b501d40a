//! UPPAAL models, `.xta` and `.xml`: networks of timed automata with bounded integers and binary channels.
//!
//! Every process is an automaton of its own, with a variable for its location; a synchronisation is one rule of two
//! processes. What is outside of the subset is refused by name: broadcast channels, functions, records, scalars, rates,
//! doubles, priorities, quantifiers. A query of an unsupported kind is left out with a warning.

mod ast;
mod lower;
mod parser;
mod xml;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};

use crate::{Options, cursor::Parsed};

/// Makes a model of an `.xta` or (if `is_xml`) an `.xml` source.
pub fn load(
    sources: &SourceMap,
    id: SourceId,
    is_xml: bool,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let text = sources.file(id).text();
    let parsed: Parsed<ast::Nta> = match is_xml {
        true => xml::parse(id, text),
        false => parser::parse(id, text, 0, |parser| {
            let mut nta = ast::Nta::default();
            parser.whole(&mut nta).map(|()| nta)
        }),
    };
    let lowered = parsed.and_then(|nta| lower::lower(id, &nta, options, &mut diagnostics));
    match lowered {
        Ok(model) => (crate::finish(model, sources, id, &mut diagnostics), diagnostics),
        Err(error) => {
            diagnostics.push(*error);
            (None, diagnostics)
        }
    }
}
