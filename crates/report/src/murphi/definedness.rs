//! When an expression can be evaluated: where a fault in a guard only means that the rule may not fire, the text has to ask for
//! that first.

use shoal_model::{BinaryOp, Domain, Expr, ExprKind, Place, Projection, Type, Value};

use super::{OrCannotSay, code::MurphiScope};
use crate::CannotSay;

impl MurphiScope<'_, '_> {
    /// The condition under which an expression does not fault; nothing if it never does.
    pub(crate) fn definedness(&mut self, expr: &Expr) -> OrCannotSay<Option<String>> {
        match &expr.kind {
            ExprKind::Const(_) => Ok(None),
            ExprKind::Read(place) => {
                let way = self.way_to(place)?;
                let scalar = self.model().kind(place.ty).is_scalar();
                if scalar && self.w.survey.undefined.may_be(self.locals, place) {
                    let known = format!("!isundefined({})", self.place(place)?);
                    return Ok(both(way, Some(known)));
                }
                Ok(way)
            }
            ExprKind::Peek(place) | ExprKind::IsUndefined(place) | ExprKind::Len(place) => self.way_to(place),
            ExprKind::Unary(_, of)
            | ExprKind::IsMember(of, _)
            | ExprKind::Ordinal(of)
            | ExprKind::Exists(of) => self.definedness(of),
            ExprKind::Binary(op, a, b) => {
                let operands = both(self.definedness(a)?, self.definedness(b)?);
                match op {
                    BinaryOp::Div | BinaryOp::Rem if !matches!(b.kind, ExprKind::Const(Value::Int(1..))) => {
                        let divides = format!("({} != 0)", self.expr(b)?);
                        Ok(both(operands, Some(divides)))
                    }
                    _ => Ok(operands),
                }
            }
            ExprKind::Equal(a, b) => Ok(both(self.definedness(a)?, self.definedness(b)?)),
            ExprKind::And(operands) => self.in_a_row(operands, "->"),
            ExprKind::Or(operands) => self.in_a_row(operands, "|"),
            ExprKind::Implies(a, b) => {
                let (left, right) = (self.definedness(a)?, self.definedness(b)?);
                Ok(both(left, self.after(a, "->", right)?))
            }
            ExprKind::Cond(c, a, b) => {
                let (first, yes, no) = (self.definedness(c)?, self.definedness(a)?, self.definedness(b)?);
                if yes.is_none() && no.is_none() {
                    return Ok(first);
                }
                let or_true = |text: Option<String>| text.unwrap_or_else(|| "true".into());
                let chosen = format!("({} ? {} : {})", self.expr(c)?, or_true(yes), or_true(no));
                Ok(both(first, Some(chosen)))
            }
            ExprKind::Quantified { local, domain, body, .. } => self.of_each(*local, domain, body),
            ExprKind::Call(..) | ExprKind::ElementAt(..) | ExprKind::Entry(..) => {
                Err(CannotSay::new("guards that may fail with functions in them"))
            }
        }
    }

    /// Of operands that are evaluated as long as the answer is not known.
    fn in_a_row(&mut self, operands: &[Expr], op: &str) -> OrCannotSay<Option<String>> {
        let Some((first, rest)) = operands.split_first() else { return Ok(None) };
        let own = self.definedness(first)?;
        let others = self.in_a_row(rest, op)?;
        Ok(both(own, self.after(first, op, others)?))
    }

    /// What is asked only if an operand does not decide.
    fn after(&mut self, operand: &Expr, op: &str, asked: Option<String>) -> OrCannotSay<Option<String>> {
        asked.map(|asked| Ok(format!("({} {op} {asked})", self.expr(operand)?))).transpose()
    }

    /// Of a quantifier that looks at every element.
    fn of_each(
        &mut self,
        local: shoal_model::LocalId,
        domain: &Domain,
        body: &Expr,
    ) -> OrCannotSay<Option<String>> {
        let before = self.active.len();
        let over = self.domain(domain)?;
        let name = self.name(local);
        let asked = self.definedness(body)?;
        self.forget(before);
        let is_sort =
            matches!(domain, Domain::Type(ty) if matches!(self.model().kind(*ty), Type::Ref { .. }));
        match asked {
            None => Ok(None),
            Some(asked) if is_sort => Ok(Some(format!("(forall {name}{over} do {asked} end)"))),
            Some(_) => Err(CannotSay::new("guards that may fail with quantifiers over numbers in them")),
        }
    }

    /// When a place can be found.
    fn way_to(&mut self, place: &Place) -> OrCannotSay<Option<String>> {
        let mut asked = None;
        let mut ty = match place.root {
            shoal_model::Root::Var(var) => self.model().vars[var].ty,
            shoal_model::Root::Local(local) => self.locals[local].ty,
        };
        for step in &place.path {
            match (step, self.model().kind(ty)) {
                (Projection::Field(position), Type::Record { fields }) => ty = fields[*position as usize].ty,
                (Projection::Index(at), Type::Array { index, element }) => {
                    asked = both(asked, self.definedness(at)?);
                    if !self.is_inside(at, *index) {
                        asked = both(asked, Some(self.inside(at, *index)?));
                    }
                    ty = *element;
                }
                _ => return Err(CannotSay::new("guards that may fail with multisets in them")),
            }
        }
        Ok(asked)
    }

    /// That a value is an index of an array.
    fn inside(&mut self, at: &Expr, index: shoal_model::TypeId) -> OrCannotSay<String> {
        let text = self.expr(at)?;
        match self.w.survey.numbers_of(index) {
            Some((first, last)) => Ok(format!("(({first} <= {text}) & ({text} <= {last}))")),
            None => Err(CannotSay::new("guards that may fail with unions in them")),
        }
    }
}

/// Both conditions, the first one first.
fn both(a: Option<String>, b: Option<String>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) => Some(format!("({a} & {b})")),
        (a, b) => a.or(b),
    }
}
