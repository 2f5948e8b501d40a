//! Objects under names that stay. In a run the number of an object that is gone goes to another. For people, objects are
//! numbered in the order in which they were made, and it is said where that was.

use shoal_model::{
    FunctionId, Model, Node, Rule, Sort, SortId, State, Step, Stmt, StmtKind, Trace, Type, TypeId, TypedId,
    Value, walk_code,
};
use shoal_syntax::Span;

/// An object of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Created {
    pub(crate) name: String,
    /// Its name in the states of the run, from that step on.
    pub(crate) in_states: String,
    /// The number of the step; 0 is the start.
    pub(crate) step: usize,
    pub(crate) span: Span,
}

/// The run with its objects numbered as they were made, and where each was.
pub(crate) fn with_stable_names(model: &Model, trace: &Trace) -> (Trace, Vec<Created>) {
    if !model.sorts.iter().any(Sort::is_growing) {
        return (trace.clone(), Vec::new());
    }
    let mut names = ObjectNames { model, numbers: vec![Vec::new(); model.sorts.len()], created: Vec::new() };
    let mut counts = vec![0; model.sorts.len()];
    let nothing = State { values: Vec::new(), live: vec![Vec::new(); model.sorts.len()] };
    names.step(&nothing, &trace.state, 0, &model.starts[trace.start], &mut counts);
    let mut renamed = Trace { state: names.state(&trace.state), steps: Vec::new(), ..trace.clone() };
    for (number, (step, before)) in trace.steps.iter().zip(trace.states()).enumerate() {
        names.step(before, &step.state, number + 1, &model.rules[step.rule], &mut counts);
        renamed.steps.push(Step { state: names.state(&step.state), ..step.clone() });
    }
    (renamed, names.created)
}

struct ObjectNames<'m> {
    model: &'m Model,
    /// For each growing sort and number in use, which object has it.
    numbers: Vec<Vec<u32>>,
    created: Vec<Created>,
}

impl ObjectNames<'_> {
    /// Gives names to what a step has made. Within a step no number changes hands.
    fn step(&mut self, before: &State, after: &State, step: usize, rule: &Rule, counts: &mut [u32]) {
        for (id, sort) in self.model.sorts.enumerate().filter(|(_, sort)| sort.is_growing()) {
            let is_new = |element: &u32| after.is_live(id, *element) && !before.is_live(id, *element);
            let made: Vec<u32> = (0..after.live[id.index()].len() as u32).filter(is_new).collect();
            let sites = sites(self.model, rule, id, made.len());
            let numbers = &mut self.numbers[id.index()];
            for (element, span) in made.into_iter().zip(sites) {
                numbers.resize(numbers.len().max(element as usize + 1), 0);
                numbers[element as usize] = counts[id.index()];
                counts[id.index()] += 1;
                let name = sort.element_name(numbers[element as usize]);
                let in_states = sort.element_name(element);
                self.created.push(Created { name, in_states, step, span });
            }
        }
    }

    fn number(&self, sort: SortId, element: u32) -> u32 {
        self.numbers[sort.index()].get(element as usize).copied().unwrap_or(element)
    }

    fn state(&self, state: &State) -> State {
        let values =
            state.values.iter().zip(self.model.vars.iter()).map(|(value, var)| self.value(value, var.ty));
        let lives = state.live.iter().zip(self.model.sorts.ids()).map(|(live, sort)| {
            let mut renamed = Vec::new();
            for (element, live) in live.iter().enumerate().filter(|(_, live)| **live) {
                put(&mut renamed, self.number(sort, element as u32), *live, false);
            }
            renamed
        });
        State { values: values.collect(), live: lives.collect() }
    }

    fn value(&self, value: &Value, ty: TypeId) -> Value {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => Value::Record(
                values.iter().zip(fields).map(|(value, field)| self.value(value, field.ty)).collect(),
            ),
            (Type::Array { index, element }, Value::Array(values)) => {
                let values = values.iter().map(|value| self.value(value, *element));
                let growing = match self.model.kind(*index) {
                    Type::Ref { sort, .. } => Some(*sort).filter(|sort| self.model.sorts[*sort].is_growing()),
                    _ => None,
                };
                let Some(sort) = growing else { return Value::Array(values.collect()) };
                let mut renamed = Vec::new();
                for (at, value) in values.enumerate().filter(|(_, value)| *value != Value::Undefined) {
                    put(&mut renamed, self.number(sort, at as u32), value, Value::Undefined);
                }
                Value::Array(renamed)
            }
            (_, Value::Elem(sort, element)) if self.model.sorts[*sort].is_growing() => {
                Value::Elem(*sort, self.number(*sort, *element))
            }
            (_, other) => other.clone(),
        }
    }
}

fn put<T: Clone>(into: &mut Vec<T>, at: u32, value: T, blank: T) {
    into.resize(into.len().max(at as usize + 1), blank);
    into[at as usize] = value;
}

/// Where a rule made some elements of a sort, in their order. Where that cannot be told, it is where the rule stands.
fn sites(model: &Model, rule: &Rule, sort: SortId, made: usize) -> Vec<Span> {
    let creates =
        |stmt: &Stmt| matches!(stmt.kind, StmtKind::Create(_, of) if of == sort).then_some(stmt.span);
    // What stands in no branch and no loop happens once.
    let once: Vec<Span> = rule.code.body.iter().filter_map(creates).collect();
    match &sites_anywhere(model, rule, creates)[..] {
        [only] => vec![*only; made],
        all if all.len() == made && once.len() == made => once,
        _ => vec![rule.span; made],
    }
}

/// All places of such statements that a rule may come to.
fn sites_anywhere(model: &Model, rule: &Rule, wanted: impl Fn(&Stmt) -> Option<Span>) -> Vec<Span> {
    let mut codes = vec![&rule.code];
    let (mut at, mut found, mut seen) = (0, Vec::new(), Vec::<FunctionId>::new());
    while let Some(code) = codes.get(at).copied() {
        walk_code(code, &mut |node| {
            let Node::Stmt(stmt) = node else { return };
            found.extend(wanted(stmt).filter(|span| !found.contains(span)));
            if let StmtKind::Call(function, _) = &stmt.kind
                && !seen.contains(function)
            {
                seen.push(*function);
                codes.push(&model.functions[*function].code);
            }
        });
        at += 1;
    }
    found
}
