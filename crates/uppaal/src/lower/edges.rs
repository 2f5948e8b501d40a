//! Edges to rules: alone, in pairs, or one with all that listen.

use shoal_model::{
    BinaryOp, Code, Domain, Expr, ExprKind, LocalKind, Parameter, Place, Projection, Root, Rule, Stmt, Type,
    TypeId, Value,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::{build::plain_rule, codes};

use super::{
    Channel, ExprView, Lowerer, Meaning, error, priorities::StepPriority, processes::position, unsupported,
};
use crate::ast::{self, ExprKind as K};

/// An edge as a process takes it.
pub(super) struct ProcessEdge<'n> {
    pub(super) process: usize,
    pub(super) edge: &'n ast::Edge,
    pub(super) view: ExprView<'n>,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// What a rule is made of.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) params: Vec<Parameter>,
    pub(super) at: Vec<Expr>,
    pub(super) guards: Vec<Expr>,
    pub(super) body: Vec<Stmt>,
    pub(super) urgent: bool,
    /// What has priority over it is not possible.
    pub(super) rank: StepPriority,
}

impl<'n> Lowerer<'n> {
    /// Whether a process is in a location.
    pub(super) fn at(&self, process: usize, members: &[Expr], location: usize, span: Span) -> Expr {
        let own = &self.processes[process];
        let constant =
            self.b.constant(Value::Enum(own.location_type, location as u32), own.location_type, span);
        self.b.equal(self.b.read(self.location(process, members, span)), constant, span)
    }

    fn location(&self, process: usize, members: &[Expr], span: Span) -> Place {
        let own = &self.processes[process];
        let path = members.iter().cloned().map(Projection::Index).collect();
        Place { root: Root::Var(own.location), path, ty: own.location_type, span }
    }

    pub(super) fn go_to(&self, process: usize, members: &[Expr], location: usize, span: Span) -> Stmt {
        let own = &self.processes[process];
        let value = self.b.constant(Value::Enum(own.location_type, location as u32), own.location_type, span);
        self.b.assign(self.location(process, members, span), value, span)
    }

    pub(super) fn rules(&mut self) -> Parsed<()> {
        for process in 0..self.processes.len() {
            let template = self.processes[process].template;
            for edge in &template.edges {
                self.go_on()?;
                let made = self.rules_of_edge(process, edge);
                self.item(made);
            }
        }
        Ok(())
    }

    fn rules_of_edge(&mut self, process: usize, edge: &'n ast::Edge) -> Parsed<()> {
        let Some(sync) = &edge.sync else { return self.alone(process, edge) };
        self.check_channel(process, edge, sync)?;
        if !sync.sends {
            return Ok(());
        }
        match self.channel_named(process, &sync.channel)?.broadcast {
            true => self.broadcast(process, edge),
            false => self.pairs(process, edge, sync),
        }
    }

    /// The channel, or the array of channels, that an edge names.
    pub(super) fn channel_named(&self, process: usize, expr: &'n ast::Expr) -> Parsed<Channel> {
        let mut root = expr;
        while let K::Index(of, _) = &root.kind {
            root = of;
        }
        match &root.kind {
            K::Name(name) => match self.processes[process].scope.get(name) {
                Some(Meaning::Channel(channel)) => Ok(channel.clone()),
                _ => error(codes::UNKNOWN_NAME, expr.span, format!("`{name}` is no channel here")),
            },
            _ => unsupported("this kind of channel", expr.span),
        }
    }

    /// That an edge names a channel, whether anybody is at its other end or not, and asks nothing of clocks if that is urgent:
    /// how long to wait would be decided by who is enabled, and who is enabled by how long one waits.
    fn check_channel(&mut self, process: usize, edge: &'n ast::Edge, sync: &'n ast::Sync) -> Parsed<()> {
        let channel = self.channel_named(process, &sync.channel)?;
        let part = self.part(process, edge, &mut Pieces::default())?;
        self.channel_indices(&channel, &sync.channel, &part.view)?;
        // (What is wrong with a guard is told where it is used.)
        if let Some(guard) = edge.guard.as_ref().filter(|_| channel.urgent)
            && let Ok(holds) = self.truth(guard, &part.view)
            && self.b.model.reads_clocks(&holds)
        {
            return unsupported("a guard on clocks where the channel is urgent", guard.span);
        }
        self.b.take_locals();
        Ok(())
    }

