//! The processes of a model one by one: what state-graphs are made of.
//!
//! The paper's PTMTS: every process has rules with a guard over variables and timers, and assignments of constants.
//! A Model is taken apart into that form: its variables into scalar cells, each rule into an instance for each
//! process, each guard into a disjunction of conjunctions. What does not fit is refused by name.

use shoal_model::{
    BinaryOp, Condition, Domain, Expr, ExprKind, LocalId, Model, Place, Projection, Quantifier, Root, RuleId,
    SortId, SortSize, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp, Unsupported, Value,
};
use shoal_syntax::Span;

use crate::dbm::{Bound, Constraint, LARGEST_CONSTANT, Limits};

/// A set of values of a cell, by position.
pub type Mask = u128;

/// A scalar variable, or a scalar part of one.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name with indices.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// The element whose cell it is, where it is an entry of an array over a sort.
    pub owner: Option<(SortId, u32)>,
    /// How many values it can have.
    pub size: u32,
    /// Its value at the start.
    pub start: u32,
}

/// A timer.
#[derive(Clone, Debug)]
pub struct Timer {
    /// Its name with indices.
    pub name: String,
    /// The element whose timer it is.
    pub owner: Option<(SortId, u32)>,
    /// What it is compared with.
    pub limits: Limits,
}

/// A conjunction: what cells may be, and constraints on timers (clock 1 is timer 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conjunction {
    /// The values that cells may have; each cell once, in order.
    pub cells: Vec<(usize, Mask)>,
    /// Constraints on timers.
    pub timers: Vec<Constraint>,
}

/// Any of several conjunctions.
pub type Dnf = Vec<Conjunction>;

/// A rule of one process.
#[derive(Clone, Debug)]
pub struct ProcessRule {
    /// The rule of the model.
    pub rule: RuleId,
    /// When it may fire. A guard with several disjuncts becomes several rules.
    pub guard: Conjunction,
    /// The values it assigns.
    pub assigns: Vec<(usize, u32)>,
    /// The timers it sets.
    pub resets: Vec<(usize, i32)>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its sort.
    pub sort: SortId,
    /// Its number.
    pub element: u32,
    /// Its name.
    pub name: String,
    /// Its rules.
    pub rules: Vec<ProcessRule>,
    /// What holds while it lives.
    pub invariant: Vec<Dnf>,
}

/// All processes, and what they share.
#[derive(Clone, Debug)]
pub struct System<'m> {
    /// The model.
    pub model: &'m Model,
    /// Its scalar variables.
    pub cells: Vec<Cell>,
    /// Its clocks.
    pub timers: Vec<Timer>,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Invariants that belong to no process.
    pub invariant: Vec<Dnf>,
    /// What permutations of processes do to cells, timers and values.
    pub(crate) kinship: Kinship,
}

/// Where the cells and timers of each process are, and which values name a process: what a permutation moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinship {
    /// For each cell, its process and its place among that process's cells.
    cell: Vec<Option<(usize, usize)>>,
    timer: Vec<Option<(usize, usize)>>,
    /// For each process, its cells and timers.
    cells: Vec<Vec<usize>>,
    timers: Vec<Vec<usize>>,
    /// For each cell whose values can name processes: the process of each value.
    named: Vec<Vec<(u32, usize)>>,
}

impl Kinship {
    fn new(system: &System<'_>) -> Kinship {
        let mut kinship = Kinship {
            cells: vec![Vec::new(); system.processes.len()],
            timers: vec![Vec::new(); system.processes.len()],
            ..Kinship::default()
        };
        let process =
            |owner: Option<(SortId, u32)>| owner.and_then(|(sort, element)| system.process(sort, element));
        for (number, cell) in system.cells.iter().enumerate() {
            let own = process(cell.owner);
            kinship.cell.push(own.map(|own| (own, kinship.cells[own].len())));
            own.into_iter().for_each(|own| kinship.cells[own].push(number));
            let values = (0..cell.size).filter_map(|at| match system.model.value_at(cell.ty, at.into()) {
                Some(Value::Elem(sort, element)) => Some((at, system.process(sort, element)?)),
                _ => None,
            });
            kinship.named.push(values.collect());
        }
        for (number, timer) in system.timers.iter().enumerate() {
            let own = process(timer.owner);
            kinship.timer.push(own.map(|own| (own, kinship.timers[own].len())));
            own.into_iter().for_each(|own| kinship.timers[own].push(number));
        }
        kinship
    }

