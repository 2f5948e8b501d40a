//! Priorities of channels and of processes: a step is possible only where no step with priority over it is.
//!
//! That is said in the guard of the step: it is not so that the other can be taken. Whether the other can is its guard and
//! what the invariants say of where it leads; where an update decides about that, priorities are refused.

use shoal_model::{
    BinaryOp, Expr, ExprKind, LocalId, Node, Place, Root, Stmt, StmtKind, Type, Value, VarId, walk_block,
    walk_expr,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{
    ExprView, Lowerer, Meaning,
    edges::{Pieces, ProcessEdge},
    error, unsupported,
};
use crate::ast;

/// The priority of a step: of its channel, then of its processes. Greater ones go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepPriority {
    channel: usize,
    process: usize,
}

/// What is said about priorities.
#[derive(Default)]
pub(super) struct Priorities {
    /// Channels, by their numbers, with indices where one of an array is meant.
    channels: Vec<(usize, Vec<i64>, usize)>,
    /// Of steps without a channel and channels that are not named, if it is said; and whether anything is.
    default: Option<usize>,
    declared: Option<Span>,
    /// By process.
    pub(super) processes: Vec<usize>,
    /// All steps, if they differ in priority.
    steps: Vec<Ranked>,
}

/// A step that may have priority: the processes that take part, each with the number of its edge.
#[derive(Clone)]
struct Ranked {
    rank: StepPriority,
    parts: Vec<(usize, usize)>,
    broadcast: bool,
}

