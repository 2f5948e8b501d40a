//! From a model whose variables are all counters without bound (a Petri net) to a counter system, by reading its rules.
//!
//! A rule fits if its guard only says that counters are not too small, and if its body adds constants to counters, moves one
//! counter into another, or empties it. The body is run on symbols: each counter ends as a sum of what counters held before.

use std::collections::BTreeMap;

use shoal_certificate::{Config, OMEGA, Overflow, PlaceTokens, System, Transfer, Transition, counted};
use shoal_model::{
    BinaryOp, Code, Domain, Expr, ExprKind, LocalId, Model, Place, PropertyId, PropertyKind, Ratio, Reason,
    Root, Rule, RuleId, StartId, State, Step, StmtKind, Trace, Type, TypedId, UnaryOp, Unsupported, Value,
    VarId, Violation,
};
use shoal_syntax::Span;

use super::shape::unsupported;
use crate::{
    meter::{Meter, MeterStop},
    run::CoveringRun,
};

/// A condition with more least configurations than this is left to others: a conjunction of disjunctions may have very many.
const MOST_TARGETS: usize = 10_000;

/// A counter's type goes at least so far.
const BOUNDLESS: i64 = 1 << 31;

/// A net as a counter system, and where it came from.
pub(crate) struct CounterNet<'m> {
    pub(crate) model: &'m Model,
    pub(crate) system: System,
    /// The start behind each initial configuration, with the least and the greatest value of each parameter, and the value
    /// of each counter: a constant or a parameter.
    beginnings: Vec<NetStart>,
    /// The rule behind each transition.
    rules: Vec<RuleId>,
}

struct NetStart {
    start: StartId,
    bounds: Vec<(i64, i64)>,
    values: Vec<Initial>,
}

#[derive(Clone, Copy)]
enum Initial {
    Constant(i64),
    Parameter(usize),
}

/// Whether all variables of a model are counters without bound.
pub fn is_net(model: &Model) -> bool {
    let counter = |ty| matches!(model.kind(ty), Type::Int { lo: 0, hi } if *hi >= BOUNDLESS);
    model.sorts.is_empty() && !model.vars.is_empty() && model.vars.iter().all(|var| counter(var.ty))
}

/// A sum of counters (each with a factor) and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
struct CounterSum {
    counters: BTreeMap<VarId, i64>,
    constant: i64,
}

impl CounterSum {
    fn of(var: VarId) -> CounterSum {
        CounterSum { counters: BTreeMap::from([(var, 1)]), constant: 0 }
    }

    fn constant(constant: i64) -> CounterSum {
        CounterSum { counters: BTreeMap::new(), constant }
    }

    fn plus(mut self, other: &CounterSum, factor: i64) -> Option<CounterSum> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (var, by) in &other.counters {
            let entry = self.counters.entry(*var).or_default();
            *entry = entry.checked_add(by.checked_mul(factor)?)?;
        }
        self.counters.retain(|_, by| *by != 0);
        Some(self)
    }
}