    /// The cell that a permutation makes of another.
    pub(crate) fn image_cell(&self, cell: usize, permutation: &[usize]) -> usize {
        self.cell[cell].map_or(cell, |(process, at)| self.cells[permutation[process]][at])
    }

    /// The timer that a permutation makes of another.
    pub(crate) fn image_timer(&self, timer: usize, permutation: &[usize]) -> usize {
        self.timer[timer].map_or(timer, |(process, at)| self.timers[permutation[process]][at])
    }

    /// The value that a permutation makes of another.
    pub(crate) fn image_value(&self, cell: usize, value: u32, permutation: &[usize]) -> u32 {
        let named = &self.named[cell];
        let process = named.iter().find(|(at, _)| *at == value).map(|(_, process)| permutation[*process]);
        let image = process.and_then(|process| named.iter().find(|(_, other)| *other == process));
        image.map_or(value, |(at, _)| *at)
    }

    /// The same for a set of values.
    pub(crate) fn image_mask(&self, cell: usize, mask: Mask, permutation: &[usize]) -> Mask {
        let mut image = mask;
        for (at, process) in &self.named[cell] {
            if mask & (1 << at) != 0 && permutation[*process] != *process {
                image &= !(1 << at);
            }
        }
        for (at, process) in &self.named[cell] {
            if mask & (1 << at) != 0 && permutation[*process] != *process {
                image |= 1 << self.image_value(cell, *at, permutation);
            }
        }
        image
    }

    /// The value of a cell that names a process.
    pub(crate) fn value_of(&self, cell: usize, process: usize) -> Option<u32> {
        self.named[cell].iter().find(|(_, named)| *named == process).map(|(at, _)| *at)
    }

    pub(crate) fn cells_of(&self, process: usize) -> &[usize] {
        &self.cells[process]
    }

    pub(crate) fn cell_owner(&self, cell: usize) -> Option<usize> {
        self.cell[cell].map(|(process, _)| process)
    }

    pub(crate) fn timer_owner(&self, timer: usize) -> Option<usize> {
        self.timer[timer].map(|(process, _)| process)
    }
}

/// More conjuncts than this in one guard are refused.
const MOST_DISJUNCTS: usize = 4096;

/// What an expression without timers comes to.
enum Term {
    Const(Value),
    Cell(usize),
    Timer(usize),
}

type Taken<T> = Result<T, Unsupported>;

fn unsupported<T>(construct: impl Into<String>, span: Span) -> Taken<T> {
    Err(Unsupported { engine: "state-graph", construct: construct.into(), span: Some(span) })
}

/// Values of bound variables.
type Env = Vec<(LocalId, Value)>;

impl<'m> System<'m> {
    /// Takes a model apart.
    pub fn new(model: &'m Model) -> Taken<System<'m>> {
        let mut system = System {
            model,
            cells: Vec::new(),
            timers: Vec::new(),
            processes: Vec::new(),
            invariant: Vec::new(),
            kinship: Kinship::default(),
        };
        for (_, sort) in model.sorts.enumerate() {
            if !matches!(sort.size, SortSize::Fixed(_)) {
                return unsupported(format!("sort `{}` without a fixed size", sort.name), sort.span);
            }
        }
        system.layout()?;
        system.start()?;
        for (sort, def) in model.sorts.enumerate() {
            for element in 0..def.fixed_size().unwrap_or(0) {
                let name = format!("{}[{}]", def.name, element + def.first);
                system.processes.push(Process {
                    sort,
                    element,
                    name,
                    rules: Vec::new(),
                    invariant: Vec::new(),
                });
            }
        }
        system.rules()?;
        system.invariants()?;
        system.limits();
        system.kinship = Kinship::new(&system);
        Ok(system)
    }

    /// The process that is an element of a sort.
    pub fn process(&self, sort: SortId, element: u32) -> Option<usize> {
        self.processes.iter().position(|process| process.sort == sort && process.element == element)
    }

    fn layout(&mut self) -> Taken<()> {
        for (_, var) in self.model.vars.enumerate() {
            self.flatten(&var.name, var.ty, None, var.span)?;
        }
        Ok(())
    }

    /// Lays out a variable.
    fn flatten(&mut self, name: &str, ty: TypeId, owner: Option<(SortId, u32)>, span: Span) -> Taken<()> {
        match self.model.kind(ty) {
            Type::Clock => {
                let limits = Limits::default();
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
                    self.cells.push(Cell { name: name.into(), ty, owner, size, start: 0 });
                }
                _ => return unsupported(format!("`{name}`, a variable with more than 128 values"), span),
            },
        }
        Ok(())
    }

