//! Random formulas on random small models: the engine against an evaluator that shares nothing with it, with and
//! without symmetry. Violations are confirmed by the interpreter.

use proptest::prelude::*;
use shoal_interpret::confirm;
use shoal_model::{Job, PropertyId, PropertyKind, Quiet, Reason, SortId, Verdict};
use shoal_murphi::Dialect;

use crate::random::{
    choices::Choices,
    generate::{self, load},
    tableau,
};

/// Models with more states than this are skipped.
const MOST_STATES: usize = 300;

/// Writes formulas from a list of choices.
struct Writer<'a> {
    choices: Choices<'a>,
}

/// Conditions that never fault in the models of the generator.
const ATOMS: &[&str] = &[
    "(isundefined(b) | b)",
    "(!isundefined(x) & x = 1)",
    "e = A",
    "isundefined(p)",
    "(exists i: P do ab[i] end)",
    "(forall i: P do ax[i] = 0 end)",
    "(exists i: P do m[i][i] end)",
];

/// The same, about an element `k`.
const OF_ELEMENT: &[&str] = &["ab[k]", "ax[k] = 1", "(!isundefined(p) & p = k)", "m[k][k]", "ismember(u, P)"];

impl Writer<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    fn formula(&mut self, depth: usize, element: bool) -> String {
        let choices = if depth == 0 { 2 } else { 10 };
        let inner = |writer: &mut Self| writer.formula(depth - 1, element);
        match self.pick(choices) {
            0 if element => self.choices.one_of(OF_ELEMENT).to_string(),
            0 | 1 => self.choices.one_of(ATOMS).to_string(),
            2 => format!("[] {}", inner(self)),
            3 => format!("<> ({})", inner(self)),
            4 => format!("({} until {})", inner(self), inner(self)),
            5 => format!("({} release {})", inner(self), inner(self)),
            6 => format!("next {}", inner(self)),
            7 => format!("!({})", inner(self)),
            8 => format!("({} & {})", inner(self), inner(self)),
            _ => format!("({} -> {})", inner(self), inner(self)),
        }
    }

    fn properties(&mut self) -> String {
        let mut text = String::new();
        match self.pick(4) {
            1 => text += "fairness (exists i: P do ab[i] end);\n",
            2 => text += "ruleset k: P do fairness \"each\" ax[k] != 1; end;\n",
            3 => text += "fairness e = A | isundefined(p);\n",
            _ => {}
        }
        let formula = match self.pick(4) {
            0 => self.formula(3, false),
            1 => format!("forall k: P do {} end", self.formula(2, true)),
            2 => format!("exists k: P do {} end", self.formula(2, true)),
            _ => format!("[] forall k: P do {} end", self.formula(1, true)),
        };
        text + &format!("ltl \"it\" {formula};\n")
    }
}

fn check_model(text: &str) -> Option<bool> {
    let model = load(text, Dialect::default());
    let (property, formula) = model.properties.enumerate().find_map(|(id, it)| match &it.kind {
        PropertyKind::Temporal(_, formula) => Some((id, formula)),
        _ => None,
    })?;
    let expected = tableau::holds(&model, formula, MOST_STATES)?;
    let symmetry = shoal_analysis::symmetry(&model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    // Alone, and beside all else that is asked, when it may read the same search.
    let together: Vec<PropertyId> = model.properties.ids().collect();
    let ways = [
        (Vec::new(), vec![property], 1),
        (proved.clone(), vec![property], 2),
        (Vec::new(), together.clone(), 2),
        (proved, together, 1),
    ];
    for (symmetric, properties, threads) in ways {
        let reduced = !symmetric.is_empty();
        let job = Job { symmetric, jit: true, threads, ..Job::new(properties) };
        let outcome = shoal_explicit::check(&model, &job, &mut Quiet).expect("the engine takes it");
        let result = outcome.results.iter().find(|result| result.property == property).expect("it is asked");
        match &result.verdict {
            Verdict::Holds => assert!(expected, "it does not hold (symmetry: {reduced})\n{text}"),
            Verdict::Violated(violation) => {
                assert!(!expected, "it holds (symmetry: {reduced})\n{text}");
                assert_eq!(violation.reason, Reason::FormulaFalse, "{text}");
                assert!(violation.trace.is_some(), "no trace (symmetry: {reduced})\n{text}");
                if let Err(error) = confirm(&model, property, violation) {
                    panic!("not confirmed (symmetry: {reduced}): {error}\n{violation:?}\n{text}");
                }
            }
            Verdict::Unknown(reason) => panic!("no limit was given, but {reason}"),
        }
    }
    Some(expected)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(300),
        max_shrink_iters: 5_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn temporal_verdicts_agree(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        formula in proptest::collection::vec(any::<u8>(), 4..40),
    ) {
        let text = generate::model(&bytes) + &Writer { choices: Choices::new(&formula) }.properties();
        check_model(&text);
    }
}

/// The test is of use only if formulas hold and fail.
#[test]
fn random_formulas_are_worth_checking() {
    let mut seed = 7_u64;
    let (mut hold, mut fail) = (0, 0);
    for _ in 0..120 {
        let bytes: Vec<u8> = (0..120)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let text =
            generate::model(&bytes[40..]) + &Writer { choices: Choices::new(&bytes[..40]) }.properties();
        match check_model(&text) {
            Some(true) => hold += 1,
            Some(false) => fail += 1,
            None => {}
        }
    }
    assert!(hold >= 15 && fail >= 15, "dull: {hold} hold, {fail} fail");
}
