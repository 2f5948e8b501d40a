//! What a step does, path by path: code is followed with the cells of the state before as unknowns, and wherever it matters
//! what one of them holds, each way is taken in turn. So a piece of code becomes a list of *paths*: which values the cells
//! have on it, how it ends, and what is written, as functions of the state before.

mod stmt;

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{
    BinaryOp, Condition, Domain, Expr, ExprKind, GuardFaults, IndexVec, Local, LocalId, LocalKind, Model,
    Place, Projection, PropertyId, Quantifier, Root, Rule, Type, TypeId, TypedId, UnaryOp,
};

use crate::{
    cells::{StateCells, UNDEFINED, bounds, number},
    value::{CellTerm, TermOp, Val},
};

/// The values that a cell can have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellValues {
    /// These, least first.
    Some(Rc<[i64]>),
    /// Too many to look at each.
    Any,
}

/// One way through a piece of code.
#[derive(Clone, Debug)]
pub(crate) struct CodePath {
    /// The cells of which not all values lead here, and those that do.
    pub(crate) given: BTreeMap<u32, Rc<[i64]>>,
    /// Terms that are true or false here.
    pub(crate) atoms: Vec<(Rc<CellTerm>, bool)>,
    pub(crate) end: PathEnd,
    pub(crate) writes: BTreeMap<u32, Val>,
    /// The covers that were passed.
    pub(crate) covered: Vec<PropertyId>,
    /// What was chosen on the way.
    pub(crate) choices: Vec<i64>,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PathEnd {
    /// A step is taken.
    Goes,
    /// A condition is true or false.
    Truth(bool),
    /// A fault: of an assertion, or another.
    Faults(Option<PropertyId>),
}

/// Why a path is left.
pub(crate) enum PathStop {
    Faults(Option<PropertyId>),
    /// There is no such step.
    Not,
    /// The code does something that is not followed.
    NotFollowed(&'static str),
}

pub(crate) type PathResult<T> = Result<T, PathStop>;

/// What is run.
#[derive(Clone, Copy)]
pub(crate) enum RunPiece<'a> {
    /// A rule or a start, with its arguments.
    Rule(&'a Rule, &'a [i64]),
    Condition(&'a Condition),
}

/// The limits of following code.
pub(crate) struct Fuel {
    /// Statements and expressions that may still be looked at.
    pub(crate) left: u64,
    /// Paths of a piece of code.
    pub(crate) paths: usize,
}

/// What following a piece of code has found.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pub(crate) paths: Vec<CodePath>,
    /// The cells that it may look at.
    pub(crate) reads: Vec<u32>,
}

/// Follows a piece of code on all its paths. Paths on which there is no step are left out.
pub(crate) fn follow(
    model: &Model,
    cells: &StateCells,
    values: &[CellValues],
    piece: RunPiece<'_>,
    fuel: &mut Fuel,
) -> Result<Followed, &'static str> {
    let mut found = Followed::default();
    let mut reads = vec![false; values.len()];
    let mut script: Vec<usize> = Vec::new();
    loop {
        let mut run = SymbolicRun {
            model,
            cells,
            values,
            script: std::mem::take(&mut script),
            trail: Vec::new(),
            given: BTreeMap::new(),
            atoms: Vec::new(),
            store: BTreeMap::new(),
            frames: Vec::new(),
            choices: Vec::new(),
            covered: Vec::new(),
            reads: &mut reads,
            fuel,
        };
        let end = match piece {
            RunPiece::Rule(rule, args) => run.rule(rule, args).map(|()| PathEnd::Goes),
            RunPiece::Condition(condition) => run.whole(condition).map(PathEnd::Truth),
        };
        let end = match end {
            Ok(end) => Some(end),
            Err(PathStop::Faults(property)) => Some(PathEnd::Faults(property)),
            Err(PathStop::Not) => None,
            Err(PathStop::NotFollowed(why)) => return Err(why),
        };
        let SymbolicRun { given, atoms, store, choices, mut covered, trail, .. } = run;
        if let Some(end) = end {
            if found.paths.len() == fuel.paths {
                return Err("a step has too many ways");
            }
            // What a step that faults has written is not seen.
            let writes = if end == PathEnd::Goes { store } else { BTreeMap::new() };
            covered.sort_unstable();
            covered.dedup();
            found.paths.push(CodePath { given, atoms, end, writes, covered, choices });
        }
        match next(trail) {
            Some(next) => script = next,
            None => break,
        }
    }
    found.reads = (0..values.len() as u32).filter(|cell| reads[*cell as usize]).collect();
    Ok(found)
}