    /// Finds a scalar place whose indices are known.
    fn find(&self, place: &Place, env: &Env) -> Taken<Term> {
        let var = match place.root {
            Root::Local(local) => {
                return match env.iter().rev().find(|(known, _)| *known == local) {
                    Some((_, value)) if place.path.is_empty() => Ok(Term::Const(value.clone())),
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
                    let Term::Const(value) = self.term(index, env)? else {
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
            Type::Clock => Ok(Term::Timer(timer)),
            kind if kind.is_scalar() => Ok(Term::Cell(cell)),
            _ => unsupported("whole arrays and records", place.span),
        }
    }

    /// How many cells and timers a type has.
    fn count(&self, ty: TypeId) -> (usize, usize) {
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
    fn start(&mut self) -> Taken<()> {
        let mut starts = self.model.starts.iter();
        let (Some(start), None) = (starts.next(), starts.next()) else {
            return unsupported("several starts", Span::default());
        };
        if !start.params.is_empty() {
            return unsupported("starts with parameters", start.span);
        }
        self.run(&start.code.body, &mut Vec::new())
    }

    fn run(&mut self, body: &[Stmt], env: &mut Env) -> Taken<()> {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign(place, value) => match (self.find(place, env)?, self.term(value, env)?) {
                    (Term::Cell(cell), Term::Const(value)) => {
                        self.cells[cell].start = self.position(cell, &value, stmt.span)?
                    }
                    (Term::Timer(_), Term::Const(Value::Int(0))) => {}
                    _ => return unsupported("a start that is more than values and clocks at 0", stmt.span),
                },
                // Cells are at their least value already.
                StmtKind::Clear(_) => {}
                StmtKind::For { local, domain: Domain::Type(ty), body } => {
                    for value in self.model.values(*ty).collect::<Vec<_>>() {
                        env.push((*local, value));
                        self.run(body, env)?;
                        env.pop();
                    }
                }
                _ => return unsupported("a start with other statements than assignments", stmt.span),
            }
        }
        Ok(())
    }

    fn position(&self, cell: usize, value: &Value, span: Span) -> Taken<u32> {
        match self.model.ordinal(self.cells[cell].ty, value) {
            Some(position) => Ok(position as u32),
            None => unsupported(format!("a value that `{}` cannot hold", self.cells[cell].name), span),
        }
    }

    fn rules(&mut self) -> Taken<()> {
        for (id, rule) in self.model.rules.enumerate() {
            let ([param], true) = (rule.params.as_slice(), rule.bindings.is_empty()) else {
                return unsupported("rules of none or several processes", rule.span);
            };
            let sort = match &param.domain {
                Domain::Type(ty) => self.model.sorts_of(*ty).first().copied(),
                _ => None,
            };
            let Some(sort) = sort else { return unsupported("rules that are of no process", rule.span) };
            if rule.urgent || rule.priority != 0 {
                return unsupported("urgent rules and priorities", rule.span);
            }
            for process in 0..self.processes.len() {
                if self.processes[process].sort != sort {
                    continue;
                }
                let env = vec![(param.local, Value::Elem(sort, self.processes[process].element))];
                let guards = match &rule.guard {
                    Some(guard) => self.dnf(guard, &env, true)?,
                    None => vec![Conjunction::default()],
                };
                let (mut assigns, mut resets) = (Vec::new(), Vec::new());
                for stmt in &rule.code.body {
                    let StmtKind::Assign(place, value) = &stmt.kind else {
                        return unsupported("statements other than assignments", stmt.span);
                    };
                    match (self.find(place, &env)?, self.term(value, &env)?) {
                        (Term::Cell(cell), Term::Const(value)) => {
                            let value = self.position(cell, &value, stmt.span)?;
                            assigns.retain(|(known, _)| *known != cell);
                            assigns.push((cell, value));
                        }
                        (Term::Timer(timer), Term::Const(Value::Int(value))) => {
                            resets.retain(|(known, _)| *known != timer);
                            resets.push((timer, constant(value, stmt.span)?));
                        }
                        _ => return unsupported("assignments of other values than constants", stmt.span),
                    }
                }
                let rules = guards.into_iter().map(|guard| ProcessRule {
                    rule: id,
                    guard,
                    assigns: assigns.clone(),
                    resets: resets.clone(),
                });
                self.processes[process].rules.extend(rules);
            }
        }
        Ok(())
    }

    fn invariants(&mut self) -> Taken<()> {
        let Some(condition) = &self.model.while_time_passes else { return Ok(()) };
        let mut parts = vec![&condition.expr];
        while let Some(part) = parts.pop() {
            match &part.kind {
                ExprKind::And(inner) => parts.extend(inner),
                ExprKind::Quantified {
                    quantifier: Quantifier::Forall,
                    local,
                    domain: Domain::Type(ty),
                    body,
                } => {
                    for value in self.model.values(*ty).collect::<Vec<_>>() {
                        let process = match value {
                            Value::Elem(sort, element) => self.process(sort, element),
                            _ => None,
                        };
                        let conjuncts = match &body.kind {
                            ExprKind::And(parts) => parts.as_slice(),
                            _ => std::slice::from_ref(body.as_ref()),
                        };
                        for conjunct in conjuncts {
                            let dnf = self.dnf(conjunct, &vec![(*local, value.clone())], true)?;
                            match process {
                                Some(process) => self.processes[process].invariant.push(dnf),
                                None => self.invariant.push(dnf),
                            }
                        }
                    }
                }
                _ => {
                    let dnf = self.dnf(part, &Vec::new(), true)?;
                    self.invariant.push(dnf);
                }
            }
        }
        Ok(())
    }

    /// What each timer is compared with.
    fn limits(&mut self) {
        let mut limits = vec![Limits::default(); self.timers.len()];
        let rules = self.processes.iter().flat_map(|process| process.rules.iter().map(|rule| &rule.guard));
        let invariants = self.processes.iter().flat_map(|process| &process.invariant).chain(&self.invariant);
        for conjunction in rules.chain(invariants.flatten()) {
            for constraint in &conjunction.timers {
                note_limit(&mut limits, constraint);
            }
        }
        for (timer, limits) in self.timers.iter_mut().zip(limits) {
            timer.limits = limits;
        }
    }

    /// The negation of a condition on states, as a disjunction.
    pub fn violations(&self, condition: &Condition) -> Taken<Dnf> {
        self.dnf(&condition.expr, &Vec::new(), false)
    }

    /// A condition on states, as a disjunction.
    pub fn states(&self, condition: &Condition) -> Taken<Dnf> {
        self.dnf(&condition.expr, &Vec::new(), true)
    }

    /// Marks the cells and timers that a condition mentions.
    pub fn mention(&self, condition: &Condition, cells: &mut [bool], timers: &mut [bool]) {
        self.mention_expr(&condition.expr, &mut Vec::new(), cells, timers);
    }

    fn mention_expr(&self, expr: &Expr, env: &mut Env, cells: &mut [bool], timers: &mut [bool]) {
        match &expr.kind {
            ExprKind::Quantified { local, domain: Domain::Type(ty), body, .. } => {
                for value in self.model.values(*ty) {
                    env.push((*local, value));
                    self.mention_expr(body, env, cells, timers);
                    env.pop();
                }
            }
            ExprKind::Read(place) | ExprKind::Peek(place) => match self.find(place, env) {
                Ok(Term::Cell(cell)) => cells[cell] = true,
                Ok(Term::Timer(timer)) => timers[timer] = true,
                Ok(Term::Const(_)) => {}
                // Not known which: any.
                Err(_) => {
                    cells.fill(true);
                    timers.fill(true);
                }
            },
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter().for_each(|part| self.mention_expr(part, env, cells, timers));
            }
            ExprKind::Unary(_, of) | ExprKind::Ordinal(of) | ExprKind::ElementAt(_, of) => {
                self.mention_expr(of, env, cells, timers);
            }
            ExprKind::Binary(_, left, right)
            | ExprKind::Equal(left, right)
            | ExprKind::Implies(left, right) => {
                self.mention_expr(left, env, cells, timers);
                self.mention_expr(right, env, cells, timers);
            }
            ExprKind::Const(_) => {}
            _ => {
                cells.fill(true);
                timers.fill(true);
            }
        }
    }

    fn all(&self, parts: impl Iterator<Item = Taken<Dnf>>, span: Span) -> Taken<Dnf> {
        let mut whole = vec![Conjunction::default()];
        for part in parts {
            let part = part?;
            let mut next = Vec::new();
            for left in &whole {
                next.extend(part.iter().filter_map(|right| left.and(right)));
            }
            if next.len() > MOST_DISJUNCTS {
                return unsupported("a condition with too many cases", span);
            }
            whole = next;
        }
        Ok(whole)
    }

    fn any(&self, parts: impl Iterator<Item = Taken<Dnf>>) -> Taken<Dnf> {
        let mut whole: Dnf = Vec::new();
        for part in parts {
            for conjunction in part? {
                if !whole.contains(&conjunction) {
                    whole.push(conjunction);
                }
            }
        }
        Ok(whole)
    }

    fn dnf(&self, expr: &Expr, env: &Env, positive: bool) -> Taken<Dnf> {
        let known = |truth: bool| if truth == positive { vec![Conjunction::default()] } else { Vec::new() };
        let each =
            |parts: &[Expr]| parts.iter().map(|part| self.dnf(part, env, positive)).collect::<Vec<_>>();
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(Value::Bool(value)) => Ok(known(*value)),
            ExprKind::Unary(UnaryOp::Not, of) => self.dnf(of, env, !positive),
            ExprKind::And(parts) if positive => self.all(each(parts).into_iter(), span),
            ExprKind::And(parts) => self.any(each(parts).into_iter()),
            ExprKind::Or(parts) if positive => self.any(each(parts).into_iter()),
            ExprKind::Or(parts) => self.all(each(parts).into_iter(), span),
            ExprKind::Implies(left, right) => {
                let parts = [self.dnf(left, env, !positive), self.dnf(right, env, positive)];
                if positive { self.any(parts.into_iter()) } else { self.all(parts.into_iter(), span) }
            }
            ExprKind::Quantified { quantifier, local, domain: Domain::Type(ty), body } => {
                let mut parts = Vec::new();
                for value in self.model.values(*ty) {
                    let mut env = env.clone();
                    env.push((*local, value));
                    parts.push(self.dnf(body, &env, positive));
                }
                match (quantifier, positive) {
                    (Quantifier::Forall, true) | (Quantifier::Exists, false) => {
                        self.all(parts.into_iter(), span)
                    }
                    (Quantifier::Forall, false) | (Quantifier::Exists, true) => self.any(parts.into_iter()),
                    (Quantifier::Count, _) => unsupported("counting", span),
                }
            }
            ExprKind::Equal(left, right) => match (self.term(left, env)?, self.term(right, env)?) {
                (Term::Const(left), Term::Const(right)) => Ok(known(left == right)),
                (Term::Cell(cell), Term::Const(value)) | (Term::Const(value), Term::Cell(cell)) => {
                    Ok(self.members(cell, positive, |own| *own == value))
                }
                (Term::Cell(left), Term::Cell(right)) => {
                    Ok(self.pairs(left, right, |l, r| (l == r) == positive))
                }
                (Term::Timer(timer), Term::Const(Value::Int(value)))
                | (Term::Const(Value::Int(value)), Term::Timer(timer)) => {
                    let parts =
                        [BinaryOp::Le, BinaryOp::Ge].map(|op| timing(timer, op, value, positive, span));
                    if positive { self.all(parts.into_iter(), span) } else { self.any(parts.into_iter()) }
                }
                _ => unsupported("comparing two clocks", span),
            },
            ExprKind::Binary(op, left, right) if op.compares() => {
                match (self.term(left, env)?, self.term(right, env)?) {
                    (Term::Const(Value::Int(l)), Term::Const(Value::Int(r))) => {
                        Ok(known(op.apply(l, r) == Ok(Value::Bool(true))))
                    }
                    (Term::Timer(timer), Term::Const(Value::Int(value))) => {
                        timing(timer, *op, value, positive, span)
                    }
                    (Term::Const(Value::Int(value)), Term::Timer(timer)) => {
                        timing(timer, mirrored(*op), value, positive, span)
                    }
                    (Term::Cell(cell), Term::Const(Value::Int(value))) => {
                        Ok(self.members(cell, positive, |own| compare_ints(*op, own, &Value::Int(value))))
                    }
                    (Term::Const(Value::Int(value)), Term::Cell(cell)) => {
                        Ok(self.members(cell, positive, |own| compare_ints(*op, &Value::Int(value), own)))
                    }
                    (Term::Cell(left), Term::Cell(right)) => {
                        Ok(self.pairs(left, right, |l, r| compare_ints(*op, l, r) == positive))
                    }
                    _ => unsupported("comparing two clocks", span),
                }
            }
            ExprKind::Read(_) => match self.term(expr, env)? {
                Term::Const(value) => Ok(known(value == Value::Bool(true))),
                Term::Cell(cell) => Ok(self.members(cell, positive, |own| *own == Value::Bool(true))),
                Term::Timer(_) => unsupported("a clock as a condition", span),
            },
            _ => unsupported("this kind of condition", span),
        }
    }

