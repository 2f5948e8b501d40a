//! Mutated templates through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod fuzz;

use shoal_template::{Options, Setting, red, vpl};

/// What a change puts in, beside words of the models.
const WORDS: &str = "( ) - 99999999999999999999 9223372036854775807 é \0 -> NULL P free forall";

/// Now and then something is set, whether it is there or not.
fn options(random: &mut fuzz::Random, name: &str, setting: Setting) -> Options {
    let set = if random.coin() { vec![(name.into(), setting)] } else { Vec::new() };
    Options { set, ..Options::default() }
}

#[test]
fn no_text_makes_the_front_end_of_red_panic() {
    fuzz::fuzz(
        &["red"],
        WORDS,
        |random| options(random, "M", Setting::Number(2)),
        |text, options| {
            let (sources, id) = fuzz::alone(text);
            let (model, diagnostics) = red::load(&sources, id, options);
            (model.is_some(), diagnostics)
        },
    );
}

#[test]
fn no_text_makes_the_front_end_of_vpl_panic() {
    fuzz::fuzz(
        &["sgm"],
        WORDS,
        |random| options(random, "A", Setting::Any),
        |text, options| {
            let (sources, id) = fuzz::alone(text);
            let (loaded, diagnostics) = vpl::load(&sources, id, options);
            (loaded.is_some(), diagnostics)
        },
    );
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
