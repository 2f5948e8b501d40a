//! Broadcasts: one process sends, and all that can receive.

use shoal_model::{
    Argument, Domain, Expr, ExprKind, LocalId, LocalKind, Node, Place, Root, Stmt, StmtKind, Type, TypeId,
    VarId, walk_block, walk_expr,
};
use shoal_syntax::{Span, cursor::Parsed};

use super::{
    ExprView, Lowerer, Meaning,
    edges::{Pieces, ProcessEdge},
    unsupported,
};
use crate::ast;

/// A process, or all members of a family, that may receive a broadcast.
struct BroadcastReceiver {
    /// Loops over the members of the family.
    loops: Vec<(LocalId, TypeId)>,
    arms: Vec<Arm>,
}

/// One way to receive.
struct Arm {
    can: Expr,
    body: Vec<Stmt>,
    arrival: Stmt,
    from: usize,
    committed: bool,
    span: Span,
}

impl BroadcastReceiver {
    /// Whether several edges may be enabled at once.
    fn has_choice(&self) -> bool {
        let froms = || self.arms.iter().map(|arm| arm.from);
        froms().enumerate().any(|(at, from)| froms().take(at).any(|before| before == from))
    }

    fn stmts(self, span: Span) -> Vec<Stmt> {
        let arms = self.arms.into_iter().map(|arm| (arm.can, [arm.body, vec![arm.arrival]].concat()));
        let stmt = Stmt { kind: StmtKind::If(arms.collect(), Vec::new()), span };
        self.loops.into_iter().rev().fold(vec![stmt], |body, (local, ty)| {
            vec![Stmt { kind: StmtKind::For { local, domain: Domain::Type(ty), body }, span }]
        })
    }
}

impl<'n> Lowerer<'n> {
    /// One process sends, and every other that can receives.
    pub(super) fn broadcast(&mut self, process: usize, edge: &'n ast::Edge) -> Parsed<()> {
        let span = edge.span;
        let mut pieces = Pieces::default();
        let sender = self.part(process, edge, &mut pieces)?;
        self.enable(&sender, &mut pieces)?;
        if let Some(sync) = &edge.sync {
            pieces.urgent = self.channel_named(process, &sync.channel)?.urgent;
        }
        pieces.rank = self.rank(std::slice::from_ref(&sender))?;
        let mut updates = Vec::new();
        self.updates(&sender, &mut updates)?;
        let mut listeners = Vec::new();
        for other in 0..self.processes.len() {
            if !self.processes[other].family.is_empty() {
                listeners.extend(self.listening_family(&sender, other)?);
            } else if other != process {
                listeners.extend(self.listener(&sender, other)?);
            }
        }
        let committed = self.committed_listeners(&listeners);
        if self.interferes(&updates, &listeners) {
            pieces.body = self.settle(&mut listeners, span)?;
        } else {
            self.decide_at_once(&listeners)?;
        }
        if !self.is_committed(&sender) {
            let nobody = self.nobody_committed(span);
            if committed.is_empty() {
                pieces.at.push(nobody);
            } else {
                let condition = self.b.or([committed, vec![nobody]].concat(), span);
                pieces.guards.push(condition);
            }
        }
        pieces.body.extend(updates);
        for listener in listeners {
            pieces.body.extend(listener.stmts(span));
        }
        pieces.body.push(self.arrive(&sender));
        let name = format!("{}!", self.step_name(&sender));
        self.push_rule(name, pieces, span)
    }

