//! Operators of integers in machine code, against `BinaryOp::apply`, which is what they mean.

use shoal::{
    CheckOptions, LoadOptions, Quiet, Sources, Verdict,
    model::{BinaryOp, Value},
};

const EDGES: [i64; 17] = [0, 1, -1, 2, -2, 3, 7, -7, 62, 63, 64, 65, -63, -64, 1 << 62, i64::MAX, -i64::MAX];

const OPERATORS: [&str; 10] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];

/// A model in which each pair of numbers has the operator's result, or `None` where it has none that fits the model's type.
fn model(operator: &str) -> (String, usize) {
    let op = BinaryOp::of_symbol(operator).expect("an operator");
    let number = |left: i64, right: i64| match op.apply(left, right) {
        Ok(Value::Int(i64::MIN)) | Err(_) => None,
        Ok(Value::Int(value)) => Some(value),
        Ok(other) => panic!("{operator} gives {other:?}"),
    };
    let last = EDGES.len() - 1;
    let values: String =
        EDGES.iter().enumerate().map(|(at, value)| format!("case {at}: return {value};\n")).collect();
    let mut wanted = String::new();
    let mut fail = 0;
    for (i, left) in EDGES.iter().enumerate() {
        for (j, right) in EDGES.iter().enumerate() {
            match number(*left, *right) {
                Some(value) => wanted += &format!("case {}: return {value};\n", i * EDGES.len() + j),
                None => fail += 1,
            }
        }
    }
    // Every number is in the state, so that nothing is computed beforehand; rounds bring long runs about.
    let text = format!(
        "type wide: -{max} .. {max}; edge: 0..{last};
         var at, that: edge; round: 0..1; result: wide;
         function value(i: edge): wide; begin switch i {values} end; end;
         function wanted(i: 0..{pairs}): wide; begin switch i {wanted} end; return 0; end;
         startstate begin at := 0; that := 0; round := 0; result := 0; end;
         ruleset i: edge; j: edge; k: 0..1 do rule \"operate\" true ==> begin
           at := i; that := j; round := k; result := value(at) {operator} value(that);
           assert result = wanted(at * {count} + that) \"as meant\";
         end; end;",
        max = i64::MAX,
        pairs = EDGES.len() * EDGES.len(),
        count = EDGES.len(),
    );
    (text, fail)
}

#[test]
fn machine_code_computes_as_the_model_does() {
    for operator in OPERATORS {
        let (text, fail) = model(operator);
        let loaded = shoal::load_sources(&Sources::text("operators.m", text), &LoadOptions::default());
        let loaded = loaded.expect("the model is read");
        let mut figures = Vec::new();
        for (jit, threads) in [(true, 1), (true, 2), (false, 1)] {
            let options = CheckOptions { jit, threads, ..CheckOptions::default() };
            let report = shoal::check(&loaded, &options, &mut Quiet).expect("it is checked");
            let violated = |name: &str| {
                let mut results = report.outcome.results.iter();
                let found = results.find(|result| loaded.model.properties[result.property].name == name);
                matches!(found.expect("it is asked").verdict, Verdict::Violated(_))
            };
            assert!(!violated("as meant"), "{operator}, machine code: {jit}");
            assert_eq!(violated("no run-time errors"), fail > 0, "{operator}, machine code: {jit}");
            figures.push(report.outcome.statistics.states);
        }
        assert!(figures.iter().all(|states| *states == figures[0]), "{operator}: {figures:?}");
        // Each pair, twice; the start is one of them.
        assert!(fail > 0 || figures[0] == 2 * (EDGES.len() * EDGES.len()) as u64, "{operator}: {figures:?}");
    }
}
