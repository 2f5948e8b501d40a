//! Weak fairness of processes: who can take a step from some moment on takes one again and again.
//!
//! Said of states: again and again the process cannot take a step, or has just taken one. Who has just moved is part of the
//! state then, the other side of a rendezvous too. As in SPIN, a rendezvous is a step that the sender can take: who waits
//! to receive is not put off by it.

use shoal_model::{Condition, Expr, IndexVec, Stmt, Var, VarId};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported};

/// Where it is noted who moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// Who took the last step; 0 is nobody.
    first: VarId,
    /// Who received in it, where there is rendezvous.
    second: Option<VarId>,
}

impl Lowerer<'_> {
    /// Makes room for who moved, if that is wanted.
    pub(super) fn declare_moved(&mut self, head: Span) {
        if !self.options.weak_fairness {
            return;
        }
        let most: u32 = self.procs.iter().map(|proc| proc.capacity).sum();
        let ty = self.int_type(0, i64::from(most));
        let first = self.model.vars.push(Var { name: "_moved".into(), ty, span: head });
        let meets = self.channels.classes.iter().any(|class| class.capacity == 0);
        let second = meets.then(|| self.model.vars.push(Var { name: "_met".into(), ty, span: head }));
        self.moved = Some(Moved { first, second });
    }

    /// Notes who moves, and whom it meets.
    pub(super) fn note_moved(&self, me: &Me, partner: Option<&Me>, span: Span) -> Vec<Stmt> {
        let Some(Moved { first, second }) = self.moved else { return Vec::new() };
        let mut body = vec![self.assign(self.var_place(first, span), self.number_of(me, span))];
        if let Some(second) = second {
            let met = partner.map_or_else(|| self.int(0, span), |partner| self.number_of(partner, span));
            body.push(self.assign(self.var_place(second, span), met));
        }
        body
    }

    /// A number for each entry of each proctype.
    fn number_of(&self, who: &Me, span: Span) -> Expr {
        let before: u32 = self.procs[..who.proc].iter().map(|proc| proc.capacity).sum();
        let first = self.int(i64::from(before) + 1, span);
        match &who.entry {
            None => first,
            Some(entry) => self.add(self.entry_number(who.proc, entry), first),
        }
    }

    /// One constraint for each process.
    pub(super) fn weak_fairness(&mut self, span: Span) {
        let Some(Moved { first, second }) = self.moved else { return };
        for proc in 0..self.procs.len() {
            for entry in 0..self.procs[proc].capacity {
                self.locals = IndexVec::new();
                let who = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                let Ok(can_move) = self.can_move(&who, span) else { return };
                let number = self.number_of(&who, span);
                let mut parts = vec![self.not(can_move)];
                for var in [Some(first), second].into_iter().flatten() {
                    parts.push(self.equal(self.read(self.var_place(var, span)), number.clone()));
                }
                let expr = self.or(parts, span);
                let locals = std::mem::take(&mut self.locals);
                self.model.fairness.push(Condition { locals, expr });
            }
        }
    }

    /// Whether a process can take a step.
    fn can_move(&mut self, who: &Me, span: Span) -> OrReported<Expr> {
        let before = std::mem::replace(&mut self.timeout_seen, false);
        let plain = self.can_move_now(who, span)?;
        let waits = std::mem::replace(&mut self.timeout_seen, before);
        if !waits {
            return Ok(plain);
        }
        // After a timeout, which there is where nobody can do anything else.
        let mut others = Vec::new();
        for proc in 0..self.procs.len() {
            for entry in 0..self.procs[proc].capacity {
                let other = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                others.push(self.can_move_now(&other, span)?);
            }
        }
        let somebody = self.or(others, span);
        self.timeout = true;
        let late = self.can_move_now(who, span);
        self.timeout = false;
        let late = self.and(vec![self.not(somebody), late?], span);
        Ok(self.or(vec![plain, late], span))
    }

    fn can_move_now(&mut self, who: &Me, span: Span) -> OrReported<Expr> {
        let some = self.has_step(who, span)?;
        match &self.program.proctypes[who.proc].provided {
            Some(provided) => {
                let provided = self.condition(provided, Some(who))?;
                Ok(self.and(vec![provided, some], span))
            }
            None => Ok(some),
        }
    }

    /// Whether a process is where a step can be taken, whatever it is provided.
    pub(super) fn has_step(&mut self, who: &Me, span: Span) -> OrReported<Expr> {
        let mut all = Vec::new();
        for location in self.procs[who.proc].locations.clone() {
            let mut steps = Vec::new();
            // What escapes from here is among the steps, so somebody whose step is not possible for it can escape.
            for step in self.procs[who.proc].flow.outgoing(location) {
                steps.push(self.step_guard(who, location, step.element)?);
            }
            let some = self.or(steps, span);
            all.push(self.and(vec![self.is_at(who, location, span), some], span));
        }
        Ok(self.or(all, span))
    }
}