    /// The edges by which a process may receive, with a value for each variable that they select.
    fn receiving(
        &mut self,
        sender: &ProcessEdge<'n>,
        other: usize,
        members: &[Expr],
    ) -> Parsed<Vec<(ProcessEdge<'n>, Expr)>> {
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
                let with = |view: &ExprView<'n>| {
                    values
                        .clone()
                        .map(|value| view.with(&name.node, self.single(ty, value)))
                        .collect::<Vec<_>>()
                };
                ways = ways.iter().flat_map(with).collect();
            }
            for view in ways {
                let part = ProcessEdge { view, process: other, edge, from: part.from, to: part.to };
                let Some(same) = self.same_channel(sender, &part)? else { continue };
                let mut pieces = Pieces { guards: Vec::new(), ..Pieces::default() };
                self.enable(&part, &mut pieces)?;
                let condition = self.b.and([pieces.at, same, pieces.guards].concat(), edge.span);
                found.push((part, condition));
            }
        }
        Ok(found)
    }

    /// A process that may receive.
    fn listener(&mut self, sender: &ProcessEdge<'n>, other: usize) -> Parsed<Option<BroadcastReceiver>> {
        let ways = self.receiving(sender, other, &[])?;
        let arms = self.arms(&ways)?;
        Ok((!arms.is_empty()).then_some(BroadcastReceiver { loops: Vec::new(), arms }))
    }

    /// All members of a family that may receive.
    fn listening_family(
        &mut self,
        sender: &ProcessEdge<'n>,
        other: usize,
    ) -> Parsed<Option<BroadcastReceiver>> {
        let span = sender.edge.span;
        let mut loops = Vec::new();
        let mut members = Vec::new();
        for ty in self.processes[other].family.clone() {
            let local = self.b.local("$member", ty, LocalKind::Bound, span);
            loops.push((local, ty));
            members.push(self.b.read_local(local, span));
        }
        let ways = self.receiving(sender, other, &members)?;
        let mut arms = self.arms(&ways)?;
        if other == sender.process {
            for arm in &mut arms {
                let another = self.apart(&members, &sender.view.members, span);
                arm.can = self.b.and(vec![another, arm.can.clone()], span);
            }
        }
        Ok((!arms.is_empty()).then_some(BroadcastReceiver { loops, arms }))
    }

    fn arms(&mut self, ways: &[(ProcessEdge<'n>, Expr)]) -> Parsed<Vec<Arm>> {
        let mut arms = Vec::new();
        for (part, can) in ways {
            let mut body = Vec::new();
            self.updates(part, &mut body)?;
            let arrival = self.arrive(part);
            let (from, committed, span) = (part.from, self.is_committed(part), part.edge.span);
            arms.push(Arm { can: can.clone(), body, arrival, from, committed, span });
        }
        Ok(arms)
    }

    /// That somebody in a committed location receives.
    fn committed_listeners(&self, listeners: &[BroadcastReceiver]) -> Vec<Expr> {
        let arms = listeners.iter().filter(|listener| listener.loops.is_empty()).flat_map(|of| &of.arms);
        arms.filter(|arm| arm.committed).map(|arm| arm.can.clone()).collect()
    }

    /// Whether what a step changes decides who receives, or by which edge: then that is settled before.
    fn interferes(&self, updates: &[Stmt], listeners: &[BroadcastReceiver]) -> bool {
        let (mut looked_at, mut written) = (Vec::new(), Vec::new());
        walk_block(updates, &mut |node| self.note(node, &mut written, true));
        for arm in listeners.iter().flat_map(|listener| &listener.arms) {
            walk_expr(&arm.can, &mut |node| self.note(node, &mut looked_at, false));
            walk_block(&arm.body, &mut |node| self.note(node, &mut written, true));
        }
        let choice = listeners.iter().any(BroadcastReceiver::has_choice);
        choice || looked_at.iter().any(|var| written.contains(var) && !self.is_own(*var))
    }

    /// Whether a variable is one that each member of a family has for itself and nobody else sees.
    fn is_own(&self, var: VarId) -> bool {
        let own = |meaning: &Meaning<'n>| matches!(meaning, Meaning::Variable(of) if of.own && of.var == var);
        self.processes.iter().any(|process| process.scope.values().any(own))
    }

    /// Nobody's condition changes while the others receive, so each can be asked when it is its turn.
    fn decide_at_once(&self, listeners: &[BroadcastReceiver]) -> Parsed<()> {
        for listener in listeners.iter().filter(|listener| !listener.loops.is_empty()) {
            if let Some(arm) = listener.arms.iter().find(|arm| arm.committed) {
                return unsupported(
                    "processes of a scalar type that receive a broadcast while committed",
                    arm.span,
                );
            }
        }
        Ok(())
    }

    /// Settles by which edge each process receives, before anything changes: a local says it.
    fn settle(&mut self, listeners: &mut [BroadcastReceiver], span: Span) -> Parsed<Vec<Stmt>> {
        let mut settled = Vec::new();
        for listener in listeners {
            if !listener.loops.is_empty() {
                let what = "a broadcast to processes of a scalar type that changes who receives it, or that they can \
                            receive in several ways";
                return unsupported(what, span);
            }
            let ways = listener.arms.len();
            let ty = self.b.ty(Type::Int { lo: 0, hi: ways as i64 });
            let choice = listener.has_choice();
            let kind = if choice { LocalKind::Bound } else { LocalKind::Variable };
            let taken = self.b.local("$taken", ty, kind, span);
            let is = |lowerer: &Self, way: usize| {
                lowerer.b.equal(lowerer.b.read_local(taken, span), lowerer.b.int(way as i64, span), span)
            };
            if choice {
                settled
                    .push(Stmt { kind: StmtKind::Choose { local: taken, domain: Domain::Type(ty) }, span });
                let mut none = vec![is(self, 0)];
                none.extend(listener.arms.iter().map(|arm| self.b.not(arm.can.clone())));
                let mut choices = vec![self.b.and(none, span)];
                for (at, arm) in listener.arms.iter().enumerate() {
                    choices.push(self.b.and(vec![is(self, at + 1), arm.can.clone()], span));
                }
                let condition = self.b.or(choices, span);
                settled.push(self.assume(condition, span));
            } else {
                let place = Place { root: Root::Local(taken), path: Vec::new(), ty, span };
                let take =
                    |way: usize| vec![self.b.assign(place.clone(), self.b.int(way as i64, span), span)];
                let arms = listener.arms.iter().enumerate();
                let arms = arms.map(|(at, arm)| (arm.can.clone(), take(at + 1))).collect();
                settled.push(Stmt { kind: StmtKind::If(arms, take(0)), span });
            }
            for (at, arm) in listener.arms.iter_mut().enumerate() {
                arm.can = is(self, at + 1);
            }
        }
        Ok(settled)
    }

    /// Notes the variables that are read, or written; functions are followed.
    pub(super) fn note(&self, node: Node<'_>, into: &mut Vec<VarId>, written: bool) {
        let root = |place: &Place| match place.root {
            Root::Var(var) => Some(var),
            Root::Local(_) => None,
        };
        let called = match node {
            Node::Stmt(Stmt { kind: StmtKind::Call(id, given), .. }) => Some((*id, given)),
            Node::Expr(Expr { kind: ExprKind::Call(id, given), .. }) => Some((*id, given)),
            _ => None,
        };
        if let Some((id, given)) = called {
            // What a function is given by reference it may read and write.
            into.extend(given.iter().filter_map(|argument| match argument {
                Argument::Place(place) => root(place),
                Argument::Value(_) => None,
            }));
            walk_block(&self.b.model.functions[id].code.body, &mut |node| self.note(node, into, written));
        }
        match node {
            Node::Stmt(stmt) if written => into.extend(stmt.kind.written().and_then(root)),
            Node::Place(place) if !written => into.extend(root(place)),
            _ => {}
        }
    }
}
