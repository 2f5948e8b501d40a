//! Conditions on all states at once, where one machine may not do.
//!
//! A variable that holds an element of a counted sort says nothing of it but that it is somebody. Conditions that mention
//! such a variable are asked case by case: one machine for each local state that this somebody can be in.

use shoal_model::{
    Condition, ExprKind, Fault, FunctionId, Model, Node, Root, StmtKind, VarId, walk_code, walk_condition,
};

use crate::{
    dd::{Bdd, DdResult},
    machine::SymbolicMachine,
};

/// All states, as machines to evaluate conditions on.
pub struct Worlds<'m> {
    /// All states at once.
    pub base: SymbolicMachine<'m>,
    /// The variables that one machine does not tell enough of.
    pub vague: Vec<VarId>,
    /// The cases: together all states, apart from each other.
    pub cases: Vec<(Bdd, SymbolicMachine<'m>)>,
}

/// What a condition says.
pub struct ConditionTruth {
    /// Where it holds.
    pub holds: Bdd,
    /// Where it faults.
    pub dead: Bdd,
    /// Where and how.
    pub faults: Vec<(Bdd, Fault)>,
}

impl<'m> Worlds<'m> {
    /// One machine tells everything.
    pub fn one(base: SymbolicMachine<'m>) -> Worlds<'m> {
        Worlds { base, vague: Vec::new(), cases: Vec::new() }
    }

    /// Where a condition holds of the states in a set, and where it faults.
    pub fn ask(&self, condition: &'m Condition, within: &Bdd) -> DdResult<ConditionTruth> {
        if !mentions(self.base.model, &self.vague, &|visit| walk_condition(condition, visit)) {
            return on(&self.base, condition, within.clone());
        }
        let no = self.base.dd.no();
        let mut said = ConditionTruth { holds: no.clone(), dead: no, faults: Vec::new() };
        for (place, machine) in &self.cases {
            let here = on(machine, condition, within.and(place)?)?;
            said.holds = said.holds.or(&here.holds.and(place)?)?;
            said.dead = said.dead.or(&here.dead)?;
            said.faults.extend(here.faults);
        }
        Ok(said)
    }
}

fn on<'m>(machine: &SymbolicMachine<'m>, condition: &'m Condition, given: Bdd) -> DdResult<ConditionTruth> {
    let mut machine = machine.clone();
    machine.given = given.clone();
    // Outside of the set the machine says whatever is shortest.
    let holds = machine.holds(condition)?.and(&given)?;
    Ok(ConditionTruth { holds, dead: machine.dead, faults: machine.faults })
}

/// Goes through some code.
pub type CodeWalk<'w> = dyn Fn(&mut dyn FnMut(Node<'_>)) + 'w;

/// Whether some code may read or write one of these variables.
pub fn mentions(model: &Model, vars: &[VarId], walk: &CodeWalk<'_>) -> bool {
    if vars.is_empty() {
        return false;
    }
    let (mut found, mut called) = scan(vars, walk);
    let mut at = 0;
    while at < called.len() && !found {
        let (names, calls) = scan(vars, &|visit| walk_code(&model.functions[called[at]].code, visit));
        found |= names;
        for function in calls {
            if !called.contains(&function) {
                called.push(function);
            }
        }
        at += 1;
    }
    found
}

/// Whether some code names one of these variables, and the functions it calls.
fn scan(vars: &[VarId], walk: &CodeWalk<'_>) -> (bool, Vec<FunctionId>) {
    let (mut found, mut calls) = (false, Vec::new());
    walk(&mut |node| match node {
        Node::Place(place) => found |= matches!(place.root, Root::Var(var) if vars.contains(&var)),
        Node::Expr(expr) => {
            if let ExprKind::Call(function, _) = &expr.kind {
                calls.push(*function);
            }
        }
        Node::Stmt(stmt) => {
            if let StmtKind::Call(function, _) = &stmt.kind {
                calls.push(*function);
            }
        }
    });
    (found, calls)
}
