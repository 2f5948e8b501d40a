//! Which steps a state may have, told from its cells.
//!
//! Most instances of rules are not enabled, and nearly always for a reason that has nothing to do with clocks: some process is
//! elsewhere. So before an instance is tried on a copy of the state, the conjuncts of its guard that read no clock are evaluated,
//! each as soon as the parameters before it have values. They keep their order: a conjunct behind one that may fault decides
//! nothing, for then the guard faults, and that is told. Those that compare a variable with a constant, which is where a process
//! is, are looked up in the state itself; so are those of the invariant of locations.

use shoal_model::{
    Condition, Domain, Expr, ExprKind, Model, Node, Parameter, Place, Projection, Root, Rule, Type, TypedId,
    Value, walk_expr,
};
use shoal_syntax::Span;
use shoal_tctl::TctlHalt;

use crate::{
    bounds::local_of,
    layout::ZoneLayout,
    machine::{Clocked, ZoneMachine, ZoneResult},
    state::{UNDEFINED, ZoneState},
};

/// That a variable has a value: most often that a process is in a location.
#[derive(Clone, Copy)]
struct CellTest {
    cell: usize,
    value: i64,
}

impl CellTest {
    fn new(model: &Model, layout: &ZoneLayout, expr: &Expr) -> Option<CellTest> {
        let ExprKind::Equal(left, right) = &expr.kind else { return None };
        let (ExprKind::Read(place), ExprKind::Const(value)) = (&left.kind, &right.kind) else { return None };
        let value = match value {
            Value::Bool(value) => i64::from(*value),
            Value::Int(value) => *value,
            Value::Enum(_, at) => i64::from(*at),
            _ => return None,
        };
        let Root::Var(var) = place.root else { return None };
        let home = layout.home(var);
        let plain = place.path.is_empty() && home.sort.is_none() && *model.kind(place.ty) != Type::Clock;
        plain.then_some(CellTest { cell: home.at.cells, value })
    }

    /// Whether it holds; nothing if the variable is undefined, which is a fault.
    fn holds(self, state: &ZoneState) -> Option<bool> {
        match state.globals[self.cell] {
            UNDEFINED => None,
            value => Some(value == self.value),
        }
    }
}

/// The conjuncts of a rule's guard that are evaluated before it is tried.
pub(crate) struct GuardScreen<'m> {
    rule: &'m Rule,
    /// The first of them, as far as they are such.
    tests: Vec<CellTest>,
    /// The others, by how many parameters have values: what can be evaluated then, and not before.
    conjuncts: Vec<Vec<&'m Expr>>,
}

/// Parameters with more values are left to the step.
const MOST_VALUES: u64 = 1 << 12;

/// Is told of the values of the first parameters, as decisions of a script.
pub(crate) type ScriptVisitor<'d> = &'d mut dyn FnMut(&[usize]) -> Result<(), TctlHalt>;

impl<'m> GuardScreen<'m> {
    /// Nothing where something may fault before the guard does.
    pub(crate) fn new(
        model: &'m Model,
        layout: &ZoneLayout,
        pure: &[bool],
        rule: &'m Rule,
    ) -> Option<GuardScreen<'m>> {
        let plain = |param: &Parameter| is_plain(model, layout, &param.domain);
        if !rule.bindings.is_empty() || !rule.params.iter().all(plain) {
            return None;
        }
        let (mut tests, mut conjuncts) = (Vec::new(), vec![Vec::new()]);
        let mut bound = 0;
        for conjunct in conjuncts_of(rule.guard.as_ref()?) {
            if is_sound_timing(model, rule, conjunct) {
                continue;
            }
            let first = bound == 0 && conjuncts[0].is_empty();
            if let Some(test) = CellTest::new(model, layout, conjunct).filter(|_| first) {
                tests.push(test);
                continue;
            }
            bound = needed(rule, conjunct).max(bound);
            // A step takes an element out of its class as it becomes a parameter. Here none is taken out, so it is the last.
            let before = &rule.params[..bound.saturating_sub(1)];
            let taken_out = before.iter().any(|param| is_lumped(model, layout, &param.domain));
            if taken_out || !is_of_cells(model, pure, conjunct) {
                break;
            }
            conjuncts.resize_with(bound + 1, Vec::new);
            conjuncts[bound].push(conjunct);
        }
        Some(GuardScreen { rule, tests, conjuncts })
    }

    /// Tells of all values of the first parameters with which the guard may hold, or fault, in order. The machine is one on the state,
    /// and needs no zone.
    pub(crate) fn pass<'a>(
        &self,
        state: &ZoneState,
        machine: impl FnOnce() -> ZoneMachine<'a>,
        visitor: ScriptVisitor<'_>,
    ) -> Result<(), TctlHalt> {
        for test in &self.tests {
            match test.holds(state) {
                Some(true) => {}
                Some(false) => return Ok(()),
                None => return visitor(&[]),
            }
        }
        if self.conjuncts.iter().all(Vec::is_empty) {
            return visitor(&[]);
        }
        let mut machine = machine();
        machine.push_frame(&self.rule.code.locals);
        self.pass_from(&mut machine, &mut Vec::new(), visitor)
    }

    fn pass_from(
        &self,
        machine: &mut ZoneMachine<'_>,
        script: &mut Vec<usize>,
        visitor: ScriptVisitor<'_>,
    ) -> Result<(), TctlHalt> {
        let bound = script.len();
        for conjunct in &self.conjuncts[bound] {
            match machine.tried(conjunct) {
                Some(0) => return Ok(()),
                Some(_) => {}
                // It faults: the step itself says so.
                None => return visitor(script),
            }
        }
        if bound + 1 == self.conjuncts.len() {
            return visitor(script);
        }
        let param = &self.rule.params[bound];
        for (way, value) in machine.arguments(&param.domain, self.rule.span)?.into_iter().enumerate() {
            machine.set_local(param.local, value);
            script.push(way);
            self.pass_from(machine, script, visitor)?;
            script.pop();
        }
        Ok(())
    }
}

