//! Automata by themselves.

use shoal_model::{Condition, Expr, ExprKind, Formula, IndexVec, Interval, TypedId, Value};

use super::automaton::BuchiAutomaton;

fn atom(number: i64) -> Formula {
    let expr = Expr {
        kind: ExprKind::Const(Value::Int(number)),
        ty: shoal_model::TypeId::from_index(0),
        span: shoal_syntax::Span::default(),
    };
    Formula::Atom(Condition { locals: IndexVec::new(), expr })
}

fn always(of: Formula) -> Formula {
    Formula::Always(Interval::default(), Box::new(of))
}

fn eventually(of: Formula) -> Formula {
    Formula::Eventually(Interval::default(), Box::new(of))
}

#[test]
fn common_formulas_have_small_automata() {
    let size = |formula: &Formula| BuchiAutomaton::of_violations(formula, 0).unwrap().1.states.len();
    assert_eq!(size(&always(atom(0))), 2);
    assert_eq!(size(&eventually(atom(0))), 1);
    assert_eq!(size(&always(Formula::Or(vec![Formula::Not(Box::new(atom(0))), eventually(atom(1))]))), 2);
    assert_eq!(size(&always(eventually(atom(0)))), 2);
    assert!(size(&eventually(always(atom(0)))) <= 2);
}

#[test]
fn a_formula_with_too_many_conditions_is_refused() {
    let many = Formula::Or((0..65).map(atom).collect());
    assert!(BuchiAutomaton::of_violations(&many, 0).is_none());
    let many = Formula::Or((0..60).map(atom).collect());
    assert!(BuchiAutomaton::of_violations(&many, 5).is_none());
    assert!(BuchiAutomaton::of_violations(&many, 4).is_some());
}
