//! Mutated UPPAAL models through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod fuzz;

use shoal_template::{Options, Setting};

/// What a change puts in, beside words of the models.
const WORDS: &str = "( ) - 99999999999999999999 9223372036854775807 é \0 -> clock scalar forall &lt; <";

/// Now and then a size is set, whether it is there or not.
fn options(random: &mut fuzz::Random) -> Options {
    let set = if random.coin() { vec![("N".into(), Setting::Any)] } else { Vec::new() };
    Options { set, ..Options::default() }
}

#[test]
fn no_text_makes_the_front_end_panic() {
    fuzz::fuzz(&["uppaal"], WORDS, options, |text, options| {
        let (sources, id) = fuzz::alone(text);
        // Both readers get everything: a file of the one form is junk in the other.
        let (xml, diagnostics) = shoal_uppaal::load_xml(&sources, id, None, options);
        assert!(xml.is_some() || diagnostics.has_errors());
        let (xta, diagnostics) = shoal_uppaal::load_xta(&sources, id, Some(id), options);
        (xta.is_some(), diagnostics)
    });
}