    /// All indices of the channel that an edge uses.
    pub(super) fn channel_indices(
        &mut self,
        channel: &Channel,
        expr: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<Vec<Expr>> {
        let mut written = Vec::new();
        let mut root = expr;
        while let K::Index(of, index) = &root.kind {
            written.insert(0, index);
            root = of;
        }
        if written.len() != channel.indices.len() {
            let message = format!("this channel needs {} indices", channel.indices.len());
            return error(codes::WRONG_KIND, expr.span, message);
        }
        let mut indices = channel.given.clone();
        for (index, by) in written.into_iter().zip(&channel.indices) {
            indices.push(self.channel_index(index, *by, view)?);
        }
        Ok(indices)
    }

    /// An index of a channel: one that is outside of the array faults.
    fn channel_index(&mut self, index: &'n ast::Expr, by: TypeId, view: &ExprView<'n>) -> Parsed<Expr> {
        let value = self.value(index, view)?;
        let Type::Int { lo, hi } = *self.b.model.kind(by) else {
            return self.as_type(value, by);
        };
        if self.is_numbered(value.ty) {
            self.meets_elements(by);
        }
        let value = self.as_integer(value)?;
        let inside = match (&value.kind, self.b.model.kind(value.ty)) {
            (ExprKind::Const(Value::Int(value)), _) if !(lo..=hi).contains(value) => {
                return error(codes::OUT_OF_RANGE, index.span, "there is no such channel");
            }
            (ExprKind::Const(_), _) => true,
            (_, Type::Int { lo: least, hi: most }) => lo <= *least && *most <= hi,
            _ => false,
        };
        if inside {
            return Ok(value);
        }
        let table = self.table((lo..=hi).collect());
        let span = value.span;
        let at = self.b.binary(BinaryOp::Sub, value, self.b.int(lo, span), span);
        Ok(Expr { kind: ExprKind::Entry(table, Box::new(at)), ty: self.b.integer, span })
    }

    /// The condition that two edges use the same channel; nothing if they never do.
    pub(super) fn same_channel(
        &mut self,
        one: &ProcessEdge<'n>,
        other: &ProcessEdge<'n>,
    ) -> Parsed<Option<Vec<Expr>>> {
        let (Some(sent), Some(received)) = (&one.edge.sync, &other.edge.sync) else { return Ok(None) };
        let channel = self.channel_named(one.process, &sent.channel)?;
        let listened = self.channel_named(other.process, &received.channel)?;
        if channel.number != listened.number {
            return Ok(None);
        }
        let left = self.channel_indices(&channel, &sent.channel, &one.view)?;
        let right = self.channel_indices(&listened, &received.channel, &other.view)?;
        let mut conditions = Vec::new();
        for (left, right) in left.into_iter().zip(right) {
            match (&left.kind, &right.kind) {
                (ExprKind::Const(left), ExprKind::Const(right)) if left != right => return Ok(None),
                (ExprKind::Const(_), ExprKind::Const(_)) => {}
                _ => {
                    let span = left.span;
                    conditions.push(self.b.equal(left, right, span));
                }
            }
        }
        Ok(Some(conditions))
    }

    /// An edge with values for the process's own place in its family and for what it selects.
    pub(super) fn part(
        &mut self,
        process: usize,
        edge: &'n ast::Edge,
        pieces: &mut Pieces,
    ) -> Parsed<ProcessEdge<'n>> {
        let family = self.processes[process].family.clone();
        let mut members = Vec::new();
        for ty in family {
            let local = self.b.local(&self.processes[process].name.clone(), ty, LocalKind::Bound, edge.span);
            pieces.params.push(Parameter { local, domain: Domain::Type(ty) });
            members.push(self.b.read_local(local, edge.span));
        }
        let mut part = self.part_of_member(process, edge, members)?;
        for (name, ty) in &edge.select {
            let ty = self.data(ty, &name.node, &part.view)?;
            self.integers(ty, name.span)?;
            let local = self.b.local(&name.node, ty, LocalKind::Bound, name.span);
            pieces.params.push(Parameter { local, domain: Domain::Type(ty) });
            part.view = part.view.with(&name.node, Meaning::Local(local));
        }
        Ok(part)
    }

