//! Running rules and starts on a machine: their instances, their guards, each of their runs.

use shoal_model::{ExprKind, Fault, OrInternal, Rule, Value, VarId};

use crate::{
    bits,
    dd::{Bdd, DdResult, lacks},
    machine::SymbolicMachine,
    worlds::mentions,
};

/// What the guard of an instance says.
pub struct Guarded {
    /// Where it holds.
    pub holds: Bdd,
    /// Where it faults, and how.
    pub faults: Vec<(Bdd, Fault)>,
}

/// All valuations of a rule's parameters.
pub fn valuations<'a>(base: &SymbolicMachine<'a>, rule: &'a Rule) -> DdResult<Vec<Vec<Value>>> {
    let mut machine = base.clone();
    machine.enter(&rule.code.locals, None)?;
    let mut all = Vec::new();
    extend(&mut machine, rule, &mut Vec::new(), &mut all)?;
    Ok(all)
}

fn extend<'a>(
    machine: &mut SymbolicMachine<'a>,
    rule: &'a Rule,
    args: &mut Vec<Value>,
    all: &mut Vec<Vec<Value>>,
) -> DdResult<()> {
    let Some(param) = rule.params.get(args.len()) else {
        all.push(args.clone());
        return Ok(());
    };
    for value in machine.constants(&param.domain, rule.span)? {
        machine.assign_bound(param.local, &value);
        args.push(value);
        extend(machine, rule, args, all)?;
        args.pop();
    }
    Ok(())
}

/// The values of a parameter's domain, given those of the parameters before it.
pub fn domain<'a>(base: &SymbolicMachine<'a>, rule: &'a Rule, args: &[Value]) -> DdResult<Vec<Value>> {
    let mut machine = base.clone();
    machine.enter(&rule.code.locals, None)?;
    for (param, arg) in rule.params.iter().zip(args) {
        machine.assign_bound(param.local, arg);
    }
    machine.constants(&rule.params[args.len()].domain, rule.span)
}

/// Whether the guard is known to fail although not all parameters have values yet: one of its first conjuncts, which
/// speak of those that have, does. What comes after the first conjunct that is not looked at could fault. Nothing is
/// said of variables that are `vague`.
pub fn fails_early<'a>(
    base: &SymbolicMachine<'a>,
    rule: &'a Rule,
    args: &[Value],
    given: &Bdd,
    vague: &[VarId],
) -> DdResult<bool> {
    let Some(guard) = rule.guard.as_ref().filter(|_| rule.bindings.is_empty()) else { return Ok(false) };
    let conjuncts = match &guard.kind {
        ExprKind::And(of) => of.as_slice(),
        _ => std::slice::from_ref(guard),
    };
    let mut machine = base.clone();
    machine.given = given.clone();
    machine.begin(rule, args)?;
    for conjunct in conjuncts {
        let mut bound = !mentions(base.model, vague, &|visit| shoal_model::walk_expr(conjunct, visit));
        shoal_model::walk_expr(conjunct, &mut |node| {
            if let shoal_model::Node::Place(place) = node
                && let shoal_model::Root::Local(local) = place.root
            {
                bound &= !rule.params[args.len()..].iter().any(|param| param.local == local);
            }
        });
        if !bound {
            return Ok(false);
        }
        let truth = machine.truth(conjunct)?;
        if !machine.faults.is_empty() {
            return Ok(false);
        }
        if !truth.meets(given)? {
            return Ok(true);
        }
        machine.path = machine.path.and(&truth)?;
    }
    Ok(false)
}

/// Evaluates the guard of an instance.
pub fn guard<'a>(base: &SymbolicMachine<'a>, rule: &'a Rule, args: &[Value]) -> DdResult<Guarded> {
    let mut machine = base.clone();
    machine.begin(rule, args)?;
    let holds = machine.guard(rule)?.and(&machine.given)?;
    Ok(Guarded { holds, faults: machine.faults })
}

/// Runs the body of an instance where `given` holds, once for each combination of its choices; gives the machines after.
pub fn runs<'a>(
    base: &SymbolicMachine<'a>,
    rule: &'a Rule,
    args: &[Value],
    given: &Bdd,
) -> DdResult<Vec<SymbolicMachine<'a>>> {
    let mut base = base.clone();
    base.given = given.clone();
    let runs = each_way(&base, usize::MAX, &mut |machine| {
        machine.begin(rule, args)?;
        machine.body(&rule.code.body)
    })?;
    Ok(runs.or_internal("there is no bound on the ways"))
}

/// Runs code once for each combination of its choices; gives the machines after, nothing if there are more than `most`.
pub(crate) fn each_way<'a>(
    base: &SymbolicMachine<'a>,
    most: usize,
    code: &mut dyn FnMut(&mut SymbolicMachine<'a>) -> DdResult<()>,
) -> DdResult<Option<Vec<SymbolicMachine<'a>>>> {
    let mut runs = Vec::new();
    let mut script = Some(Vec::new());
    while let Some(choices) = script {
        if runs.len() == most {
            return Ok(None);
        }
        let mut machine = base.clone();
        machine.script = choices;
        code(&mut machine)?;
        script = next_script(&machine.trail);
        runs.push(machine);
    }
    Ok(Some(runs))
}

/// The choices of a run.
pub fn choices(machine: &SymbolicMachine<'_>) -> Vec<Value> {
    machine.trail.iter().map(|(values, taken)| values[*taken].clone()).collect()
}

/// The script of the run after the one with this trail, as an odometer counts.
fn next_script(trail: &[(Vec<Value>, usize)]) -> Option<Vec<Value>> {
    let last = trail.iter().rposition(|(values, taken)| taken + 1 < values.len())?;
    let mut script: Vec<Value> = trail[..last].iter().map(|(values, taken)| values[*taken].clone()).collect();
    script.push(trail[last].0[trail[last].1 + 1].clone());
    Some(script)
}

impl<'a> SymbolicMachine<'a> {
    /// The values of a domain that does not depend on the state.
    pub(crate) fn constants(
        &mut self,
        domain: &'a shoal_model::Domain,
        span: shoal_syntax::Span,
    ) -> DdResult<Vec<Value>> {
        use crate::machine::{Items, MOST_ROUNDS, too_many};
        match self.items(domain)? {
            Items::Values(values) => Ok(values),
            Items::Slots(slots) => Ok((0..slots.len() as i64).map(Value::Int).collect()),
            Items::Range { first, last, step } => match (bits::known(&first), bits::known(&last)) {
                (Some(first), Some(last)) if step != 0 => {
                    let inside = move |value: &i64| if step > 0 { *value <= last } else { *value >= last };
                    let next = move |value: &i64| value.checked_add(step).filter(inside);
                    let all = std::iter::successors(Some(first).filter(inside), next).map(Value::Int);
                    let values: Vec<Value> = all.take(MOST_ROUNDS + 1).collect();
                    if values.len() > MOST_ROUNDS { Err(too_many()) } else { Ok(values) }
                }
                _ => lacks("a range that depends on the state in the head of a rule or in a choice", span),
            },
        }
    }
}
