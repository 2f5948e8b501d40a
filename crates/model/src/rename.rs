//! Mirror images: the same with two elements of a sort exchanged.

use crate::{
    Argument, Condition, Domain, Expr, ExprKind, Formula, Model, Place, Projection, SortId, State, Type,
    TypeId, TypedId, Value,
};

/// An exchange of two elements of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The sort.
    pub sort: SortId,
    /// One element.
    pub left: u32,
    /// The other.
    pub right: u32,
}

impl Swap {
    /// The formula with the elements exchanged wherever it names them.
    pub fn formula(&self, formula: &Formula) -> Formula {
        let boxed = |of: &Formula| Box::new(self.formula(of));
        match formula {
            Formula::Atom(condition) => Formula::Atom(self.condition(condition)),
            Formula::Not(of) => Formula::Not(boxed(of)),
            Formula::And(of) => Formula::And(of.iter().map(|of| self.formula(of)).collect()),
            Formula::Or(of) => Formula::Or(of.iter().map(|of| self.formula(of)).collect()),
            Formula::AllPaths(of) => Formula::AllPaths(boxed(of)),
            Formula::SomePath(of) => Formula::SomePath(boxed(of)),
            Formula::Next(of) => Formula::Next(boxed(of)),
            Formula::Always(interval, of) => Formula::Always(*interval, boxed(of)),
            Formula::Eventually(interval, of) => Formula::Eventually(*interval, boxed(of)),
            Formula::Until(interval, a, b) => Formula::Until(*interval, boxed(a), boxed(b)),
            Formula::Release(interval, a, b) => Formula::Release(*interval, boxed(a), boxed(b)),
            Formula::Never(observer) => {
                let mut observer = observer.clone();
                for (condition, _) in observer.states.iter_mut().flat_map(|state| &mut state.steps) {
                    *condition = self.condition(condition);
                }
                Formula::Never(observer)
            }
        }
    }

    /// The condition with the elements exchanged.
    pub fn condition(&self, condition: &Condition) -> Condition {
        Condition { locals: condition.locals.clone(), expr: self.expr(&condition.expr) }
    }

    /// The state with the elements exchanged: where they are named, and what arrays hold for them.
    pub fn state(&self, model: &Model, state: &State) -> State {
        let values = model.vars.iter().zip(&state.values);
        let mut live = state.live.clone();
        if let Some(live) = live.get_mut(self.sort.index()) {
            let (left, right) = (self.left as usize, self.right as usize);
            if left.max(right) < live.len() {
                live.swap(left, right);
            }
        }
        State { values: values.map(|(var, value)| self.whole(model, var.ty, value)).collect(), live }
    }

    /// A value with all its parts.
    pub fn whole(&self, model: &Model, ty: TypeId, value: &Value) -> Value {
        match (model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = fields.iter().zip(values);
                Value::Record(parts.map(|(field, value)| self.whole(model, field.ty, value)).collect())
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                let mut parts: Vec<Value> =
                    values.iter().map(|value| self.whole(model, *element, value)).collect();
                for at in 0..parts.len() {
                    // Each pair is exchanged once; what no value of the index type names stays.
                    let to = model
                        .value_at(*index, at as u64)
                        .and_then(|from| model.ordinal(*index, &self.value(&from)).map(|to| to as usize));
                    if let Some(to) = to.filter(|to| *to > at && *to < parts.len()) {
                        parts.swap(at, to);
                    }
                }
                Value::Array(parts)
            }
            (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
                let part = |slot: &Option<Value>| slot.as_ref().map(|it| self.whole(model, *element, it));
                let mut slots: Vec<Option<Value>> = slots.iter().map(part).collect();
                slots.sort();
                Value::Multiset(slots)
            }
            (Type::Sequence { element, .. }, Value::Sequence(values)) => {
                Value::Sequence(values.iter().map(|value| self.whole(model, *element, value)).collect())
            }
            (_, value) => self.value(value),
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Elem(sort, element) if *sort == self.sort && *element == self.left => {
                Value::Elem(*sort, self.right)
            }
            Value::Elem(sort, element) if *sort == self.sort && *element == self.right => {
                Value::Elem(*sort, self.left)
            }
            other => other.clone(),
        }
    }

    fn expr(&self, expr: &Expr) -> Expr {
        Expr { kind: self.kind(&expr.kind), ty: expr.ty, span: expr.span }
    }

    fn boxed(&self, expr: &Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn kind(&self, kind: &ExprKind) -> ExprKind {
        match kind {
            ExprKind::Const(value) => ExprKind::Const(self.value(value)),
            ExprKind::Read(place) => ExprKind::Read(self.place(place)),
            ExprKind::Peek(place) => ExprKind::Peek(self.place(place)),
            ExprKind::IsUndefined(place) => ExprKind::IsUndefined(self.place(place)),
            ExprKind::Len(place) => ExprKind::Len(self.place(place)),
            ExprKind::Unary(op, of) => ExprKind::Unary(*op, self.boxed(of)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, self.boxed(a), self.boxed(b)),
            ExprKind::Equal(a, b) => ExprKind::Equal(self.boxed(a), self.boxed(b)),
            ExprKind::And(of) => ExprKind::And(of.iter().map(|of| self.expr(of)).collect()),
            ExprKind::Or(of) => ExprKind::Or(of.iter().map(|of| self.expr(of)).collect()),
            ExprKind::Implies(a, b) => ExprKind::Implies(self.boxed(a), self.boxed(b)),
            ExprKind::Cond(c, a, b) => ExprKind::Cond(self.boxed(c), self.boxed(a), self.boxed(b)),
            ExprKind::Quantified { quantifier, local, domain, body } => ExprKind::Quantified {
                quantifier: *quantifier,
                local: *local,
                domain: self.domain(domain),
                body: self.boxed(body),
            },
            ExprKind::Call(function, arguments) => {
                ExprKind::Call(*function, arguments.iter().map(|it| self.argument(it)).collect())
            }
            ExprKind::IsMember(of, ty) => ExprKind::IsMember(self.boxed(of), *ty),
            ExprKind::Ordinal(of) => ExprKind::Ordinal(self.boxed(of)),
            ExprKind::ElementAt(sort, of) => ExprKind::ElementAt(*sort, self.boxed(of)),
            ExprKind::Entry(table, of) => ExprKind::Entry(*table, self.boxed(of)),
            ExprKind::Exists(of) => ExprKind::Exists(self.boxed(of)),
        }
    }

    fn argument(&self, argument: &Argument) -> Argument {
        match argument {
            Argument::Place(place) => Argument::Place(self.place(place)),
            Argument::Value(value) => Argument::Value(self.expr(value)),
        }
    }

    fn domain(&self, domain: &Domain) -> Domain {
        match domain {
            Domain::Type(ty) => Domain::Type(*ty),
            Domain::Range { from, to, by } => {
                Domain::Range { from: self.boxed(from), to: self.boxed(to), by: self.boxed(by) }
            }
            Domain::Slots(place) => Domain::Slots(self.place(place)),
        }
    }

    fn place(&self, place: &Place) -> Place {
        let path = place.path.iter().map(|projection| match projection {
            Projection::Field(at) => Projection::Field(*at),
            Projection::Index(at) => Projection::Index(self.expr(at)),
            Projection::Slot(at) => Projection::Slot(self.expr(at)),
            Projection::Item(at) => Projection::Item(self.expr(at)),
        });
        Place { root: place.root, path: path.collect(), ty: place.ty, span: place.span }
    }
}
