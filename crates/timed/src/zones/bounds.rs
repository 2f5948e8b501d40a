//! What clocks are still going to be compared with: the bounds of the abstraction Extra+LU.
//!
//! For clocks of the elements of a lumped sort they are found on a small graph of one element: its nodes are what the
//! element's cells are, and for each global reference whether it names nobody, this element or another. Guards are read as
//! far as they say something about that, and ignored otherwise; so the graph has more ways than there are, and the bounds
//! are great enough. In Fischer's protocol this sees that a process that waits while the lock names another cannot read its
//! clock before it has reset it.

use std::collections::HashMap;

use shoal_model::{
    BinaryOp, Domain, Expr, ExprKind, LocalId, Model, Place, Projection, PropertyKind, Root, SortId, Stmt,
    StmtKind, Type, TypedId, UnaryOp, Unsupported, Value,
};

use super::{
    layout::{Layout, unsupported},
    state::{NOBODY, State},
};
use crate::dbm::{LARGEST_CONSTANT, Limits};

/// Bounds for every clock in every state.
pub(crate) struct Bounds {
    global: Vec<Limits>,
    /// By sort: the bounds of an element's clocks wherever it is.
    anywhere: Vec<Vec<Limits>>,
    /// By sort: the bounds in each node of the graph of one element.
    known: Vec<Option<Known>>,
}

/// The bounds of an element's clocks in each node of its graph.
type Known = HashMap<Vec<i64>, Vec<Limits>>;

/// What a global reference is to an element.
const OTHER: i64 = -2;
const ME: i64 = -3;

/// Larger graphs of one element are not made.
const MOST_NODES: usize = 20_000;

impl Bounds {
    /// Finds the bounds of a model. `starts` are the states it starts in. With `precise` off, a clock has the same bounds
    /// everywhere.
    pub(crate) fn new(
        model: &Model,
        layout: &Layout,
        starts: &[State],
        precise: bool,
    ) -> Result<Bounds, Unsupported> {
        let mut bounds = Bounds {
            global: vec![Limits::default(); layout.global.clocks],
            anywhere: layout
                .local
                .iter()
                .map(|room| vec![Limits::default(); room.map_or(0, |room| room.clocks)])
                .collect(),
            known: vec![None; layout.local.len()],
        };
        let reader = Reader { model, layout };
        for expr in all_conditions(model) {
            reader.clock_reads(expr, None, &mut |clock, limits| match clock {
                Clock::Global(clock) => bounds.global[clock] = bounds.global[clock].join(limits),
                Clock::Local(sort, clock, _) => {
                    let limit = &mut bounds.anywhere[sort.index()][clock];
                    *limit = limit.join(limits);
                }
                // Somewhere in an array: any of them.
                Clock::Unknown => {
                    bounds.global.iter_mut().for_each(|limit| *limit = limit.join(limits));
                    bounds.anywhere.iter_mut().flatten().for_each(|limit| *limit = limit.join(limits));
                }
            })?;
        }
        if precise {
            for sort in model.sorts.ids() {
                if !bounds.anywhere[sort.index()].is_empty() {
                    bounds.known[sort.index()] =
                        Local::bounds(&reader, sort, starts, &bounds.anywhere[sort.index()])?;
                }
            }
        }
        Ok(bounds)
    }

    /// The bounds of the clocks of a state's zone, in their order.
    pub(crate) fn of(&self, layout: &Layout, state: &State) -> Vec<Limits> {
        let mut limits = self.global.clone();
        for number in 0..state.classes.len() {
            let class = &state.classes[number];
            let known =
                self.known[class.sort].as_ref().and_then(|known| known.get(&node_of(layout, state, number)));
            let own = known.unwrap_or(&self.anywhere[class.sort]);
            for _ in 0..class.shown() {
                limits.extend(own);
            }
        }
        limits
    }
}

