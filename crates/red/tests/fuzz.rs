//! Mutated Red models through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod fuzz;

use shoal_red as red;
use shoal_template::{Options, Setting};

/// What a change puts in, beside words of the models.
const WORDS: &str = "( ) - 99999999999999999999 9223372036854775807 é \0 -> NULL P free forall";

/// Now and then the number of processes is set, whether it is there or not.
fn options(random: &mut fuzz::Random) -> Options {
    let set = if random.coin() { vec![("M".into(), Setting::Number(2))] } else { Vec::new() };
    Options { set, ..Options::default() }
}

#[test]
fn no_text_makes_the_front_end_of_red_panic() {
    fuzz::fuzz(&["red"], WORDS, options, |text, options| {
        let (sources, id) = fuzz::alone(text);
        let (model, diagnostics) = red::load(&sources, id, options);
        (model.is_some(), diagnostics)
    });
}

#[test]
fn deep_and_long_texts_are_refused() {
    for text in [
        format!("const M = {}1{};", "(".repeat(100_000), ")".repeat(100_000)),
        format!("const M = {}1;", "1 + ".repeat(100_000)),
        format!("safe {}true;", "not ".repeat(100_000)),
        format!("safe {}true;", "true and ".repeat(100_000)),
        format!("safe {}x;", "forall p ".repeat(100_000)),
    ] {
        let (sources, id) = fuzz::alone(&text);
        let (model, diagnostics) = red::load(&sources, id, &Options::default());
        assert!(model.is_none() && diagnostics.has_errors());
    }
}