impl<'m> CounterNet<'m> {
    /// The outer error is a construct that does not fit.
    pub(crate) fn new(
        model: &'m Model,
        meter: &mut Meter<'_>,
    ) -> Result<Result<CounterNet<'m>, MeterStop>, Unsupported> {
        let mut net =
            CounterNet { model, system: System::default(), beginnings: Vec::new(), rules: Vec::new() };
        net.system.shared = 1;
        net.system.places = model.vars.len() as u32;
        for (id, start) in model.starts.enumerate() {
            net.begin(id, start)?;
        }
        for (id, rule) in model.rules.enumerate() {
            if let Err(stop) = meter.tick() {
                return Ok(Err(stop));
            }
            let transition = transition(rule)?;
            if transition.take != transition.give || !transition.transfers.is_empty() {
                net.system.transitions.push(transition);
                net.rules.push(id);
            }
        }
        Ok(Ok(net))
    }

    fn begin(&mut self, id: StartId, start: &Rule) -> Result<(), Unsupported> {
        let refuse = || unsupported(format!("the start {:?}", start.name), start.span);
        let mut bounds = Vec::new();
        for param in &start.params {
            let Domain::Range { from, to, by } = &param.domain else { return Err(refuse()) };
            match (number(from), number(to), number(by)) {
                (Some(from), Some(to), Some(1)) if 0 <= from && from <= to => bounds.push((from, to)),
                _ => return Err(refuse()),
            }
        }
        let mut values = vec![None; self.model.vars.len()];
        for stmt in &start.code.body {
            let StmtKind::Assign(Place { root: Root::Var(var), path, .. }, value) = &stmt.kind else {
                return Err(refuse());
            };
            let parameter = |local: LocalId| start.params.iter().position(|param| param.local == local);
            let value = match &value.kind {
                ExprKind::Const(Value::Int(value)) if *value >= 0 => Initial::Constant(*value),
                ExprKind::Read(Place { root: Root::Local(local), .. }) => {
                    Initial::Parameter(parameter(*local).ok_or_else(refuse)?)
                }
                _ => return Err(refuse()),
            };
            if !path.is_empty() {
                return Err(refuse());
            }
            values[var.index()] = Some(value);
        }
        let values: Vec<Initial> = values.into_iter().collect::<Option<_>>().ok_or_else(refuse)?;
        let (mut least, mut most) = (Config::new(0, []), Config::new(0, []));
        for (place, value) in values.iter().enumerate() {
            let (from, to) = match value {
                Initial::Constant(value) => (counted(*value), counted(*value).ok_or_else(refuse)?),
                Initial::Parameter(at) => (counted(bounds[*at].0), counted(bounds[*at].1).unwrap_or(OMEGA)),
            };
            least.set(place as u32, from.ok_or_else(refuse)?);
            most.set(place as u32, to);
        }
        self.system.initial.push(most);
        self.system.least.push(least);
        self.beginnings.push(NetStart { start: id, bounds, values });
        Ok(())
    }

    /// The least configurations that violate a property.
    pub(crate) fn targets(&self, id: PropertyId) -> Result<Vec<Config>, Unsupported> {
        let property = &self.model.properties[id];
        let refuse =
            || unsupported(format!("such a condition on counters in {:?}", property.name), property.span);
        targets(&property.kind).ok_or_else(refuse)
    }

    /// Whether every rule of a model, and a property of it, can be said with counters that are not too small.
    pub(crate) fn fits(model: &Model, id: PropertyId) -> bool {
        targets(&model.properties[id].kind).is_some()
            && model.rules.iter().all(|rule| transition(rule).is_ok())
    }

    /// The trace of a run, and with how many tokens it begins.
    pub(crate) fn violation(&self, run: &CoveringRun) -> Result<(Violation, u64), Overflow> {
        let beginning = &self.beginnings[run.initial];
        let mut args: Vec<i64> = beginning.bounds.iter().map(|bounds| bounds.0).collect();
        for (place, value) in beginning.values.iter().enumerate() {
            if let Initial::Parameter(at) = value {
                args[*at] = args[*at].max(i64::from(run.start.count(place as u32)));
            }
        }
        let count = |value: &Initial| match value {
            Initial::Constant(value) => *value,
            Initial::Parameter(at) => args[*at],
        };
        let tokens =
            beginning.values.iter().enumerate().map(|(place, value)| (place as u32, count(value) as u32));
        let mut now = Config::new(0, tokens.filter(|token| token.1 > 0));
        let begins = now.size();
        let mut trace = Trace {
            start: beginning.start,
            args: args.iter().map(|arg| Value::Int(*arg)).collect(),
            choices: Vec::new(),
            state: self.state(&now),
            steps: Vec::new(),
            loops_to: None,
        };
        for (id, _) in &run.steps {
            // The transfers of nets leave no choice.
            let next = self.system.transitions[*id as usize].successors(&now)?;
            now = next.into_iter().next().ok_or(Overflow)?;
            trace.steps.push(Step {
                delay: Ratio::ZERO,
                rule: self.rules[*id as usize],
                args: Vec::new(),
                choices: Vec::new(),
                state: self.state(&now),
            });
        }
        Ok((Violation { reason: Reason::ConditionFalse, trace: Some(trace) }, begins))
    }

    /// The name of the counter that a place is.
    pub(crate) fn place_name(&self, place: u32) -> String {
        self.model.vars[VarId::from_index(place as usize)].name.clone()
    }

    fn state(&self, config: &Config) -> State {
        let value = |place: usize| Value::Int(i64::from(config.count(place as u32)));
        State {
            values: (0..self.model.vars.len()).map(value).collect(),
            live: vec![Vec::new(); self.model.sorts.len()],
        }
    }
}