/// The node of a class: its cells, and what each global reference to its sort is to it.
fn node_of(layout: &Layout, state: &State, class: usize) -> Vec<i64> {
    let own = &state.classes[class];
    let mut node = own.cells[1..].to_vec();
    for (cell, sort) in state.globals.iter().zip(&layout.global_refs) {
        if sort.is_some_and(|sort| sort.index() == own.sort) {
            node.push(match *cell {
                NOBODY => NOBODY,
                cell if cell == class as i64 => ME,
                _ => OTHER,
            });
        }
    }
    node
}

/// Every expression that may read a clock.
fn all_conditions(model: &Model) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = model.rules.iter().filter_map(|rule| rule.guard.as_ref()).collect();
    all.extend(model.while_time_passes.iter().map(|condition| &condition.expr));
    for property in model.properties.iter() {
        all.extend(property.kind.conditions().into_iter().map(|condition| &condition.expr));
    }
    let bodies = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code.body);
    for body in bodies.chain(model.functions.iter().map(|function| &function.code.body)) {
        conditions_in(body, &mut all);
    }
    all
}

fn conditions_in<'m>(body: &'m [Stmt], all: &mut Vec<&'m Expr>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If(arms, other) => {
                for (condition, body) in arms {
                    all.push(condition);
                    conditions_in(body, all);
                }
                conditions_in(other, all);
            }
            StmtKind::While { condition, body, .. } => {
                all.push(condition);
                conditions_in(body, all);
            }
            StmtKind::For { body, .. } => conditions_in(body, all),
            StmtKind::Check { condition: Some(condition), .. } => all.push(condition),
            _ => {}
        }
    }
}

/// A clock that an expression names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Global(usize),
    /// Of an element of a lumped sort, and whether it is the element in question.
    Local(SortId, usize, bool),
    Unknown,
}

struct Reader<'m> {
    model: &'m Model,
    layout: &'m Layout,
}