impl<'n> Lowerer<'n> {
    /// `chan priority a < default < b[1];`
    pub(super) fn channel_priorities(
        &mut self,
        levels: &'n [(Option<ast::Expr>, usize)],
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<()> {
        if self.priorities.declared.replace(span).is_some() {
            return error(codes::REDECLARED, span, "priorities of channels are declared twice");
        }
        for (channel, level) in levels {
            let Some(channel) = channel else {
                self.priorities.default = Some(*level);
                continue;
            };
            let mut indices = Vec::new();
            let mut root = channel;
            while let ast::ExprKind::Index(of, index) = &root.kind {
                indices.insert(0, self.constant(index, view)?);
                root = of;
            }
            let number = match &root.kind {
                ast::ExprKind::Name(name) => match view.scope.get(name) {
                    Some(Meaning::Channel(known)) => known.number,
                    _ => {
                        return error(codes::UNKNOWN_NAME, root.span, format!("`{name}` is no channel here"));
                    }
                },
                _ => return unsupported("this kind of channel", root.span),
            };
            self.priorities.channels.push((number, indices, *level));
        }
        Ok(())
    }

    /// The priority of a step; of a broadcast, its sender stands alone.
    pub(super) fn rank(&mut self, parts: &[ProcessEdge<'n>]) -> Parsed<StepPriority> {
        let process = parts.iter().map(|part| self.priorities.processes[part.process]).max().unwrap_or(0);
        let channel = match (self.priorities.declared, parts.first()) {
            (Some(span), Some(first)) => self.channel_rank(first, span)?,
            _ => 0,
        };
        Ok(StepPriority { channel, process })
    }

    fn channel_rank(&mut self, part: &ProcessEdge<'n>, span: Span) -> Parsed<usize> {
        let default = self.priorities.default;
        let others = || match default {
            Some(level) => Ok(level),
            None => unsupported("priorities of channels that do not say where `default` is", span),
        };
        let Some(sync) = &part.edge.sync else { return others() };
        let channel = self.channel_named(part.process, &sync.channel)?;
        let named: Vec<(Vec<i64>, usize)> = self
            .priorities
            .channels
            .iter()
            .filter(|(number, ..)| *number == channel.number)
            .map(|(_, indices, level)| (indices.clone(), *level))
            .collect();
        if named.is_empty() {
            return others();
        }
        let used = self.channel_indices(&channel, &sync.channel, &part.view)?;
        let mut levels = Vec::new();
        for (indices, level) in named {
            let mut same = true;
            for (index, used) in indices.iter().zip(&used) {
                match &used.kind {
                    ExprKind::Const(Value::Int(used)) => same &= used == index,
                    _ => {
                        return unsupported(
                            "a priority of one channel of an array with a computed index",
                            span,
                        );
                    }
                }
            }
            if same {
                levels.push(level);
            }
        }
        match levels[..] {
            [] => others(),
            [level] => Ok(level),
            _ => error(codes::REDECLARED, span, "this channel has several priorities"),
        }
    }

    /// Finds all steps, if they differ in priority.
    pub(super) fn rank_steps(&mut self) -> Parsed<()> {
        let several = self.priorities.processes.iter().any(|level| *level > 0);
        if self.priorities.declared.is_none() && !several {
            return Ok(());
        }
        if self.processes.iter().any(|process| !process.family.is_empty()) {
            return unsupported("priorities together with processes of a scalar type", self.span);
        }
        let mut steps = Vec::new();
        for process in 0..self.processes.len() {
            let template = self.processes[process].template;
            for (at, edge) in template.edges.iter().enumerate() {
                self.go_on()?;
                let own = self.part(process, edge, &mut Pieces::default())?;
                let sync = match &edge.sync {
                    None => {
                        let rank = self.rank(std::slice::from_ref(&own))?;
                        steps.push(Ranked { rank, parts: vec![(process, at)], broadcast: false });
                        continue;
                    }
                    Some(sync) if !sync.sends => continue,
                    Some(sync) => sync,
                };
                let broadcast = self.channel_named(process, &sync.channel)?.broadcast;
                if broadcast {
                    let rank = self.rank(std::slice::from_ref(&own))?;
                    steps.push(Ranked { rank, parts: vec![(process, at)], broadcast });
                }
                for (other, to, receiver) in self.receivers(process, &own)? {
                    let parts = [self.part(process, edge, &mut Pieces::default())?, receiver];
                    let rank = self.rank(&parts)?;
                    match broadcast {
                        // Who hears it would decide about its priority.
                        true if rank.process > self.priorities.processes[process] => {
                            return unsupported(
                                "broadcasts to processes with priority over the sender",
                                edge.span,
                            );
                        }
                        true => {}
                        false => {
                            steps.push(Ranked { rank, parts: vec![(process, at), (other, to)], broadcast })
                        }
                    }
                }
            }
        }
        self.b.take_locals();
        let differ = steps.iter().any(|step| step.rank != steps[0].rank);
        self.priorities.steps = if differ { steps } else { Vec::new() };
        Ok(())
    }

    /// The edges of other processes that may receive what a part sends.
    fn receivers(
        &mut self,
        process: usize,
        sender: &ProcessEdge<'n>,
    ) -> Parsed<Vec<(usize, usize, ProcessEdge<'n>)>> {
        let mut found = Vec::new();
        for other in (0..self.processes.len()).filter(|other| *other != process) {
            let template = self.processes[other].template;
            for (at, edge) in template.edges.iter().enumerate() {
                if edge.sync.as_ref().is_none_or(|sync| sync.sends) {
                    continue;
                }
                let part = self.part(other, edge, &mut Pieces::default())?;
                if self.same_channel(sender, &part)?.is_some() {
                    found.push((other, at, part));
                }
            }
        }
        Ok(found)
    }

    /// That no step with priority over this one is possible.
    pub(super) fn not_blocked(&mut self, pieces: &Pieces, span: Span) -> Parsed<Vec<Expr>> {
        let higher = self.priorities.steps.iter().filter(|step| step.rank > pieces.rank);
        let higher: Vec<Ranked> = higher.cloned().collect();
        if pieces.urgent && !higher.is_empty() {
            // Time stands still even where it is blocked.
            return unsupported("an urgent channel with others that have priority over it", span);
        }
        let mut none = Vec::new();
        for step in higher {
            let possible = self.possible(&step, span)?;
            none.push(self.b.not(possible));
        }
        Ok(none)
    }

    /// Whether a step can be taken.
    fn possible(&mut self, step: &Ranked, span: Span) -> Parsed<Expr> {
        let mut pieces = Pieces::default();
        let mut parts = Vec::new();
        for (process, edge) in &step.parts {
            let edge = &self.processes[*process].template.edges[*edge];
            parts.push(self.part(*process, edge, &mut pieces)?);
        }
        for part in &parts {
            self.enable(part, &mut pieces)?;
        }
        if let [one, other] = &parts[..] {
            pieces.guards.extend(self.same_channel(one, other)?.unwrap_or_default());
        }
        let mut body = Vec::new();
        for part in &parts {
            self.updates(part, &mut body)?;
        }
        let mut perhaps = Vec::new();
        if step.broadcast {
            let (process, sender) = (parts[0].process, parts[0].edge);
            for (other, _, receiver) in self.receivers(process, &parts[0])? {
                let template = self.processes[other].template;
                if self.is_committed(&receiver) || template.locations[receiver.to].invariant.is_some() {
                    let what = "priority of a broadcast that is received in committed locations, or on the way to an invariant";
                    return unsupported(what, sender.span);
                }
                self.updates(&receiver, &mut perhaps)?;
            }
        }
        if !parts.iter().any(|part| self.is_committed(part)) {
            let nobody = self.nobody_committed(span);
            pieces.at.push(nobody);
        }
        let kept = self.kept_invariants(&parts, &body, &perhaps)?;
        let whole = self.b.and([pieces.at, pieces.guards, kept].concat(), span);
        let locals: Vec<LocalId> = pieces.params.iter().map(|param| param.local).collect();
        Ok(locals.into_iter().rev().fold(whole, |body, local| self.b.quantified(false, local, body, span)))
    }

    /// What must hold before updates, and perhaps others, so that all invariants hold after them.
    fn kept_invariants(
        &mut self,
        parts: &[ProcessEdge<'n>],
        body: &[Stmt],
        perhaps: &[Stmt],
    ) -> Parsed<Vec<Expr>> {
        let mut written = Vec::new();
        walk_block(body, &mut |node| self.note(node, &mut written, true));
        walk_block(perhaps, &mut |node| self.note(node, &mut written, true));
        let mut needed = Vec::new();
        for process in 0..self.processes.len() {
            let moved = parts.iter().find(|part| part.process == process);
            let template = self.processes[process].template;
            for (at, location) in template.locations.iter().enumerate() {
                let Some(invariant) = &location.invariant else { continue };
                if moved.is_some_and(|part| part.to != at) {
                    continue;
                }
                let view = self.view_of(process, Vec::new());
                let holds = self.invariant(invariant, &view)?;
                for conjunct in conjuncts(holds) {
                    let after = self.after(conjunct, body, &written, invariant.span)?;
                    // Who stays where it is has kept its invariant so far; what was reset is below every bound.
                    needed.extend(after.filter(|_| moved.is_some()));
                }
            }
        }
        Ok(needed)
    }

    /// What a part of an invariant says after updates, in terms of before; nothing if it holds then in any case, given that it
    /// did before.
    fn after(&self, part: Expr, body: &[Stmt], written: &[VarId], span: Span) -> Parsed<Option<Expr>> {
        let touched = |expr: &Expr| {
            let mut read = Vec::new();
            walk_expr(expr, &mut |node: Node<'_>| self.note(node, &mut read, false));
            read.iter().any(|var| written.contains(var))
        };
        if !touched(&part) {
            return Ok(Some(part));
        }
        if let ExprKind::Binary(op @ (BinaryOp::Le | BinaryOp::Lt), clock, bound) = &part.kind
            && let ExprKind::Read(place) = &clock.kind
            && *self.b.model.kind(place.ty) == Type::Clock
            && !touched(bound)
            && is_reset(place, body, written)
        {
            let zero = self.b.int(0, part.span);
            return Ok(match &bound.kind {
                ExprKind::Const(Value::Int(bound)) if *bound > 0 || (*bound == 0 && *op == BinaryOp::Le) => {
                    None
                }
                _ => Some(self.b.binary(*op, zero, (**bound).clone(), part.span)),
            });
        }
        unsupported("priority of a step whose updates decide whether an invariant holds after it", span)
    }
}

/// The parts of a conjunction.
fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        _ => vec![expr],
    }
}

/// Whether a clock is set to 0 by the only statement, in functions too, that writes its variable.
fn is_reset(clock: &Place, body: &[Stmt], written: &[VarId]) -> bool {
    let Root::Var(var) = clock.root else { return false };
    let to_zero = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign(place, value) => {
            place.root == clock.root
                && place.path.is_empty()
                && matches!(value.kind, ExprKind::Const(Value::Int(0)))
        }
        _ => false,
    };
    let writes = written.iter().filter(|other| **other == var).count();
    clock.path.is_empty() && writes == 1 && body.iter().any(to_zero)
}
