//! Values and conditions seen from one element: what is known of a value, and on which views a condition holds.

use shoal_model::{Domain, Expr, ExprKind, LocalId, Place, Root, TypeId, UnaryOp, Value, walk_expr};

use super::{Abstract, ViewPath, ViewWalk, Who};
use crate::activity::{atoms::ValueClass, cube::CubeUnion};

impl<'a> ViewWalk<'a> {
    /// The views on which an index is the element itself, and those on which it is another.
    pub(super) fn split(&mut self, path: &ViewPath, index: &'a Expr) -> (CubeUnion, CubeUnion) {
        let under = path.under.clone();
        let value = self.value(path, index, &under);
        self.who_is(&value, &under)
    }

    fn who_is(&self, value: &Abstract, under: &CubeUnion) -> (CubeUnion, CubeUnion) {
        let Some(cases) = self.cases(value, under) else { return (under.clone(), under.clone()) };
        let (mut me, mut another) = (CubeUnion::default(), CubeUnion::default());
        for (class, under) in cases {
            match class {
                ValueClass::Me => me = me.or(under),
                ValueClass::Any => (me, another) = (me.or(under.clone()), another.or(under)),
                // Whoever follows nothing faults; that this ends the step is not made use of.
                _ => another = another.or(under),
            }
        }
        (me, another)
    }

    /// The classes that a value may be in, each with the views on which it is.
    fn cases(&self, value: &Abstract, under: &CubeUnion) -> Option<Vec<(ValueClass, CubeUnion)>> {
        match value {
            Abstract::Unknown => None,
            Abstract::Classes(classes) => {
                Some(classes.iter().map(|class| (class.clone(), under.clone())).collect())
            }
            Abstract::Before(at) => {
                let all = self.atoms.all();
                let case = |(bit, class): (usize, &ValueClass)| {
                    (class.clone(), under.and_cube(&all.with(*at, 1 << bit)))
                };
                let cases = self.atoms.atoms[*at].classes.iter().enumerate().map(case);
                Some(cases.filter(|(_, under)| !under.is_false()).collect())
            }
        }
    }

    pub(super) fn constant(&self, value: &Value) -> Abstract {
        match value {
            Value::Elem(sort, _) if self.atoms.sorts.contains(sort) => {
                Abstract::Classes(vec![ValueClass::Me, ValueClass::Another])
            }
            Value::Elem(..) | Value::Clock(_) | Value::Record(_) | Value::Array(_) => Abstract::Unknown,
            Value::Multiset(_) | Value::Sequence(_) => Abstract::Unknown,
            Value::Undefined => Abstract::Classes(vec![ValueClass::Undefined]),
            value => Abstract::Classes(vec![ValueClass::Value(value.clone())]),
        }
    }

    /// Reads a place.
    pub(super) fn read(&mut self, path: &ViewPath, place: &'a Place, under: &CubeUnion) -> Abstract {
        if let Root::Local(local) = place.root {
            self.ways(path, place);
            return match self.who.get(&local) {
                _ if !place.path.is_empty() => Abstract::Unknown,
                Some(Who::Me) => Abstract::Classes(vec![ValueClass::Me]),
                Some(Who::Another) => Abstract::Classes(vec![ValueClass::Another]),
                None => path.locals.get(&local).cloned().unwrap_or(Abstract::Unknown),
            };
        }
        if let Some(at) = self.atoms.global(place) {
            return path.now(self.atoms, at);
        }
        let Some((at, index)) = self.atoms.own(place) else {
            self.ways(path, place);
            return Abstract::Unknown;
        };
        let index = self.value(path, index, under);
        let (me, another) = self.who_is(&index, under);
        if !path.written[at] {
            let known = std::mem::take(&mut self.reads[at]);
            self.reads[at] = known.or(me);
        }
        if another.is_false() { path.now(self.atoms, at) } else { Abstract::Unknown }
    }

