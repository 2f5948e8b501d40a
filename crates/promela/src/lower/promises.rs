//! What processes promise of channels: `xr` says that nobody else receives, `xs` that nobody else sends. Merging relies on it
//! as SPIN does, so then it is checked: who breaks a promise of another process violates a property.

use shoal_model::{CheckKind, Expr, PropertyKind, Stmt, StmtKind};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported, Reported, everybody::Everybody};
use crate::ast::{Promise, Use, VarRef};

impl<'p> Lowerer<'p> {
    /// The promises that merging may rely on. A rendezvous is a step of two, and is not merged.
    pub(super) fn promises_relied_on(&self, proc: usize) -> Vec<&'p Promise> {
        let buffered = |channel: &VarRef| {
            let sites = self.sites_of(channel);
            !sites.is_empty() && sites.iter().all(|site| self.channels.sites[*site].capacity > 0)
        };
        let program = self.program;
        program.proctypes[proc].promises.iter().filter(|promise| buffered(&promise.channel)).collect()
    }

    /// When others change nothing about the promises that a step is checked against, nor the step about those that theirs
    /// are. Nothing if that cannot be said.
    pub(super) fn promises_stay(
        &mut self,
        all: &Everybody,
        me: &Me,
        uses_channels: bool,
        ends: bool,
        span: Span,
    ) -> Option<Vec<Expr>> {
        let procs = 0..self.procs.len();
        let promises = |proc: usize| self.promises_relied_on(proc).into_iter().map(move |it| (proc, it));
        let promises: Vec<(usize, &Promise)> =
            procs.filter(|_| self.options.merge).flat_map(promises).collect();
        // Who ends promises nothing any more.
        if ends && promises.iter().any(|(proc, _)| *proc == me.proc) {
            return None;
        }
        if promises.is_empty() || !uses_channels {
            return Some(Vec::new());
        }
        let settled = promises.iter().all(|(proc, promise)| self.is_settled(all, &promise.channel, *proc));
        settled.then(|| self.nobody_runs_more(all, span))
    }

    /// Checks that nobody else has promised that this is not done to a channel, where it matters.
    pub(super) fn breaks_no_promise(
        &mut self,
        done: Use,
        channel: &VarRef,
        me: &Me,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let mut parts = Vec::new();
        if !self.options.merge {
            return Ok(Vec::new());
        }
        let sites = self.sites_of(channel);
        for proc in 0..self.procs.len() {
            for promise in self.promises_relied_on(proc) {
                let theirs = &promise.channel;
                let may_break = promise.never == done && !self.sites_of(theirs).is_disjoint(&sites);
                if !may_break || self.is_alone(proc, me) {
                    continue;
                }
                let mine = self.channel_value(channel, Some(me))?;
                let kept = self.for_all_others(proc, me, span, |lowerer, you| {
                    let nowhere = lowerer.nowhere(proc, span);
                    let gone = lowerer.equal(lowerer.read(lowerer.at(you, span)), nowhere);
                    let theirs = lowerer.channel_value(theirs, Some(you)).ok()?;
                    let another = lowerer.not(lowerer.equal(mine, theirs));
                    Some(lowerer.or(vec![gone, another], span))
                });
                parts.push(kept.ok_or(Reported)?);
            }
        }
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let name = "promises of exclusive use (xr, xs) are kept";
        let property = self.named_property(name, PropertyKind::Assertion, span);
        let condition = Some(self.and(parts, span));
        Ok(vec![Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span }])
    }
}
