//! Runs that show that something can happen: what a violation is for what must not happen, a witness is for what may.

use shoal_model::{
    Condition, DeadlockKind, Expr, ExprKind, Formula, Interval, Model, Property, PropertyId, PropertyKind,
    Reason, Trace, UnaryOp, Verdict,
};

use crate::{CheckOptions, Error, Loaded, Session};

/// Whether one run shows that a property holds: a cover, or that some path leads to a state (`EF`, `E<>`).
pub fn has_witness(model: &Model, property: PropertyId) -> bool {
    opposite(model, property).is_some()
}

/// A run that shows that a property holds, replayed as the run of a violation is: of the property that it never happens.
/// Nothing if there is none.
pub fn witness(
    loaded: &Loaded,
    property: PropertyId,
    options: &CheckOptions,
) -> Result<Option<Trace>, Error> {
    let Some(never) = opposite(&loaded.model, property) else {
        return Err(Error::NotRunnable("no single run shows that this property holds".into()));
    };
    let mut again = loaded.clone();
    let span = loaded.model.properties[property].span;
    let name = loaded.model.properties[property].name.clone();
    let asked = again.model.properties.push(Property { name, kind: never, span });
    again.asked = vec![asked];
    let options = CheckOptions { properties: Vec::new(), ..options.clone() };
    let report = Session::of(again).run(&options, &mut |_| {})?;
    match report.of(asked).map(|known| known.verdict) {
        Some(Verdict::Violated(violation)) => match &violation.reason {
            Reason::ConditionFalse | Reason::Deadlock => Ok(violation.trace.clone()),
            // A condition that faults on the way shows nothing.
            _ => Err(Error::NotRunnable("the condition ends in an error before it holds".into())),
        },
        Some(Verdict::Holds) | None => Ok(None),
        Some(Verdict::Unknown(reason)) => Err(Error::Stopped(reason.clone())),
    }
}

/// The property that is violated by a run that shows that this one holds.
fn opposite(model: &Model, property: PropertyId) -> Option<PropertyKind> {
    match &model.properties.get(property)?.kind {
        PropertyKind::Cover(Some(condition)) => Some(PropertyKind::Invariant(not(condition))),
        PropertyKind::CoverDeadlock(condition) => {
            Some(PropertyKind::Deadlock(DeadlockKind::StuckUnless(not(condition))))
        }
        // A run that is fair goes on for ever: its beginning shows nothing.
        PropertyKind::Temporal(_, Formula::SomePath(path)) if model.fairness.is_empty() => {
            match path.as_ref() {
                Formula::Eventually(Interval { from: None, to: None }, of) => match of.as_ref() {
                    Formula::Atom(condition) => Some(PropertyKind::Invariant(not(condition))),
                    _ => None,
                },
                _ => None,
            }
        }
        PropertyKind::Temporal(..)
        | PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Deadlock(_)
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(None)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => None,
    }
}

fn not(condition: &Condition) -> Condition {
    let inner = &condition.expr;
    let kind = ExprKind::Unary(UnaryOp::Not, Box::new(inner.clone()));
    Condition { locals: condition.locals.clone(), expr: Expr { kind, ty: inner.ty, span: inner.span } }
}