    pub(super) fn part_of_member(
        &self,
        process: usize,
        edge: &'n ast::Edge,
        members: Vec<Expr>,
    ) -> Parsed<ProcessEdge<'n>> {
        let own = &self.processes[process];
        let (Some(from), Some(to)) = (position(own.template, &edge.from), position(own.template, &edge.to))
        else {
            return error(codes::UNKNOWN_NAME, edge.span, "an edge between locations that are not there");
        };
        let view = ExprView { scope: own.scope.clone(), members, home: Some(process), result: None };
        Ok(ProcessEdge { process, edge, view, from, to })
    }

    /// What must hold for a part to be taken.
    pub(super) fn enable(&mut self, part: &ProcessEdge<'n>, pieces: &mut Pieces) -> Parsed<()> {
        pieces.at.push(self.at(part.process, &part.view.members, part.from, part.edge.span));
        if let Some(guard) = &part.edge.guard {
            let holds = self.truth(guard, &part.view);
            pieces.guards.push(self.item_or_true(holds, guard.span));
        }
        Ok(())
    }

    pub(super) fn updates(&mut self, part: &ProcessEdge<'n>, into: &mut Vec<Stmt>) -> Parsed<()> {
        for update in &part.edge.assigns {
            let made = self.effect(update, &part.view, into);
            self.item(made);
        }
        Ok(())
    }

    pub(super) fn arrive(&self, part: &ProcessEdge<'n>) -> Stmt {
        self.go_to(part.process, &part.view.members, part.to, part.edge.span)
    }

    pub(super) fn is_committed(&self, part: &ProcessEdge<'n>) -> bool {
        self.processes[part.process].template.locations[part.from].committed
    }

    fn alone(&mut self, process: usize, edge: &'n ast::Edge) -> Parsed<()> {
        let mut pieces = Pieces::default();
        let part = self.part(process, edge, &mut pieces)?;
        self.finish(&[part], pieces)
    }

    /// Two processes, of which one sends and the other receives.
    fn pairs(&mut self, process: usize, edge: &'n ast::Edge, sync: &'n ast::Sync) -> Parsed<()> {
        let channel = self.channel_named(process, &sync.channel)?;
        for other in 0..self.processes.len() {
            if other == process && self.processes[process].family.is_empty() {
                continue;
            }
            let template = self.processes[other].template;
            self.go_on()?;
            for receiver in &template.edges {
                let Some(received) = receiver.sync.as_ref().filter(|sync| !sync.sends) else { continue };
                if self.channel_named(other, &received.channel)?.number != channel.number {
                    continue;
                }
                let mut pieces = Pieces { urgent: channel.urgent, ..Pieces::default() };
                let parts =
                    [self.part(process, edge, &mut pieces)?, self.part(other, receiver, &mut pieces)?];
                let Some(same) = self.same_channel(&parts[0], &parts[1])? else {
                    self.b.take_locals();
                    continue;
                };
                if other == process {
                    pieces.at.push(self.apart(&parts[0].view.members, &parts[1].view.members, edge.span));
                }
                pieces.guards.extend(same);
                self.finish(&parts, pieces)?;
            }
        }
        Ok(())
    }

    /// Two members of a family are not the same.
    pub(super) fn apart(&self, one: &[Expr], other: &[Expr], span: Span) -> Expr {
        let equal = one.iter().zip(other).map(|(one, other)| self.b.equal(one.clone(), other.clone(), span));
        let equal = self.b.and(equal.collect(), span);
        self.b.not(equal)
    }

    /// Makes a rule of parts whose updates come one after the other, the sender's first.
    fn finish(&mut self, parts: &[ProcessEdge<'n>], mut pieces: Pieces) -> Parsed<()> {
        pieces.rank = self.rank(parts)?;
        let matched = std::mem::take(&mut pieces.guards);
        for part in parts {
            self.enable(part, &mut pieces)?;
        }
        pieces.guards.extend(matched);
        for part in parts {
            self.updates(part, &mut pieces.body)?;
        }
        pieces.body.extend(parts.iter().map(|part| self.arrive(part)));
        if !parts.iter().any(|part| self.is_committed(part)) {
            let nobody = self.nobody_committed(parts[0].edge.span);
            pieces.at.push(nobody);
        }
        let name = parts.iter().map(|part| self.step_name(part)).collect::<Vec<_>>().join(", ");
        self.push_rule(name, pieces, parts[0].edge.span)
    }

    pub(super) fn step_name(&self, part: &ProcessEdge<'n>) -> String {
        let own = &self.processes[part.process];
        let location = |at: usize| &own.template.locations[at].name.node;
        format!("{}: {} -> {}", own.name, location(part.from), location(part.to))
    }

    pub(super) fn push_rule(&mut self, name: String, mut pieces: Pieces, span: Span) -> Parsed<()> {
        pieces.guards.extend(self.not_blocked(&pieces, span)?);
        let guards = [pieces.at, pieces.guards].concat();
        let guard = Some(self.b.and(guards, span));
        let mut body = pieces.body;
        body.extend(self.keep_invariants()?);
        let code = Code { locals: self.b.take_locals(), body };
        let rule = Rule { urgent: pieces.urgent, ..plain_rule(&name, pieces.params, guard, code, span) };
        self.b.model.rules.push(rule);
        Ok(())
    }

    /// While somebody is in a committed location, only such processes move.
    pub(super) fn nobody_committed(&mut self, span: Span) -> Expr {
        let mut parts = Vec::new();
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                if location.committed {
                    parts.push(self.nobody_at(number, at, span));
                }
            }
        }
        self.b.and(parts, span)
    }

    pub(super) fn nobody_at(&mut self, process: usize, location: usize, span: Span) -> Expr {
        let body = |lowerer: &mut Self, members: &[Expr]| {
            Ok(lowerer.b.not(lowerer.at(process, members, location, span)))
        };
        // (Nothing in it can fail.)
        self.of_every_member(process, span, body).unwrap_or_else(|_| self.b.truth(true, span))
    }
}