    /// The cell has a value for which the question is answered so.
    fn members(&self, cell: usize, positive: bool, holds: impl Fn(&Value) -> bool) -> Dnf {
        let mut mask = 0;
        for (position, value) in self.model.values(self.cells[cell].ty).enumerate() {
            if holds(&value) == positive {
                mask |= 1 << position;
            }
        }
        if mask == 0 {
            Vec::new()
        } else {
            vec![Conjunction { cells: vec![(cell, mask)], timers: Vec::new() }]
        }
    }

    /// The cells have values that are related so.
    fn pairs(&self, left: usize, right: usize, holds: impl Fn(&Value, &Value) -> bool) -> Dnf {
        let mut dnf = Vec::new();
        for (position, value) in self.model.values(self.cells[left].ty).enumerate() {
            let here = Conjunction { cells: vec![(left, 1 << position)], timers: Vec::new() };
            let there = self.members(right, true, |other| holds(&value, other));
            dnf.extend(there.iter().filter_map(|there| here.and(there)));
        }
        dnf
    }

    fn term(&self, expr: &Expr, env: &Env) -> Taken<Term> {
        let integer = |expr: &Expr| match self.term(expr, env)? {
            Term::Const(Value::Int(value)) => Ok(value),
            _ => unsupported("arithmetic on variables", expr.span),
        };
        match &expr.kind {
            ExprKind::Const(value) => Ok(Term::Const(value.clone())),
            ExprKind::Read(place) | ExprKind::Peek(place) => self.find(place, env),
            ExprKind::Binary(op, left, right) => match op.apply(integer(left)?, integer(right)?) {
                Ok(value) => Ok(Term::Const(value)),
                Err(_) => unsupported("arithmetic that faults", expr.span),
            },
            ExprKind::Unary(UnaryOp::Neg, of) => Ok(Term::Const(Value::Int(-integer(of)?))),
            ExprKind::Ordinal(of) => match self.term(of, env)? {
                Term::Const(value) => match self.model.ordinal(of.ty, &value) {
                    Some(ordinal) => Ok(Term::Const(Value::Int(ordinal as i64))),
                    None => unsupported("the number of such a value", expr.span),
                },
                _ => unsupported("the number of a variable's value", expr.span),
            },
            ExprKind::ElementAt(sort, number) => {
                let element = u32::try_from(integer(number)?).ok();
                match element.filter(|element| Some(*element) < self.model.sorts[*sort].fixed_size()) {
                    Some(element) => Ok(Term::Const(Value::Elem(*sort, element))),
                    None => unsupported("an automaton that does not exist", expr.span),
                }
            }
            _ => unsupported("this kind of expression", expr.span),
        }
    }
}

