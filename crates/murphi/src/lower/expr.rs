//! Expressions.

use shoal_model::{
    BinaryOp, Domain, Expr, ExprKind, LocalId, LocalKind, Place, Quantifier, Type, TypeId, UnaryOp, Value,
};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, OrReported, Reported, fold, place::Designated, scope::Symbol};
use crate::{ast, codes};

/// More operands than this in one sum or product are refused: the Model nests them.
const LONGEST_SUM: usize = 250;

impl Lowerer<'_> {
    /// An expression whose value must be defined.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> OrReported<Expr> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int(value) => Ok(fold::literal(Value::Int(*value), self.integer, span)),
            ast::ExprKind::Bool(value) => Ok(fold::literal(Value::Bool(*value), self.boolean, span)),
            ast::ExprKind::Real(_) => self.error(codes::UNSUPPORTED, span, "real numbers are not supported"),
            ast::ExprKind::Undefined => {
                let diagnostic = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    span,
                    "`undefined` is not a value to compute with",
                )
                .help("it can be assigned or passed; to ask for it, write `isundefined(x)`");
                self.report(diagnostic)
            }
            ast::ExprKind::Designator(designator) => self.read(designator, ExprKind::Read, span),
            ast::ExprKind::Call(call) => self.call_expr(call),
            ast::ExprKind::Unary { op, operand } => self.unary(op.node, operand, span),
            ast::ExprKind::Binary { op, left, right } => self.binary(op.node, left, right, span),
            ast::ExprKind::Chain { first, links } => self.chain(first, links),
            ast::ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, span)
            }
            ast::ExprKind::Quantified { kind, quantifiers, body } => {
                let quantifier = match kind {
                    ast::QuantifierKind::Forall => Quantifier::Forall,
                    ast::QuantifierKind::Exists => Quantifier::Exists,
                };
                self.quantified(quantifier, quantifiers, body, span)
            }
            ast::ExprKind::IsUndefined(designator) => self.is_undefined(designator, span),
            ast::ExprKind::IsMember { value, ty } => {
                let value = self.read(value, ExprKind::Peek, value.span);
                let ty = self.member_type(ty)?;
                let value = value?;
                if !self.model.may_meet(value.ty, ty) {
                    return self.mismatch(&value, ty, "`ismember`");
                }
                Ok(Expr { kind: ExprKind::IsMember(Box::new(value), ty), ty: self.boolean, span })
            }
            ast::ExprKind::MultisetCount(filter) => {
                let (place, local, condition) = self.filter(filter, false)?;
                let kind = ExprKind::Quantified {
                    quantifier: Quantifier::Count,
                    local,
                    domain: Domain::Slots(place),
                    body: Box::new(condition),
                };
                Ok(Expr { kind, ty: self.integer, span })
            }
            ast::ExprKind::Error => Err(Reported),
        }
    }

    /// An expression that may be undefined, where the dialect allows that: a designator is then copied as it is.
    pub(crate) fn expr_or_undefined(&mut self, expr: &ast::Expr) -> OrReported<Expr> {
        match &expr.kind {
            ast::ExprKind::Designator(designator) => self.read(designator, ExprKind::Peek, expr.span),
            _ => self.expr(expr),
        }
    }

    /// The value at a designator; `access` says how a scalar is read. Composite values are always copied.
    fn read(
        &mut self,
        designator: &ast::Designator,
        access: fn(Place) -> ExprKind,
        span: Span,
    ) -> OrReported<Expr> {
        match self.designator(designator)? {
            Designated::Value(value) => Ok(Expr { span, ..value }),
            Designated::Place(place) => {
                let ty = place.ty;
                let scalar = self.model.kind(ty).is_scalar();
                let kind = if scalar { access(place) } else { ExprKind::Read(place) };
                Ok(Expr { kind, ty, span })
            }
            Designated::Slot(..) => {
                let message = format!("`{}` is a position in a multiset, not a value", designator.base.node);
                self.error(codes::BAD_SLOT, span, message)
            }
        }
    }

    /// An expression that must be a truth value.
    pub(crate) fn condition(&mut self, expr: &ast::Expr) -> OrReported<Expr> {
        let value = self.expr(expr)?;
        match self.model.kind(value.ty) {
            Type::Bool => Ok(value),
            _ => self.mismatch(&value, self.boolean, "a condition"),
        }
    }

    /// An expression that must be an integer.
    pub(crate) fn integer(&mut self, expr: &ast::Expr) -> OrReported<Expr> {
        let value = self.expr(expr)?;
        self.require_integer(&value)?;
        Ok(value)
    }

    fn require_integer(&mut self, value: &Expr) -> OrReported<()> {
        match self.model.kind(value.ty) {
            Type::Int { .. } => Ok(()),
            _ => {
                let found = format!("this is of type `{}`", self.model.show_type(value.ty));
                self.report(
                    Diagnostic::error(codes::TYPE_MISMATCH, value.span, "an integer is needed here")
                        .at(found),
                )
            }
        }
    }

    /// Reports a value whose type cannot go where it stands.
    pub(crate) fn fits(&mut self, value: &Expr, ty: TypeId, what: &str) -> OrReported<()> {
        if self.model.may_meet(value.ty, ty) { Ok(()) } else { self.mismatch(value, ty, what) }
    }

    pub(crate) fn mismatch<T>(&mut self, value: &Expr, wanted: TypeId, what: &str) -> OrReported<T> {
        let name = |lowerer: &Self, ty: TypeId| lowerer.model.show_type(ty).to_string();
        let message = format!("{what} should be of type `{}`", name(self, wanted));
        let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, value.span, message)
            .at(format!("this is of type `{}`", name(self, value.ty)));
        self.report(diagnostic)
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> OrReported<Expr> {
        match op {
            ast::UnaryOp::Not => Ok(fold::unary(UnaryOp::Not, self.condition(operand)?, self.boolean, span)),
            ast::UnaryOp::Plus => self.integer(operand).map(|value| Expr { span, ..value }),
            ast::UnaryOp::Minus => Ok(fold::unary(UnaryOp::Neg, self.integer(operand)?, self.integer, span)),
            ast::UnaryOp::BitNot => {
                Ok(fold::unary(UnaryOp::BitNot, self.integer(operand)?, self.integer, span))
            }
        }
    }

    fn binary(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> OrReported<Expr> {
        match op {
            ast::BinaryOp::Eq => self.equality(left, right, span),
            ast::BinaryOp::Ne => {
                let equal = self.equality(left, right, span)?;
                Ok(fold::unary(UnaryOp::Not, equal, self.boolean, span))
            }
            ast::BinaryOp::Implies => {
                let (left, right) = (self.condition(left), self.condition(right));
                Ok(fold::implies(left?, right?, self.boolean, span))
            }
            _ => {
                let (left, right) = (self.integer(left), self.integer(right));
                self.arithmetic(op, left?, right?, span)
            }
        }
    }

    /// `=` on any two values that can be the same. CMurphi compares scalarset and union values as they are, so that
    /// an undefined one equals only an undefined one; Rumur faults.
    fn equality(&mut self, left: &ast::Expr, right: &ast::Expr, span: Span) -> OrReported<Expr> {
        let (a, b) = (self.expr(left), self.expr(right));
        let (a, b) = (self.lenient(a?), self.lenient(b?));
        if !self.model.may_meet(a.ty, b.ty) {
            let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, span, "these can never be equal")
                .also(a.span, format!("this is of type `{}`", self.model.show_type(a.ty)))
                .also(b.span, format!("this is of type `{}`", self.model.show_type(b.ty)));
            return self.report(diagnostic);
        }
        Ok(fold::equal(a, b, self.boolean, span))
    }

    fn lenient(&self, value: Expr) -> Expr {
        match value.kind {
            ExprKind::Read(place)
                if self.is_cmurphi()
                    && matches!(self.model.kind(value.ty), Type::Ref { .. } | Type::Union { .. }) =>
            {
                Expr { kind: ExprKind::Peek(place), ..value }
            }
            _ => value,
        }
    }

    fn arithmetic(&mut self, op: ast::BinaryOp, left: Expr, right: Expr, span: Span) -> OrReported<Expr> {
        let (op, ty) = match op {
            ast::BinaryOp::Lt => (BinaryOp::Lt, self.boolean),
            ast::BinaryOp::Le => (BinaryOp::Le, self.boolean),
            ast::BinaryOp::Gt => (BinaryOp::Gt, self.boolean),
            ast::BinaryOp::Ge => (BinaryOp::Ge, self.boolean),
            ast::BinaryOp::Add => (BinaryOp::Add, self.integer),
            ast::BinaryOp::Sub => (BinaryOp::Sub, self.integer),
            ast::BinaryOp::Mul => (BinaryOp::Mul, self.integer),
            ast::BinaryOp::Div => (BinaryOp::Div, self.integer),
            ast::BinaryOp::Mod => (BinaryOp::Rem, self.integer),
            ast::BinaryOp::Shl => (BinaryOp::Shl, self.integer),
            ast::BinaryOp::Shr => (BinaryOp::Shr, self.integer),
            ast::BinaryOp::Xor => (BinaryOp::BitXor, self.integer),
            ast::BinaryOp::And => (BinaryOp::BitAnd, self.integer),
            ast::BinaryOp::Or => (BinaryOp::BitOr, self.integer),
            ast::BinaryOp::AndAlso
            | ast::BinaryOp::OrElse
            | ast::BinaryOp::Implies
            | ast::BinaryOp::Eq
            | ast::BinaryOp::Ne => {
                return self.error(codes::TYPE_MISMATCH, span, "this operator is not for integers");
            }
        };
        Ok(fold::binary(op, left, right, ty, span))
    }

    /// `&` and `|` on truth values make one flat junction; on integers, and for all other operators, the operands
    /// are taken from left to right.
    fn chain(&mut self, first: &ast::Expr, links: &[ast::Link]) -> OrReported<Expr> {
        let span = links.iter().fold(first.span, |span, link| span.to(link.operand.span));
        let head = self.expr(first);
        let op = links[0].op.node;
        let joins = matches!(
            op,
            ast::BinaryOp::And | ast::BinaryOp::AndAlso | ast::BinaryOp::Or | ast::BinaryOp::OrElse
        );
        let of_truth_values = match &head {
            Ok(head) => matches!(self.model.kind(head.ty), Type::Bool),
            Err(Reported) => true,
        };
        if joins && (of_truth_values || matches!(op, ast::BinaryOp::AndAlso | ast::BinaryOp::OrElse)) {
            return self.junction(head, op, links, span);
        }
        if links.len() > LONGEST_SUM {
            let message =
                format!("more than {LONGEST_SUM} operands in a row; put some of them in parentheses");
            return self.error(codes::UNSUPPORTED, span, message);
        }
        let mut result = head;
        for link in links {
            let right = self.integer(&link.operand);
            let left = result?;
            self.require_integer(&left)?;
            let span = left.span.to(link.operand.span);
            result = self.arithmetic(link.op.node, left, right?, span);
        }
        result
    }

    fn junction(
        &mut self,
        head: OrReported<Expr>,
        op: ast::BinaryOp,
        links: &[ast::Link],
        span: Span,
    ) -> OrReported<Expr> {
        let mut operands = Vec::with_capacity(links.len() + 1);
        let mut failed = false;
        let rest: Vec<OrReported<Expr>> = links.iter().map(|link| self.condition(&link.operand)).collect();
        for operand in std::iter::once(head).chain(rest) {
            match operand {
                Ok(operand) => operands.push(operand),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        if let Some(wrong) =
            operands.iter().find(|operand| !matches!(self.model.kind(operand.ty), Type::Bool))
        {
            let wrong = wrong.clone();
            return self.mismatch(&wrong, self.boolean, &format!("an operand of `{}`", op.symbol()));
        }
        let unit = matches!(op, ast::BinaryOp::And | ast::BinaryOp::AndAlso);
        Ok(fold::junction(unit, operands, self.boolean, span))
    }

    fn conditional(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        span: Span,
    ) -> OrReported<Expr> {
        let condition = self.condition(condition);
        let (then, otherwise) = (self.expr(then), self.expr(otherwise));
        let (condition, then, otherwise) = (condition?, then?, otherwise?);
        self.fits(&otherwise, then.ty, "the other value")?;
        let ty = match (self.model.kind(then.ty), self.model.kind(otherwise.ty)) {
            (Type::Int { .. }, Type::Int { .. }) => self.integer,
            (_, Type::Union { .. }) => otherwise.ty,
            _ => then.ty,
        };
        Ok(fold::conditional(condition, then, otherwise, ty, span))
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        quantifiers: &[ast::Quantifier],
        body: &ast::Expr,
        span: Span,
    ) -> OrReported<Expr> {
        self.scopes.enter();
        let bound: Vec<OrReported<(LocalId, Domain)>> =
            quantifiers.iter().map(|quantifier| self.quantifier(quantifier)).collect();
        let body = self.condition(body);
        self.scopes.leave();
        let mut result = body?;
        for bound in bound.into_iter().rev() {
            let (local, domain) = bound?;
            let kind = ExprKind::Quantified { quantifier, local, domain, body: Box::new(result) };
            result = Expr { kind, ty: self.boolean, span };
        }
        Ok(result)
    }

    /// Binds the variable of a quantifier in the innermost scope.
    pub(crate) fn quantifier(&mut self, quantifier: &ast::Quantifier) -> OrReported<(LocalId, Domain)> {
        let bound = self.domain(&quantifier.domain);
        let name = &quantifier.name;
        match bound {
            Ok((domain, ty)) => {
                let local = self.new_local(&name.node, ty, LocalKind::Bound, name.span);
                self.declare(name, Symbol::Local { local, writable: false });
                Ok((local, domain))
            }
            Err(Reported) => {
                self.declare(name, Symbol::Broken);
                Err(Reported)
            }
        }
    }

    fn domain(&mut self, domain: &ast::Domain) -> OrReported<(Domain, TypeId)> {
        match domain {
            ast::Domain::Type(ty) => {
                let span = ty.span;
                let ty = self.type_expr(ty)?;
                self.finite(ty, span)?;
                Ok((Domain::Type(ty), ty))
            }
            ast::Domain::Steps { from, to, step } => {
                let by = step.as_ref().map(|step| self.integer(step)).transpose();
                let span = to.span;
                let (from, to) = (self.integer(from), self.integer(to));
                let (from, to, by) = (from?, to?, by?);
                let by = by.unwrap_or_else(|| self.step_between(&from, &to, span));
                if fold::constant(&by) == Some(&Value::Int(0)) {
                    return self.error(codes::BAD_TYPE, by.span, "a step of 0 never ends");
                }
                Ok((Domain::Range { from: Box::new(from), to: Box::new(to), by: Box::new(by) }, self.integer))
            }
        }
    }

    /// The step where none is written. Rumur goes down to a smaller number, and refuses that where both are constants.
    fn step_between(&self, from: &Expr, to: &Expr, span: Span) -> Expr {
        let up = fold::literal(Value::Int(1), self.integer, span);
        if self.is_cmurphi() || (fold::constant(from).is_some() && fold::constant(to).is_some()) {
            return up;
        }
        let down = fold::literal(Value::Int(-1), self.integer, span);
        let rises = fold::binary(BinaryOp::Le, from.clone(), to.clone(), self.boolean, span);
        fold::conditional(rises, up, down, self.integer, span)
    }

    /// The type asked for by `ismember`. An enumeration written out here names one that is there already.
    fn member_type(&mut self, ty: &ast::TypeExpr) -> OrReported<TypeId> {
        if let ast::TypeKind::Enum(members) = &ty.kind
            && let Some(first) = members.first()
            && let Some((Symbol::Constant(value), _)) = self.scopes.find(&first.node)
            && let Type::Enum { variants } = self.model.kind(value.ty)
            && variants.iter().eq(members.iter().map(|member| &member.node))
        {
            return Ok(value.ty);
        }
        self.type_expr(ty)
    }

    fn is_undefined(&mut self, designator: &ast::Designator, span: Span) -> OrReported<Expr> {
        match self.designator(designator)? {
            Designated::Place(place) if self.model.kind(place.ty).is_scalar() => {
                Ok(Expr { kind: ExprKind::IsUndefined(place), ty: self.boolean, span })
            }
            Designated::Place(_) => {
                let diagnostic = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    span,
                    "only a simple value can be undefined as a whole",
                )
                .help("ask for one of its parts");
                self.report(diagnostic)
            }
            Designated::Value(_) => Ok(fold::literal(Value::Bool(false), self.boolean, span)),
            Designated::Slot(..) => {
                self.error(codes::BAD_SLOT, span, "a position in a multiset is always defined")
            }
        }
    }

    /// The head and condition of `multisetcount` and `multisetremovepred`.
    pub(crate) fn filter(
        &mut self,
        filter: &ast::MultisetFilter,
        writable: bool,
    ) -> OrReported<(Place, LocalId, Expr)> {
        let (place, _) = self.multiset(&filter.multiset, writable)?;
        self.scopes.enter();
        let local = self.bind_slot(&filter.index, &place);
        let condition = self.condition(&filter.condition);
        self.scopes.leave();
        Ok((place, local, condition?))
    }

    /// Binds a position in a multiset in the innermost scope.
    pub(crate) fn bind_slot(&mut self, name: &ast::Name, bag: &Place) -> LocalId {
        let local = self.new_local(&name.node, self.integer, LocalKind::Bound, name.span);
        self.declare(name, Symbol::Slot { local, bag: bag.clone() });
        local
    }
}
