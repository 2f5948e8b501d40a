//! Which part of a false condition is to blame, and for which elements.

use shoal_model::{
    Condition, Expr, ExprKind, IndexVec, Local, LocalId, Model, Node, Place, Projection, Quantifier, Root,
    State, Type, UnaryOp, Value, print_expr, walk_expr,
};
use shoal_syntax::Span;

use crate::{
    Instance, Interpreter, StateCell,
    machine::{Executed, LocalCell, ReferenceMachine},
    reads::distinct,
    step::prepare,
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

impl Interpreter<'_> {
    /// The part of an assertion or assumption that is false when a rule's body runs with these choices. Nothing if none is.
    pub fn why_asserted(&self, state: &State, instance: &Instance, choices: &[Value]) -> Option<Blame> {
        let rule = self.model().rules.get(instance.rule)?;
        let mut machine = ReferenceMachine::new(self.model(), state);
        machine.script = choices.to_vec();
        machine.asserted = Some(None);
        machine.push(machine.frame(&rule.code.locals, None));
        if prepare(&mut machine, rule, &instance.args).ok()? {
            // How it ends is known.
            let _ = machine.block(&rule.code.body);
        }
        let mut blame = *machine.asserted.flatten()?;
        // The parameters of a rule are told with its name.
        let is_told =
            |name: &String| rule.params.iter().any(|param| rule.code.locals[param.local].name == *name);
        blame.reads.retain(|(name, _)| !is_told(name));
        Some(blame)
    }
}

/// The innermost part that makes an expression false, on a machine that has evaluated it to false.
pub(crate) fn blamed<'a>(
    mut machine: ReferenceMachine<'a>,
    locals: &'a IndexVec<LocalId, Local>,
    expr: &'a Expr,
) -> Option<Blame> {
    blamed_on(&mut machine, locals, expr, false)
}

/// The same, on a machine that goes on. Locals by themselves are among what is read if so asked.
pub(crate) fn blamed_on<'a>(
    machine: &mut ReferenceMachine<'a>,
    locals: &'a IndexVec<LocalId, Local>,
    expr: &'a Expr,
    with_locals: bool,
) -> Option<Blame> {
    let mut search = BlameDescent { machine, locals, with_locals, bindings: Vec::new(), cells: Vec::new() };
    // Every part that is evaluated again was evaluated before, without a fault.
    search.descend(expr, false).ok()
}

/// The way from a condition to the part of it that is to blame.
struct BlameDescent<'d, 'a> {
    machine: &'d mut ReferenceMachine<'a>,
    locals: &'a IndexVec<LocalId, Local>,
    /// Whether what a local holds says anything: not if it is a parameter of a rule, which is told anyway.
    with_locals: bool,
    bindings: Vec<(String, Value)>,
    cells: Vec<StateCell>,
}

impl<'a> BlameDescent<'_, 'a> {
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
        let (mut places, mut bound) = (Vec::new(), Vec::new());
        walk_expr(expr, &mut |node| match node {
            Node::Place(place) => places.push(place),
            Node::Expr(Expr { kind: ExprKind::Quantified { local, .. }, .. }) => bound.push(*local),
            Node::Expr(_) | Node::Stmt(_) => {}
        });
        let mut reads = Vec::new();
        for place in places {
            if let Root::Local(local) = place.root
                && place.path.is_empty()
                && (!self.with_locals || bound.contains(&local) || self.is_binding(local))
            {
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

    /// Whether a local is a quantified variable around the part.
    fn is_binding(&self, local: LocalId) -> bool {
        let name = self.machine.local(local).map(|local| &local.name);
        name.is_some_and(|name| self.bindings.iter().any(|(known, _)| known == name))
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