/// The decisions of the next path: the last that could be another is.
fn next(mut trail: Vec<(usize, usize)>) -> Option<Vec<usize>> {
    while let Some((taken, of)) = trail.pop() {
        if taken + 1 < of {
            let mut script: Vec<usize> = trail.iter().map(|(taken, _)| *taken).collect();
            script.push(taken + 1);
            return Some(script);
        }
    }
    None
}

/// What a local stands for.
#[derive(Clone)]
enum LocalSlot {
    Unbound,
    Scalar(Val),
    /// Cells of the state, from here on.
    Cells(u32),
}

struct RunFrame<'a> {
    locals: &'a IndexVec<LocalId, Local>,
    slots: Vec<LocalSlot>,
}

/// Where a place is.
enum RunSpot {
    Cells(u32),
    Local(LocalId),
}

enum RunFlow {
    Next,
    Return(Option<Val>),
}

struct SymbolicRun<'a, 'f> {
    model: &'a Model,
    cells: &'a StateCells,
    values: &'a [CellValues],
    script: Vec<usize>,
    /// The decisions that were made, and of how many.
    trail: Vec<(usize, usize)>,
    given: BTreeMap<u32, Rc<[i64]>>,
    atoms: Vec<(Rc<CellTerm>, bool)>,
    store: BTreeMap<u32, Val>,
    frames: Vec<RunFrame<'a>>,
    choices: Vec<i64>,
    covered: Vec<PropertyId>,
    reads: &'f mut [bool],
    fuel: &'f mut Fuel,
}

/// Calls may be nested this deep.
const DEEPEST: usize = 40;

