//! Edges to rules: alone, in pairs, or one with all that listen.

use shoal_model::{
    CheckKind, Code, Domain, Expr, ExprKind, LocalKind, Parameter, Place, Projection, Root, Rule, Stmt,
    StmtKind, Type, Value, VarId,
};
use shoal_model::{Node, walk_block, walk_expr};
use shoal_syntax::Span;

use super::{Channel, Lowerer, Meaning, View, error, processes::position, unsupported};
use crate::{
    build::plain_rule,
    codes,
    cursor::Parsed,
    uppaal::ast::{self, ExprKind as K},
};

/// An edge as a process takes it.
struct Part<'n> {
    process: usize,
    edge: &'n ast::Edge,
    view: View<'n>,
    from: usize,
    to: usize,
}

/// What a rule is made of.
#[derive(Default)]
struct Pieces {
    params: Vec<Parameter>,
    at: Vec<Expr>,
    guards: Vec<Expr>,
    body: Vec<Stmt>,
    urgent: bool,
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
                match &edge.sync {
                    None => self.alone(process, edge)?,
                    Some(sync) if sync.sends => {
                        let broadcast = self.channel_named(process, &sync.channel)?.broadcast;
                        match broadcast {
                            true => self.broadcast(process, edge)?,
                            false => self.pairs(process, edge, sync)?,
                        }
                    }
                    Some(sync) => {
                        self.channel_named(process, &sync.channel)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The channel, or the array of channels, that an edge names.
    fn channel_named(&self, process: usize, expr: &'n ast::Expr) -> Parsed<Channel> {
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

    /// All indices of the channel that an edge uses.
    fn channel_indices(
        &mut self,
        channel: &Channel,
        expr: &'n ast::Expr,
        view: &View<'n>,
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
        for index in written {
            indices.push(self.integer(index, view)?);
        }
        Ok(indices)
    }

    /// The condition that two edges use the same channel; nothing if they never do.
    fn same_channel(&mut self, one: &Part<'n>, other: &Part<'n>) -> Parsed<Option<Vec<Expr>>> {
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
    fn part(&mut self, process: usize, edge: &'n ast::Edge, pieces: &mut Pieces) -> Parsed<Part<'n>> {
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

    fn part_of_member(&self, process: usize, edge: &'n ast::Edge, members: Vec<Expr>) -> Parsed<Part<'n>> {
        let own = &self.processes[process];
        let (Some(from), Some(to)) = (position(own.template, &edge.from), position(own.template, &edge.to))
        else {
            return error(codes::UNKNOWN_NAME, edge.span, "an edge between locations that are not there");
        };
        let view = View { scope: own.scope.clone(), members, home: Some(process) };
        Ok(Part { process, edge, view, from, to })
    }

    /// What must hold for a part to be taken.
    fn enable(&mut self, part: &Part<'n>, pieces: &mut Pieces) -> Parsed<()> {
        pieces.at.push(self.at(part.process, &part.view.members, part.from, part.edge.span));
        if let Some(guard) = &part.edge.guard {
            pieces.guards.push(self.truth(guard, &part.view)?);
        }
        Ok(())
    }

    fn updates(&mut self, part: &Part<'n>, into: &mut Vec<Stmt>) -> Parsed<()> {
        for update in &part.edge.assigns {
            self.effect(update, &part.view, into)?;
        }
        Ok(())
    }

    fn arrive(&self, part: &Part<'n>) -> Stmt {
        self.go_to(part.process, &part.view.members, part.to, part.edge.span)
    }

    fn is_committed(&self, part: &Part<'n>) -> bool {
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
    fn apart(&self, one: &[Expr], other: &[Expr], span: Span) -> Expr {
        let equal = one.iter().zip(other).map(|(one, other)| self.b.equal(one.clone(), other.clone(), span));
        let equal = self.b.and(equal.collect(), span);
        self.b.not(equal)
    }

    /// Makes a rule of parts whose updates come one after the other, the sender's first.
    fn finish(&mut self, parts: &[Part<'n>], mut pieces: Pieces) -> Parsed<()> {
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

    fn step_name(&self, part: &Part<'n>) -> String {
        let own = &self.processes[part.process];
        let location = |at: usize| &own.template.locations[at].name.node;
        format!("{}: {} -> {}", own.name, location(part.from), location(part.to))
    }

    fn push_rule(&mut self, name: String, pieces: Pieces, span: Span) -> Parsed<()> {
        let guards = [pieces.at, pieces.guards].concat();
        let guard = Some(self.b.and(guards, span));
        let mut body = pieces.body;
        body.extend(self.keep_invariants()?);
        let code = Code { locals: self.b.take_locals(), body };
        let rule = Rule { urgent: pieces.urgent, ..plain_rule(&name, pieces.params, guard, code, span) };
        self.b.model.rules.push(rule);
        Ok(())
    }

    /// One process sends, and every other that can receives. Who receives is settled before anything changes.
    fn broadcast(&mut self, process: usize, edge: &'n ast::Edge) -> Parsed<()> {
        let span = edge.span;
        let mut pieces = Pieces::default();
        let sender = self.part(process, edge, &mut pieces)?;
        self.enable(&sender, &mut pieces)?;
        if let Some(sync) = &edge.sync {
            pieces.urgent = self.channel_named(process, &sync.channel)?.urgent;
        }
        let (mut settled, mut after, mut committed) = (Vec::new(), Vec::new(), Vec::new());
        for other in 0..self.processes.len() {
            if self.processes[other].family.is_empty() {
                if other != process {
                    self.listener(&sender, other, &mut settled, &mut after, &mut committed)?;
                }
            } else {
                self.listening_family(&sender, other, &mut after)?;
            }
        }
        pieces.body = settled;
        if !self.is_committed(&sender) {
            let nobody = self.nobody_committed(span);
            if committed.is_empty() {
                pieces.at.push(nobody);
            } else {
                committed.push(nobody);
                let condition = self.b.or(committed, span);
                pieces.body.push(self.assume(condition, span));
            }
        }
        self.updates(&sender, &mut pieces.body)?;
        self.refuse_interference(&pieces.body, &after, span)?;
        pieces.body.extend(after);
        pieces.body.push(self.arrive(&sender));
        let name = format!("{}!", self.step_name(&sender));
        self.push_rule(name, pieces, span)
    }

    fn assume(&mut self, condition: Expr, span: Span) -> Stmt {
        let property = self.assumption();
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assume, condition: Some(condition), property }, span }
    }

    /// The edges by which a process may receive, with a value for each variable that they select.
    fn receiving(
        &mut self,
        sender: &Part<'n>,
        other: usize,
        members: &[Expr],
    ) -> Parsed<Vec<(Part<'n>, Expr)>> {
        let mut found = Vec::new();
        let template = self.processes[other].template;
        for edge in &template.edges {
            if edge.sync.as_ref().is_none_or(|sync| sync.sends) {
                continue;
            }
            let part = self.part_of_member(other, edge, members.to_vec())?;
            let mut ways = vec![part.view.clone()];
            for (name, ty) in &edge.select {
                let ty = self.data(ty, &name.node, &part.view)?;
                let Some(values) = self.integers(ty, name.span)? else {
                    return unsupported(
                        "selecting elements of a scalar type when receiving a broadcast",
                        name.span,
                    );
                };
                let with = |view: &View<'n>| {
                    values
                        .clone()
                        .map(|value| view.with(&name.node, self.single(ty, value)))
                        .collect::<Vec<_>>()
                };
                ways = ways.iter().flat_map(with).collect();
            }
            for view in ways {
                let part = Part { view, process: other, edge, from: part.from, to: part.to };
                let Some(same) = self.same_channel(sender, &part)? else { continue };
                let mut pieces = Pieces { guards: Vec::new(), ..Pieces::default() };
                self.enable(&part, &mut pieces)?;
                let condition = self.b.and([pieces.at, same, pieces.guards].concat(), edge.span);
                found.push((part, condition));
            }
        }
        Ok(found)
    }

    /// A process that may receive: a local says by which of its edges.
    fn listener(
        &mut self,
        sender: &Part<'n>,
        other: usize,
        settled: &mut Vec<Stmt>,
        after: &mut Vec<Stmt>,
        committed: &mut Vec<Expr>,
    ) -> Parsed<()> {
        let span = sender.edge.span;
        let ways = self.receiving(sender, other, &[])?;
        if ways.is_empty() {
            return Ok(());
        }
        let ty = self.b.ty(Type::Int { lo: 0, hi: ways.len() as i64 });
        let once = ways
            .iter()
            .enumerate()
            .all(|(at, (part, _))| ways[..at].iter().all(|(before, _)| before.from != part.from));
        let kind = if once { LocalKind::Variable } else { LocalKind::Bound };
        let taken = self.b.local("$taken", ty, kind, span);
        let is = |lowerer: &Self, way: usize| {
            lowerer.b.equal(lowerer.b.read_local(taken, span), lowerer.b.int(way as i64, span), span)
        };
        let place = Place { root: Root::Local(taken), path: Vec::new(), ty, span };
        if once {
            let take = |lowerer: &Self, way: usize| {
                vec![lowerer.b.assign(place.clone(), lowerer.b.int(way as i64, span), span)]
            };
            let arms =
                ways.iter().enumerate().map(|(at, (_, can))| (can.clone(), take(self, at + 1))).collect();
            settled.push(Stmt { kind: StmtKind::If(arms, take(self, 0)), span });
        } else {
            settled.push(Stmt { kind: StmtKind::Choose { local: taken, domain: Domain::Type(ty) }, span });
            let none = ways.iter().map(|(_, can)| self.b.not(can.clone())).collect();
            let mut choices = vec![self.b.and([vec![is(self, 0)], none].concat(), span)];
            for (at, (_, can)) in ways.iter().enumerate() {
                choices.push(self.b.and(vec![is(self, at + 1), can.clone()], span));
            }
            let condition = self.b.or(choices, span);
            settled.push(self.assume(condition, span));
        }
        let mut arms = Vec::new();
        for (at, (part, _)) in ways.iter().enumerate() {
            let mut body = Vec::new();
            self.updates(part, &mut body)?;
            body.push(self.arrive(part));
            arms.push((is(self, at + 1), body));
            if self.is_committed(part) {
                committed.push(is(self, at + 1));
            }
        }
        after.push(Stmt { kind: StmtKind::If(arms, Vec::new()), span });
        Ok(())
    }

    /// All members of a family that can receive.
    fn listening_family(&mut self, sender: &Part<'n>, other: usize, after: &mut Vec<Stmt>) -> Parsed<()> {
        let span = sender.edge.span;
        let family = self.processes[other].family.clone();
        let mut result = Ok(());
        let stmts = self.for_each_member(&family, span, |lowerer, members| {
            match lowerer.listening_member(sender, other, members) {
                Ok(stmts) => stmts,
                Err(problem) => {
                    result = Err(problem);
                    Vec::new()
                }
            }
        });
        result?;
        if !matches!(stmts.first(), Some(Stmt { kind: StmtKind::For { body, .. }, .. }) if body.is_empty()) {
            after.extend(stmts);
        }
        Ok(())
    }

    fn listening_member(&mut self, sender: &Part<'n>, other: usize, members: &[Expr]) -> Parsed<Vec<Stmt>> {
        let span = sender.edge.span;
        let ways = self.receiving(sender, other, members)?;
        let mut arms: Vec<(Expr, Vec<Stmt>)> = Vec::new();
        for (at, (part, can)) in ways.iter().enumerate() {
            if ways[..at].iter().any(|(before, _)| before.from == part.from) || self.is_committed(part) {
                let what = "processes of a scalar type that choose between edges, or are committed, when receiving \
                            a broadcast";
                return unsupported(what, part.edge.span);
            }
            let mut body = Vec::new();
            self.updates(part, &mut body)?;
            body.push(self.arrive(part));
            let can = match other == sender.process {
                true => self.b.and(vec![self.apart(members, &sender.view.members, span), can.clone()], span),
                false => can.clone(),
            };
            arms.push((can, body));
        }
        if arms.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Stmt { kind: StmtKind::If(arms, Vec::new()), span }])
    }

    /// The members of a family receive one after the other, so that what they look at must not change meanwhile.
    fn refuse_interference(&self, before: &[Stmt], after: &[Stmt], span: Span) -> Parsed<()> {
        let loops: Vec<&Stmt> =
            after.iter().filter(|stmt| matches!(stmt.kind, StmtKind::For { .. })).collect();
        if loops.is_empty() {
            return Ok(());
        }
        let mut looked_at = Vec::new();
        for stmt in &loops {
            self.conditions(stmt, &mut looked_at);
        }
        let mut written = Vec::new();
        self.written(before, &mut written);
        self.written(after, &mut written);
        let own = |var: &VarId| matches!(self.b.model.kind(self.b.model.vars[*var].ty), Type::Array { index, .. } if matches!(self.b.model.kind(*index), Type::Ref { .. }));
        match looked_at.iter().any(|var| !own(var) && written.contains(var)) {
            true => unsupported("a broadcast that changes what decides who receives it", span),
            false => Ok(()),
        }
    }

    /// The variables that the conditions of a loop over a family look at.
    fn conditions(&self, stmt: &Stmt, into: &mut Vec<VarId>) {
        match &stmt.kind {
            StmtKind::For { body, .. } => body.iter().for_each(|stmt| self.conditions(stmt, into)),
            StmtKind::If(arms, _) => {
                for (condition, _) in arms {
                    walk_expr(condition, &mut |node| self.note(node, into, false));
                }
            }
            _ => {}
        }
    }

    fn written(&self, stmts: &[Stmt], into: &mut Vec<VarId>) {
        walk_block(stmts, &mut |node| self.note(node, into, true));
    }

    /// Notes the variables that are read, or written; functions are followed.
    fn note(&self, node: Node<'_>, into: &mut Vec<VarId>, written: bool) {
        let root = |place: &Place| match place.root {
            Root::Var(var) => Some(var),
            Root::Local(_) => None,
        };
        let called = match node {
            Node::Stmt(Stmt { kind: StmtKind::Call(id, _), .. }) => Some(*id),
            Node::Expr(Expr { kind: ExprKind::Call(id, _), .. }) => Some(*id),
            _ => None,
        };
        if let Some(id) = called {
            walk_block(&self.b.model.functions[id].code.body, &mut |node| self.note(node, into, written));
        }
        match node {
            Node::Stmt(Stmt { kind: StmtKind::Assign(place, _), .. }) if written => into.extend(root(place)),
            Node::Place(place) if !written => into.extend(root(place)),
            _ => {}
        }
    }

    /// While somebody is in a committed location, only such processes move.
    fn nobody_committed(&mut self, span: Span) -> Expr {
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

    fn nobody_at(&mut self, process: usize, location: usize, span: Span) -> Expr {
        let body = |lowerer: &mut Self, members: &[Expr]| {
            Ok(lowerer.b.not(lowerer.at(process, members, location, span)))
        };
        // (Nothing in it can fail.)
        self.of_every_member(process, span, body).unwrap_or_else(|_| self.b.truth(true, span))
    }

    /// A condition on every member of a family.
    fn of_every_member(
        &mut self,
        process: usize,
        span: Span,
        body: impl FnOnce(&mut Self, &[Expr]) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let family = self.processes[process].family.clone();
        let name = self.processes[process].name.clone();
        let locals: Vec<_> =
            family.iter().map(|ty| self.b.local(&name, *ty, LocalKind::Bound, span)).collect();
        let members: Vec<Expr> = locals.iter().map(|local| self.b.read_local(*local, span)).collect();
        let body = body(self, &members)?;
        Ok(locals.into_iter().rev().fold(body, |body, local| self.b.quantified(true, local, body, span)))
    }

    /// All invariants of locations.
    fn invariants(&mut self) -> Parsed<Vec<Expr>> {
        let mut held = Vec::new();
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                let Some(invariant) = &location.invariant else { continue };
                let span = location.name.span;
                held.push(self.of_every_member(number, span, |lowerer, members| {
                    let scope = lowerer.processes[number].scope.clone();
                    let view = View { scope, members: members.to_vec(), home: Some(number) };
                    let invariant = lowerer.truth(invariant, &view)?;
                    let at = lowerer.at(number, members, at, span);
                    Ok(lowerer.b.implies(at, invariant, span))
                })?);
            }
        }
        Ok(held)
    }

    /// A step that leads to where an invariant does not hold does not exist.
    pub(super) fn keep_invariants(&mut self) -> Parsed<Vec<Stmt>> {
        let held = self.invariants()?;
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let condition = self.b.and(held, self.span);
        Ok(vec![self.assume(condition, self.span)])
    }

    /// Time passes while the invariants hold and nobody is in an urgent location. Without clocks nobody sees it pass.
    pub(super) fn time_passes(&mut self) -> Parsed<()> {
        let model = &self.b.model;
        if !model.vars.iter().any(|var| model.type_contains(var.ty, &|part| *part == Type::Clock)) {
            return Ok(());
        }
        let mut held = self.invariants()?;
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                if location.urgent {
                    held.push(self.nobody_at(number, at, location.name.span));
                }
            }
        }
        let expr = self.b.and(held, self.span);
        self.b.model.while_time_passes = Some(self.b.condition(expr));
        Ok(())
    }
}