impl Reader<'_> {
    /// Tells of every comparison of a clock in an expression that may be true or false.
    fn clock_reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        tell: &mut dyn FnMut(Clock, Limits),
    ) -> Result<(), Unsupported> {
        self.signed_reads(expr, me, true, &mut |clock, limits| {
            let most = limits.lower.max(limits.upper);
            tell(clock, Limits { lower: most, upper: most });
        })
    }

    /// The same for an expression that is going to be true (or false): a comparison bounds from one side only.
    fn signed_reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        positive: bool,
        tell: &mut dyn FnMut(Clock, Limits),
    ) -> Result<(), Unsupported> {
        let is_clock = |expr: &Expr| *self.model.kind(expr.ty) == Type::Clock;
        match &expr.kind {
            ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right)
                if is_clock(left) && is_clock(right) =>
            {
                unsupported("comparing two clocks", Some(expr.span))
            }
            ExprKind::Binary(op, left, right) if is_clock(left) || is_clock(right) => {
                let (clock, other, op) = if is_clock(left) {
                    (left, right, *op)
                } else {
                    (right, left, crate::system::mirrored(*op))
                };
                let most = Some(self.greatest(other)?);
                let limits = match matches!(op, BinaryOp::Lt | BinaryOp::Le) == positive {
                    true => Limits { lower: None, upper: most },
                    false => Limits { lower: most, upper: None },
                };
                tell(self.clock(clock, me), limits);
                Ok(())
            }
            ExprKind::Equal(left, right) if is_clock(left) || is_clock(right) => {
                let (clock, other) = if is_clock(left) { (left, right) } else { (right, left) };
                let most = Some(self.greatest(other)?);
                tell(self.clock(clock, me), Limits { lower: most, upper: most });
                Ok(())
            }
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter().try_for_each(|part| self.signed_reads(part, me, positive, tell))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.signed_reads(of, me, !positive, tell),
            ExprKind::Implies(left, right) => {
                self.signed_reads(left, me, !positive, tell)?;
                self.signed_reads(right, me, positive, tell)
            }
            ExprKind::Quantified { body, .. } => self.signed_reads(body, me, positive, tell),
            ExprKind::Cond(condition, then, other) => {
                self.clock_reads(condition, me, tell)?;
                self.signed_reads(then, me, positive, tell)?;
                self.signed_reads(other, me, positive, tell)
            }
            _ => Ok(()),
        }
    }

    /// The greatest value that an integer expression can have.
    fn greatest(&self, expr: &Expr) -> Result<i32, Unsupported> {
        match self.interval(expr) {
            Some((_, hi)) if hi <= LARGEST_CONSTANT => Ok(hi.max(0) as i32),
            _ => unsupported("a clock compared with what is not known to be small", Some(expr.span)),
        }
    }

    fn interval(&self, expr: &Expr) -> Option<(i64, i64)> {
        match &expr.kind {
            ExprKind::Const(Value::Int(value)) => Some((*value, *value)),
            ExprKind::Read(place) => match self.model.kind(place.ty) {
                Type::Int { lo, hi } => Some((*lo, *hi)),
                _ => None,
            },
            ExprKind::Cond(_, then, other) => {
                let (a, b) = (self.interval(then)?, self.interval(other)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            ExprKind::Unary(UnaryOp::Neg, of) => self.interval(of).map(|(lo, hi)| (-hi, -lo)),
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), left, right) => {
                let (a, b) = (self.interval(left)?, self.interval(right)?);
                let mut ends = Vec::new();
                for x in [a.0, a.1] {
                    for y in [b.0, b.1] {
                        ends.push(op.apply(x, y).ok()?.as_int()?);
                    }
                }
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }
            ExprKind::Binary(BinaryOp::Div, left, _) => {
                let (lo, hi) = self.interval(left)?;
                let most = lo.abs().max(hi.abs());
                Some((-most, most))
            }
            ExprKind::Binary(BinaryOp::Rem, left, right) => {
                let (a, b) = (self.interval(left)?, self.interval(right)?);
                let most = b.0.abs().max(b.1.abs()).min(a.0.abs().max(a.1.abs()));
                Some((-most, most))
            }
            _ => match self.model.kind(expr.ty) {
                Type::Int { lo, hi } if *hi <= LARGEST_CONSTANT => Some((*lo, *hi)),
                _ => None,
            },
        }
    }

    fn clock(&self, expr: &Expr, me: Option<LocalId>) -> Clock {
        let ExprKind::Read(place) = &expr.kind else { return Clock::Unknown };
        self.clock_at(place, me)
    }

    /// A clock, as far as its place is plain: a variable, or an entry of an array over a lumped sort.
    fn clock_at(&self, place: &Place, me: Option<LocalId>) -> Clock {
        let Root::Var(var) = place.root else { return Clock::Unknown };
        let home = self.layout.home(var);
        match (home.sort, place.path.as_slice()) {
            (None, []) => Clock::Global(home.at.clocks),
            (Some(sort), [Projection::Index(index)]) => {
                Clock::Local(sort, home.at.clocks, me.is_some() && local_of(index) == me)
            }
            _ => Clock::Unknown,
        }
    }
}

/// The local that an expression reads.
fn local_of(expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => Some(*local),
        _ => None,
    }
}

/// What an element's node must be, or is not.
#[derive(Clone, Debug)]
struct Atom {
    at: usize,
    value: i64,
    equal: bool,
}

/// What happens to an element.
#[derive(Clone, Debug, Default)]
struct Way {
    when: Vec<Atom>,
    reads: Vec<Limits>,
    resets: Vec<bool>,
    /// What entries of the node become: a value, or any.
    sets: Vec<(usize, Option<i64>)>,
    /// Whether each of the sets may as well not happen.
    perhaps: bool,
}

/// The graph of one element of a sort.
struct Local<'r, 'm> {
    reader: &'r Reader<'m>,
    sort: SortId,
    cells: usize,
    /// The global cells that hold references to the sort.
    references: Vec<usize>,
    clocks: usize,
    ways: Vec<Way>,
    /// What is read in nodes: by invariants.
    held: Vec<Way>,
    always: Vec<Limits>,
}