impl<'a> SymbolicRun<'a, '_> {
    fn rule(&mut self, rule: &'a Rule, args: &[i64]) -> PathResult<()> {
        self.enter(&rule.code.locals)?;
        for (parameter, value) in rule.params.iter().zip(args) {
            self.set(parameter.local, LocalSlot::Scalar(Val::Const(*value)));
        }
        let enabled = self.guard(rule);
        let enabled = match (enabled, self.model.guard_faults) {
            (Err(PathStop::Faults(_)), GuardFaults::Disable) => false,
            (enabled, _) => enabled?,
        };
        if !enabled {
            return Err(PathStop::Not);
        }
        self.bind(&rule.bindings)?;
        self.block(&rule.code.body)?;
        Ok(())
    }

    fn guard(&mut self, rule: &'a Rule) -> PathResult<bool> {
        self.bind(&rule.bindings)?;
        match &rule.guard {
            Some(guard) => self.truth(guard),
            None => Ok(true),
        }
    }

    fn whole(&mut self, condition: &'a Condition) -> PathResult<bool> {
        self.enter(&condition.locals)?;
        self.truth(&condition.expr)
    }

    fn enter(&mut self, locals: &'a IndexVec<LocalId, Local>) -> PathResult<()> {
        if self.frames.len() == DEEPEST {
            return Err(PathStop::NotFollowed("calls are nested too deep"));
        }
        let slot = |local: &Local| match (local.kind, self.cells.size(local.ty)) {
            (LocalKind::Variable, Some(1)) => LocalSlot::Scalar(Val::Const(UNDEFINED)),
            _ => LocalSlot::Unbound,
        };
        let slots = locals.iter().map(slot).collect();
        self.frames.push(RunFrame { locals, slots });
        Ok(())
    }

    fn frame(&mut self) -> &mut RunFrame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn set(&mut self, local: LocalId, slot: LocalSlot) -> LocalSlot {
        std::mem::replace(&mut self.frame().slots[local.index()], slot)
    }

    fn burn(&mut self, amount: usize) -> PathResult<()> {
        match self.fuel.left.checked_sub(amount as u64) {
            Some(left) => {
                self.fuel.left = left;
                Ok(())
            }
            None => Err(PathStop::NotFollowed("there is too much to look at")),
        }
    }

    /// Takes one of some ways: each in turn, from path to path.
    fn decide(&mut self, ways: usize) -> usize {
        let taken = self.script.get(self.trail.len()).copied().unwrap_or(0);
        self.trail.push((taken, ways));
        taken
    }

    /// Decides to which of some sets the value of a cell belongs.
    fn split(&mut self, cell: u32, sets: Vec<Vec<i64>>) -> usize {
        if sets.len() == 1 {
            return 0;
        }
        let taken = self.decide(sets.len());
        self.given.insert(cell, sets[taken].clone().into());
        taken
    }

    /// What a cell can hold on this path, if that can be listed.
    fn listed(&self, cell: u32) -> Option<Rc<[i64]>> {
        match (self.given.get(&cell), &self.values[cell as usize]) {
            (Some(given), _) => Some(given.clone()),
            (None, CellValues::Some(values)) => Some(values.clone()),
            (None, CellValues::Any) => None,
        }
    }

    /// A value as far as it is known on this path.
    fn known(&self, value: Val) -> Val {
        match &value {
            Val::Of(cell, _) => match self.given.get(cell) {
                Some(values) => value.clone().given(*cell, values),
                None => value,
            },
            Val::Const(_) | Val::Term(_) => value,
        }
    }

    fn read_cell(&mut self, cell: u32) -> Val {
        self.reads[cell as usize] = true;
        if let Some(written) = self.store.get(&cell) {
            return self.known(written.clone());
        }
        match self.listed(cell) {
            Some(values) => Val::of(cell, values.iter().map(|value| (*value, *value)).collect()),
            None => Val::Term(Rc::new(CellTerm::Cell(cell))),
        }
    }

    /// Decides which of the sets of results a value belongs to, and gives it as it is then. Terms are no sets.
    fn classify<K: Ord>(&mut self, value: Val, class: impl Fn(i64) -> K) -> PathResult<(K, Val)> {
        match self.known(value) {
            Val::Const(value) => Ok((class(value), Val::Const(value))),
            Val::Of(cell, table) => {
                self.burn(table.len())?;
                let mut sets: BTreeMap<K, Vec<i64>> = BTreeMap::new();
                for (from, to) in table.iter() {
                    sets.entry(class(*to)).or_default().push(*from);
                }
                let (mut classes, sets): (Vec<K>, Vec<Vec<i64>>) = sets.into_iter().unzip();
                let taken = self.split(cell, sets);
                Ok((classes.swap_remove(taken), self.known(Val::Of(cell, table))))
            }
            Val::Term(_) => {
                Err(PathStop::NotFollowed("a number with very many values decides where a step goes"))
            }
        }
    }

    /// One number: every value that there can be in turn.
    fn concrete(&mut self, value: Val) -> PathResult<i64> {
        let (number, _) = self.classify(value, |number| number)?;
        Ok(number)
    }

    fn number(&mut self, expr: &'a Expr) -> PathResult<i64> {
        let value = self.defined(expr)?;
        self.concrete(value)
    }

    /// A value that is not undefined.
    fn defined(&mut self, expr: &'a Expr) -> PathResult<Val> {
        let value = self.eval(expr)?;
        self.must_be_defined(value)
    }

    fn must_be_defined(&mut self, value: Val) -> PathResult<Val> {
        if matches!(value, Val::Term(_)) {
            return Ok(value);
        }
        match self.classify(value, |number| number == UNDEFINED)? {
            (true, _) => Err(PathStop::Faults(None)),
            (false, value) => Ok(value),
        }
    }

    fn truth(&mut self, expr: &'a Expr) -> PathResult<bool> {
        let value = self.defined(expr)?;
        self.holds(value)
    }

    fn holds(&mut self, value: Val) -> PathResult<bool> {
        if let Val::Term(term) = &value {
            if let Some((_, truth)) = self.atoms.iter().find(|(known, _)| known == term) {
                return Ok(*truth);
            }
            let truth = self.decide(2) == 0;
            self.atoms.push((term.clone(), truth));
            return Ok(truth);
        }
        let (truth, _) = self.classify(value, |number| number != 0)?;
        Ok(truth)
    }

    fn eval(&mut self, expr: &'a Expr) -> PathResult<Val> {
        self.burn(1)?;
        match &expr.kind {
            ExprKind::Const(value) => match number(value) {
                Some(number) => Ok(Val::Const(number)),
                None => Err(PathStop::NotFollowed("constants that are no numbers")),
            },
            ExprKind::Read(place) => {
                let value = self.peek(place)?;
                self.must_be_defined(value)
            }
            ExprKind::Peek(place) => self.peek(place),
            ExprKind::IsUndefined(place) => {
                let value = self.peek(place)?;
                let (undefined, _) = match value {
                    Val::Term(_) => (false, Val::Const(0)),
                    value => self.classify(value, |number| number == UNDEFINED)?,
                };
                Ok(Val::Const(i64::from(undefined)))
            }
            ExprKind::Unary(op, of) => {
                let value = self.defined(of)?;
                match op {
                    UnaryOp::Not => self.map(value, TermOp::Not, |truth| Some(i64::from(truth == 0))),
                    UnaryOp::BitNot => self.map(value, TermOp::BitNot, |number| Some(!number)),
                    UnaryOp::Neg => {
                        self.combine(TermOp::Binary(BinaryOp::Sub), Val::Const(0), value, |a, b| {
                            a.checked_sub(b)
                        })
                    }
                }
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.defined(left)?;
                let right = self.defined(right)?;
                self.combine(TermOp::Binary(*op), left, right, |a, b| match op.apply(a, b) {
                    Ok(value) => number(&value),
                    Err(_) => None,
                })
            }
            ExprKind::Equal(left, right) => {
                if self.cells.size(left.ty) != Some(1) {
                    return Err(PathStop::NotFollowed("records that are compared"));
                }
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.combine(TermOp::Equal, left, right, |a, b| Some(i64::from(a == b)))
            }
            ExprKind::And(operands) => {
                for operand in operands {
                    if !self.truth(operand)? {
                        return Ok(Val::Const(0));
                    }
                }
                Ok(Val::Const(1))
            }
            ExprKind::Or(operands) => {
                for operand in operands {
                    if self.truth(operand)? {
                        return Ok(Val::Const(1));
                    }
                }
                Ok(Val::Const(0))
            }
            ExprKind::Implies(left, right) => {
                let holds = !self.truth(left)? || self.truth(right)?;
                Ok(Val::Const(i64::from(holds)))
            }
            ExprKind::Cond(condition, then, other) => {
                if self.truth(condition)? {
                    self.eval(then)
                } else {
                    self.eval(other)
                }
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(*quantifier, *local, domain, body)
            }
            ExprKind::Call(function, arguments) => match self.call(*function, arguments)? {
                Some(value) => Ok(value),
                None => Err(PathStop::Faults(None)),
            },
            ExprKind::Ordinal(of) => {
                let Some((least, _)) = bounds(self.model, of.ty) else {
                    return Err(PathStop::NotFollowed("positions of values that are no numbers"));
                };
                let value = self.defined(of)?;
                self.combine(TermOp::Binary(BinaryOp::Sub), value, Val::Const(least), |a, b| a.checked_sub(b))
            }
            ExprKind::Entry(table, position) => {
                let at = self.number(position)?;
                let entry = usize::try_from(at).ok().and_then(|at| self.model.tables[*table].entries.get(at));
                match entry {
                    Some(entry) => Ok(Val::Const(*entry)),
                    None => Err(PathStop::Faults(None)),
                }
            }
            ExprKind::IsMember(..) | ExprKind::ElementAt(..) | ExprKind::Len(_) | ExprKind::Exists(_) => {
                Err(PathStop::NotFollowed("elements, multisets and sequences"))
            }
        }
    }

    /// What a function makes of a value; none is a fault.
    fn map(&mut self, value: Val, op: TermOp, function: impl Fn(i64) -> Option<i64>) -> PathResult<Val> {
        if let Val::Term(term) = value {
            return Ok(Val::Term(Rc::new(CellTerm::Op(op, vec![term]))));
        }
        match self.classify(value, |number| function(number).is_some())? {
            (false, _) => Err(PathStop::Faults(None)),
            (true, Val::Of(cell, table)) => {
                let each = |(from, to): &(i64, i64)| function(*to).map(|to| (*from, to));
                Ok(Val::of(cell, table.iter().filter_map(each).collect()))
            }
            (true, value) => {
                let number = self.concrete(value)?;
                function(number).map(Val::Const).ok_or(PathStop::Faults(None))
            }
        }
    }

    /// What a function makes of two values; none is a fault.
    fn combine(
        &mut self,
        op: TermOp,
        left: Val,
        right: Val,
        function: impl Fn(i64, i64) -> Option<i64>,
    ) -> PathResult<Val> {
        match (self.known(left), self.known(right)) {
            (Val::Of(a, left), Val::Of(b, right)) if a == b => {
                let pairs: Vec<(i64, (i64, i64))> =
                    left.iter().zip(right.iter()).map(|((from, x), (_, y))| (*from, (*x, *y))).collect();
                let fails =
                    |from: &i64| pairs.iter().any(|(at, (x, y))| at == from && function(*x, *y).is_none());
                let same: Vec<(i64, i64)> = pairs.iter().map(|(from, _)| (*from, *from)).collect();
                let (faults, _) = self.classify(Val::of(a, same), |from| fails(&from))?;
                if faults {
                    return Err(PathStop::Faults(None));
                }
                let each = |(from, (x, y)): &(i64, (i64, i64))| function(*x, *y).map(|to| (*from, to));
                Ok(self.known(Val::of(a, pairs.iter().filter_map(each).collect())))
            }
            (left @ Val::Of(..), right @ Val::Of(..)) => {
                let values = |value: &Val| match value {
                    Val::Of(_, table) => table.len(),
                    Val::Const(_) | Val::Term(_) => 1,
                };
                if values(&left) <= values(&right) {
                    let left = self.concrete(left)?;
                    self.map(right, op, |right| function(left, right))
                } else {
                    let right = self.concrete(right)?;
                    self.map(left, op, |left| function(left, right))
                }
            }
            (Val::Const(left), Val::Const(right)) => {
                function(left, right).map(Val::Const).ok_or(PathStop::Faults(None))
            }
            (Val::Const(left), right @ Val::Of(..)) => self.map(right, op, |right| function(left, right)),
            (left @ Val::Of(..), Val::Const(right)) => self.map(left, op, |left| function(left, right)),
            (left, right) => {
                let term = Rc::new(CellTerm::Op(op, vec![left.term(), right.term()]));
                if self.range(&term).is_none() {
                    return Err(PathStop::NotFollowed("arithmetic on large numbers that may fault"));
                }
                Ok(Val::Term(term))
            }
        }
    }

    /// Between what the value of a term lies; none if it may fault.
    fn range(&self, term: &CellTerm) -> Option<(i64, i64)> {
        match term {
            CellTerm::Const(value) => Some((*value, *value)),
            CellTerm::Cell(cell) => bounds(self.model, self.cells.types[*cell as usize]),
            CellTerm::Of(_, table) => {
                Some((table.iter().map(|it| it.1).min()?, table.iter().map(|it| it.1).max()?))
            }
            CellTerm::Op(op, of) => {
                let of: Vec<(i64, i64)> = of.iter().map(|of| self.range(of)).collect::<Option<_>>()?;
                match (op, of.as_slice()) {
                    (TermOp::Equal | TermOp::Not, _) => Some((0, 1)),
                    (TermOp::BitNot, [(lo, hi)]) => Some((!hi, !lo)),
                    (TermOp::Binary(op), [a, b]) => range_of(*op, *a, *b),
                    _ => None,
                }
            }
        }
    }

    /// A value as one of a type.
    fn fit(&mut self, value: Val, ty: TypeId) -> PathResult<Val> {
        let Some((least, most)) = bounds(self.model, ty) else {
            return Err(PathStop::NotFollowed("values that are no numbers"));
        };
        if let Val::Term(term) = &value {
            let inside = self.range(term).is_some_and(|(lo, hi)| least <= lo && hi <= most);
            if !inside {
                return Err(PathStop::NotFollowed("a large number that may not fit where it is written"));
            }
            return Ok(value);
        }
        let fits = |number: i64| number == UNDEFINED || least <= number && number <= most;
        match self.classify(value, fits)? {
            (true, value) => Ok(value),
            (false, _) => Err(PathStop::Faults(None)),
        }
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'a Domain,
        body: &'a Expr,
    ) -> PathResult<Val> {
        let values = self.domain(domain)?;
        let (mut holds, mut fails) = (0, 0);
        let outer = self.set(local, LocalSlot::Unbound);
        for value in values {
            self.set(local, LocalSlot::Scalar(Val::Const(value)));
            if self.truth(body)? {
                holds += 1;
            } else {
                fails += 1;
            }
            let known = match quantifier {
                Quantifier::Forall => fails > 0,
                Quantifier::Exists => holds > 0,
                Quantifier::Count => false,
            };
            if known {
                break;
            }
        }
        self.set(local, outer);
        Ok(Val::Const(match quantifier {
            Quantifier::Forall => i64::from(fails == 0),
            Quantifier::Exists => i64::from(holds > 0),
            Quantifier::Count => holds,
        }))
    }

    fn domain(&mut self, domain: &'a Domain) -> PathResult<Vec<i64>> {
        let most = 1 << 12;
        let too_many = PathStop::NotFollowed("a loop has too many rounds");
        match domain {
            Domain::Type(ty) => match bounds(self.model, *ty) {
                Some((lo, hi)) if hi.checked_sub(lo).is_some_and(|size| size < most) => {
                    Ok((lo..=hi).collect())
                }
                _ => Err(too_many),
            },
            Domain::Range { from, to, by } => {
                let (from, to, by) = (self.number(from)?, self.number(to)?, self.number(by)?);
                if by == 0 {
                    return Err(PathStop::Faults(None));
                }
                let inside = |value: &i64| if by > 0 { *value <= to } else { *value >= to };
                let next = |value: &i64| value.checked_add(by).filter(inside);
                let values: Vec<i64> =
                    std::iter::successors(Some(from).filter(inside), next).take(most as usize).collect();
                if values.len() == most as usize { Err(too_many) } else { Ok(values) }
            }
            Domain::Slots(_) => Err(PathStop::NotFollowed("multisets")),
        }
    }

    fn peek(&mut self, place: &'a Place) -> PathResult<Val> {
        match self.locate(place)? {
            RunSpot::Cells(at) if self.cells.size(place.ty) == Some(1) => Ok(self.read_cell(at)),
            RunSpot::Cells(_) => Err(PathStop::NotFollowed("whole records as values")),
            RunSpot::Local(local) => match self.frame().slots[local.index()].clone() {
                LocalSlot::Scalar(value) => Ok(self.known(value)),
                LocalSlot::Unbound | LocalSlot::Cells(_) => {
                    Err(PathStop::NotFollowed("variables that hold records"))
                }
            },
        }
    }

    fn locate(&mut self, place: &'a Place) -> PathResult<RunSpot> {
        let (mut at, mut ty) = match place.root {
            Root::Var(var) => (self.cells.var(var), self.model.vars[var].ty),
            Root::Local(local) => match self.frame().slots[local.index()] {
                LocalSlot::Cells(at) => (at, self.frame().locals[local].ty),
                LocalSlot::Scalar(_) if place.path.is_empty() => return Ok(RunSpot::Local(local)),
                LocalSlot::Scalar(_) | LocalSlot::Unbound => {
                    return Err(PathStop::NotFollowed("variables that hold records"));
                }
            },
        };
        for projection in &place.path {
            let kind = self.model.kind(ty);
            match (projection, kind) {
                (Projection::Field(field), Type::Record { fields }) => {
                    for before in &fields[..*field as usize] {
                        at += self.size(before.ty)?;
                    }
                    ty = fields[*field as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let value = self.number(index)?;
                    let Some((lo, hi)) = bounds(self.model, *of) else {
                        return Err(PathStop::NotFollowed("indices that are no numbers"));
                    };
                    if value < lo || value > hi {
                        return Err(PathStop::Faults(None));
                    }
                    at += (value - lo) as u32 * self.size(*element)?;
                    ty = *element;
                }
                _ => return Err(PathStop::NotFollowed("multisets and sequences")),
            }
        }
        Ok(RunSpot::Cells(at))
    }

    fn size(&self, ty: TypeId) -> PathResult<u32> {
        self.cells.size(ty).ok_or(PathStop::NotFollowed("values that are no numbers"))
    }
}

