//! Mutated models through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod changes;

use shoal_murphi::{Dialect, Options, load};

/// What a change puts in, beside words of the models.
const WORDS: &str = "begin end rule ruleset do var type const ==> := = -> ( ) [ ] { } ; : , . .. forall exists if then elsif else \
    switch case alias choose multiset union scalarset array of record enum undefined isundefined ismember clear \
    undefine put error assert assume cover liveness invariant startstate function procedure return while for to \
    by multisetadd multisetremove multisetcount multisetremovepred true false boolean real 0 1 \
    9223372036854775807 -1 0x10 \"s\" x ? | & ! ~ << ∧ ¬ ≔ \u{feff} \0 é";

#[test]
fn no_text_makes_the_front_end_panic() {
    changes::fuzz(
        &["murphi"],
        WORDS,
        |random| if random.coin() { Dialect::Cmurphi } else { Dialect::Rumur },
        |text, dialect| {
            let (sources, id) = changes::alone(text);
            let (model, diagnostics) =
                load(&sources, id, &Options { dialect: *dialect, ..Options::default() });
            (model.is_some(), diagnostics)
        },
    );
}