impl<'r, 'm> Local<'r, 'm> {
    fn bounds(
        reader: &'r Reader<'m>,
        sort: SortId,
        starts: &[State],
        anywhere: &[Limits],
    ) -> Result<Option<Known>, Unsupported> {
        let layout = reader.layout;
        let holds = |(_, of): &(usize, &Option<SortId>)| **of == Some(sort);
        let references = layout.global_refs.iter().enumerate().filter(holds).map(|(cell, _)| cell).collect();
        let room = layout.local[sort.index()].unwrap_or_default();
        let mut local = Local {
            reader,
            sort,
            cells: room.cells - 1,
            references,
            clocks: room.clocks,
            ways: Vec::new(),
            held: Vec::new(),
            always: vec![Limits::default(); room.clocks],
        };
        // References from element to element are not followed.
        if layout.local_refs[sort.index()].iter().any(Option::is_some) || !local.understand()? {
            return Ok(None);
        }
        let mut nodes: Vec<Vec<i64>> = Vec::new();
        for state in starts {
            for class in (0..state.classes.len()).filter(|class| state.classes[*class].sort == sort.index()) {
                nodes.push(node_of(layout, state, class));
            }
        }
        nodes.sort();
        nodes.dedup();
        Ok(local.solve(nodes).map(|known| {
            // Never more than anywhere.
            let cap = |limits: Vec<Limits>| {
                let min = |a: Option<i32>, b: Option<i32>| a.zip(b).map(|(a, b)| a.min(b));
                let pairs = limits.into_iter().zip(anywhere);
                pairs
                    .map(|(l, a)| Limits { lower: min(l.lower, a.lower), upper: min(l.upper, a.upper) })
                    .collect()
            };
            known.into_iter().map(|(node, limits)| (node, cap(limits))).collect()
        }))
    }

