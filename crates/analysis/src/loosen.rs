//! Loops that keep their last element.
//!
//! `for p: Node do if waits[p] then next := p end end` leaves the last of those that wait in `next`, so the elements of `Node`
//! are not interchangeable: the last one is preferred. In the *loosened* Model such a loop keeps any element: one is chosen
//! before, and that one is written wherever the loop's own was.
//!
//! The loosened Model does all that the Model does. Choose the element whose round was the last to write; then after the loop
//! the same stands there. In between it does not matter, because no round reads it: that is asked when the symmetry of the
//! loosened Model is proved, and without that there is none. So what holds in every run of it holds in every run of the
//! Model. It does more, so what can happen in it, or cannot go on, says nothing.
//!
//! One choice stands for all that a loop writes in one place of the source. That is right where each round writes for sure, as
//! then the last element's round is the last to write everywhere, or where there is one location to write.

use shoal_model::{
    Code, Domain, Expr, ExprKind, Local, LocalId, LocalKind, Model, Node, Place, Projection, Root, SortId,
    SortSize, Stmt, StmtKind, Type, TypeId, verify, walk_block, walk_code,
};
use shoal_syntax::Span;

use crate::{Break, BreakKind, symmetry};

/// The loosened model; nothing if no loop over elements of any number keeps its last one, or if they are not
/// interchangeable for another reason.
pub fn loosen(model: &Model) -> Option<Model> {
    let is_any = |id: &SortId| model.sorts[*id].size == SortSize::Any;
    let open: Vec<SortId> = model.sorts.ids().filter(is_any).collect();
    let found = symmetry(model);
    let breaks: Vec<&Break> = open.iter().flat_map(|id| &found.sorts[*id].breaks).collect();
    if breaks.is_empty() || breaks.iter().any(|found| found.kind != BreakKind::LastWrite) {
        return None;
    }
    let writes: Vec<Span> = breaks.iter().map(|found| found.span).collect();
    let mut loose = model.clone();
    let rules = model.starts.iter().chain(model.rules.iter());
    for (rule, from) in loose.starts.iter_mut().chain(loose.rules.iter_mut()).zip(rules) {
        let params = from.params.iter().map(|param| param.local).collect();
        Loosening::new(model, &open, &writes, &from.code, params).code(&mut rule.code);
    }
    // What computes a value may be asked by a guard, where nothing can be chosen.
    for (function, from) in loose.functions.iter_mut().zip(model.functions.iter()) {
        if from.result.is_none() {
            Loosening::new(model, &open, &writes, &from.code, Vec::new()).code(&mut function.code);
        }
    }
    let found = symmetry(&loose);
    let is_alike = |id: &SortId| found.sorts[*id].is_proved() && found.sorts[*id].pinned.is_empty();
    (verify(&loose).is_ok() && open.iter().all(is_alike)).then_some(loose)
}

/// A loop over a whole type, around what is looked at.
struct LoopAround {
    local: LocalId,
    ty: TypeId,
    /// Whether it goes through elements of any number.
    open: bool,
    /// Whether every round comes to what is looked at.
    sure: bool,
    /// What is chosen before it.
    choice: Option<LocalId>,
}

struct Loosening<'a> {
    model: &'a Model,
    open: &'a [SortId],
    /// Where the statements stand that keep the last element.
    writes: &'a [Span],
    /// The code as it was.
    from: &'a Code,
    /// Locals that stay the same: the parameters of the rule.
    params: Vec<LocalId>,
    around: Vec<LoopAround>,
    /// What is chosen once and for all: the last element, by the type of the loop.
    last: Vec<(TypeId, LocalId)>,
}

impl<'a> Loosening<'a> {
    fn new(
        model: &'a Model,
        open: &'a [SortId],
        writes: &'a [Span],
        from: &'a Code,
        params: Vec<LocalId>,
    ) -> Self {
        Loosening { model, open, writes, from, params, around: Vec::new(), last: Vec::new() }
    }

    fn code(mut self, code: &mut Code) {
        let mut body = std::mem::take(&mut code.body);
        self.block(code, &mut body);
        let span = body.first().map_or(Span::default(), |stmt| stmt.span);
        let choices = self.last.iter().map(|(ty, local)| choose(*local, *ty, span));
        code.body = choices.chain(body).collect();
    }

