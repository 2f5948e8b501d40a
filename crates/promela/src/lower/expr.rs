//! Expressions. All values are C integers; truth values and symbolic constants are turned into them where needed.

use shoal_model::{BinaryOp, Expr, ExprKind as K, Place, Stmt, UnaryOp, Value};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, Me, OrReported, Reported, build::INT, channels::ref_type};
use crate::{
    ast::{self, ExprKind, Query, Type, VarRef},
    codes,
};

/// What an expression of the Model stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprMeaning {
    Int,
    Truth,
    Mtype(usize),
    Channel,
    /// A pointer to objects of a heap.
    Pointer(usize),
}

impl Lowerer<'_> {
    /// The value of an expression as an integer.
    pub(super) fn integer_expr(&mut self, expr: &ast::Expr, me: Option<&Me>) -> OrReported<Expr> {
        let (value, kind) = self.expr(expr, me)?;
        self.number_needed(kind, expr.span)?;
        Ok(self.to_int(value, kind))
    }

    /// Whether an expression is not 0.
    pub(super) fn condition(&mut self, expr: &ast::Expr, me: Option<&Me>) -> OrReported<Expr> {
        let (value, kind) = self.expr(expr, me)?;
        self.number_needed(kind, expr.span)?;
        Ok(self.to_truth(value, kind))
    }

    /// A pointer is none.
    pub(super) fn number_needed(&mut self, kind: ExprMeaning, span: Span) -> OrReported<()> {
        if !matches!(kind, ExprMeaning::Pointer(_)) {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(codes::BAD_TYPE, span, "a pointer is not a number");
        self.report(diagnostic.help("compare it with another or with `null`"))
    }

    pub(super) fn to_int(&self, value: Expr, kind: ExprMeaning) -> Expr {
        let span = value.span;
        match kind {
            ExprMeaning::Int | ExprMeaning::Channel | ExprMeaning::Pointer(_) => value,
            ExprMeaning::Truth => self.cond(value, self.int(1, span), self.int(0, span)),
            ExprMeaning::Mtype(_) => match value.kind {
                K::Const(Value::Enum(_, number)) => self.int(i64::from(number), span),
                _ => Expr { kind: K::Ordinal(Box::new(value)), ty: self.integer, span },
            },
        }
    }

    fn to_truth(&self, value: Expr, kind: ExprMeaning) -> Expr {
        let span = value.span;
        if kind == ExprMeaning::Truth {
            return value;
        }
        let value = self.to_int(value, kind);
        let zero = self.int(0, span);
        self.not(self.equal(value, zero))
    }

    /// An expression, and what it stands for.
    pub(super) fn expr(&mut self, expr: &ast::Expr, me: Option<&Me>) -> OrReported<(Expr, ExprMeaning)> {
        let span = expr.span;
        let truth = |value: Expr| Ok((value, ExprMeaning::Truth));
        match &expr.kind {
            ExprKind::Int(value) => {
                let value = i64::from(*value as i32);
                Ok((self.int(value, span), ExprMeaning::Int))
            }
            ExprKind::Mtype(set, number) => Ok(self.mtype_constant(*set, *number, span)),
            ExprKind::Var(var) => self.variable(var, me),
            ExprKind::Not(of) => {
                let of = self.condition(of, me)?;
                truth(self.not(of))
            }
            ExprKind::Neg(of) => {
                let of = self.integer_expr(of, me)?;
                self.wrapped(Expr { kind: K::Unary(UnaryOp::Neg, Box::new(of)), ty: self.integer, span })
            }
            ExprKind::BitNot(of) => {
                let of = self.integer_expr(of, me)?;
                self.wrapped(Expr { kind: K::Unary(UnaryOp::BitNot, Box::new(of)), ty: self.integer, span })
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.integer_expr(a, me)?, self.integer_expr(b, me)?);
                let mut value = self.binary(*op, a, b);
                value.span = span;
                if op.compares() { truth(value) } else { self.wrapped(value) }
            }
            ExprKind::Equal(a, b) => truth(self.equality(a, b, me)?),
            ExprKind::NotEqual(a, b) => {
                let equal = self.equality(a, b, me)?;
                truth(self.not(equal))
            }
            ExprKind::And(a, b) => {
                let parts = vec![self.condition(a, me)?, self.condition(b, me)?];
                truth(self.and(parts, span))
            }
            ExprKind::Or(a, b) => {
                let parts = vec![self.condition(a, me)?, self.condition(b, me)?];
                truth(self.or(parts, span))
            }
            ExprKind::Cond(c, a, b) => self.choice(c, a, b, me),
            ExprKind::Run(name, ..) => {
                let message = "`run` stands alone or on the right of an assignment";
                self.error(codes::IMPURE, name.span, message)
            }
            ExprKind::Query(query, channel) => self.query(*query, channel, me, span),
            ExprKind::Poll(receive) => truth(self.poll(receive, me)?),
            ExprKind::Timeout if me.is_none() => {
                let message = "not supported: `timeout` in a formula or a never claim";
                self.error(codes::UNSUPPORTED, span, message)
            }
            ExprKind::Timeout => {
                self.timeout_seen = true;
                truth(self.truth(self.timeout, span))
            }
            ExprKind::NonProgress => {
                let progress = self.progress(span);
                truth(self.not(progress))
            }
            ExprKind::Pid => match me {
                Some(me) => Ok((self.pid(me, span), ExprMeaning::Int)),
                None => self.error(codes::MISPLACED, span, "`_pid` is the number of a process; here is none"),
            },
            ExprKind::Processes => Ok((self.process_count(span), ExprMeaning::Int)),
            ExprKind::Last => {
                let value = self.last.map_or(self.int(0, span), |last| self.read(self.var_place(last, span)));
                Ok((value, ExprMeaning::Int))
            }
            ExprKind::At(name, pid, label) => truth(self.remote_label(name, pid.as_deref(), label, me)?),
            ExprKind::Remote(name, pid, variable, index) => {
                self.remote_variable(name, pid.as_deref(), variable, index.as_deref(), me)
            }
            ExprKind::Enabled(of) => truth(self.enabled(of, me, span)?),
            ExprKind::Location(of) => Ok((self.location_number(of, me, span)?, ExprMeaning::Int)),
            ExprKind::Priority(pid) => Ok((self.priority(pid.as_deref(), me, span)?, ExprMeaning::Int)),
            ExprKind::Null => {
                self.error(codes::BAD_TYPE, span, "`null` is compared with or assigned to a pointer")
            }
            ExprKind::Function(name) => {
                let function = self.function(name)?;
                Ok((self.int(function as i64 + 1, span), ExprMeaning::Int))
            }
            ExprKind::Temporal(..) | ExprKind::Temporal2(..) => {
                self.error(codes::MISPLACED, span, "a temporal operator stands only in a formula")
            }
        }
    }

    pub(super) fn process_count(&self, span: Span) -> Expr {
        let active: u32 = self.program.proctypes.iter().map(|proctype| proctype.active).sum();
        if let Some(born) = &self.born {
            return Expr { span, ..born.clone() };
        }
        match self.processes {
            Some(processes) => self.read(self.var_place(processes, span)),
            None => self.int(i64::from(active), span),
        }
    }

    pub(super) fn mtype_constant(&mut self, set: usize, number: u32, span: Span) -> (Expr, ExprMeaning) {
        let ty = self.mtype(set);
        if self.style.named_constants {
            (Expr { kind: K::Const(Value::Enum(ty, number)), ty, span }, ExprMeaning::Mtype(set))
        } else {
            (self.int(i64::from(number), span), ExprMeaning::Int)
        }
    }

    fn variable(&mut self, var: &VarRef, me: Option<&Me>) -> OrReported<(Expr, ExprMeaning)> {
        if let Some((Type::Chan, None)) = ref_type(self.program, var) {
            return Ok((self.channel_value(var, me)?, ExprMeaning::Channel));
        }
        let (place, ty) = self.place(var, me)?;
        let kind = match ty {
            Type::Mtype(set) if self.style.named_constants => ExprMeaning::Mtype(set),
            Type::Record(_) => return self.error(codes::BAD_TYPE, var.span, "a record is not a value"),
            Type::Pointer(target) => ExprMeaning::Pointer(self.heap_of(&target).ok_or(Reported)?),
            _ => ExprMeaning::Int,
        };
        match place {
            Some(place) => Ok((self.read(place), kind)),
            None => Ok((self.int(0, var.span), ExprMeaning::Int)),
        }
    }

    /// The value of C's `int` that a result too large becomes.
    fn wrapped(&self, value: Expr) -> OrReported<(Expr, ExprMeaning)> {
        let range = self.range(&value);
        let fits = INT.0 <= range.0 && range.1 <= INT.1;
        Ok((if fits { value } else { self.wrap(value, 32, true) }, ExprMeaning::Int))
    }

    /// The lowest bits of a value, with or without a sign.
    fn wrap(&self, value: Expr, bits: u32, signed: bool) -> Expr {
        let span = value.span;
        let mask = self.int((1i64 << bits) - 1, span);
        if !signed {
            return self.binary(BinaryOp::BitAnd, value, mask);
        }
        let half = self.int(1i64 << (bits - 1), span);
        let shifted = self.binary(BinaryOp::Add, value, half.clone());
        let low = self.binary(BinaryOp::BitAnd, shifted, mask);
        self.binary(BinaryOp::Sub, low, half)
    }

    fn equality(&mut self, a: &ast::Expr, b: &ast::Expr, me: Option<&Me>) -> OrReported<Expr> {
        let is_null = |it: &ast::Expr| matches!(it.kind, ExprKind::Null);
        if is_null(a) != is_null(b) {
            let other = if is_null(a) { b } else { a };
            let (pointer, kind) = self.expr(other, me)?;
            if let ExprKind::Var(var) = &other.kind
                && let Some((Type::Function, _)) = ref_type(self.program, var)
            {
                let nothing = self.int(0, other.span);
                return Ok(self.equal(pointer, nothing));
            }
            let ExprMeaning::Pointer(heap) = kind else {
                return self.error(codes::BAD_TYPE, other.span, "only a pointer can be `null`");
            };
            let null = self.null(heap, pointer.span);
            return Ok(self.equal(pointer, null));
        }
        let ((left, of_left), (right, of_right)) = (self.expr(a, me)?, self.expr(b, me)?);
        if let (ExprMeaning::Pointer(heap), true) = (of_left, of_left == of_right) {
            return Ok(self.same_object(heap, left, right));
        }
        if of_left == of_right {
            return Ok(self.equal(left, right));
        }
        if let (ExprMeaning::Pointer(_), _) | (_, ExprMeaning::Pointer(_)) = (of_left, of_right) {
            return self.error(codes::BAD_TYPE, a.span, "a pointer is compared with something else");
        }
        Ok(self.equal(self.to_int(left, of_left), self.to_int(right, of_right)))
    }

    fn choice(
        &mut self,
        condition: &ast::Expr,
        yes: &ast::Expr,
        no: &ast::Expr,
        me: Option<&Me>,
    ) -> OrReported<(Expr, ExprMeaning)> {
        let condition = self.condition(condition, me)?;
        let ((yes, of_yes), (no, of_no)) = (self.expr(yes, me)?, self.expr(no, me)?);
        if of_yes == of_no {
            return Ok((self.cond(condition, yes, no), of_yes));
        }
        self.number_needed(of_yes, yes.span)?;
        self.number_needed(of_no, no.span)?;
        let (yes, no) = (self.to_int(yes, of_yes), self.to_int(no, of_no));
        Ok((self.cond(condition, yes, no), ExprMeaning::Int))
    }

    /// A value as it is stored in a variable of a type: its lowest bits.
    pub(super) fn converted(&mut self, value: &ast::Expr, ty: &Type, me: Option<&Me>) -> OrReported<Expr> {
        if let (ExprKind::Null, Type::Function) = (&value.kind, ty) {
            return Ok(self.int(0, value.span));
        }
        if let (ExprKind::Null, Type::Pointer(target)) = (&value.kind, ty)
            && let Some(heap) = self.heap_of(target)
        {
            return Ok(self.null(heap, value.span));
        }
        let (value, kind) = self.expr(value, me)?;
        self.converted_value(value, kind, ty)
    }

    pub(super) fn converted_value(&mut self, value: Expr, kind: ExprMeaning, ty: &Type) -> OrReported<Expr> {
        let span = value.span;
        if let (Type::Mtype(set), true) = (ty, self.style.named_constants) {
            let number = match (&value.kind, kind) {
                (_, ExprMeaning::Mtype(of)) if of == *set => return Ok(value),
                (K::Const(Value::Int(0)), _) => 0,
                _ => {
                    self.needed.named_constants = false;
                    0
                }
            };
            return Ok(self.mtype_constant(*set, number, span).0);
        }
        if matches!(kind, ExprMeaning::Pointer(_)) && !matches!(ty, Type::Pointer(_)) {
            return self.error(codes::BAD_TYPE, span, "a pointer is not a number");
        }
        let value = self.to_int(value, kind);
        let (bits, signed) = match ty {
            Type::Bit => (1, false),
            Type::Byte | Type::Mtype(_) => (8, false),
            Type::Short => (16, true),
            Type::Int => (32, true),
            Type::Unsigned(bits) => (*bits, false),
            Type::Chan => {
                let pure = kind == ExprMeaning::Channel || value.kind == K::Const(Value::Int(0));
                self.needed.pure_channels &= pure;
                if self.style.pure_channels {
                    return Ok(if pure { value } else { self.int(0, span) });
                }
                (8, false)
            }
            Type::Record(_) => {
                return self.error(codes::BAD_TYPE, span, "a record cannot be assigned as a whole");
            }
            Type::Pointer(target) => {
                let wanted = self.heap_of(target);
                return match (kind, &value.kind) {
                    (ExprMeaning::Pointer(heap), _) if wanted == Some(heap) => Ok(value),
                    // A part of a message that was left out.
                    (_, K::Const(Value::Int(0))) => Ok(self.null(wanted.ok_or(Reported)?, span)),
                    _ => self.error(codes::BAD_TYPE, span, "this is not a pointer to the same type"),
                };
            }
            Type::Function => return Ok(value),
        };
        let (lo, hi) = match signed {
            true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
            false => (0, (1i64 << bits) - 1),
        };
        let range = self.range(&value);
        Ok(if lo <= range.0 && range.1 <= hi { value } else { self.wrap(value, bits, signed) })
    }

    /// Stores a value in a place of a type.
    pub(super) fn store_value(
        &mut self,
        place: Place,
        ty: &Type,
        value: &ast::Expr,
        me: Option<&Me>,
    ) -> OrReported<Vec<Stmt>> {
        if let (Type::Record(record), ast::ExprKind::Var(var)) = (ty, &value.kind)
            && ref_type(self.program, var) == Some((Type::Record(*record), None))
            && let (Some(from), _) = self.place(var, me)?
        {
            return Ok(vec![self.assign(place, self.read(from))]);
        }
        let value = self.converted(value, ty, me)?;
        Ok(vec![self.assign(place, value)])
    }

    fn query(
        &mut self,
        query: Query,
        channel: &VarRef,
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<(Expr, ExprMeaning)> {
        let classes = self.classes(channel)?;
        let exists = self.must_exist(channel, me)?;
        // Where no channel is ever held, what comes out is not used.
        let (kind, nothing) = match query {
            Query::Len => (ExprMeaning::Int, self.int(0, span)),
            Query::Full | Query::NotFull | Query::Empty | Query::NotEmpty => {
                (ExprMeaning::Truth, self.truth(false, span))
            }
        };
        let mut result: Option<Expr> = None;
        for class in classes {
            let capacity = i64::from(self.channels.classes[class].capacity);
            let length = match self.channel_place(class, channel, me)? {
                Some(place) => self.read(self.field(place, 0)),
                None => self.int(0, span),
            };
            let value = match query {
                Query::Len => length,
                Query::Full => self.equal(length, self.int(capacity, span)),
                Query::NotFull => self.not(self.equal(length, self.int(capacity, span))),
                Query::Empty => self.equal(length, self.int(0, span)),
                Query::NotEmpty => self.not(self.equal(length, self.int(0, span))),
            };
            result = Some(match result {
                None => value,
                Some(rest) => {
                    let here = self.is_of_class(class, channel, me)?;
                    self.cond(here, value, rest)
                }
            });
        }
        let value = result.unwrap_or(nothing);
        let value = match exists {
            None => value,
            Some(exists) => self.cond(exists, value.clone(), value),
        };
        Ok((value, kind))
    }
}
