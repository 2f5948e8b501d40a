//! Mutated VPL files through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod fuzz;

use shoal_template::{Options, Setting};

/// What a change puts in, beside words of the models.
const WORDS: &str = "( ) - 99999999999999999999 9223372036854775807 é \0 -> NULL P free forall";

/// Now and then a size is set, whether it is there or not.
fn options(random: &mut fuzz::Random) -> Options {
    let set = if random.coin() { vec![("A".into(), Setting::Any)] } else { Vec::new() };
    Options { set, ..Options::default() }
}

#[test]
fn no_text_makes_the_front_end_panic() {
    fuzz::fuzz(&["sgm"], WORDS, options, |text, options| {
        let (sources, id) = fuzz::alone(text);
        let (loaded, diagnostics) = shoal_vpl::load(&sources, id, options);
        (loaded.is_some(), diagnostics)
    });
}
