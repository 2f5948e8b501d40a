//! Guards that are decided without a run: most of them are false, and mostly because of what is kept for a parameter or
//! belongs to no element.
//!
//! A sieve is the beginning of a guard as tests on cells. It gives the answer that a run would come to, or none: it
//! evaluates in the order of a run, and a parameter after the first is chosen where it is first needed.

use std::cell::RefCell;

use shoal_model::{
    Domain, Expr, ExprKind, LocalId, LocalKind, Model, Place, Projection, Root, Rule, Type, TypeId, TypedId,
    UnaryOp,
};
use smallvec::SmallVec;

use crate::{
    cell::{Cell, ViewScalar},
    effects::plain_local,
    expand::Siblings,
    layout::position,
    structure::Structure,
    system::OpenSystem,
};

/// What the beginning of a guard comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The guard is false.
    No,
    /// That is seen in a run.
    Perhaps,
    /// A cell of this star is read.
    Asks(Cell),
    /// A parameter of this type is to be chosen.
    Chooses(TypeId),
}

/// The tests with which a guard begins, in their order.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    tests: Vec<Test>,
    /// The types of the parameters.
    params: Vec<TypeId>,
}

#[derive(Debug)]
enum Test {
    Equal(Operand, Operand),
    Truth(Operand),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

#[derive(Debug)]
enum Operand {
    Const(Cell),
    /// A cell.
    Cell(Located),
    /// A cell that may be undefined.
    Peeked(Located),
    Param(usize),
}

/// Where a cell is for the first elements, and for each parameter that it is kept for how far it is to the next.
#[derive(Debug)]
struct Located {
    offset: usize,
    strides: Vec<(usize, usize)>,
}

/// Where a sieve looks.
trait Sight {
    fn cell(&self, at: usize) -> Cell;
    /// What was chosen for parameters, in the order in which they were needed.
    fn chosen(&self, at: usize) -> Option<ViewScalar>;
}

/// What the parameters are, as far as they were needed so far.
struct Reader<'a, S> {
    sieve: &'a Sieve,
    sight: S,
    params: RefCell<Params>,
}

#[derive(Default)]
struct Params {
    values: SmallVec<[Option<ViewScalar>; 4]>,
    used: usize,
}

impl<S: Sight> Reader<'_, S> {
    fn param(&self, which: usize) -> Result<ViewScalar, Answer> {
        let params = &mut *self.params.borrow_mut();
        if let Some(value) = params.values[which] {
            return Ok(value);
        }
        let value = self.sight.chosen(params.used).ok_or(Answer::Chooses(self.sieve.params[which]))?;
        params.used += 1;
        params.values[which] = Some(value);
        Ok(value)
    }

    fn look(&self, operand: &Operand) -> Result<Cell, Answer> {
        match operand {
            Operand::Const(cell) => Ok(*cell),
            Operand::Param(which) => Cell::pack(self.param(*which)?).ok_or(Answer::Perhaps),
            Operand::Peeked(located) => self.cell(located),
            // A run that reads what is undefined faults.
            Operand::Cell(located) => match self.cell(located)? {
                Cell::UNDEFINED => Err(Answer::Perhaps),
                cell => Ok(cell),
            },
        }
    }

    fn cell(&self, located: &Located) -> Result<Cell, Answer> {
        let (mut at, mut outside) = (located.offset, None);
        for (which, stride) in &located.strides {
            match self.param(*which)? {
                ViewScalar::Elem(_, element) => at += stride * element as usize,
                star @ ViewScalar::Star(..) => outside = outside.or(Cell::pack(star)),
                _ => return Err(Answer::Perhaps),
            }
        }
        if let Some(star) = outside {
            return Err(Answer::Asks(star));
        }
        match self.sight.cell(at) {
            Cell::ABSENT => Err(Answer::Perhaps),
            cell => Ok(cell),
        }
    }

    fn answer(&self) -> Answer {
        for test in &self.sieve.tests {
            match test.truth(&|operand| self.look(operand)) {
                Ok(true) => {}
                Ok(false) => return Answer::No,
                Err(answer) => return answer,
            }
        }
        Answer::Perhaps
    }
}

