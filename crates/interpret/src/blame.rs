//! Which part of a false condition is to blame, and for which elements.

use shoal_model::{
    Condition, Expr, ExprKind, IndexVec, Local, LocalId, Model, Node, Place, Projection, Quantifier, Root,
    State, Type, UnaryOp, Value, print_expr, walk_expr,
};
use shoal_syntax::Span;

use crate::{
    Interpreter, StateCell,
    machine::{Executed, LocalCell, ReferenceMachine},
    reads::distinct,
};

/// A part of a condition that makes it false.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// Where the part stands.
    pub span: Span,
    /// The part as text.
    pub text: String,
    /// The value the part has, and should not have.
    pub value: bool,
    /// The quantified variables around it, outermost first, and their values. A slot of a multiset is a number.
    pub bindings: Vec<(String, Value)>,
    /// The places it reads, with indices worked out, and what is there.
    pub reads: Vec<(String, Value)>,
    /// The cells that it hangs on: those it reads, and those that what it is implied by reads.
    pub cells: Vec<StateCell>,
}

/// The innermost part that makes a condition false in a state. Nothing if it holds or cannot be evaluated.
///
/// Goes down through conjunctions (to the first that fails), quantifiers (to the first witness), implications,
/// negations and conditionals. A disjunction of which all parts fail is to blame as a whole; so is a call.
pub fn blame(model: &Model, state: &State, condition: &Condition) -> Vec<Blame> {
    let Ok(interpreter) = Interpreter::new(model) else { return Vec::new() };
    if interpreter.holds(state, condition) != Ok(false) {
        return Vec::new();
    }
    let mut machine = ReferenceMachine::new(model, state);
    machine.assumes = false;
    machine.push(machine.frame(&condition.locals, None));
    blamed(machine, &condition.locals, &condition.expr).into_iter().collect()
}

/// The innermost part that makes an expression false, on a machine that has evaluated it to false.
pub(crate) fn blamed<'a>(
    machine: ReferenceMachine<'a>,
    locals: &'a IndexVec<LocalId, Local>,
    expr: &'a Expr,
) -> Option<Blame> {
    let mut search = BlameDescent { machine, locals, bindings: Vec::new(), cells: Vec::new() };
    // Every part that is evaluated again was evaluated before, without a fault.
    search.descend(expr, false).ok()
}

/// The way from a condition to the part of it that is to blame.
struct BlameDescent<'a> {
    machine: ReferenceMachine<'a>,
    locals: &'a IndexVec<LocalId, Local>,
    bindings: Vec<(String, Value)>,
    cells: Vec<StateCell>,
}

impl<'a> BlameDescent<'a> {
    /// Finds the part of an expression that gives it its value.
    fn descend(&mut self, expr: &'a Expr, value: bool) -> Executed<Blame> {
        match (&expr.kind, value) {
            (ExprKind::And(operands), false) | (ExprKind::Or(operands), true) => {
                for operand in operands {
                    if self.machine.truth(operand)? == value {
                        return self.descend(operand, value);
                    }
                }
            }
            (ExprKind::And(operands) | ExprKind::Or(operands), _) => {
                if let [only] = operands.as_slice() {
                    return self.descend(only, value);
                }
            }
            (ExprKind::Unary(UnaryOp::Not, operand), _) => return self.descend(operand, !value),
            (ExprKind::Implies(left, right), _) => {
                return match self.logged(left)? {
                    true => self.descend(right, value),
                    false => self.descend(left, false),
                };
            }
            (ExprKind::Cond(condition, then, other), _) => {
                return match self.logged(condition)? {
                    true => self.descend(then, value),
                    false => self.descend(other, value),
                };
            }
            (ExprKind::Quantified { quantifier: Quantifier::Forall, local, domain, body }, false)
            | (ExprKind::Quantified { quantifier: Quantifier::Exists, local, domain, body }, true) => {
                for witness in self.machine.domain(domain)? {
                    self.machine.set(*local, LocalCell::Value(witness.clone()));
                    if self.machine.truth(body)? == value {
                        let name = self.machine.local(*local).map(|local| local.name.clone());
                        self.bindings.push((name.unwrap_or_else(|| local.to_string()), witness));
                        return self.descend(body, value);
                    }
                }
            }
            _ => {}
        }
        self.logged(expr)?;
        Ok(Blame {
            span: expr.span,
            text: print_expr(self.machine.model, self.locals, expr),
            value,
            reads: self.reads(expr),
            bindings: std::mem::take(&mut self.bindings),
            cells: distinct(Some(std::mem::take(&mut self.cells))),
        })
    }

    /// The value of a part that the blame hangs on; what it reads is taken down.
    fn logged(&mut self, expr: &'a Expr) -> Executed<bool> {
        self.machine.read = Some(std::mem::take(&mut self.cells));
        let value = self.machine.truth(expr);
        self.cells = self.machine.read.take().unwrap_or_default();
        value
    }

    /// The places an expression reads. Those inside a quantifier over its variable have no one value.
    fn reads(&mut self, expr: &'a Expr) -> Vec<(String, Value)> {
        let mut places = Vec::new();
        walk_expr(expr, &mut |node| {
            if let Node::Place(place) = node {
                places.push(place);
            }
        });
        let mut reads = Vec::new();
        for place in places {
            // A bound variable by itself is among the bindings.
            if matches!(place.root, Root::Local(_)) && place.path.is_empty() {
                continue;
            }
            if let (Ok(name), Ok(value)) = (self.name(place), self.machine.peek(place)) {
                let read = (name, value);
                if !reads.contains(&read) {
                    reads.push(read);
                }
            }
        }
        reads
    }

    /// A place with its indices worked out, such as `state[Proc_1].owner`.
    fn name(&mut self, place: &'a Place) -> Executed<String> {
        let model = self.machine.model;
        let (mut text, mut ty) = match place.root {
            Root::Var(var) => (model.vars[var].name.clone(), model.vars[var].ty),
            Root::Local(local) => match self.machine.local(local) {
                Some(local) => (local.name.clone(), local.ty),
                None => (local.to_string(), place.ty),
            },
        };
        for projection in &place.path {
            match (projection, model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    if let Some(field) = fields.get(*at as usize) {
                        text = format!("{text}.{}", field.name);
                        ty = field.ty;
                    }
                }
                (Projection::Field(_), _) => {}
                (Projection::Index(at) | Projection::Slot(at) | Projection::Item(at), kind) => {
                    let at = self.machine.eval(at)?;
                    text = format!("{text}[{}]", model.show(&at));
                    if let Type::Array { element, .. }
                    | Type::Multiset { element, .. }
                    | Type::Sequence { element, .. } = kind
                    {
                        ty = *element;
                    }
                }
            }
        }
        Ok(text)
    }
}