/// Between what the result of an operator lies; none if it may fault.
fn range_of(op: BinaryOp, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<(i64, i64)> {
    match op {
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => Some((0, 1)),
        BinaryOp::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
        BinaryOp::Sub => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
        BinaryOp::Mul => {
            let all = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some((*all.iter().min()?, *all.iter().max()?))
        }
        BinaryOp::BitAnd if c >= 0 => Some((0, d)),
        BinaryOp::BitAnd if a >= 0 => Some((0, b)),
        BinaryOp::BitAnd
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr => None,
    }
}

/// The instances of a rule: its arguments.
pub(crate) fn instances(
    model: &Model,
    cells: &StateCells,
    values: &[CellValues],
    rule: &Rule,
    fuel: &mut Fuel,
) -> Result<Vec<Vec<i64>>, &'static str> {
    let mut all: Vec<Vec<i64>> = vec![Vec::new()];
    for at in 0..rule.params.len() {
        let mut longer = Vec::new();
        for args in &all {
            let mut reads = vec![false; values.len()];
            let mut run = SymbolicRun {
                model,
                cells,
                values,
                script: Vec::new(),
                trail: Vec::new(),
                given: BTreeMap::new(),
                atoms: Vec::new(),
                store: BTreeMap::new(),
                frames: Vec::new(),
                choices: Vec::new(),
                covered: Vec::new(),
                reads: &mut reads,
                fuel,
            };
            let domain = run.enter(&rule.code.locals).and_then(|()| {
                for (parameter, value) in rule.params.iter().zip(args) {
                    run.set(parameter.local, LocalSlot::Scalar(Val::Const(*value)));
                }
                run.domain(&rule.params[at].domain)
            });
            let known = run.trail.is_empty() && run.atoms.is_empty() && !reads.contains(&true);
            match domain {
                Ok(domain) if known => {
                    longer.extend(domain.into_iter().map(|value| [&args[..], &[value]].concat()));
                }
                _ => return Err("parameters whose range depends on the state"),
            }
            if longer.len() > MOST_INSTANCES {
                return Err("a rule has too many instances");
            }
        }
        all = longer;
    }
    Ok(all)
}

const MOST_INSTANCES: usize = 4096;