    /// Evaluates an expression on these views.
    pub(super) fn value(&mut self, path: &ViewPath, expr: &'a Expr, under: &CubeUnion) -> Abstract {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value),
            ExprKind::Read(place) | ExprKind::Peek(place) => self.read(path, place, under),
            ExprKind::Len(place) => {
                self.ways(path, place);
                Abstract::Unknown
            }
            ExprKind::Cond(condition, then, other) => {
                let (holds, fails) = self.truth(path, condition, under.clone());
                self.value(path, then, &holds);
                self.value(path, other, &fails);
                Abstract::Unknown
            }
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, of)
            | ExprKind::Ordinal(of)
            | ExprKind::ElementAt(_, of)
            | ExprKind::Entry(_, of) => {
                self.value(path, of, under);
                Abstract::Unknown
            }
            ExprKind::Binary(op, a, b) if !op.compares() => {
                self.value(path, a, under);
                self.value(path, b, under);
                Abstract::Unknown
            }
            ExprKind::Call(_, arguments) => {
                arguments.iter().for_each(|argument| self.argument(path, argument));
                Abstract::Unknown
            }
            _ => {
                let (holds, fails) = self.truth(path, expr, under.clone());
                match (holds.is_false(), fails.is_false()) {
                    (false, true) => self.constant(&Value::Bool(true)),
                    (true, false) => self.constant(&Value::Bool(false)),
                    _ => Abstract::Unknown,
                }
            }
        }
    }

    /// The views on which an expression may be true, and those on which it may be false.
    pub(super) fn truth(
        &mut self,
        path: &ViewPath,
        expr: &'a Expr,
        under: CubeUnion,
    ) -> (CubeUnion, CubeUnion) {
        match &expr.kind {
            ExprKind::And(of) => {
                let mut fails = CubeUnion::default();
                let mut under = under;
                for part in of {
                    let (holds, not) = self.truth(path, part, under);
                    (under, fails) = (holds, fails.or(not));
                }
                (under, fails)
            }
            ExprKind::Or(of) => {
                let mut holds = CubeUnion::default();
                let mut under = under;
                for part in of {
                    let (now, not) = self.truth(path, part, under);
                    (under, holds) = (not, holds.or(now));
                }
                (holds, under)
            }
            ExprKind::Implies(a, b) => {
                let (holds, fails) = self.truth(path, a, under);
                let (then, not) = self.truth(path, b, holds);
                (fails.or(then), not)
            }
            ExprKind::Unary(UnaryOp::Not, of) => {
                let (holds, fails) = self.truth(path, of, under);
                (fails, holds)
            }
            ExprKind::Cond(condition, then, other) => {
                let (holds, fails) = self.truth(path, condition, under);
                let (a, not_a) = self.truth(path, then, holds);
                let (b, not_b) = self.truth(path, other, fails);
                (a.or(b), not_a.or(not_b))
            }
            ExprKind::Equal(a, b) => {
                let (a, b) = (self.value(path, a, &under), self.value(path, b, &under));
                self.compare(&a, &b, under, &same)
            }
            ExprKind::Binary(op, a, b) if op.compares() => {
                let (a, b) = (self.value(path, a, &under), self.value(path, b, &under));
                self.compare(&a, &b, under, &|a, b| match (a, b) {
                    (ValueClass::Value(Value::Int(a)), ValueClass::Value(Value::Int(b))) => {
                        op.apply(*a, *b).ok().and_then(|truth| truth.as_bool())
                    }
                    _ => None,
                })
            }
            ExprKind::IsUndefined(place) => {
                let value = self.read(path, place, &under);
                self.test(&value, under, &|class| match class {
                    ValueClass::Undefined => Some(true),
                    _ => Some(false),
                })
            }
            ExprKind::IsMember(of, ty) => {
                let value = self.value(path, of, &under);
                self.test(&value, under, &|class| match class {
                    ValueClass::Undefined => Some(false),
                    ValueClass::Value(value) => Some(self.model.ordinal(*ty, value).is_some()),
                    ValueClass::Me | ValueClass::Another => self.is_member(*ty),
                    ValueClass::Any => None,
                })
            }
            ExprKind::Quantified { local, domain, body, .. } => {
                self.quantified(path, *local, domain, body, &under);
                (under.clone(), under)
            }
            ExprKind::Exists(of) => {
                self.value(path, of, &under);
                (under.clone(), under)
            }
            ExprKind::Const(Value::Bool(true)) => (under, CubeUnion::default()),
            ExprKind::Const(Value::Bool(false)) => (CubeUnion::default(), under),
            ExprKind::Read(place) | ExprKind::Peek(place) => {
                let value = self.read(path, place, &under);
                self.test(&value, under, &|class| match class {
                    ValueClass::Value(value) => value.as_bool(),
                    _ => None,
                })
            }
            _ => {
                walk_expr(expr, &mut |node| self.mention(node, &under));
                (under.clone(), under)
            }
        }
    }

    /// Whether elements belong to a type, where that is known.
    fn is_member(&self, ty: TypeId) -> Option<bool> {
        let of_type = self.model.sorts_of(ty);
        match self.atoms.sorts.iter().filter(|sort| of_type.contains(sort)).count() {
            0 => Some(false),
            count if count == self.atoms.sorts.len() => Some(true),
            _ => None,
        }
    }

    /// The bound variable is the element itself, and then another.
    fn quantified(
        &mut self,
        path: &ViewPath,
        local: LocalId,
        domain: &'a Domain,
        body: &'a Expr,
        under: &CubeUnion,
    ) {
        self.domain(domain, under);
        let over = match domain {
            Domain::Type(ty) => self.atoms.refers(self.model, *ty),
            _ => false,
        };
        let before = self.who.remove(&local);
        let whos: &[Option<Who>] = if over { &[Some(Who::Me), Some(Who::Another)] } else { &[None] };
        for who in whos {
            self.who.extend(who.map(|who| (local, who)));
            self.value(path, body, under);
        }
        self.who.remove(&local);
        self.who.extend(before.map(|who| (local, who)));
    }

    fn test(
        &self,
        value: &Abstract,
        under: CubeUnion,
        is: &dyn Fn(&ValueClass) -> Option<bool>,
    ) -> (CubeUnion, CubeUnion) {
        self.compare(value, &Abstract::Classes(vec![ValueClass::Undefined]), under, &|class, _| is(class))
    }

    fn compare(
        &self,
        a: &Abstract,
        b: &Abstract,
        under: CubeUnion,
        is: &dyn Fn(&ValueClass, &ValueClass) -> Option<bool>,
    ) -> (CubeUnion, CubeUnion) {
        let (Some(left), Some(right)) = (self.cases(a, &under), self.cases(b, &under)) else {
            return (under.clone(), under);
        };
        let (mut holds, mut fails) = (CubeUnion::default(), CubeUnion::default());
        for (a, on) in &left {
            for (b, there) in &right {
                let both = on.and(there);
                if is(a, b) != Some(false) {
                    holds = holds.or(both.clone());
                }
                if is(a, b) != Some(true) {
                    fails = fails.or(both);
                }
            }
        }
        (holds, fails)
    }
}

/// Whether values of two classes are the same, where that is known.
fn same(a: &ValueClass, b: &ValueClass) -> Option<bool> {
    match (a, b) {
        (ValueClass::Any, _) | (_, ValueClass::Any) | (ValueClass::Another, ValueClass::Another) => None,
        (a, b) => Some(a == b),
    }
}