    fn block(&mut self, code: &mut Code, block: &mut Vec<Stmt>) {
        let mut done = Vec::with_capacity(block.len());
        for mut stmt in block.drain(..) {
            let span = stmt.span;
            match &mut stmt.kind {
                StmtKind::For { local, domain: Domain::Type(ty), body } => {
                    let (local, ty) = (*local, *ty);
                    let open = matches!(self.model.kind(ty), Type::Ref { sort, nullable: false } if self.open.contains(sort));
                    self.around.push(LoopAround { local, ty, open, sure: true, choice: None });
                    self.block(code, body);
                    let choice = self.around.pop().and_then(|it| it.choice);
                    done.extend(choice.map(|chosen| choose(chosen, ty, span)));
                }
                // It may have no round.
                StmtKind::For { body, .. } | StmtKind::While { body, .. } => self.unsure(code, body),
                StmtKind::If(arms, other) => {
                    arms.iter_mut().for_each(|(_, arm)| self.unsure(code, arm));
                    self.unsure(code, other);
                }
                StmtKind::Assign(place, value) if self.writes.contains(&span) => {
                    self.assign(code, place, value);
                }
                StmtKind::Assign(..)
                | StmtKind::Clear(_)
                | StmtKind::Undefine(_)
                | StmtKind::Bind(_)
                | StmtKind::Choose { .. }
                | StmtKind::Check { .. }
                | StmtKind::Return(_)
                | StmtKind::Call(..)
                | StmtKind::Output(_)
                | StmtKind::MultisetAdd(..)
                | StmtKind::MultisetRemove(..)
                | StmtKind::MultisetRemoveIf { .. }
                | StmtKind::Insert { .. }
                | StmtKind::Remove(..)
                | StmtKind::Create(..)
                | StmtKind::Delete(_) => {}
            }
            done.push(stmt);
        }
        *block = done;
    }

    /// A block that not every round comes to.
    fn unsure(&mut self, code: &mut Code, block: &mut Vec<Stmt>) {
        let sure: Vec<bool> =
            self.around.iter_mut().map(|around| std::mem::replace(&mut around.sure, false)).collect();
        self.block(code, block);
        self.around.iter_mut().zip(sure).for_each(|(around, sure)| around.sure = sure);
    }

    /// Puts what is chosen in the place of the loop's element, where that element itself is assigned.
    fn assign(&mut self, code: &mut Code, place: &Place, value: &mut Expr) {
        let Some(element) = plain_local(value) else { return };
        let Some(at) = self.around.iter().position(|it| it.local == element && it.open) else { return };
        let (ty, sure) = (self.around[at].ty, self.around[at].sure);
        if !self.stays(place, at, sure) || self.is_used(element, place) {
            return;
        }
        let known = match sure {
            true => self.last.iter().find(|(of, _)| *of == ty).map(|(_, local)| *local),
            // Which round is the last to write may be different for each statement.
            false if self.around[at].choice.is_some() => return,
            false => None,
        };
        let chosen = known.unwrap_or_else(|| {
            let name = format!("$last{}", code.locals.len());
            code.locals.push(Local { name, ty, kind: LocalKind::Bound, span: value.span })
        });
        match (sure, known) {
            (true, None) => self.last.push((ty, chosen)),
            (true, Some(_)) => {}
            (false, _) => self.around[at].choice = Some(chosen),
        }
        if let ExprKind::Read(read) | ExprKind::Peek(read) = &mut value.kind {
            read.root = Root::Local(chosen);
        }
    }

    /// Whether the rounds of a loop write the same locations: where not every round writes, one.
    fn stays(&self, place: &Place, at: usize, sure: bool) -> bool {
        let own = match place.root {
            Root::Var(_) => true,
            Root::Local(local) => self.from.locals[local].kind == LocalKind::Variable,
        };
        let inner = |local: LocalId| self.around[at + 1..].iter().any(|it| it.local == local);
        let outer = |local: LocalId| self.around[..at].iter().any(|it| it.local == local);
        let is_fixed = |step: &Projection| match step {
            Projection::Field(_) => true,
            Projection::Index(index) => match (&index.kind, plain_local(index)) {
                (ExprKind::Const(_), _) => true,
                (_, Some(local)) => self.params.contains(&local) || outer(local) || sure && inner(local),
                (_, None) => false,
            },
            Projection::Slot(_) | Projection::Item(_) => false,
        };
        own && place.path.iter().all(is_fixed)
    }
}

impl Loosening<'_> {
    /// Whether the loop over an element may do anything with a place but assign to it. Of variables of the state the proof of
    /// symmetry would tell; a variable of the code may be one that each round has for itself.
    fn is_used(&self, element: LocalId, place: &Place) -> bool {
        let (mut assigned, mut mentioned) = (0, 0);
        walk_code(self.from, &mut |node| {
            let Node::Stmt(Stmt { kind: StmtKind::For { local, body, .. }, .. }) = node else { return };
            if *local == element {
                walk_block(body, &mut |node| match node {
                    Node::Stmt(Stmt { kind: StmtKind::Assign(to, _), .. }) => {
                        assigned += usize::from(may_meet(to, place));
                    }
                    Node::Place(of) => mentioned += usize::from(may_meet(of, place)),
                    Node::Stmt(_) | Node::Expr(_) => {}
                });
            }
        });
        assigned != mentioned
    }
}

/// Whether places with the same root may have something in common.
fn may_meet(a: &Place, b: &Place) -> bool {
    let differ = |(a, b): (&Projection, &Projection)| matches!((a, b), (Projection::Field(a), Projection::Field(b)) if a != b);
    a.root == b.root && !a.path.iter().zip(&b.path).any(differ)
}

fn choose(local: LocalId, ty: TypeId, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Choose { local, domain: Domain::Type(ty) }, span }
}

/// The local that an expression is a plain read of.
fn plain_local(expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Read(Place { root: Root::Local(local), path, .. })
        | ExprKind::Peek(Place { root: Root::Local(local), path, .. })
            if path.is_empty() =>
        {
            Some(*local)
        }
        _ => None,
    }
}
