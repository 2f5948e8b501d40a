//! Starts that choose much and keep little: the choices are made with a look ahead.
//!
//! A start such as `initially free where c` chooses a value for each variable, one after the other, and then drops what does
//! not satisfy `c`. Whoever runs such a start tries all values of all variables, though the first few often decide. Here `c`
//! is asked after every choice, as far as it can be known by then: what is not yet chosen is undefined, and a part of `c`
//! that reads it is not known. A run ends as soon as `c` is certainly false, and with it all runs that begin with the same
//! choices. So the choices are searched by backtracking; those that are left are the same, in the same order.

use std::collections::BTreeSet;

use shoal_model::{
    BinaryOp, CheckKind, Domain, Expr, ExprKind, Local, LocalId, Model, Place, Projection, Quantifier, Root,
    Rule, SortSize, Stmt, StmtKind, Type, TypeId, UnaryOp, Value, VarId,
};

/// The same model with starts that look ahead; nothing if there is no start that could.
pub fn foresee(model: &Model) -> Option<Model> {
    // Elements that come and go are another matter.
    if !model.sorts.iter().all(|sort| matches!(sort.size, SortSize::Fixed(_))) {
        return None;
    }
    let truth = model.types.enumerate().find(|(_, ty)| ty.kind == Type::Bool).map(|(id, _)| id)?;
    let mut better = None;
    for (id, start) in model.starts.enumerate() {
        if let Some(start) = look_ahead(model, truth, start) {
            better.get_or_insert_with(|| model.clone()).starts[id] = start;
        }
    }
    better
}

fn look_ahead(model: &Model, truth: TypeId, start: &Rule) -> Option<Rule> {
    let body = &start.code.body;
    let mut better = start.clone();
    let mut found = false;
    let assumed = |at: &usize| {
        matches!(body[*at].kind, StmtKind::Check { kind: CheckKind::Assume, condition: Some(_), .. })
    };
    for assumption in (0..body.len()).filter(assumed) {
        for choice in 0..assumption {
            let Some(block) = choices(&mut better.code.body[choice]) else { continue };
            // What is written later is not known here, though it may have a value already; nor is what had one before.
            let [before, here, after] =
                [&body[..choice], &body[choice..=choice], &body[choice + 1..assumption]].map(written);
            let (Some(before), Some(here), Some(mut later)) = (before, here, after) else { continue };
            later.extend(here.intersection(&before));
            let StmtKind::Check { condition: Some(condition), property, .. } = &body[assumption].kind else {
                continue;
            };
            let mut ahead =
                Ahead { model, truth, later: &later, locals: better.code.locals.clone(), fresh: Vec::new() };
            let Some(refuted) = ahead.certainly(condition, false) else { continue };
            let condition = Some(ahead.not(refuted));
            better.code.locals = ahead.locals;
            let kind = StmtKind::Check { kind: CheckKind::Assume, condition, property: *property };
            block.push(Stmt { kind, span: body[assumption].span });
            found = true;
        }
    }
    found.then_some(better)
}

/// The block in which a statement chooses: one choice after another, each for a variable or for the entry of an array that
/// belongs to the round. So whatever has a value after it keeps it, as far as this statement goes.
fn choices(stmt: &mut Stmt) -> Option<&mut Vec<Stmt>> {
    let (own, block) = match &mut stmt.kind {
        StmtKind::For { local, domain: Domain::Type(_), body } => (Some(*local), body),
        StmtKind::If(arms, other) if other.is_empty() && arms.len() == 1 => {
            let (condition, block) = arms.first_mut()?;
            if condition.kind != ExprKind::Const(Value::Bool(true)) {
                return None;
            }
            (None, block)
        }
        _ => return None,
    };
    let mut seen = BTreeSet::new();
    let mut chooses = false;
    for stmt in block.iter() {
        match &stmt.kind {
            StmtKind::Choose { .. } => chooses = true,
            // Left there by an assumption before.
            StmtKind::Check { kind: CheckKind::Assume, .. } => {}
            StmtKind::Assign(Place { root: Root::Var(var), path, .. }, _) => {
                let fits = match (own, &path[..]) {
                    (None, []) => true,
                    (Some(own), [Projection::Index(index)]) => reads(index, own),
                    _ => false,
                };
                if !fits || !seen.insert(*var) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    chooses.then_some(block)
}

fn reads(expr: &Expr, local: LocalId) -> bool {
    matches!(&expr.kind, ExprKind::Read(Place { root: Root::Local(of), path, .. }) if *of == local && path.is_empty())
}

/// The variables that statements write; nothing if that is hard to tell.
fn written(stmts: &[Stmt]) -> Option<BTreeSet<VarId>> {
    let mut all = BTreeSet::new();
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign(place, _) | StmtKind::Clear(place) => match place.root {
                Root::Var(var) => drop(all.insert(var)),
                Root::Local(_) => {}
            },
            StmtKind::For { body, .. } => all.extend(written(body)?),
            StmtKind::If(arms, other) => {
                for (_, block) in arms {
                    all.extend(written(block)?);
                }
                all.extend(written(other)?);
            }
            StmtKind::Choose { .. } | StmtKind::Check { .. } => {}
            _ => return None,
        }
    }
    Some(all)
}

/// Makes expressions that tell what is certain of others while some variables are undefined. They never fault.
struct Ahead<'a> {
    model: &'a Model,
    truth: TypeId,
    later: &'a BTreeSet<VarId>,
    locals: shoal_model::IndexVec<LocalId, Local>,
    /// Bound variables, and what they are called here: a variable is bound once.
    fresh: Vec<(LocalId, LocalId)>,
}

