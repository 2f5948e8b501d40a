//! When what a process touches is its own from now on: nobody else can do to it what would matter, from where they are.

use std::collections::BTreeSet;

use shoal_model::{Expr, LocalKind, Quantifier};
use shoal_syntax::Span;

use super::{
    Lowerer, Me, VarStorage,
    access::{Accesses, Touch},
    everybody::Everybody,
};
use crate::ast::{self, ExprKind, Query, VarRef, VariableId};

impl Lowerer<'_> {
    /// When nobody else writes what is read, or touches what is written, from now on. Nothing if that cannot be said.
    pub(super) fn own_variables(
        &mut self,
        all: &Everybody,
        accesses: &Accesses,
        me: &Me,
        span: Span,
    ) -> Option<Vec<Expr>> {
        let shared = |ids: &BTreeSet<VariableId>| -> BTreeSet<VariableId> {
            let is_shared = |id: &&VariableId| {
                self.program.variables[**id].is_global
                    && !matches!(self.homes.get(*id), Some(VarStorage::Channel | VarStorage::Nowhere))
            };
            ids.iter().filter(is_shared).copied().collect()
        };
        let (reads, writes) = (shared(&accesses.reads), shared(&accesses.writes));
        if reads.is_empty() && writes.is_empty() {
            return Some(Vec::new());
        }
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            if self.is_alone(proc, me) {
                continue;
            }
            let before = all.before_conflicts(proc, &reads, &writes)?;
            if before.contains(&true) {
                parts.extend(self.for_all_others(proc, me, span, |lowerer, you| {
                    Some(lowerer.is_past(you, &before, span))
                }));
            }
        }
        // Who is still to be made would begin at the beginning.
        if !parts.is_empty() || !all.first_reads.is_disjoint(&writes) {
            parts.extend(self.nobody_runs_more(all, span));
        }
        Some(parts)
    }

    /// Whether there are no other processes of a proctype.
    pub(super) fn is_alone(&self, proc: usize, me: &Me) -> bool {
        proc == me.proc && self.procs[proc].capacity == 1
    }

    /// That a process is at none of some locations.
    fn is_past(&self, who: &Me, before: &[bool], span: Span) -> Expr {
        let at = |wanted: bool| -> Vec<Expr> {
            let positions = (0..before.len()).filter(|position| before[*position] == wanted);
            positions.map(|position| self.is_at_position(who, position, span)).collect()
        };
        let after = before.iter().filter(|it| !**it).count();
        if after < before.len() - after {
            let nowhere = self.nowhere(who.proc, span);
            let mut places = vec![self.equal(self.read(self.at(who, span)), nowhere)];
            places.extend(at(false));
            return self.or(places, span);
        }
        let parts = at(true).into_iter().map(|here| self.not(here)).collect();
        self.and(parts, span)
    }

    /// When nobody else uses the channels in a way that would matter. Nothing if that cannot be said.
    pub(super) fn own_channels(
        &mut self,
        all: &Everybody,
        accesses: &Accesses,
        me: &Me,
    ) -> Option<Vec<Expr>> {
        let mut parts = Vec::new();
        let mut seen: Vec<BTreeSet<usize>> = Vec::new();
        for (at, (channel, touch)) in accesses.channels.iter().enumerate() {
            let sites = self.sites_of(channel);
            if sites.is_empty() || sites.iter().any(|site| self.channels.sites[*site].capacity == 0) {
                return None;
            }
            // Behind the first step the state has changed: the channel must be the same, and used once.
            if !accesses.is_first(at) {
                let again = seen.iter().any(|before| !before.is_disjoint(&sites));
                if again || *touch == Touch::Test || !self.is_settled(all, channel, me.proc) {
                    return None;
                }
            }
            seen.push(sites);
            let wanted = match touch {
                Touch::Send => Some(Query::NotFull),
                Touch::Take => Some(Query::NotEmpty),
                Touch::Test => None,
                Touch::Insert | Touch::Find => return None,
            };
            if let Some(query) = wanted {
                let kind = ExprKind::Query(query, channel.clone());
                parts.push(self.condition(&ast::Expr { kind, span: channel.span }, Some(me)).ok()?);
            }
            parts.extend(self.not_shared(all, channel, *touch, me)?);
        }
        Some(parts)
    }

    /// Whether what a channel variable holds never changes while its process runs.
    pub(super) fn is_settled(&self, all: &Everybody, channel: &VarRef, proc: usize) -> bool {
        if !channel.fields.is_empty() {
            return false;
        }
        if self.channels.fixed(channel.variable).is_some() {
            return channel.index.as_ref().is_none_or(|index| self.is_constant(all, index, proc));
        }
        let own = self.program.proctypes[proc].variables.contains(&channel.variable);
        own && channel.index.is_none() && !self.channels.is_assigned(channel.variable)
    }

    /// Whether a value never changes while its process runs.
    fn is_constant(&self, all: &Everybody, expr: &ast::Expr, proc: usize) -> bool {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Mtype(..) | ExprKind::Pid => true,
            ExprKind::Var(var) => {
                let own = self.program.proctypes[proc].variables.contains(&var.variable);
                own && var.index.is_none() && var.fields.is_empty() && !all.written.contains(&var.variable)
            }
            ExprKind::Binary(_, a, b) => self.is_constant(all, a, proc) && self.is_constant(all, b, proc),
            _ => false,
        }
    }

    /// That no other process does to the channel what would matter. Nothing if that cannot be said.
    fn not_shared(&mut self, all: &Everybody, channel: &VarRef, touch: Touch, me: &Me) -> Option<Vec<Expr>> {
        let sites = self.sites_of(channel);
        let mut parts: Vec<Expr> = Vec::new();
        for proc in 0..self.procs.len() {
            if self.is_alone(proc, me) {
                continue;
            }
            for (other, before) in self.others_use(all, proc, touch, &sites) {
                let part = self.another_or_past(all, channel, me, &other, proc, &before)?;
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        if !parts.is_empty() {
            // Who is still to be made could be given the same channel.
            parts.extend(self.nobody_runs_more(all, channel.span));
        }
        Some(parts)
    }

    /// The variables by which processes of a proctype do to some channels what would matter, and the locations from which
    /// they can.
    fn others_use(
        &self,
        all: &Everybody,
        proc: usize,
        touch: Touch,
        sites: &BTreeSet<usize>,
    ) -> Vec<(VarRef, Vec<bool>)> {
        let count = self.procs[proc].locations.len();
        let mut found: Vec<(VarRef, Vec<bool>)> = Vec::new();
        for (at, other, theirs) in all.uses(proc) {
            if !touch.minds(theirs) || self.sites_of(other).is_disjoint(sites) {
                continue;
            }
            let is_plain = |it: &VarRef| it.index.is_none() && it.fields.is_empty();
            let same = |it: &VarRef| it.variable == other.variable && is_plain(it) && is_plain(other);
            match found.iter_mut().find(|(it, _)| same(it)) {
                Some((_, here)) => here[at] = true,
                None => found.push((other.clone(), (0..count).map(|it| it == at).collect())),
            }
        }
        for (_, here) in &mut found {
            *here = all.before_these(proc, std::mem::take(here));
        }
        let gone = all.channels_that_go.iter().filter(|(owner, other)| {
            *owner == proc && touch.minds(Touch::Insert) && !self.sites_of(other).is_disjoint(sites)
        });
        found.extend(gone.map(|(_, other)| (other.clone(), vec![true; count])));
        found
    }

    /// That what a variable of all other processes of a proctype holds is another channel, or that they are past its use.
    fn another_or_past(
        &mut self,
        all: &Everybody,
        mine: &VarRef,
        me: &Me,
        other: &VarRef,
        proc: usize,
        before: &[bool],
    ) -> Option<Expr> {
        let span = mine.span;
        let settled = self.is_settled(all, other, proc);
        let everywhere = before.iter().all(|it| *it);
        if !settled && everywhere {
            return None;
        }
        let held = self.channel_value(mine, Some(me)).ok()?;
        self.for_all_others(proc, me, span, |lowerer, you| {
            let mut ways = Vec::new();
            if !everywhere {
                ways.push(lowerer.is_past(you, before, span));
            }
            if settled {
                let theirs = lowerer.channel_value(other, Some(you)).ok()?;
                ways.push(lowerer.not(lowerer.equal(held, theirs)));
            }
            Some(lowerer.or(ways, span))
        })
    }

    /// That something is true of all entries of a proctype but one's own, whether a process runs there or not.
    pub(super) fn for_all_others(
        &mut self,
        proc: usize,
        me: &Me,
        span: Span,
        of: impl FnOnce(&mut Self, &Me) -> Option<Expr>,
    ) -> Option<Expr> {
        self.for_all_of(proc, span, |lowerer, you| {
            let holds = of(lowerer, you)?;
            Some(match (&me.entry, &you.entry) {
                (Some(mine), Some(yours)) if proc == me.proc => {
                    let same = lowerer.equal(mine.clone(), yours.clone());
                    lowerer.or(vec![same, holds], span)
                }
                _ => holds,
            })
        })
    }

    /// That something is true of all entries of a proctype, whether a process runs there or not.
    fn for_all_of(
        &mut self,
        proc: usize,
        span: Span,
        of: impl FnOnce(&mut Self, &Me) -> Option<Expr>,
    ) -> Option<Expr> {
        if self.procs[proc].capacity == 1 {
            return of(self, &Me { proc, entry: None });
        }
        let local = self.entry_local(proc, "j", LocalKind::Bound, span);
        let you = Me { proc, entry: Some(self.read_local(local, span)) };
        let body = Box::new(of(self, &you)?);
        let domain = self.all_entries(proc, span);
        let quantifier = Quantifier::Forall;
        let kind = shoal_model::ExprKind::Quantified { quantifier, local, domain, body };
        Some(Expr { kind, ty: self.boolean, span })
    }

    /// That no process can make others any more.
    pub(super) fn nobody_runs_more(&mut self, all: &Everybody, span: Span) -> Vec<Expr> {
        let mut parts = Vec::new();
        for (proc, before) in all.before_runs.iter().enumerate() {
            if before.contains(&true) {
                let past = |lowerer: &mut Self, you: &Me| Some(lowerer.is_past(you, before, span));
                parts.extend(self.for_all_of(proc, span, past));
            }
        }
        parts
    }
}