/// A condition whose parts all have to hold, each perhaps only where a test does: the invariant of locations.
pub(crate) struct PassingScreen<'m> {
    condition: &'m Condition,
    parts: Vec<(Option<CellTest>, &'m Expr)>,
}

impl<'m> PassingScreen<'m> {
    pub(crate) fn new(model: &Model, layout: &ZoneLayout, condition: &'m Condition) -> PassingScreen<'m> {
        let test = |part: &Expr| match &part.kind {
            ExprKind::Implies(left, _) => CellTest::new(model, layout, left),
            _ => None,
        };
        let parts = conjuncts_of(&condition.expr).into_iter().map(|part| (test(part), part));
        PassingScreen { condition, parts: parts.collect() }
    }

    /// Where it stood in the source.
    pub(crate) fn span(&self) -> Option<Span> {
        Some(self.condition.expr.span)
    }

    /// What has to hold of the clocks for it to be true.
    pub(crate) fn clocked(&self, machine: &mut ZoneMachine<'_>) -> ZoneResult<Clocked> {
        let asks = |(test, part): &(Option<CellTest>, &'m Expr)| {
            let is_elsewhere = test.is_some_and(|test| test.holds(&machine.state) == Some(false));
            (!is_elsewhere).then_some(*part)
        };
        let parts: Vec<&Expr> = self.parts.iter().filter_map(asks).collect();
        machine.conjunction(self.condition, &parts)
    }
}

/// Whether a parameter has values that are few, and finding them never faults.
fn is_plain(model: &Model, layout: &ZoneLayout, domain: &Domain) -> bool {
    match domain {
        Domain::Type(_) if is_lumped(model, layout, domain) => true,
        Domain::Type(ty) => model.cardinality(*ty).is_some_and(|values| values <= MOST_VALUES),
        Domain::Range { from, to, by } => {
            let (from, to, by) = (integer(from), integer(to), integer(by));
            let few = |(from, to): (i64, i64)| to.saturating_sub(from) < MOST_VALUES as i64;
            by == Some(1) && from.zip(to).is_some_and(few)
        }
        Domain::Slots(_) => false,
    }
}

/// The number that an expression is.
fn integer(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Const(Value::Int(number)) => Some(number),
        _ => None,
    }
}

/// Whether the values of a parameter are elements of a lumped sort.
fn is_lumped(model: &Model, layout: &ZoneLayout, domain: &Domain) -> bool {
    match domain {
        Domain::Type(ty) => match model.kind(*ty) {
            Type::Ref { sort, .. } => layout.local[sort.index()].is_some(),
            _ => false,
        },
        Domain::Range { .. } | Domain::Slots(_) => false,
    }
}

/// The parts of a conjunction, in order.
fn conjuncts_of(guard: &Expr) -> Vec<&Expr> {
    match &guard.kind {
        ExprKind::And(parts) => parts.iter().flat_map(conjuncts_of).collect(),
        _ => vec![guard],
    }
}

/// How many parameters have values when all that an expression reads has one.
fn needed(rule: &Rule, expr: &Expr) -> usize {
    let mut needed = 0;
    walk_expr(expr, &mut |node| {
        if let Node::Place(Place { root: Root::Local(local), .. }) = node {
            let at = rule.params.iter().position(|param| param.local == *local);
            needed = needed.max(at.map_or(0, |at| at + 1));
        }
    });
    needed
}

/// Whether an expression can be evaluated on cells, and leaves them as they are.
fn is_of_cells(model: &Model, pure: &[bool], expr: &Expr) -> bool {
    let mut of_cells = true;
    walk_expr(expr, &mut |node| match node {
        Node::Expr(Expr { kind: ExprKind::Call(function, _), .. }) => of_cells &= pure[function.index()],
        Node::Expr(inner) => of_cells &= *model.kind(inner.ty) != Type::Clock,
        Node::Place(place) => of_cells &= *model.kind(place.ty) != Type::Clock,
        Node::Stmt(_) => {}
    });
    of_cells
}

/// Whether an expression compares a clock with a constant and cannot fault.
fn is_sound_timing(model: &Model, rule: &Rule, expr: &Expr) -> bool {
    let (left, right) = match &expr.kind {
        ExprKind::Binary(op, left, right) if op.compares() => (left, right),
        ExprKind::Equal(left, right) => (left, right),
        _ => return false,
    };
    let is_constant = |expr: &Expr| matches!(expr.kind, ExprKind::Const(_));
    let is_clock = |expr: &Expr| match &expr.kind {
        ExprKind::Read(place) => *model.kind(place.ty) == Type::Clock && is_found(model, rule, place),
        _ => false,
    };
    is_clock(left) && is_constant(right) || is_constant(left) && is_clock(right)
}

/// Whether a place is there in every state: its indices are parameters of just the type that the array is indexed by.
fn is_found(model: &Model, rule: &Rule, place: &Place) -> bool {
    let Root::Var(var) = place.root else { return false };
    let mut ty = model.vars[var].ty;
    for projection in &place.path {
        ty = match (projection, model.kind(ty)) {
            (Projection::Index(index), Type::Array { index: of, element })
                if index.ty == *of && is_parameter(rule, index) =>
            {
                *element
            }
            (Projection::Field(field), Type::Record { fields }) => fields[*field as usize].ty,
            _ => return false,
        };
    }
    true
}

fn is_parameter(rule: &Rule, expr: &Expr) -> bool {
    local_of(expr).is_some_and(|local| rule.params.iter().any(|param| param.local == local))
}
