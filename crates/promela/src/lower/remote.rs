//! What is asked of other processes: whether they are at a label, and what their variables hold.

use shoal_model::{BinaryOp, Expr};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, Me, OrReported, VarStorage, expr::ExprMeaning};
use crate::{
    ast::{self, Type},
    codes,
    flow::ElementId,
};

impl Lowerer<'_> {
    /// The proctype of a name.
    pub(super) fn proctype(&mut self, name: &ast::Name) -> OrReported<usize> {
        let known = &self.program.proctypes;
        if let Some(found) = known.iter().position(|proctype| proctype.name.node == name.node) {
            return Ok(found);
        }
        let near = shoal_syntax::did_you_mean(&name.node, known.iter().map(|proctype| &*proctype.name.node));
        let message = format!("there is no proctype `{}`", name.node);
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, name.span, message);
        if let Some(near) = near {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }

    /// All processes of a proctype that have a number (all if there is none), as conditions and processes.
    fn remote(
        &mut self,
        name: &ast::Name,
        pid: Option<&ast::Expr>,
        me: Option<&Me>,
    ) -> OrReported<Vec<(Expr, Me)>> {
        let proc = self.proctype(name)?;
        let pid = match pid {
            Some(pid) => Some(self.integer_expr(pid, me)?),
            None => None,
        };
        let mut all = Vec::new();
        for entry in 0..self.procs[proc].capacity {
            let who = Me { proc, entry: self.numbered_entry(proc, entry, name.span) };
            let nowhere = self.nowhere(proc, name.span);
            let lives = self.not(self.equal(self.read(self.at(&who, name.span)), nowhere));
            let is = match &pid {
                Some(pid) => self.equal(self.pid(&who, name.span), pid.clone()),
                None => self.truth(true, name.span),
            };
            all.push((self.and(vec![lives, is], name.span), who));
        }
        Ok(all)
    }

    /// `pc_value(e)`: SPIN's number of where a process is, 0 if there is no such process.
    pub(super) fn location_number(
        &mut self,
        of: &ast::Expr,
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<Expr> {
        if self.in_sequence {
            let message = "not supported: `pc_value` in an atomic sequence, but at its beginning";
            return self.error(codes::UNSUPPORTED, span, message);
        }
        let pid = self.integer_expr(of, me)?;
        let mut value = self.int(0, span);
        for proc in 0..self.procs.len() {
            for entry in 0..self.procs[proc].capacity {
                let who = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                let is_it = self.runs_with(&who, &pid, span);
                let at = self.to_int(self.read(self.at(&who, span)), ExprMeaning::Mtype(0));
                let locations = &self.procs[proc].locations;
                let number = |at: &ElementId| self.procs[proc].flow.elements[*at].number;
                let numbers: Vec<u32> = locations.iter().map(number).collect();
                value = self.cond(is_it, self.table(&at, 1, &numbers, span), value);
            }
        }
        Ok(value)
    }

    /// The entry of a table for a number, which is that of the first entry or higher.
    fn table(&self, number: &Expr, first: i64, entries: &[u32], span: Span) -> Expr {
        match entries {
            [] => self.int(0, span),
            [only] => self.int(i64::from(*only), span),
            _ => {
                let (low, high) = entries.split_at(entries.len() / 2);
                let middle = first + low.len() as i64;
                let below = self.binary(BinaryOp::Lt, number.clone(), self.int(middle, span));
                self.cond(below, self.table(number, first, low, span), self.table(number, middle, high, span))
            }
        }
    }

    pub(super) fn remote_label(
        &mut self,
        name: &ast::Name,
        pid: Option<&ast::Expr>,
        label: &ast::Name,
        me: Option<&Me>,
    ) -> OrReported<Expr> {
        let proc = self.proctype(name)?;
        let flow = &self.procs[proc].flow;
        let Some(element) = flow.label(&label.node) else {
            let known: Vec<String> =
                flow.labels.iter().map(|(label, _)| label.name.node.to_string()).collect();
            let near = shoal_syntax::did_you_mean(&label.node, known.iter().map(String::as_str));
            let message = format!("`{}` has no label `{}`", name.node, label.node);
            let mut diagnostic = Diagnostic::error(codes::BAD_LABEL, label.span, message);
            if let Some(near) = near {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            return self.report(diagnostic);
        };
        let element = flow.hunt(element, false);
        if !self.procs[proc].locations.contains(&element) {
            return Ok(self.truth(false, label.span));
        }
        let all = self.remote(name, pid, me)?;
        let at = |lowerer: &Self, who: &Me| lowerer.is_at(who, element, label.span);
        let parts = all.into_iter().map(|(is, who)| self.and(vec![at(self, &who), is], label.span)).collect();
        Ok(self.or(parts, label.span))
    }

    pub(super) fn remote_variable(
        &mut self,
        name: &ast::Name,
        pid: Option<&ast::Expr>,
        variable: &ast::Name,
        index: Option<&ast::Expr>,
        me: Option<&Me>,
    ) -> OrReported<(Expr, ExprMeaning)> {
        let proc = self.proctype(name)?;
        let variables = &self.program.proctypes[proc].variables;
        let found = variables.iter().find(|id| self.program.variables[**id].name.node == variable.node);
        let Some(id) = found.copied() else {
            let message = format!("`{}` has no variable `{}`", name.node, variable.node);
            return self.error(codes::UNKNOWN_NAME, variable.span, message);
        };
        let index = match index {
            Some(index) => Some(self.integer_expr(index, me)?),
            None => None,
        };
        let Some(VarStorage::Field(field)) = self.homes.get(&id).copied() else {
            return self.error(codes::BAD_TYPE, variable.span, "a channel cannot be used here");
        };
        if let Type::Pointer(_) | Type::Record(_) = self.program.variables[id].ty {
            return self.error(codes::BAD_TYPE, variable.span, "this variable does not hold a number");
        }
        // Where there is no such process, the value is 0.
        let mut value = self.int(0, variable.span);
        for (is, who) in self.remote(name, pid, me)?.into_iter().rev() {
            let mut place = self.field(self.entry(&who, variable.span), field);
            if let Some(index) = &index {
                place = self.index(place, index.clone());
            }
            let kind = match self.program.variables[id].ty {
                Type::Mtype(set) if self.style.named_constants => ExprMeaning::Mtype(set),
                _ => ExprMeaning::Int,
            };
            let here = self.to_int(self.read(place), kind);
            value = self.cond(is, here, value);
        }
        Ok((value, ExprMeaning::Int))
    }
}
