//! Expressions that do something: assignments and calls inside of others.
//!
//! What an expression does is taken out of it and put before it, as statements, from left to right. An operand that was
//! evaluated before something to its right is done is kept in a local; what is done only sometimes goes into a branch.

use shoal_model::{
    BinaryOp, Expr, ExprKind, LocalKind, Place, Projection, Root, Stmt, StmtKind, Type, TypeId, Value,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{ExprView, Lowerer, error, types::Constant, unsupported};
use crate::ast;

/// A greater power than this is a mistake.
const MOST_POWER: i64 = 64;

impl<'n> Lowerer<'n> {
    /// Puts a statement before the expression that is being lowered.
    pub(super) fn before(&mut self, stmt: Stmt) {
        if let Some(prelude) = &mut self.prelude {
            prelude.push(stmt);
        }
    }

    /// Puts a statement where it is its turn: before the expression that is being lowered, or at the end of the code.
    pub(super) fn emit(&mut self, stmt: Stmt, into: &mut Vec<Stmt>) {
        match &mut self.prelude {
            Some(prelude) => prelude.push(stmt),
            None => into.push(stmt),
        }
    }

    /// How much is done so far.
    pub(super) fn mark(&self) -> usize {
        self.prelude.as_ref().map_or(0, Vec::len)
    }

    /// Lowers a part that is not always evaluated: what it does, and its value.
    pub(super) fn apart_from(
        &mut self,
        part: impl FnOnce(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<(Vec<Stmt>, Expr)> {
        let outer = self.prelude.take();
        self.prelude = outer.is_some().then(Vec::new);
        let result = part(self);
        let does = std::mem::replace(&mut self.prelude, outer);
        Ok((does.unwrap_or_default(), result?))
    }

    fn fresh(&mut self, name: &str, ty: TypeId, span: Span) -> Place {
        let local = self.b.local(name, ty, LocalKind::Variable, span);
        Place { root: Root::Local(local), path: Vec::new(), ty, span }
    }

    /// Two operands, the left one first.
    pub(super) fn operands(
        &mut self,
        left: &'n ast::Expr,
        right: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<(Expr, Expr)> {
        let left = self.value(left, view)?;
        let mark = self.mark();
        let right = self.value(right, view)?;
        Ok((self.kept(left, mark, false)?, right))
    }

    /// A value as it was when only so much was done. `again`: it is going to be evaluated more than once.
    pub(super) fn kept(&mut self, value: Expr, mark: usize, again: bool) -> Parsed<Expr> {
        let changed = self.mark() > mark;
        let again = again && self.prelude.is_some();
        if !changed && !again || matches!(value.kind, ExprKind::Const(_)) {
            return Ok(value);
        }
        if self.has_clock(value.ty) {
            return unsupported("the value of a clock", value.span);
        }
        let span = value.span;
        let place = self.fresh("$kept", value.ty, span);
        let keep = self.b.assign(place.clone(), value, span);
        if let Some(prelude) = &mut self.prelude {
            prelude.insert(mark, keep);
        }
        Ok(self.b.read(place))
    }

    /// A place as it was found when only so much was done.
    pub(super) fn kept_place(&mut self, mut place: Place, mark: usize) -> Parsed<Place> {
        for projection in place.path.iter_mut().rev() {
            if let Projection::Index(index) = projection {
                *index = self.kept(index.clone(), mark, false)?;
            }
        }
        Ok(place)
    }

    /// `left && right`, `left || right`, `left imply right`, where the right side does something.
    pub(super) fn perhaps(&mut self, op: &str, left: Expr, does: Vec<Stmt>, right: Expr, span: Span) -> Expr {
        let boolean = self.b.boolean;
        let result = self.fresh("$truth", boolean, span);
        let read = self.b.read(result.clone());
        let (first, goes_on) = match op {
            "&&" => (left, read.clone()),
            "||" => (left, self.b.not(read.clone())),
            _ => (self.b.not(left), self.b.not(read.clone())),
        };
        self.before(self.b.assign(result.clone(), first, span));
        let mut body = does;
        body.push(self.b.assign(result, right, span));
        self.before(Stmt { kind: StmtKind::If(vec![(goes_on, body)], Vec::new()), span });
        read
    }

    /// `condition ? one : other`, where one of them does something.
    pub(super) fn either_way(
        &mut self,
        condition: Expr,
        arms: [(Vec<Stmt>, Expr); 2],
        ty: TypeId,
        span: Span,
    ) -> Expr {
        let result = self.fresh("$choice", ty, span);
        let [then, other] = arms.map(|(mut does, value)| {
            does.push(self.b.assign(result.clone(), value, span));
            does
        });
        self.before(Stmt { kind: StmtKind::If(vec![(condition, then)], other), span });
        self.b.read(result)
    }

    /// A constant with parts: a local that is filled with them.
    pub(super) fn whole_constant(&mut self, constant: &Constant, span: Span) -> Parsed<Expr> {
        if self.prelude.is_none() {
            return unsupported("a whole constant array or record in a condition", span);
        }
        let place = self.fresh("$constant", constant.ty, span);
        let mut stmts = Vec::new();
        self.fill(place.clone(), Some(constant), &mut stmts)?;
        stmts.into_iter().for_each(|stmt| self.before(stmt));
        Ok(self.b.read(place))
    }

    /// `base ** exponent`, for an exponent that is known.
    pub(super) fn power(&mut self, base: Expr, exponent: Expr, span: Span) -> Parsed<Expr> {
        let (base, exponent) = (self.as_integer(base)?, self.as_integer(exponent)?);
        let ExprKind::Const(Value::Int(exponent @ 0..=MOST_POWER)) = exponent.kind else {
            return unsupported("powers whose exponent is not known before the model runs", span);
        };
        let mark = self.mark();
        let base = self.kept(base, mark, true)?;
        let one = self.b.int(1, span);
        Ok((0..exponent).fold(one, |product, _| self.b.binary(BinaryOp::Mul, product, base.clone(), span)))
    }

    /// An assignment as a value: it is done before, and its value is the old or the new one.
    pub(super) fn assigned_value(
        &mut self,
        assign: &'n ast::Assign,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        if self.prelude.is_none() {
            return unsupported("an assignment in a condition", span);
        }
        let (place, value) = self.assignment(assign, view, span)?;
        let ty = if *self.b.model.kind(place.ty) == Type::Clock { self.b.integer } else { place.ty };
        let result = self.fresh("$value", ty, span);
        let shown = match assign.before {
            true => self.b.read(place.clone()),
            false => value.clone(),
        };
        self.before(self.b.assign(result.clone(), shown, span));
        let value = if assign.before { value } else { self.b.read(result.clone()) };
        self.before(self.b.assign(place, value, span));
        Ok(self.b.read(result))
    }

    /// An assignment as a statement; what its parts do comes before it.
    pub(super) fn assign(
        &mut self,
        assign: &'n ast::Assign,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Stmt> {
        let (place, value) = self.assignment(assign, view, span)?;
        Ok(self.b.assign(place, value, span))
    }

    /// The place of an assignment, and the value that it is going to have.
    fn assignment(
        &mut self,
        assign: &'n ast::Assign,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<(Place, Expr)> {
        let place = self.place(&assign.to, view)?;
        self.is_assignable(&place)?;
        if assign.op.is_some() && *self.b.model.kind(place.ty) == Type::Clock {
            return unsupported("arithmetic on clocks", span);
        }
        let mark = self.mark();
        let mut value = self.value(&assign.value, view)?;
        let place = self.kept_place(place, mark)?;
        if let Some(op) = assign.op {
            let old = self.b.read(place.clone());
            value = self.binary(op, old, value, span)?;
        }
        Ok((place.clone(), self.as_type(value, place.ty)?))
    }

    /// A variable of a loop, a `select` or a quantifier keeps its value.
    pub(super) fn is_assignable(&self, place: &Place) -> Parsed<()> {
        match place.root {
            Root::Local(local) if self.b.locals[local].kind == LocalKind::Bound => {
                let message = format!("`{}` cannot be changed", self.b.locals[local].name);
                error(codes::WRONG_KIND, place.span, message)
            }
            _ => Ok(()),
        }
    }
}
