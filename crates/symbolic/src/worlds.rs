//! Conditions on all states at once, where one machine may not do.
//!
//! A variable that holds an element of a counted sort says nothing of it but that it is somebody. Conditions that mention
//! such a variable are asked case by case: one machine for each local state that this somebody can be in.

use shoal_model::{
    Condition, ExprKind, Fault, Model, Node, Root, StmtKind, VarId, walk_code, walk_condition,
};

use crate::{
    dd::{Bdd, Done},
    machine::Machine,
};

/// All states, as machines to evaluate conditions on.
pub struct Worlds<'m> {
    /// All states at once.
    pub base: Machine<'m>,
    /// The variables that one machine does not tell enough of.
    pub vague: Vec<VarId>,
    /// The cases: together all states, apart from each other.
    pub cases: Vec<(Bdd, Machine<'m>)>,
}

/// What a condition says.
pub struct Said {
    /// Where it holds.
    pub holds: Bdd,
    /// Where it faults.
    pub dead: Bdd,
    /// Where and how.
    pub faults: Vec<(Bdd, Fault)>,
}

impl<'m> Worlds<'m> {
    /// One machine tells everything.
    pub fn one(base: Machine<'m>) -> Worlds<'m> {
        Worlds { base, vague: Vec::new(), cases: Vec::new() }
    }

    /// Where a condition holds of the states in a set, and where it faults.
    pub fn ask(&self, condition: &'m Condition, within: &Bdd) -> Done<Said> {
        if !mentions(self.base.model, &self.vague, &|visit| walk_condition(condition, visit)) {
            return on(&self.base, condition, within.clone());
        }
        let no = self.base.dd.no();
        let mut said = Said { holds: no.clone(), dead: no, faults: Vec::new() };
        for (place, machine) in &self.cases {
            let here = on(machine, condition, within.and(place)?)?;
            said.holds = said.holds.or(&here.holds.and(place)?)?;
            said.dead = said.dead.or(&here.dead)?;
            said.faults.extend(here.faults);
        }
        Ok(said)
    }
}

fn on<'m>(machine: &Machine<'m>, condition: &'m Condition, given: Bdd) -> Done<Said> {
    let mut machine = machine.clone();
    machine.given = given;
    let holds = machine.holds(condition)?;
    Ok(Said { holds, dead: machine.dead, faults: machine.faults })
}

/// Goes through some code.
pub type Walk<'w> = dyn Fn(&mut dyn FnMut(Node<'_>)) + 'w;

/// Whether some code may read or write one of these variables.
pub fn mentions(model: &Model, vars: &[VarId], walk: &Walk<'_>) -> bool {
    if vars.is_empty() {
        return false;
    }
    let (found, calls) = scan(vars, walk);
    // Who calls a function may call them all.
    found || calls && scan(vars, &|visit| model.functions.iter().for_each(|it| walk_code(&it.code, visit))).0
}

/// Whether some code names one of these variables, and whether it calls anything.
fn scan(vars: &[VarId], walk: &Walk<'_>) -> (bool, bool) {
    let (mut found, mut calls) = (false, false);
    walk(&mut |node| match node {
        Node::Place(place) => found |= matches!(place.root, Root::Var(var) if vars.contains(&var)),
        Node::Expr(expr) => calls |= matches!(expr.kind, ExprKind::Call(..)),
        Node::Stmt(stmt) => calls |= matches!(stmt.kind, StmtKind::Call(..)),
    });
    (found, calls)
}
