//! Closed conditions: those that depend on nothing but what is kept for an element and what belongs to none.

use shoal_model::{
    Argument, Expr, ExprKind, FunctionId, LocalId, Place, Projection, Root, Stmt, StmtKind, TypedId,
};
use smallvec::SmallVec;

use crate::{effects::plain_local, system::OpenSystem};

/// What a local is in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalMeaning {
    /// The element that is asked about.
    Element,
    /// The value of something closed.
    Value,
    Unknown,
}

impl OpenSystem<'_> {
    /// Whether an expression depends on nothing but own cells of the elements that some locals are, and what belongs to no
    /// element. Collects the families it reads.
    pub(crate) fn is_closed(
        &self,
        expr: &Expr,
        own: &dyn Fn(LocalId) -> bool,
        families: &mut Vec<usize>,
    ) -> bool {
        let meaning = |local| if own(local) { LocalMeaning::Element } else { LocalMeaning::Unknown };
        ClosedCondition { system: self, families, calls: Vec::new() }.expr(expr, &meaning)
    }
}

struct ClosedCondition<'a, 'm> {
    system: &'a OpenSystem<'m>,
    families: &'a mut Vec<usize>,
    /// The functions that are being looked at.
    calls: Vec<FunctionId>,
}

impl ClosedCondition<'_, '_> {
    fn expr(&mut self, expr: &Expr, meaning: &dyn Fn(LocalId) -> LocalMeaning) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(place) | ExprKind::Peek(place) | ExprKind::IsUndefined(place) => {
                self.place(place, meaning)
            }
            ExprKind::Unary(_, of) | ExprKind::IsMember(of, _) => self.expr(of, meaning),
            ExprKind::Binary(_, a, b) | ExprKind::Implies(a, b) => {
                self.expr(a, meaning) && self.expr(b, meaning)
            }
            ExprKind::Equal(a, b) => {
                self.system.model.kind(a.ty).is_scalar() && self.expr(a, meaning) && self.expr(b, meaning)
            }
            ExprKind::And(operands) | ExprKind::Or(operands) => {
                operands.iter().all(|operand| self.expr(operand, meaning))
            }
            ExprKind::Cond(a, b, c) => {
                self.expr(a, meaning) && self.expr(b, meaning) && self.expr(c, meaning)
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments, meaning),
            ExprKind::Quantified { .. }
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => false,
        }
    }

    /// A function that does nothing but give the value of a condition.
    fn call(
        &mut self,
        function: FunctionId,
        arguments: &[Argument],
        meaning: &dyn Fn(LocalId) -> LocalMeaning,
    ) -> bool {
        let callee = &self.system.model.functions[function];
        let [Stmt { kind: StmtKind::Return(Some(value)), .. }] = &callee.code.body[..] else { return false };
        if self.calls.contains(&function) {
            return false;
        }
        let mut params: SmallVec<[(LocalId, LocalMeaning); 4]> = SmallVec::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            let is = self.argument(argument, meaning);
            if is == LocalMeaning::Unknown {
                return false;
            }
            params.push((*param, is));
        }
        let inside = |local: LocalId| {
            params.iter().find(|(param, _)| *param == local).map_or(LocalMeaning::Unknown, |(_, is)| *is)
        };
        self.calls.push(function);
        let closed = self.expr(value, &inside);
        self.calls.pop();
        closed
    }

    fn argument(&mut self, argument: &Argument, meaning: &dyn Fn(LocalId) -> LocalMeaning) -> LocalMeaning {
        let (local, closed) = match argument {
            Argument::Value(value) => (plain_local(value), self.expr(value, meaning)),
            Argument::Place(place) => {
                let local = match place.root {
                    Root::Local(local) => Some(local).filter(|_| place.path.is_empty()),
                    Root::Var(_) => None,
                };
                (local, self.place(place, meaning))
            }
        };
        match (local.map(meaning), closed) {
            (_, false) => LocalMeaning::Unknown,
            (Some(is), true) => is,
            (None, true) => LocalMeaning::Value,
        }
    }

    fn place(&mut self, place: &Place, meaning: &dyn Fn(LocalId) -> LocalMeaning) -> bool {
        let system = self.system;
        if !system.model.kind(place.ty).is_scalar() {
            return false;
        }
        let var = match place.root {
            Root::Local(of) => return meaning(of) != LocalMeaning::Unknown && place.path.is_empty(),
            Root::Var(var) => var,
        };
        let mut path = Vec::new();
        for projection in &place.path {
            match projection {
                Projection::Field(at) => path.push(Some(*at as usize)),
                Projection::Index(index) => {
                    let open = system.model.sorts_of(index.ty).iter().any(|sort| system.any[sort.index()]);
                    let closed = match open {
                        true => plain_local(index).is_some_and(|of| meaning(of) == LocalMeaning::Element),
                        false => self.expr(index, meaning),
                    };
                    if !closed {
                        return false;
                    }
                    path.push(None);
                }
                Projection::Slot(_) | Projection::Item(_) => return false,
            }
        }
        self.families.extend(system.layout.families_at(var, &path));
        true
    }
}
