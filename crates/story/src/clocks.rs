//! What the clocks of a run show, as a picture of time needs it.

use std::collections::BTreeSet;

use shoal_interpret::Interpreter;
use shoal_model::{
    Expr, ExprKind, Model, Node, Place, Ratio, Root, State, Trace, Type, TypeId, Value, VarId, walk_code,
    walk_condition, walk_expr,
};

/// One clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockLine {
    /// Its name.
    pub name: String,
    /// What it is compared with somewhere in the model.
    pub compared: Vec<i64>,
    /// What it shows: at the start, then just before and just after each step.
    pub moments: Vec<Moment>,
}

/// What a clock shows at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time since the start.
    pub time: Ratio,
    /// What the clock shows; nothing where it is not there.
    pub shows: Option<Ratio>,
}

/// All clocks of a run; none if times are too large to be added up.
pub(crate) fn of(interpreter: &Interpreter<'_>, trace: &Trace) -> Vec<ClockLine> {
    let model = interpreter.model();
    if !model.has_clocks() {
        return Vec::new();
    }
    let mut time = Ratio::ZERO;
    let mut lines: Vec<ClockLine> = Vec::new();
    let constants = constants(model);
    note(model, &mut lines, time, &trace.state);
    for (step, before) in trace.steps.iter().zip(trace.states()) {
        let Some(now) = time.checked_add(step.delay) else { return Vec::new() };
        time = now;
        let waited = interpreter.delay(before, step.delay);
        note(model, &mut lines, time, waited.as_ref().unwrap_or(before));
        note(model, &mut lines, time, &step.state);
    }
    for line in &mut lines {
        let of = |var: &VarId| line.name.split(['[', '.']).next() == Some(model.vars[*var].name.as_str());
        let own = constants.iter().filter(|(var, _)| of(var)).map(|(_, constant)| *constant);
        line.compared = own.collect();
    }
    lines
}

/// The constants that clocks are compared with, by the variable that they are in.
fn constants(model: &Model) -> BTreeSet<(VarId, i64)> {
    let mut found = BTreeSet::new();
    let mut note = |left: &Expr, right: &Expr| {
        if let (
            ExprKind::Read(Place { root: Root::Var(var), .. })
            | ExprKind::Peek(Place { root: Root::Var(var), .. }),
            ExprKind::Const(Value::Int(constant)),
        ) = (&left.kind, &right.kind)
            && *model.kind(left.ty) == Type::Clock
        {
            found.insert((*var, *constant));
        }
    };
    let mut visit = |node: Node<'_>| {
        if let Node::Expr(Expr {
            kind: ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right),
            ..
        }) = node
        {
            note(left, right);
            note(right, left);
        }
    };
    for rule in model.rules.iter() {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        walk_code(&rule.code, &mut visit);
    }
    model.while_time_passes.iter().for_each(|condition| walk_condition(condition, &mut visit));
    found
}

/// What each clock shows in a state, by name.
pub fn clocks_of(model: &Model, state: &State) -> Vec<(String, Ratio)> {
    let mut found = Vec::new();
    for (id, var) in model.vars.enumerate() {
        clocks_in(model, var.ty, &var.name, state.value(id), &mut found);
    }
    found
}

fn note(model: &Model, lines: &mut Vec<ClockLine>, time: Ratio, state: &State) {
    let found = clocks_of(model, state);
    for line in lines.iter_mut() {
        let shows = found.iter().find(|(name, _)| *name == line.name).map(|(_, shows)| *shows);
        line.moments.push(Moment { time, shows });
    }
    for (name, shows) in found {
        if lines.iter().all(|line| line.name != name) {
            // A clock of a process that has just begun was not there before.
            let before = lines.first().map_or(0, |line| line.moments.len().saturating_sub(1));
            let mut moments = vec![Moment { time: Ratio::ZERO, shows: None }; before];
            moments.push(Moment { time, shows: Some(shows) });
            lines.push(ClockLine { name, compared: Vec::new(), moments });
        }
    }
}

fn clocks_in(model: &Model, ty: TypeId, name: &str, value: &Value, found: &mut Vec<(String, Ratio)>) {
    match (model.kind(ty), value) {
        (Type::Clock, Value::Clock(shows)) => found.push((name.to_string(), *shows)),
        (Type::Record { fields }, Value::Record(values)) => {
            for (field, value) in fields.iter().zip(values) {
                clocks_in(model, field.ty, &format!("{name}.{}", field.name), value, found);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            for (at, value) in values.iter().enumerate() {
                let at = match model.value_at(*index, at as u64) {
                    Some(entry) => model.show(&entry).to_string(),
                    None => at.to_string(),
                };
                clocks_in(model, *element, &format!("{name}[{at}]"), value, found);
            }
        }
        _ => {}
    }
}