impl Conjunction {
    /// Both; nothing if no state of the cells satisfies both.
    pub fn and(&self, other: &Conjunction) -> Option<Conjunction> {
        let mut both = self.clone();
        for (cell, mask) in &other.cells {
            match both.cells.binary_search_by_key(cell, |(cell, _)| *cell) {
                Ok(at) => {
                    both.cells[at].1 &= mask;
                    if both.cells[at].1 == 0 {
                        return None;
                    }
                }
                Err(at) => both.cells.insert(at, (*cell, *mask)),
            }
        }
        both.timers.extend(other.timers.iter().filter(|timer| !self.timers.contains(timer)));
        Some(both)
    }
}

/// Raises the limits of the clock that a constraint is on.
pub(crate) fn note_limit(limits: &mut [Limits], constraint: &Constraint) {
    let Some(c) = constraint.bound.constant() else { return };
    if constraint.right == 0 && constraint.left > 0 {
        let limit = &mut limits[constraint.left - 1].upper;
        *limit = (*limit).max(Some(c));
    } else if constraint.left == 0 && constraint.right > 0 {
        let limit = &mut limits[constraint.right - 1].lower;
        *limit = (*limit).max(Some(-c));
    }
}

fn constant(value: i64, span: Span) -> Taken<i32> {
    if value.abs() <= LARGEST_CONSTANT {
        return Ok(value as i32);
    }
    unsupported(format!("a clock constant beyond {LARGEST_CONSTANT}"), span)
}

