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

use shoal_model::{Model, SortId};
use shoal_syntax::{Diagnostics, SourceId, SourceMap};
use shoal_template::Options;

/// Makes a model of an `.xta` source; `queries` is the file with what is asked.
pub fn load_xta(
    sources: &SourceMap,
    id: SourceId,
    queries: Option<SourceId>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    finish(sources, id, xta(sources, id, queries), options)
}

fn xta(sources: &SourceMap, id: SourceId, queries: Option<SourceId>) -> Result<ast::Nta, Diagnostics> {
    let parsed = parser::parse(id, sources.file(id).text(), 0, |parser| {
        let mut nta = ast::Nta::default();
        parser.whole(&mut nta).map(|()| nta)
    });
    parsed.map(|mut nta| {
        if let Some(queries) = queries {
            nta.queries = parser::queries(queries, sources.file(queries).text());
        }
        nta
    })
}

/// Models of the same `.xta` source in which a range of integers that only tells processes apart is a sort, with that sort. They
/// mean the same, but are of use only where the sort is symmetric, which is not asked here.
pub fn alike_xta(
    sources: &SourceMap,
    id: SourceId,
    queries: Option<SourceId>,
    options: &Options,
) -> Vec<(Model, SortId)> {
    alike(sources, id, xta(sources, id, queries), options)
}

/// The same for an `.xml` source.
pub fn alike_xml(
    sources: &SourceMap,
    id: SourceId,
    queries: Option<SourceId>,
    options: &Options,
) -> Vec<(Model, SortId)> {
    alike(sources, id, xml(sources, id, queries), options)
}

fn alike(
    sources: &SourceMap,
    id: SourceId,
    parsed: Result<ast::Nta, Diagnostics>,
    options: &Options,
) -> Vec<(Model, SortId)> {
    let Ok(nta) = parsed else { return Vec::new() };
    let finish = |(model, sort)| {
        shoal_template::finish(Ok(model), sources, id, &mut Diagnostics::new()).map(|model| (model, sort))
    };
    lower::lower_alike(id, &nta, options).into_iter().filter_map(finish).collect()
}

/// Makes a model of an `.xml` source; `queries` is the file with what is asked if the source asks nothing.
pub fn load_xml(
    sources: &SourceMap,
    id: SourceId,
    queries: Option<SourceId>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    finish(sources, id, xml(sources, id, queries), options)
}

fn xml(sources: &SourceMap, id: SourceId, queries: Option<SourceId>) -> Result<ast::Nta, Diagnostics> {
    xml::parse(id, sources.file(id).text()).map(|mut nta| {
        if let Some(queries) = queries.filter(|_| nta.queries.is_empty()) {
            nta.queries = parser::queries(queries, sources.file(queries).text());
        }
        nta
    })
}

fn finish(
    sources: &SourceMap,
    id: SourceId,
    parsed: Result<ast::Nta, Diagnostics>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let lowered = match parsed {
        Ok(nta) => lower::lower(id, &nta, options, &mut diagnostics),
        Err(mistakes) => Err(mistakes.iter().cloned().collect()),
    };
    // Time is up: nothing is wrong with the model.
    if lowered.is_err() && options.watch.check().is_err() {
        return (None, Diagnostics::new());
    }
    (shoal_template::finish(lowered, sources, id, &mut diagnostics), diagnostics)
}