impl Ahead<'_> {
    fn expr(&self, kind: ExprKind, like: &Expr) -> Expr {
        Expr { kind, ty: self.truth, span: like.span }
    }

    fn not(&self, of: Expr) -> Expr {
        let span = of.span;
        Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(of)), ty: self.truth, span }
    }

    /// An expression that holds only if this one has a value for certain, whatever the undefined parts become. Nothing if that
    /// can never be told.
    fn certainly(&mut self, of: &Expr, value: bool) -> Option<Expr> {
        match &of.kind {
            ExprKind::Const(Value::Bool(known)) => {
                (*known == value).then(|| self.expr(ExprKind::Const(Value::Bool(true)), of))
            }
            ExprKind::Unary(UnaryOp::Not, inner) => self.certainly(inner, !value),
            ExprKind::And(parts) => self.connected(of, parts, value, false),
            ExprKind::Or(parts) => self.connected(of, parts, value, true),
            ExprKind::Implies(left, right) => {
                let parts = [self.not((**left).clone()), (**right).clone()];
                self.connected(of, &parts, value, true)
            }
            ExprKind::Quantified { quantifier, local, domain: Domain::Type(ty), body } => {
                let decides = match quantifier {
                    Quantifier::Forall => false,
                    Quantifier::Exists => true,
                    _ => return None,
                };
                self.quantified(of, (*local, *ty, body), value, decides)
            }
            ExprKind::Equal(..) | ExprKind::Binary(..) | ExprKind::Read(_) => self.leaf(of, value),
            _ => None,
        }
    }

    /// Of several parts, evaluated from the left until one has the value that decides. Parts before the one that decides must
    /// not fault.
    fn connected(&mut self, of: &Expr, parts: &[Expr], value: bool, decides: bool) -> Option<Expr> {
        if value != decides {
            let all = parts.iter().map(|part| self.certainly(part, value)).collect::<Option<Vec<Expr>>>()?;
            return Some(self.expr(ExprKind::And(all), of));
        }
        let mut ways = Vec::new();
        let mut before = Vec::new();
        for part in parts {
            if let Some(here) = self.certainly(part, value) {
                let all = before.iter().cloned().chain([here]).collect();
                ways.push(self.expr(ExprKind::And(all), of));
            }
            if may_fault(self.model, part) {
                match self.certainly(part, !value) {
                    Some(passed) => before.push(passed),
                    None => break,
                }
            }
        }
        (!ways.is_empty()).then(|| self.expr(ExprKind::Or(ways), of))
    }

    /// A quantifier looks at every element, and faults if any of them does.
    fn quantified(
        &mut self,
        of: &Expr,
        (local, ty, body): (LocalId, TypeId, &Expr),
        value: bool,
        decides: bool,
    ) -> Option<Expr> {
        let over = |ahead: &mut Self, quantifier: Quantifier, make: &dyn Fn(&mut Self) -> Option<Expr>| {
            let here = ahead.locals.push(ahead.locals[local].clone());
            ahead.fresh.push((local, here));
            let body = make(ahead);
            ahead.fresh.pop();
            let body = Box::new(body?);
            let kind = ExprKind::Quantified { quantifier, local: here, domain: Domain::Type(ty), body };
            Some(ahead.expr(kind, of))
        };
        if value != decides {
            return over(self, Quantifier::Forall, &|ahead| ahead.certainly(body, value));
        }
        let one = over(self, Quantifier::Exists, &|ahead| ahead.certainly(body, value))?;
        if !may_fault(self.model, body) {
            return Some(one);
        }
        let known = over(self, Quantifier::Forall, &|ahead| {
            let ways: Vec<Expr> =
                [true, false].into_iter().filter_map(|value| ahead.certainly(body, value)).collect();
            (!ways.is_empty()).then(|| ahead.expr(ExprKind::Or(ways), body))
        })?;
        Some(self.expr(ExprKind::And(vec![one, known]), of))
    }

    /// Something that is read: it is known once all of it is defined.
    fn leaf(&mut self, of: &Expr, value: bool) -> Option<Expr> {
        let mut parts = Vec::new();
        let of = self.guarded(of, &mut parts)?;
        parts.push(if value { of } else { self.not(of) });
        let like = parts[parts.len() - 1].clone();
        Some(self.expr(ExprKind::And(parts), &like))
    }

    /// The expression with its bound variables as they are called here; what must hold first so that it does not fault is
    /// added to the guards.
    fn guarded(&mut self, of: &Expr, guards: &mut Vec<Expr>) -> Option<Expr> {
        let kind = match &of.kind {
            ExprKind::Const(_) => of.kind.clone(),
            ExprKind::Read(place) => {
                let place = self.place(place, guards)?;
                if let Root::Var(_) = place.root {
                    let undefined = self.expr(ExprKind::IsUndefined(place.clone()), of);
                    guards.push(self.not(undefined));
                }
                ExprKind::Read(place)
            }
            ExprKind::Unary(UnaryOp::Not, inner) => {
                ExprKind::Unary(UnaryOp::Not, Box::new(self.guarded(inner, guards)?))
            }
            ExprKind::Equal(left, right) => {
                ExprKind::Equal(Box::new(self.guarded(left, guards)?), Box::new(self.guarded(right, guards)?))
            }
            ExprKind::Binary(
                op @ (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge),
                left,
                right,
            ) => ExprKind::Binary(
                *op,
                Box::new(self.guarded(left, guards)?),
                Box::new(self.guarded(right, guards)?),
            ),
            _ => return None,
        };
        Some(Expr { kind, ty: of.ty, span: of.span })
    }

    fn place(&mut self, place: &Place, guards: &mut Vec<Expr>) -> Option<Place> {
        if !self.model.kind(place.ty).is_scalar() {
            return None;
        }
        let root = match place.root {
            Root::Var(var) if self.later.contains(&var) => return None,
            Root::Var(var) => Root::Var(var),
            Root::Local(local) => {
                let here = self.fresh.iter().rev().find(|(known, _)| *known == local);
                Root::Local(here.map_or(local, |(_, here)| *here))
            }
        };
        let mut path = Vec::new();
        for step in &place.path {
            path.push(match step {
                Projection::Field(field) => Projection::Field(*field),
                Projection::Index(index) => {
                    let index = self.guarded(index, guards)?;
                    match self.model.kind(index.ty) {
                        Type::Ref { nullable: false, .. } => {}
                        Type::Ref { nullable: true, .. } => {
                            let null =
                                Expr { kind: ExprKind::Const(Value::Null), ty: index.ty, span: index.span };
                            let kind = ExprKind::Equal(Box::new(index.clone()), Box::new(null));
                            let is_null = self.expr(kind, &index);
                            guards.push(self.not(is_null));
                        }
                        _ => return None,
                    }
                    Projection::Index(index)
                }
                Projection::Slot(_) | Projection::Item(_) => return None,
            });
        }
        Some(Place { root, path, ..place.clone() })
    }
}

