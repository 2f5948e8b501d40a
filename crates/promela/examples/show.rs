//! Prints the Model of a source.
#![allow(clippy::print_stdout)]
use shoal_syntax::SourceMap;
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let mut sources = SourceMap::new();
    let id = sources.add(path.clone(), std::fs::read_to_string(path).unwrap_or_default());
    let (model, diagnostics) = shoal_promela::load(&sources, id, &shoal_promela::Options::default());
    match model {
        Some(model) => println!("{}", shoal_model::print_model(&model)),
        None => println!("{diagnostics:#?}"),
    }
}