/// The least configurations that violate a property, or satisfy what is to be reached; nothing if they are not closed upwards.
fn targets(kind: &PropertyKind) -> Option<Vec<Config>> {
    let mut all = match kind {
        PropertyKind::Invariant(condition) => violations(&condition.expr, false)?,
        PropertyKind::Cover(Some(condition)) => violations(&condition.expr, true)?,
        _ => return None,
    };
    all.sort();
    all.dedup();
    Some(all)
}

fn number(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Const(Value::Int(value)) => Some(value),
        _ => None,
    }
}

fn variable(place: &Place) -> Option<VarId> {
    match place.root {
        Root::Var(var) if place.path.is_empty() => Some(var),
        _ => None,
    }
}

/// `x >= k` in any spelling, as a counter and the least value it may have; the truth that is wanted is given.
fn bound(expr: &Expr, want: bool) -> Option<(VarId, i64)> {
    let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
    let read = |expr: &Expr| match &expr.kind {
        ExprKind::Read(place) => variable(place),
        _ => None,
    };
    let (var, number, op) = match (read(left), number(left), read(right), number(right)) {
        (Some(var), _, _, Some(number)) => (var, number, *op),
        (_, Some(number), Some(var), _) => {
            let mirrored = match op {
                BinaryOp::Le => BinaryOp::Ge,
                BinaryOp::Lt => BinaryOp::Gt,
                BinaryOp::Ge => BinaryOp::Le,
                BinaryOp::Gt => BinaryOp::Lt,
                _ => return None,
            };
            (var, number, mirrored)
        }
        _ => return None,
    };
    match (op, want) {
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => Some((var, number)),
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Some((var, number.checked_add(1)?)),
        _ => None,
    }
}

/// The least configurations where an expression has a truth value; nothing if they are not closed upwards.
fn violations(expr: &Expr, want: bool) -> Option<Vec<Config>> {
    let none = || Config::new(0, []);
    let some = |of: &[Expr]| -> Option<Vec<Config>> {
        let mut all = Vec::new();
        for of in of {
            all.extend(violations(of, want)?);
        }
        Some(all)
    };
    let every = |of: &[Expr]| -> Option<Vec<Config>> {
        of.iter().try_fold(vec![none()], |all, of| {
            let more = violations(of, want)?;
            if all.len() * more.len() > MOST_TARGETS {
                return None;
            }
            let both = |one: &Config| more.iter().map(|other| most(one, other)).collect::<Vec<_>>();
            Some(all.iter().flat_map(both).collect())
        })
    };
    match &expr.kind {
        ExprKind::Const(Value::Bool(value)) => Some(if *value == want { vec![none()] } else { Vec::new() }),
        ExprKind::Unary(UnaryOp::Not, of) => violations(of, !want),
        ExprKind::And(of) => {
            if want {
                every(of)
            } else {
                some(of)
            }
        }
        ExprKind::Or(of) => {
            if want {
                some(of)
            } else {
                every(of)
            }
        }
        _ => {
            let (var, least) = bound(expr, want)?;
            let count = counted(least.max(0))?;
            Some(vec![Config::new(0, [(var.index() as u32, count)].into_iter().filter(|token| token.1 > 0))])
        }
    }
}

fn most(left: &Config, right: &Config) -> Config {
    let mut most = left.clone();
    for (place, count) in &right.tokens {
        most.set(*place, (*count).max(left.count(*place)));
    }
    most
}