fn compare_ints(op: BinaryOp, left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => op.apply(*left, *right) == Ok(Value::Bool(true)),
        _ => false,
    }
}

/// The same comparison with its sides exchanged.
pub(crate) fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

/// `x op c` for clock `clock` as a constraint.
pub(crate) fn constraint(clock: usize, op: BinaryOp, c: i32) -> Option<Constraint> {
    Some(match op {
        BinaryOp::Lt => Constraint { left: clock, right: 0, bound: Bound::less(c) },
        BinaryOp::Le => Constraint { left: clock, right: 0, bound: Bound::at_most(c) },
        BinaryOp::Gt => Constraint { left: 0, right: clock, bound: Bound::less(-c) },
        BinaryOp::Ge => Constraint { left: 0, right: clock, bound: Bound::at_most(-c) },
        _ => return None,
    })
}

fn timing(timer: usize, op: BinaryOp, value: i64, positive: bool, span: Span) -> Taken<Dnf> {
    let c = constant(value, span)?;
    let Some(constraint) = constraint(timer + 1, op, c) else {
        return unsupported("this comparison of a clock", span);
    };
    let constraint = if positive { constraint } else { constraint.negated() };
    Ok(vec![Conjunction { cells: Vec::new(), timers: vec![constraint] }])
}

/// A value of a cell as a person reads it.
pub fn show_value(model: &Model, ty: TypeId, position: u32) -> String {
    match (model.value_at(ty, position.into()), model.kind(ty)) {
        (Some(Value::Int(value)), _) => value.to_string(),
        (Some(Value::Bool(value)), _) => value.to_string(),
        (Some(Value::Null), _) => "0".into(),
        (Some(Value::Elem(sort, element)), _) => (element + model.sorts[sort].first).to_string(),
        (Some(Value::Enum(_, at)), Type::Enum { variants }) => variants[at as usize].clone(),
        _ => format!("{}", TypeId::from_index(ty.index())),
    }
}