    /// Reads rules, invariants and properties; false if something is not understood.
    fn understand(&mut self) -> Result<bool, Unsupported> {
        let model = self.reader.model;
        for rule in model.rules.iter() {
            if !rule.bindings.is_empty() || calls(&rule.code.body) {
                return Ok(false);
            }
            let of_sort = |domain: &Domain| matches!(domain, Domain::Type(ty) if model.sorts_of(*ty).contains(&self.sort));
            let roles: Vec<LocalId> =
                rule.params.iter().filter(|param| of_sort(&param.domain)).map(|param| param.local).collect();
            for role in roles.iter().map(|role| Some(*role)).chain([None]) {
                let mut way = self.way();
                if let Some(guard) = &rule.guard {
                    if role.is_some() {
                        self.atoms(guard, role, true, &mut way.when);
                    }
                    let mut unknown = false;
                    self.reads(guard, role, &mut way, &mut unknown)?;
                    if unknown {
                        return Ok(false);
                    }
                }
                let mut conditions = Vec::new();
                conditions_in(&rule.code.body, &mut conditions);
                for condition in conditions {
                    let mut unknown = false;
                    self.reads(condition, role, &mut way, &mut unknown)?;
                    // The other branch is taken where it is false.
                    let mut other = self.way();
                    self.reads_when(condition, role, false, &mut other, &mut unknown)?;
                    join(&mut way.reads, &other.reads, &[]);
                    if unknown {
                        return Ok(false);
                    }
                }
                let mut loose = self.way();
                loose.when = way.when.clone();
                loose.reads = way.reads.clone();
                loose.perhaps = true;
                self.effects(&rule.code.body, role, roles.len() > 1, false, &mut way, &mut loose);
                if !loose.sets.is_empty() {
                    // What may happen in the midst of what surely does: both orders are covered by trying them one by one.
                    for set in &loose.sets {
                        way.perhaps = true;
                        way.sets.push(*set);
                    }
                }
                self.ways.push(way);
            }
        }
        let assumed = model.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Assume(Some(condition)) => Some(&condition.expr),
            _ => None,
        });
        for invariant in assumed.chain(model.while_time_passes.iter().map(|condition| &condition.expr)) {
            if !self.invariant(invariant, None, Vec::new())? {
                return Ok(false);
            }
        }
        let mut always = std::mem::take(&mut self.always);
        for property in
            model.properties.iter().filter(|property| !matches!(property.kind, PropertyKind::Assume(_)))
        {
            for condition in property.kind.conditions() {
                self.reader.clock_reads(&condition.expr, None, &mut |clock, limits| match clock {
                    Clock::Local(sort, clock, _) if sort == self.sort => {
                        always[clock] = always[clock].join(limits)
                    }
                    Clock::Unknown => always.iter_mut().for_each(|limit| *limit = limit.join(limits)),
                    _ => {}
                })?;
            }
        }
        self.always = always;
        Ok(true)
    }

    fn way(&self) -> Way {
        Way {
            reads: vec![Limits::default(); self.clocks],
            resets: vec![false; self.clocks],
            ..Way::default()
        }
    }

    /// Reads of the element's own clocks; of a clock of an element that is not plainly another, too.
    fn reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        way: &mut Way,
        unknown: &mut bool,
    ) -> Result<(), Unsupported> {
        self.reads_when(expr, me, true, way, unknown)
    }

    fn reads_when(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        positive: bool,
        way: &mut Way,
        unknown: &mut bool,
    ) -> Result<(), Unsupported> {
        self.reader.signed_reads(expr, me, positive, &mut |clock, limits| match clock {
            Clock::Local(sort, clock, mine) if sort == self.sort && (mine || !plain_other(expr)) => {
                way.reads[clock] = way.reads[clock].join(limits);
            }
            Clock::Unknown => *unknown = true,
            _ => {}
        })
    }

    /// The conjuncts of a guard that say something about the element.
    fn atoms(&self, expr: &Expr, me: Option<LocalId>, positive: bool, atoms: &mut Vec<Atom>) {
        match &expr.kind {
            ExprKind::And(parts) if positive => {
                parts.iter().for_each(|part| self.atoms(part, me, true, atoms))
            }
            ExprKind::Or(parts) if !positive => {
                parts.iter().for_each(|part| self.atoms(part, me, false, atoms))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.atoms(of, me, !positive, atoms),
            ExprKind::Equal(left, right) => {
                for (place, value) in [(left, right), (right, left)] {
                    if let ExprKind::Read(place) = &place.kind
                        && let Some(at) = self.entry(place, me)
                        && let Some(value) = self.value(value, me, at)
                    {
                        atoms.push(Atom { at, value, equal: positive });
                    }
                }
            }
            ExprKind::Read(place) => {
                if let Some(at) = self.entry(place, me) {
                    atoms.push(Atom { at, value: 1, equal: positive });
                }
            }
            _ => {}
        }
    }

    /// The entry of the node that a place is.
    fn entry(&self, place: &Place, me: Option<LocalId>) -> Option<usize> {
        let Root::Var(var) = place.root else { return None };
        let home = self.reader.layout.home(var);
        match (home.sort, place.path.as_slice()) {
            (Some(sort), [Projection::Index(index)])
                if sort == self.sort && me.is_some() && local_of(index) == me =>
            {
                Some(home.at.cells - 1)
            }
            (None, []) => {
                let reference = self.references.iter().position(|cell| *cell == home.at.cells);
                reference
                    .filter(|_| !matches!(self.reader.model.kind(place.ty), Type::Clock))
                    .map(|at| self.cells + at)
            }
            _ => None,
        }
    }

    /// The value that an entry is compared with or set to; nothing if it is not known.
    fn value(&self, expr: &Expr, me: Option<LocalId>, at: usize) -> Option<i64> {
        if at >= self.cells {
            return match &expr.kind {
                ExprKind::Const(Value::Null) => Some(NOBODY),
                _ if me.is_some() && local_of(expr) == me => Some(ME),
                _ => None,
            };
        }
        match &expr.kind {
            ExprKind::Const(Value::Bool(value)) => Some(i64::from(*value)),
            ExprKind::Const(Value::Int(value)) => Some(*value),
            ExprKind::Const(Value::Enum(_, value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// What code does to the element. What is inside of a branch, or done to an element that may be this one, is only
    /// perhaps done.
    fn effects(
        &self,
        body: &[Stmt],
        me: Option<LocalId>,
        rivals: bool,
        branch: bool,
        way: &mut Way,
        loose: &mut Way,
    ) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    if *self.reader.model.kind(place.ty) == Type::Clock {
                        if let Clock::Local(sort, clock, true) = self.reader.clock_at(place, me)
                            && sort == self.sort
                            && !branch
                        {
                            way.resets[clock] = true;
                        }
                    } else if let Some(at) = self.entry(place, me) {
                        let set = match (at >= self.cells, me.is_some(), self.value(value, me, at)) {
                            // Somebody else writes itself.
                            (true, false, None) if is_plain(value) => Some(OTHER),
                            (_, _, known) => known,
                        };
                        if branch {
                            loose.sets.push((at, set));
                        } else {
                            way.sets.push((at, set));
                        }
                    } else if self.is_of_sort(place) && (rivals || me.is_none() && !is_param_write(place)) {
                        let Root::Var(var) = place.root else { continue };
                        let at = self.reader.layout.home(var).at.cells - 1;
                        loose.sets.push((at, self.value(value, None, at)));
                    }
                }
                StmtKind::Clear(place) | StmtKind::Undefine(place) => {
                    if let Some(at) = self.entry(place, me) {
                        loose.sets.push((at, None));
                    }
                }
                StmtKind::If(arms, other) => {
                    arms.iter().for_each(|(_, body)| self.effects(body, me, rivals, true, way, loose));
                    self.effects(other, me, rivals, true, way, loose);
                }
                StmtKind::For { body, local, domain } => {
                    let model = self.reader.model;
                    // In a loop over the sort the element is one of them.
                    let all = matches!(domain, Domain::Type(ty) if model.sorts_of(*ty).contains(&self.sort));
                    let inner = if all { Some(*local) } else { me };
                    self.effects(body, inner, rivals, true, way, loose);
                }
                StmtKind::While { body, .. } => self.effects(body, me, rivals, true, way, loose),
                _ => {}
            }
        }
    }

    fn is_of_sort(&self, place: &Place) -> bool {
        matches!(place.root, Root::Var(var) if self.reader.layout.home(var).sort == Some(self.sort))
    }

    /// Invariants: for every element, what it reads while it is in some nodes.
    fn invariant(&mut self, expr: &Expr, me: Option<LocalId>, when: Vec<Atom>) -> Result<bool, Unsupported> {
        match &expr.kind {
            ExprKind::And(parts) => {
                for part in parts {
                    if !self.invariant(part, me, when.clone())? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ExprKind::Quantified { local, domain: Domain::Type(ty), body, .. }
                if me.is_none() && self.reader.model.sorts_of(*ty).contains(&self.sort) =>
            {
                self.invariant(body, Some(*local), when)
            }
            ExprKind::Implies(left, right) => {
                let mut way = self.way();
                let mut unknown = false;
                way.when = when.clone();
                self.reads_when(left, me, false, &mut way, &mut unknown)?;
                self.held.push(way);
                let mut when = when;
                self.atoms(left, me, true, &mut when);
                Ok(!unknown && self.invariant(right, me, when)?)
            }
            _ => {
                let mut way = self.way();
                let mut unknown = false;
                way.when = when;
                self.reads(expr, me, &mut way, &mut unknown)?;
                self.held.push(way);
                Ok(!unknown)
            }
        }
    }

    /// Follows all ways from the starts, then carries bounds backwards. Nothing if there are too many nodes.
    fn solve(&self, starts: Vec<Vec<i64>>) -> Option<HashMap<Vec<i64>, Vec<Limits>>> {
        let mut index: HashMap<Vec<i64>, usize> = HashMap::new();
        let mut nodes = Vec::new();
        for node in starts {
            index.insert(node.clone(), nodes.len());
            nodes.push(node);
        }
        let mut edges: Vec<Vec<(usize, usize)>> = Vec::new();
        while edges.len() < nodes.len() {
            let node = nodes[edges.len()].clone();
            let mut leaving = Vec::new();
            for (number, way) in self.ways.iter().enumerate() {
                for next in self.next(&node, way)? {
                    let to = *index.entry(next.clone()).or_insert_with(|| {
                        nodes.push(next);
                        nodes.len() - 1
                    });
                    leaving.push((number, to));
                }
            }
            edges.push(leaving);
            if nodes.len() > MOST_NODES {
                return None;
            }
        }
        let mut limits: Vec<Vec<Limits>> = nodes
            .iter()
            .map(|node| {
                let mut limits = self.always.clone();
                let held = self.held.iter().filter(|way| allows(node, &way.when));
                held.for_each(|way| join(&mut limits, &way.reads, &[]));
                limits
            })
            .collect();
        loop {
            let mut changed = false;
            for node in 0..nodes.len() {
                let mut now = limits[node].clone();
                for (way, to) in &edges[node] {
                    join(&mut now, &self.ways[*way].reads, &[]);
                    join(&mut now, &limits[*to], &self.ways[*way].resets);
                }
                if now != limits[node] {
                    limits[node] = now;
                    changed = true;
                }
            }
            if !changed {
                return Some(nodes.into_iter().zip(limits).collect());
            }
        }
    }

    /// The nodes a way leads to. Nothing if there are too many.
    fn next(&self, node: &[i64], way: &Way) -> Option<Vec<Vec<i64>>> {
        if !allows(node, &way.when) {
            return Some(Vec::new());
        }
        let mut found = vec![node.to_vec()];
        for (at, value) in &way.sets {
            let values = match value {
                Some(value) => vec![*value],
                None => self.domain(*at)?,
            };
            let mut next: Vec<Vec<i64>> = if way.perhaps { found.clone() } else { Vec::new() };
            for before in &found {
                for value in &values {
                    let mut after = before.clone();
                    after[*at] = *value;
                    if !next.contains(&after) {
                        next.push(after);
                    }
                }
            }
            found = next;
            if found.len() > MOST_NODES {
                return None;
            }
        }
        Some(found)
    }

    /// All values of an entry of a node. Nothing if there are too many.
    fn domain(&self, at: usize) -> Option<Vec<i64>> {
        if at >= self.cells {
            return Some(vec![NOBODY, ME, OTHER]);
        }
        let ty = self.reader.layout.local_types[self.sort.index()][at + 1];
        match self.reader.model.kind(ty) {
            Type::Bool => Some(vec![0, 1]),
            Type::Int { lo, hi } if hi - lo < 64 => Some((*lo..=*hi).collect()),
            Type::Enum { variants } => Some((0..variants.len() as i64).collect()),
            _ => None,
        }
    }
}

fn allows(node: &[i64], when: &[Atom]) -> bool {
    when.iter().all(|atom| (node[atom.at] == atom.value) == atom.equal)
}

fn join(limits: &mut [Limits], others: &[Limits], reset: &[bool]) {
    for (at, (limit, other)) in limits.iter_mut().zip(others).enumerate() {
        if !reset.get(at).copied().unwrap_or(false) {
            *limit = limit.join(*other);
        }
    }
}

/// Whether an expression is a local: an element, and where nobody is in question, not this one.
fn is_plain(expr: &Expr) -> bool {
    local_of(expr).is_some()
}

/// Whether a place is an entry for an element that a local names: that is covered by its own role.
fn is_param_write(place: &Place) -> bool {
    matches!(place.path.first(), Some(Projection::Index(index)) if local_of(index).is_some())
}

/// A guard whose clocks are all named by locals reads those of other elements only through other roles.
fn plain_other(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().all(plain_other),
        ExprKind::Unary(_, of) => plain_other(of),
        ExprKind::Implies(left, right) | ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) => {
            plain_other(left) && plain_other(right)
        }
        ExprKind::Read(place) => place.path.iter().all(|projection| match projection {
            Projection::Index(index) => local_of(index).is_some(),
            _ => false,
        }),
        ExprKind::Const(_) => true,
        _ => false,
    }
}

fn calls(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Call(..) | StmtKind::Bind(_) => true,
        StmtKind::If(arms, other) => arms.iter().any(|(_, body)| calls(body)) || calls(other),
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => calls(body),
        _ => false,
    })
}
