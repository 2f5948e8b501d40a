//! Channels that are not there: a variable may hold none, or one that belonged to a process which has ended. To use it is an
//! error, as in SPIN; and so is to look for a message in a rendezvous channel, which never holds any.

use shoal_model::{
    Argument, BinaryOp, CheckKind, Code, Expr, ExprKind as K, Function, FunctionId, IndexVec, LocalKind,
    PropertyKind, Stmt, StmtKind,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported, channels::SiteId};
use crate::ast::{Receive, VarRef};

impl Lowerer<'_> {
    /// What is to be asked before the channel that a variable holds is used: it faults if there is none. Nothing if there always
    /// is one, or using it faults by itself.
    pub(super) fn must_exist(&mut self, channel: &VarRef, me: Option<&Me>) -> OrReported<Option<Expr>> {
        if self.channels.fixed(channel.variable).is_some() {
            return Ok(None);
        }
        let sites = self.sites_of(channel);
        let goes = sites.iter().any(|site| self.may_go(*site));
        // Where all are stored in one array, there is no place for none.
        let classes = self.classes(channel)?;
        let stored = match classes.as_slice() {
            [class] => self.channels.classes[*class].capacity > 0,
            _ => false,
        };
        if !classes.is_empty() && !goes && (stored || !self.may_be_none(channel)) {
            return Ok(None);
        }
        let value = self.channel_value(channel, me)?;
        let function = self.existence();
        let kind = K::Call(function, vec![Argument::Value(value)]);
        Ok(Some(Expr { kind, ty: self.boolean, span: channel.span }))
    }

    /// Whether a channel exists and something is so of it. Where a variable never holds any, nothing else is asked.
    pub(super) fn if_exists(&mut self, channel: &VarRef, me: Option<&Me>, holds: Expr) -> OrReported<Expr> {
        let Some(exists) = self.must_exist(channel, me)? else { return Ok(holds) };
        if self.classes(channel)?.is_empty() {
            return Ok(exists);
        }
        Ok(self.and(vec![exists, holds], channel.span))
    }

    /// Whether channels of a site go with the process that made them, while others may hold them.
    fn may_go(&self, site: SiteId) -> bool {
        let ends = self.channels.sites[site].owner.is_some_and(|owner| self.procs[owner].ends);
        ends && self.channels.is_held(site)
    }

    /// The function that says of the value of a channel variable that there is such a channel, and faults if not.
    fn existence(&mut self) -> FunctionId {
        if let Some(known) = self.exists {
            return known;
        }
        let span = self.program.proctypes[0].name.span;
        let locals = std::mem::replace(&mut self.locals, IndexVec::new());
        let param = self.new_local("channel", self.integer, LocalKind::Variable, span);
        let value = self.read_local(param, span);
        let mut there = Vec::new();
        let (lowest, above) = (self.int(1, span), self.int(self.channel_numbers, span));
        there.push(self.binary(BinaryOp::Ge, value.clone(), lowest));
        there.push(self.binary(BinaryOp::Lt, value.clone(), above));
        for site in 0..self.channels.sites.len() {
            if self.may_go(site) {
                there.push(self.owner_runs(site, &value, span));
            }
        }
        let there = self.and(there, span);
        let yes = self.truth(true, span);
        let mut body = self.when(there, vec![Stmt { kind: StmtKind::Return(Some(yes)), span }], Vec::new());
        body.extend(self.error_here("channels that are used exist", span));
        let code = Code { locals: std::mem::replace(&mut self.locals, locals), body };
        let (name, result) = ("channel exists".to_string(), Some(self.boolean));
        let function = Function { name, params: vec![param], result, code, span };
        *self.exists.insert(self.model.functions.push(function))
    }

    /// That a channel is not one of a site, or its process runs.
    fn owner_runs(&self, site: SiteId, value: &Expr, span: Span) -> Expr {
        let site = &self.channels.sites[site];
        let Some(owner) = site.owner else { return self.truth(true, span) };
        let length = i64::from(self.program.variables[site.variable].length.unwrap_or(1));
        let capacity = i64::from(self.procs[owner].capacity);
        let first = self.channels.classes[site.class].base + i64::from(site.offset);
        let before = self.binary(BinaryOp::Lt, value.clone(), self.int(first, span));
        let behind = self.binary(BinaryOp::Ge, value.clone(), self.int(first + length * capacity, span));
        let within = self.binary(BinaryOp::Sub, value.clone(), self.int(first, span));
        let number = self.binary(BinaryOp::Div, within, self.int(length, span));
        let who = Me { proc: owner, entry: (capacity > 1).then_some(number) };
        let gone = self.equal(self.read(self.at(&who, span)), self.nowhere(owner, span));
        self.or(vec![before, behind, self.not(gone)], span)
    }

    /// Statements that violate a property, in a function that says whether something is so.
    fn error_here(&mut self, name: &str, span: Span) -> [Stmt; 2] {
        let property = self.named_property(name, PropertyKind::Assertion, span);
        let fails = StmtKind::Check { kind: CheckKind::Assert, condition: None, property };
        let no = StmtKind::Return(Some(self.truth(false, span)));
        [Stmt { kind: fails, span }, Stmt { kind: no, span }]
    }

    /// A question that must not be asked: who does violates a property.
    pub(super) fn wrong_question(&mut self, property: &str, span: Span) -> Expr {
        let locals = std::mem::replace(&mut self.locals, IndexVec::new());
        let body = self.error_here(property, span).into();
        let code = Code { locals: std::mem::replace(&mut self.locals, locals), body };
        let (name, params) = (property.to_string(), Vec::new());
        let function = Function { name, params, result: Some(self.boolean), code, span };
        let kind = K::Call(self.model.functions.push(function), Vec::new());
        Expr { kind, ty: self.boolean, span }
    }

    /// Whether a message can be looked at that stays where it is. A rendezvous channel must not be asked.
    pub(super) fn poll(&mut self, receive: &Receive, me: Option<&Me>) -> OrReported<Expr> {
        let (channel, span) = (&receive.channel, receive.channel.span);
        let mut fits = self.can_receive(receive, me)?;
        for class in self.classes(channel)? {
            if self.channels.classes[class].capacity > 0 {
                continue;
            }
            let meets = self.is_of_class(class, channel, me)?;
            let wrong = self.wrong_question("no rendezvous channel is polled", span);
            fits = self.cond(meets, wrong, fits);
        }
        Ok(fits)
    }
}
