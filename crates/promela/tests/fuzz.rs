//! Mutated models through the whole front end.

#[path = "../../syntax/tests/fuzz/mod.rs"]
mod fuzz;

use shoal_promela::{Options, load};

/// What a change puts in, beside words of the models. Not a number that makes many processes: those only cost time.
const WORDS: &str = "init atomic d_step do od if fi :: ; -> { } ( ) [ ] goto break else unless timeout skip run proctype active init \
    never ltl inline typedef chan of byte bit int short unsigned mtype pid hidden xr xs assert printf len empty nfull ! !! ? ?? \
    eval _ _pid _nr_pr _last np_ @ : , . .. = == ++ -- && || & ~ - / % << 0 1 -1 2147483648 99999999999999999999 'a' \"s\" \
    #define #include #ifdef #endif ## \\ new delete null & function return ftype for in select provided priority c_code [] <> U X \
    é \u{0}";

#[test]
fn no_text_makes_the_front_end_panic() {
    fuzz::fuzz(
        &["promela", "heap"],
        WORDS,
        |random| Options {
            dynamic: random.coin(),
            merge: random.coin(),
            weak_fairness: random.coin(),
            symmetric_processes: random.coin(),
            processes: 3,
            ..Options::default()
        },
        |text, options| {
            let (sources, id) = fuzz::alone(text);
            let (model, diagnostics) = load(&sources, id, options);
            (model.is_some(), diagnostics)
        },
    );
}
