//! Variables as scalar cells and timers: their layout, and the cell or timer that a place is.

use shoal_dbm::ClockBounds;
use shoal_model::{Expr, ExprKind, Place, Projection, Root, SortId, Type, TypeId, UnaryOp, Value};
use shoal_syntax::Span;

use super::{BoundValues, OrUnsupported, ProcessCell, ProcessSystem, Timer, unsupported};

/// What an expression without timers comes to.
pub(super) enum PlainTerm {
    Const(Value),
    Cell(usize),
    Timer(usize),
}

impl ProcessSystem<'_> {
    pub(super) fn layout(&mut self) -> OrUnsupported<()> {
        for (_, var) in self.model.vars.enumerate() {
            self.flatten(&var.name, var.ty, None, var.span)?;
        }
        Ok(())
    }

    /// Lays out a variable.
    pub(super) fn flatten(
        &mut self,
        name: &str,
        ty: TypeId,
        owner: Option<(SortId, u32)>,
        span: Span,
    ) -> OrUnsupported<()> {
        match self.model.kind(ty) {
            Type::Clock => {
                let limits = ClockBounds::default();
                self.timers.push(Timer { name: name.into(), owner, limits });
            }
            Type::Array { index, element } => {
                let sort = match self.model.kind(*index) {
                    Type::Ref { sort, nullable: false } => Some(*sort),
                    _ => None,
                };
                if sort.is_some() && owner.is_some() {
                    return unsupported("arrays over two sorts", span);
                }
                for (position, value) in self.model.values(*index).enumerate() {
                    let owner = sort.map(|sort| (sort, position as u32)).or(owner);
                    let shown = match &value {
                        Value::Elem(sort, element) => (element + self.model.sorts[*sort].first).to_string(),
                        Value::Int(value) => value.to_string(),
                        other => format!("{other:?}"),
                    };
                    self.flatten(&format!("{name}[{shown}]"), *element, owner, span)?;
                }
            }
            Type::Record { fields } => {
                for field in fields {
                    self.flatten(&format!("{name}.{}", field.name), field.ty, owner, span)?;
                }
            }
            Type::Multiset { .. } => return unsupported("multisets", span),
            Type::Sequence { .. } => return unsupported("sequences", span),
            _ => match self.model.cardinality(ty) {
                Some(size) if size <= 128 => {
                    let size = size as u32;
                    self.cells.push(ProcessCell { name: name.into(), ty, owner, size, start: 0 });
                }
                _ => return unsupported(format!("`{name}`, a variable with more than 128 values"), span),
            },
        }
        Ok(())
    }

    /// Finds a scalar place whose indices are known.
    pub(super) fn find(&self, place: &Place, env: &BoundValues) -> OrUnsupported<PlainTerm> {
        let var = match place.root {
            Root::Local(local) => {
                return match env.iter().rev().find(|(known, _)| *known == local) {
                    Some((_, value)) if place.path.is_empty() => Ok(PlainTerm::Const(value.clone())),
                    _ => unsupported("local variables", place.span),
                };
            }
            Root::Var(var) => var,
        };
        let (mut cell, mut timer) = (0, 0);
        for (id, other) in self.model.vars.enumerate() {
            if id == var {
                break;
            }
            let (cells, timers) = self.count(other.ty);
            cell += cells;
            timer += timers;
        }
        let mut ty = self.model.vars[var].ty;
        for projection in &place.path {
            match (projection, self.model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    for field in &fields[..*at as usize] {
                        let (cells, timers) = self.count(field.ty);
                        cell += cells;
                        timer += timers;
                    }
                    ty = fields[*at as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let PlainTerm::Const(value) = self.term(index, env)? else {
                        return unsupported("an index that depends on a variable", index.span);
                    };
                    let Some(position) = self.model.ordinal(*of, &value) else {
                        return unsupported("an index that is out of range", index.span);
                    };
                    let (cells, timers) = self.count(*element);
                    cell += cells * position as usize;
                    timer += timers * position as usize;
                    ty = *element;
                }
                _ => return unsupported("slots and items", place.span),
            }
        }
        match self.model.kind(ty) {
            Type::Clock => Ok(PlainTerm::Timer(timer)),
            kind if kind.is_scalar() => Ok(PlainTerm::Cell(cell)),
            _ => unsupported("whole arrays and records", place.span),
        }
    }

    /// How many cells and timers a type has.
    pub(super) fn count(&self, ty: TypeId) -> (usize, usize) {
        match self.model.kind(ty) {
            Type::Clock => (0, 1),
            Type::Array { index, element } => {
                let (cells, timers) = self.count(*element);
                let length = self.model.cardinality(*index).unwrap_or(0) as usize;
                (cells * length, timers * length)
            }
            Type::Record { fields } => {
                fields.iter().map(|field| self.count(field.ty)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            }
            _ => (1, 0),
        }
    }

    /// Runs the one start.
    pub(super) fn position(&self, cell: usize, value: &Value, span: Span) -> OrUnsupported<u32> {
        match self.model.ordinal(self.cells[cell].ty, value) {
            Some(position) => Ok(position as u32),
            None => unsupported(format!("a value that `{}` cannot hold", self.cells[cell].name), span),
        }
    }

    pub(super) fn term(&self, expr: &Expr, env: &BoundValues) -> OrUnsupported<PlainTerm> {
        let integer = |expr: &Expr| match self.term(expr, env)? {
            PlainTerm::Const(Value::Int(value)) => Ok(value),
            _ => unsupported("arithmetic on variables", expr.span),
        };
        match &expr.kind {
            ExprKind::Const(value) => Ok(PlainTerm::Const(value.clone())),
            ExprKind::Read(place) | ExprKind::Peek(place) => self.find(place, env),
            ExprKind::Binary(op, left, right) => match op.apply(integer(left)?, integer(right)?) {
                Ok(value) => Ok(PlainTerm::Const(value)),
                Err(_) => unsupported("arithmetic that faults", expr.span),
            },
            ExprKind::Unary(UnaryOp::Neg, of) => Ok(PlainTerm::Const(Value::Int(-integer(of)?))),
            ExprKind::Ordinal(of) => match self.term(of, env)? {
                PlainTerm::Const(value) => match self.model.ordinal(of.ty, &value) {
                    Some(ordinal) => Ok(PlainTerm::Const(Value::Int(ordinal as i64))),
                    None => unsupported("the number of such a value", expr.span),
                },
                _ => unsupported("the number of a variable's value", expr.span),
            },
            ExprKind::ElementAt(sort, number) => {
                let element = u32::try_from(integer(number)?).ok();
                match element.filter(|element| Some(*element) < self.model.sorts[*sort].fixed_size()) {
                    Some(element) => Ok(PlainTerm::Const(Value::Elem(*sort, element))),
                    None => unsupported("an automaton that does not exist", expr.span),
                }
            }
            _ => unsupported("this kind of expression", expr.span),
        }
    }
}
