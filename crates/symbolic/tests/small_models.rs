//! Small models: the sets of states have as many as the interpreter finds, and the same verdicts come of them.

use shoal_interpret::explore;
use shoal_model::{Job, Model, Order, Outcome, PropertyId, Quiet, Strategy, Verdict};
use shoal_syntax::SourceMap;

use shoal_symbolic::check;

fn model(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("test.m", text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn violated(outcome: &Outcome) -> Vec<PropertyId> {
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(
        !outcome.results.iter().any(|it| matches!(it.verdict, Verdict::Unknown(_))),
        "{:?}",
        outcome.results
    );
    outcome.results.iter().filter(|it| is_violated(&it.verdict)).map(|it| it.property).collect()
}

/// The same verdicts, states and steps as the interpreter's; backwards, the same verdicts.
fn agrees(text: &str) -> Outcome {
    let model = model(text);
    let reference = explore(&model, 20_000).unwrap();
    assert!(reference.complete);
    let expected: Vec<PropertyId> = reference.violated.keys().copied().collect();
    let job = Job::new(model.properties.ids().collect());
    let outcome = check(&model, &job, &mut Quiet).unwrap_or_else(|lacks| panic!("{lacks}\n{text}"));
    assert_eq!(violated(&outcome), expected, "{text}");
    if outcome.statistics.exhaustive {
        let counts = (outcome.statistics.states as usize, outcome.statistics.transitions);
        assert_eq!(counts, (reference.states, reference.transitions), "{text}");
    }
    outcome
}

#[test]
fn numbers_wrap_and_overflow_as_they_do() {
    agrees(
        "var x: 0..6; y: -3..3;
            startstate begin x := 0; y := -3; end;
            rule x < 6 ==> begin x := x + 1; y := (y + x * 2) % 4 - 1; end;
            rule x = 6 ==> begin x := x / 2; end;
            invariant \"small\" y <= 2;
            invariant \"even\" x % 2 = 0 | y < 3;",
    );
}

#[test]
fn what_faults_is_found() {
    agrees("var x: 0..3; startstate begin x := 0; end; rule true ==> begin x := x + 1; end;");
    agrees(
        "var x: 0..3; y: 0..3; startstate begin x := 0; end; rule x < 3 ==> begin x := x + 1; end; invariant y = 0;",
    );
    agrees(
        "var a: array [0..2] of 0..3; i: 0..5;
            startstate begin for j: 0..2 do a[j] := 0; end; i := 0; end;
            rule a[i] < 3 ==> begin i := i + 1; end;",
    );
}

#[test]
fn multisets_are_bags() {
    agrees("type kind: enum { Ask, Grant };
            var net: multiset [3] of kind; asked: 0..2; granted: 0..2;
            startstate begin asked := 0; granted := 0; end;
            rule \"ask\" asked < 2 ==> begin multisetadd(Ask, net); asked := asked + 1; end;
            choose m: net do
              rule \"grant\" net[m] = Ask & multisetcount(k: net, true) < 3 ==>
                begin multisetremove(m, net); multisetadd(Grant, net); end;
              rule \"take\" net[m] = Grant & granted < 2 ==> begin multisetremove(m, net); granted := granted + 1; end;
            end;
            invariant \"no more than was asked\" granted <= asked;
            invariant \"never both\" multisetcount(k: net, net[k] = Grant) < 2;");
}

#[test]
fn records_unions_and_procedures_run() {
    agrees(
        "type pid: scalarset(2); home: enum { Home }; node: union { pid, home };
            var owner: node; r: record who: node; count: 0..3; end;
            procedure visit(n: node); begin r.who := n; if r.count < 3 then r.count := r.count + 1; end; end;
            startstate begin owner := Home; r.who := Home; r.count := 0; end;
            ruleset p: pid do rule owner != p ==> begin owner := p; visit(p); end; end;
            rule \"back\" ismember(owner, pid) ==> begin owner := Home; end;
            invariant \"counts\" r.count < 3;",
    );
}

#[test]
fn formulas_of_branching_time_are_decided() {
    let text = "var x: 0..2;
        startstate begin x := 0; end;
        rule \"a\" x < 2 ==> begin x := x + 1; end;
        rule \"b\" x = 2 ==> begin x := 1; end;
        ctl \"stay\" EG x = 0;
        ctl \"go\" AF x = 2;
        ctl \"again\" AG (x = 1 -> AX x = 2);
        ctl \"back\" EF (x = 1 & EX x = 0);";
    let model = model(text);
    let job = Job::new(model.properties.ids().collect());
    let outcome = check(&model, &job, &mut Quiet).unwrap();
    let names: Vec<&str> =
        violated(&outcome).into_iter().map(|id| model.properties[id].name.as_str()).collect();
    assert_eq!(names, ["stay", "back"]);
}

#[test]
fn backwards_finds_the_same() {
    let text = "var x: 0..20; startstate begin x := 0; end;
        rule x < 20 ==> begin x := x + 1; end; rule x = 20 ==> begin x := 3; end;
        invariant \"never seven\" x != 7; invariant \"bounded\" x <= 20;";
    let model = model(text);
    let mut found = Vec::new();
    for order in [Order::BreadthFirst, Order::Backward] {
        let strategy = Strategy { order, ..Strategy::default() };
        let invariants = model.properties.ids().take(2).collect();
        let outcome = check(&model, &Job { strategy, ..Job::new(invariants) }, &mut Quiet).unwrap();
        let lengths: Vec<usize> = outcome
            .results
            .iter()
            .filter_map(|result| match &result.verdict {
                Verdict::Violated(violation) => violation.trace.as_ref().map(|trace| trace.steps.len()),
                Verdict::Holds | Verdict::Unknown(_) => None,
            })
            .collect();
        found.push(lengths);
    }
    assert_eq!(found, [[7], [7]]);
}

/// A small home is small by itself: what else the process has is measured by what is allowed in all.
#[test]
fn small_homes_are_not_ended_by_what_else_the_process_has() {
    let limits = shoal_model::Limits { memory: Some(1 << 30), ..Default::default() };
    let watch = shoal_model::Watch::start(limits).with_gauge(|| Some(1 << 29));
    let dd = shoal_symbolic::dd::Dd::small(&watch).unwrap();
    // The gauge is read every few milliseconds, and work looks at it every few operations.
    std::thread::sleep(std::time::Duration::from_millis(20));
    for _ in 0..64 {
        dd.yes().and(&dd.no()).unwrap();
    }
}
