//! Instances of rules, case by case.
//!
//! Where `x->y->z` is depends on what `x` is and what the `y` of that is. As one function of the state this is a diagram
//! that grows with every combination of what the processes point to; so an instance is taken apart by the entries that
//! its indices mean. In each case a chain ends at a fixed place, what is asked of the state is that a few pointers have
//! certain values, and few bits change.

use shoal_model::{OrInternal, Rule, Stmt, Value};

use crate::{
    dd::{Bdd, DdResult},
    machine::SymbolicMachine,
    run::{self, Guarded},
};

/// An instance is not taken apart if there are more cases.
const MOST_CASES: usize = 1 << 12;

/// What the guard of an instance says, case by case. The cases are apart from each other.
pub(crate) fn guards<'a>(
    base: &SymbolicMachine<'a>,
    rule: &'a Rule,
    args: &[Value],
) -> DdResult<Vec<Guarded>> {
    let mut holds = Vec::new();
    let cases = run::each_way(&splitting(base, base.given.clone()), MOST_CASES, &mut |machine| {
        machine.begin(rule, args)?;
        holds.push(machine.guard(rule)?.and(&machine.given)?);
        Ok(())
    })?;
    match cases {
        Some(cases) => {
            let said = cases.into_iter().zip(holds);
            Ok(said.map(|(machine, holds)| Guarded { holds, faults: machine.faults }).collect())
        }
        None => Ok(vec![run::guard(base, rule, args)?]),
    }
}

/// Runs the first statements of an instance, for each case and each combination of its choices. Where a case applies is
/// what is given in the end; cases with the same choices are apart from each other.
pub(crate) fn runs<'a>(
    base: &SymbolicMachine<'a>,
    rule: &'a Rule,
    body: &'a [Stmt],
    args: &[Value],
    given: &Bdd,
) -> DdResult<Vec<SymbolicMachine<'a>>> {
    let mut base = splitting(base, given.clone());
    let mut go = |machine: &mut SymbolicMachine<'a>| {
        machine.begin(rule, args)?;
        machine.body(body)
    };
    if let Some(cases) = run::each_way(&base, MOST_CASES, &mut go)? {
        return Ok(cases);
    }
    base.splits = false;
    Ok(run::each_way(&base, usize::MAX, &mut go)?.or_internal("there is no bound on the ways"))
}

fn splitting<'a>(base: &SymbolicMachine<'a>, given: Bdd) -> SymbolicMachine<'a> {
    let mut machine = base.clone();
    (machine.splits, machine.given) = (true, given);
    machine
}