fn transition(rule: &Rule) -> Result<Transition, Unsupported> {
    let refuse = |what: &str, span: Span| unsupported(format!("{what} in rule {:?}", rule.name), span);
    if let Some(param) = rule.params.first() {
        let span = rule.code.locals[param.local].span;
        return Err(refuse("a parameter", span));
    }
    let mut take: BTreeMap<VarId, i64> = BTreeMap::new();
    if let Some(guard) = &rule.guard {
        let parts: Vec<&Expr> = match &guard.kind {
            ExprKind::And(parts) => parts.iter().collect(),
            ExprKind::Const(Value::Bool(true)) => Vec::new(),
            _ => vec![guard],
        };
        for part in parts {
            let message = "a guard that more tokens can make false";
            let (var, least) = bound(part, true).ok_or_else(|| refuse(message, part.span))?;
            let entry = take.entry(var).or_default();
            *entry = (*entry).max(least);
        }
    }
    let mut sums = run(&rule.code)
        .map_err(|span| refuse("a change of counters that is no addition, move or reset,", span))?;
    let mut home: BTreeMap<VarId, VarId> = BTreeMap::new();
    for (var, sum) in &sums {
        for (from, factor) in &sum.counters {
            // What is not changed keeps what it has.
            if *factor != 1 || !sums.contains_key(from) || home.insert(*from, *var).is_some() {
                return Err(refuse("a counter that is copied", rule.span));
            }
        }
    }
    // What must be there and is not changed stays.
    for var in take.keys() {
        sums.entry(*var).or_insert_with(|| {
            home.insert(*var, *var);
            CounterSum::of(*var)
        });
    }
    // What goes into a counter is what is taken from its sources and a constant: if that is too little, more is taken.
    let mut give: BTreeMap<VarId, i64> = BTreeMap::new();
    for (var, sum) in &sums {
        let mut given = sum.constant;
        for from in sum.counters.keys() {
            given = given.saturating_add(take.get(from).copied().unwrap_or(0));
        }
        if given < 0 {
            let source = sum.counters.keys().find(|from| *from == var).or(sum.counters.keys().next());
            let Some(source) = source else { return Err(refuse("a negative counter", rule.span)) };
            *take.entry(*source).or_default() -= given;
            given = 0;
        }
        give.insert(*var, given);
    }
    let arcs = |map: &BTreeMap<VarId, i64>| -> Option<Vec<PlaceTokens>> {
        let token = |(var, count): (&VarId, &i64)| Some((var.index() as u32, counted(*count)?));
        map.iter().map(token).collect()
    };
    let (Some(take), Some(give)) = (arcs(&take), arcs(&give)) else {
        return Err(refuse("a number of more than 32 bits", rule.span));
    };
    let mut transfers = Vec::new();
    for var in sums.keys() {
        let target = home.get(var);
        if target != Some(var) {
            let targets = target.iter().map(|target| target.index() as u32).collect();
            transfers.push(Transfer { place: var.index() as u32, targets });
        }
    }
    Ok(Transition { from: 0, to: 0, take: System::arcs(take), give: System::arcs(give), transfers })
}

/// What each counter that a body changes holds after it, in terms of what counters held before.
fn run(code: &Code) -> Result<BTreeMap<VarId, CounterSum>, Span> {
    let mut counters: BTreeMap<VarId, CounterSum> = BTreeMap::new();
    let mut locals: BTreeMap<LocalId, CounterSum> = BTreeMap::new();
    for stmt in &code.body {
        let StmtKind::Assign(place, value) = &stmt.kind else { return Err(stmt.span) };
        let value = sum(&counters, &locals, value).ok_or(stmt.span)?;
        match place.root {
            _ if !place.path.is_empty() => return Err(stmt.span),
            Root::Var(var) => counters.insert(var, value),
            Root::Local(local) => locals.insert(local, value),
        };
    }
    Ok(counters)
}

fn sum(
    counters: &BTreeMap<VarId, CounterSum>,
    locals: &BTreeMap<LocalId, CounterSum>,
    expr: &Expr,
) -> Option<CounterSum> {
    match &expr.kind {
        ExprKind::Const(Value::Int(value)) => Some(CounterSum::constant(*value)),
        ExprKind::Read(place) if place.path.is_empty() => match place.root {
            Root::Var(var) => Some(counters.get(&var).cloned().unwrap_or_else(|| CounterSum::of(var))),
            Root::Local(local) => locals.get(&local).cloned(),
        },
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
            let factor = if *op == BinaryOp::Add { 1 } else { -1 };
            sum(counters, locals, left)?.plus(&sum(counters, locals, right)?, factor)
        }
        _ => None,
    }
}