impl Sieve {
    fn answer(&self, sight: impl Sight) -> Answer {
        let mut params = Params::default();
        params.values.resize(self.params.len(), None);
        // The first is chosen before anything is evaluated.
        if !self.params.is_empty() {
            params.values[0] = sight.chosen(0);
            params.used = 1;
        }
        Reader { sieve: self, sight, params: RefCell::new(params) }.answer()
    }
}

/// A structure, and what was chosen.
struct Plain<'a> {
    cells: &'a [Cell],
    script: &'a [ViewScalar],
}

impl Sight for Plain<'_> {
    fn cell(&self, at: usize) -> Cell {
        self.cells[at]
    }

    fn chosen(&self, at: usize) -> Option<ViewScalar> {
        self.script.get(at).copied()
    }
}

/// One of some siblings, which is not made.
struct InSibling<'a> {
    parent: &'a [Cell],
    script: &'a [ViewScalar],
    siblings: &'a Siblings,
    at: usize,
    /// The star that its newest element was, as a cell and as a value.
    was: Option<(Cell, ViewScalar)>,
}

impl Sight for InSibling<'_> {
    fn cell(&self, at: usize) -> Cell {
        if let Some(position) = self.siblings.position(at) {
            return self.siblings.cells(self.at)[position];
        }
        let cell = self.parent[at];
        if self.was.is_some_and(|(was, _)| was == cell) { self.siblings.newest() } else { cell }
    }

    fn chosen(&self, at: usize) -> Option<ViewScalar> {
        let value = self.script.get(at).copied()?;
        match self.was {
            Some((_, was)) if was == value => self.siblings.newest().unpack(),
            Some(_) | None => Some(value),
        }
    }
}

/// The parameters of a rule by their locals.
type Locals = [(LocalId, TypeId)];

