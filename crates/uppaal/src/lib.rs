//! UPPAAL models, `.xta` (with queries in a `.q` file beside it) and `.xml`: networks of timed automata.
//!
//! `parser` reads the texts wherever they stand, `xml` the places where they stand, `lower` makes a Model of both. What
//! is outside of the subset is refused by name: rates, doubles, probabilities, priorities, differences of clocks. A query of
//! an unsupported kind is left out with a warning.

mod ast;
mod lower;
mod parser;
pub mod vocabulary;
mod xml;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap, cursor::Parsed};
use shoal_template::Options;

/// Makes a model of an `.xta` source; `queries` is the file with what is asked.
pub fn load_xta(
    sources: &SourceMap,
    id: SourceId,
    queries: Option<SourceId>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let parsed = parser::parse(id, sources.file(id).text(), 0, |parser| {
        let mut nta = ast::Nta::default();
        parser.whole(&mut nta).map(|()| nta)
    });
    let parsed = parsed.map(|mut nta| {
        if let Some(queries) = queries {
            nta.queries = parser::queries(queries, sources.file(queries).text());
        }
        nta
    });
    finish(sources, id, parsed, options)
}

/// Makes a model of an `.xml` source.
pub fn load_xml(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    finish(sources, id, xml::parse(id, sources.file(id).text()), options)
}

fn finish(
    sources: &SourceMap,
    id: SourceId,
    parsed: Parsed<ast::Nta>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let lowered = match parsed {
        Ok(nta) => lower::lower(id, &nta, options, &mut diagnostics),
        Err(error) => Err(vec![*error]),
    };
    // Time is up: nothing is wrong with the model.
    if lowered.is_err() && options.watch.check().is_err() {
        return (None, Diagnostics::new());
    }
    (shoal_template::finish(lowered, sources, id, &mut diagnostics), diagnostics)
}