/// Whether evaluating an expression might fault though all that it reads is defined.
fn may_fault(model: &Model, of: &Expr) -> bool {
    let place = |place: &Place| {
        place.path.iter().any(|step| match step {
            Projection::Field(_) => false,
            Projection::Index(index) => {
                !matches!(model.kind(index.ty), Type::Ref { nullable: false, .. }) || may_fault(model, index)
            }
            Projection::Slot(_) | Projection::Item(_) => true,
        })
    };
    match &of.kind {
        ExprKind::Const(_) => false,
        ExprKind::Read(read) | ExprKind::Peek(read) | ExprKind::IsUndefined(read) => place(read),
        ExprKind::Unary(UnaryOp::Not, inner) => may_fault(model, inner),
        ExprKind::Equal(left, right) | ExprKind::Implies(left, right) => {
            may_fault(model, left) || may_fault(model, right)
        }
        ExprKind::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, left, right) => {
            may_fault(model, left) || may_fault(model, right)
        }
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().any(|part| may_fault(model, part)),
        ExprKind::Quantified { domain: Domain::Type(_), body, .. } => may_fault(model, body),
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
        | ExprKind::Binary(..)
        | ExprKind::Quantified { .. }
        | ExprKind::Cond(..)
        | ExprKind::Call(..)
        | ExprKind::IsMember(..)
        | ExprKind::Ordinal(_)
        | ExprKind::ElementAt(..)
        | ExprKind::Entry(..)
        | ExprKind::Len(_)
        | ExprKind::Exists(_) => true,
    }
}