impl Test {
    /// Whether it is so, in the order in which a run would evaluate it; no answer where a run would do more than to go on.
    fn truth(&self, look: &impl Fn(&Operand) -> Result<Cell, Answer>) -> Result<bool, Answer> {
        Ok(match self {
            Test::Equal(a, b) => look(a)? == look(b)?,
            Test::Truth(of) => match look(of)?.unpack() {
                Some(ViewScalar::Bool(value)) => value,
                _ => return Err(Answer::Perhaps),
            },
            Test::Not(of) => !of.truth(look)?,
            Test::All(parts) => {
                for part in parts {
                    if !part.truth(look)? {
                        return Ok(false);
                    }
                }
                true
            }
            Test::Any(parts) => {
                for part in parts {
                    if part.truth(look)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }
}

impl<'m> OpenSystem<'m> {
    pub(crate) fn find_sieves(&mut self) {
        let model: &'m Model = self.model;
        for rule in model.rules.iter() {
            let sieve = self.sieve_of(rule);
            if !sieve.tests.is_empty() {
                self.sieves.insert(rule as *const Rule as usize, sieve);
            }
        }
    }

    fn sieve_of(&self, rule: &Rule) -> Sieve {
        let mut sieve = Sieve::default();
        let (Some(guard), true) = (&rule.guard, rule.bindings.is_empty()) else { return sieve };
        let mut locals = Vec::new();
        for param in &rule.params {
            match param.domain {
                Domain::Type(ty) if rule.code.locals[param.local].kind == LocalKind::Bound => {
                    locals.push((param.local, ty));
                }
                // Others are evaluated before the guard.
                Domain::Type(_) | Domain::Range { .. } | Domain::Slots(_) => return sieve,
            }
        }
        for part in guard.conjuncts() {
            match self.test(part, &locals) {
                Some(test) => sieve.tests.push(test),
                None => break,
            }
        }
        sieve.params = locals.into_iter().map(|(_, ty)| ty).collect();
        sieve
    }

    fn test(&self, expr: &Expr, locals: &Locals) -> Option<Test> {
        let all =
            |parts: &[Expr]| parts.iter().map(|part| self.test(part, locals)).collect::<Option<Vec<_>>>();
        Some(match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => Test::Not(Box::new(self.test(of, locals)?)),
            ExprKind::And(parts) => Test::All(all(parts)?),
            ExprKind::Or(parts) => Test::Any(all(parts)?),
            ExprKind::Implies(a, b) => {
                Test::Any(vec![Test::Not(Box::new(self.test(a, locals)?)), self.test(b, locals)?])
            }
            ExprKind::Equal(a, b) => Test::Equal(self.operand(a, locals)?, self.operand(b, locals)?),
            ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::Peek(_)
                if *self.model.kind(expr.ty) == Type::Bool =>
            {
                Test::Truth(self.operand(expr, locals)?)
            }
            _ => return None,
        })
    }

    fn operand(&self, expr: &Expr, locals: &Locals) -> Option<Operand> {
        if !self.model.kind(expr.ty).is_scalar() {
            return None;
        }
        match &expr.kind {
            ExprKind::Const(value) => Cell::pack(ViewScalar::of(value)?).map(Operand::Const),
            ExprKind::Read(place) | ExprKind::Peek(place) if place.path.is_empty() && is_local(place) => {
                which(locals, plain_local(expr)?).map(Operand::Param)
            }
            ExprKind::Read(place) => self.located(place, locals).map(Operand::Cell),
            ExprKind::Peek(place) => self.located(place, locals).map(Operand::Peeked),
            _ => None,
        }
    }

    fn located(&self, place: &Place, locals: &Locals) -> Option<Located> {
        let Root::Var(var) = place.root else { return None };
        let model = self.model;
        let (mut offset, mut strides, mut ty) =
            (self.layout.vars[var.index()], Vec::new(), model.vars[var].ty);
        for projection in &place.path {
            match (projection, model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    let before = fields.iter().take(*at as usize);
                    offset += before.map(|field| self.layout.size(field.ty)).sum::<usize>();
                    ty = fields[*at as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    match (&index.kind, model.kind(*of)) {
                        (ExprKind::Const(value), _) => {
                            offset +=
                                position(model, *of, ViewScalar::of(value)?)? * self.layout.size(*element);
                        }
                        (_, Type::Ref { sort, nullable: false }) if self.any[sort.index()] => {
                            let param = which(locals, plain_local(index)?)?;
                            if !self.model.same_values(locals[param].1, *of) {
                                return None;
                            }
                            strides.push((param, self.layout.size(*element)));
                        }
                        _ => return None,
                    }
                    ty = *element;
                }
                _ => return None,
            }
        }
        Some(Located { offset, strides })
    }

    /// What the guard of a rule comes to in a structure, where these are chosen.
    pub(crate) fn sieve(&self, rule: &Rule, structure: &Structure, script: &[ViewScalar]) -> Answer {
        match self.sieves.get(&(rule as *const Rule as usize)) {
            Some(sieve) => sieve.answer(Plain { cells: &structure.cells, script }),
            None => Answer::Perhaps,
        }
    }

    /// The same in one of some siblings.
    pub(crate) fn sieve_sibling(
        &self,
        rule: &Rule,
        parent: &Structure,
        script: &[ViewScalar],
        siblings: &Siblings,
        at: usize,
    ) -> Answer {
        match self.sieves.get(&(rule as *const Rule as usize)) {
            Some(sieve) => {
                let was = siblings.name(at).and_then(|star| Some((star, star.unpack()?)));
                sieve.answer(InSibling { parent: &parent.cells, script, siblings, at, was })
            }
            None => Answer::Perhaps,
        }
    }
}

fn is_local(place: &Place) -> bool {
    matches!(place.root, Root::Local(_))
}

/// Which parameter a local is.
fn which(locals: &Locals, local: LocalId) -> Option<usize> {
    locals.iter().position(|(it, _)| *it == local)
}
