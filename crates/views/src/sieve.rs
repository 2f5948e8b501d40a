//! Guards that are decided without a run: most of them are false, and mostly because of what is kept for a parameter or
//! belongs to no element.
//!
//! A sieve is the beginning of a guard as tests on cells. It gives the answer that a run would come to, or none: it
//! evaluates in the order of a run, and a parameter after the first is chosen where it is first needed.
//!
//! Where a run stops because elements that are not known may decide a quantifier (or matter to a loop), and one that does is to
//! become known, most candidates do not. That is seen in the same way, as long as nothing has been written: then elements are
//! what they were before the step. A candidate that is passed over would contradict what is assumed of it. Faults that
//! it shows are found where it is in the view.

use shoal_model::{
    Domain, Expr, ExprKind, IndexVec, Local, LocalId, LocalKind, Model, Node, Place, Projection, Quantifier,
    Root, Rule, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp, walk_code, walk_expr,
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

/// The tests with which a guard begins, in their order, or those that an element must pass to decide a quantifier or to matter
/// to a loop.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    tests: Vec<Test>,
    /// The types of the parameters.
    params: Vec<TypeId>,
    /// The locals that they are.
    locals: Vec<LocalId>,
    /// Which of them is the element that is to matter.
    element: usize,
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

/// What is looked at: a structure, or some siblings, of which all but what the newest element holds is the same.
struct Sight<'a> {
    cells: &'a [Cell],
    /// What was chosen for parameters, in the order in which they were needed.
    script: &'a [ViewScalar],
    siblings: Option<&'a Siblings>,
    /// The star that the newest element was, as a cell and as a value.
    was: Option<(Cell, ViewScalar)>,
}

impl Sight<'_> {
    fn see(&self, at: usize) -> Seen {
        if let Some(position) = self.siblings.and_then(|siblings| siblings.position(at)) {
            return Seen::Own(position);
        }
        let cell = self.cells[at];
        Seen::Known(match (self.was, self.siblings) {
            (Some((was, _)), Some(siblings)) if was == cell => siblings.newest(),
            (Some(_) | None, _) => cell,
        })
    }

    fn chosen(&self, at: usize) -> Option<ViewScalar> {
        let value = self.script.get(at).copied()?;
        match (self.was, self.siblings) {
            (Some((_, was)), Some(siblings)) if was == value => siblings.newest().unpack(),
            (Some(_) | None, _) => Some(value),
        }
    }
}

/// A cell, or where it is among those of the newest element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Known(Cell),
    Own(usize),
    /// The same where it may be undefined.
    PeekedOwn(usize),
}

/// What is left of a test where all but the newest element is known.
#[derive(Debug)]
enum Left {
    Is(bool),
    /// A run would do more than to go on.
    Ends(Answer),
    Equal(Seen, Seen),
    Truth(Seen),
    Not(Box<Left>),
    All(Vec<Left>),
    Any(Vec<Left>),
}

/// What is left of a sieve.
#[derive(Debug)]
pub(crate) struct Sifter {
    tests: Vec<Left>,
    /// What it comes to where all of them are true.
    end: Answer,
}

impl Sifter {
    /// Whether the guard is false, by the cells of the newest element.
    pub(crate) fn is_dead(&self, own: &[Cell]) -> bool {
        for test in &self.tests {
            match test.truth(own) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
        self.end == Answer::No
    }
}

impl Seen {
    /// Nothing where a run would fault or not find it.
    fn cell(self, own: &[Cell]) -> Option<Cell> {
        match self {
            Seen::Known(cell) => Some(cell),
            Seen::Own(at) => Some(own[at]).filter(|cell| *cell != Cell::UNDEFINED && *cell != Cell::ABSENT),
            Seen::PeekedOwn(at) => Some(own[at]).filter(|cell| *cell != Cell::ABSENT),
        }
    }
}

impl Left {
    /// Whether it is so, in the order in which a run would evaluate it; nothing where that is seen in a run.
    fn truth(&self, own: &[Cell]) -> Option<bool> {
        match self {
            Left::Is(truth) => Some(*truth),
            Left::Ends(_) => None,
            Left::Equal(a, b) => Some(a.cell(own)? == b.cell(own)?),
            Left::Truth(of) => as_truth(of.cell(own)?),
            Left::Not(of) => Some(!of.truth(own)?),
            Left::All(parts) => first_that_is(parts, own, false).map(|found| !found),
            Left::Any(parts) => first_that_is(parts, own, true),
        }
    }
}

/// Whether one of the parts comes to this truth; nothing if one before it ends.
fn first_that_is(parts: &[Left], own: &[Cell], truth: bool) -> Option<bool> {
    for part in parts {
        if part.truth(own)? == truth {
            return Some(true);
        }
    }
    Some(false)
}

fn as_truth(cell: Cell) -> Option<bool> {
    match cell.unpack() {
        Some(ViewScalar::Bool(value)) => Some(value),
        _ => None,
    }
}

/// Evaluates a sieve as far as what is known tells.
struct Reader<'a> {
    sieve: &'a Sieve,
    sight: Sight<'a>,
    /// What the parameters are, as far as they were needed so far.
    params: SmallVec<[Option<ViewScalar>; 4]>,
    used: usize,
    /// Whether it depends on the newest element if a run comes here: then it is not known which choice is whose.
    unsure: bool,
}

impl Reader<'_> {
    fn param(&mut self, which: usize) -> Result<ViewScalar, Answer> {
        if let Some(value) = self.params[which] {
            return Ok(value);
        }
        if self.unsure {
            return Err(Answer::Perhaps);
        }
        let value = self.sight.chosen(self.used).ok_or(Answer::Chooses(self.sieve.params[which]))?;
        self.used += 1;
        self.params[which] = Some(value);
        Ok(value)
    }

    fn look(&mut self, operand: &Operand) -> Result<Seen, Answer> {
        match operand {
            Operand::Const(cell) => Ok(Seen::Known(*cell)),
            Operand::Param(which) => Cell::pack(self.param(*which)?).map(Seen::Known).ok_or(Answer::Perhaps),
            Operand::Peeked(located) => Ok(match self.cell(located)? {
                Seen::Own(at) => Seen::PeekedOwn(at),
                seen => seen,
            }),
            // A run that reads what is undefined faults.
            Operand::Cell(located) => match self.cell(located)? {
                Seen::Known(Cell::UNDEFINED) => Err(Answer::Perhaps),
                seen => Ok(seen),
            },
        }
    }

    fn cell(&mut self, located: &Located) -> Result<Seen, Answer> {
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
        match self.sight.see(at) {
            Seen::Known(Cell::ABSENT) => Err(Answer::Perhaps),
            seen => Ok(seen),
        }
    }

    fn left(&mut self, test: &Test) -> Left {
        match test {
            Test::Equal(a, b) => match self.look(a).and_then(|a| Ok((a, self.look(b)?))) {
                Ok((Seen::Known(a), Seen::Known(b))) => Left::Is(a == b),
                Ok((a, b)) => Left::Equal(a, b),
                Err(answer) => Left::Ends(answer),
            },
            Test::Truth(of) => match self.look(of) {
                Ok(Seen::Known(cell)) => as_truth(cell).map_or(Left::Ends(Answer::Perhaps), Left::Is),
                Ok(seen) => Left::Truth(seen),
                Err(answer) => Left::Ends(answer),
            },
            Test::Not(of) => match self.left(of) {
                Left::Is(truth) => Left::Is(!truth),
                Left::Ends(answer) => Left::Ends(answer),
                left => Left::Not(Box::new(left)),
            },
            Test::All(parts) => match self.parts(parts, false) {
                (left, end) if left.is_empty() => end,
                (left, _) => Left::All(left),
            },
            Test::Any(parts) => match self.parts(parts, true) {
                (left, end) if left.is_empty() => end,
                (left, _) => Left::Any(left),
            },
        }
    }

    /// What is left of parts of which the first that comes to `decisive` decides, and what they come to if nothing is left.
    fn parts(&mut self, parts: &[Test], decisive: bool) -> (Vec<Left>, Left) {
        let outer = self.unsure;
        let mut all = Vec::new();
        let mut end = Left::Is(!decisive);
        for part in parts {
            let left = self.left(part);
            match left {
                Left::Is(truth) if truth != decisive => {}
                Left::Is(_) | Left::Ends(_) => {
                    end = left;
                    break;
                }
                Left::Equal(..) | Left::Truth(_) | Left::Not(_) | Left::All(_) | Left::Any(_) => {
                    self.unsure = true;
                    all.push(left);
                }
            }
        }
        self.unsure = outer;
        if all.is_empty() {
            return (all, end);
        }
        all.push(end);
        (all, Left::Is(!decisive))
    }

    fn sifter(&mut self) -> Sifter {
        let mut tests = Vec::new();
        for test in &self.sieve.tests {
            // Where a run comes to the next test, this one is true: so it is sure which choice is whose.
            let left = self.left(test);
            match left {
                Left::Is(true) => {}
                Left::Is(false) => return Sifter { tests, end: Answer::No },
                Left::Ends(end) => return Sifter { tests, end },
                Left::Equal(..) | Left::Truth(_) | Left::Not(_) | Left::All(_) | Left::Any(_) => {
                    tests.push(left);
                }
            }
        }
        Sifter { tests, end: Answer::Perhaps }
    }
}

impl Sieve {
    /// The locals whose values the tests may need.
    pub(crate) fn locals(&self) -> &[LocalId] {
        &self.locals
    }

    /// What is left of the tests of who matters, where the locals are these.
    fn witness_sifter(&self, sight: Sight<'_>, locals: &[Option<ViewScalar>], newest: Cell) -> Sifter {
        let was = sight.was;
        let value = |value: &Option<ViewScalar>| match (was, *value) {
            (Some((_, was)), Some(value)) if was == value => newest.unpack(),
            (Some(_) | None, value) => value,
        };
        let mut params: SmallVec<[Option<ViewScalar>; 4]> = locals.iter().map(value).collect();
        params[self.element] = newest.unpack();
        Reader { sieve: self, sight, params, used: 0, unsure: false }.sifter()
    }

    fn sifter(&self, sight: Sight<'_>) -> Sifter {
        let mut params: SmallVec<[Option<ViewScalar>; 4]> = SmallVec::new();
        params.resize(self.params.len(), None);
        let mut used = 0;
        // The first is chosen before anything is evaluated.
        if !self.params.is_empty() {
            params[0] = sight.chosen(0);
            used = 1;
        }
        Reader { sieve: self, sight, params, used, unsure: false }.sifter()
    }
}

/// The parameters of a rule by their locals.
type Locals = [(LocalId, TypeId)];

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
        (sieve.locals, sieve.params) = locals.into_iter().unzip();
        sieve
    }

    /// Finds what elements must be like to decide a quantifier over them, or to matter to a loop.
    pub(crate) fn find_witness_sieves(&mut self) {
        let model: &'m Model = self.model;
        let mut found = Vec::new();
        let mut see = |node: Node<'m>, locals: &'m IndexVec<LocalId, Local>| {
            found.extend(self.witness_sieve_of(node, locals));
        };
        for rule in model.rules.iter() {
            let locals = &rule.code.locals;
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut |node| see(node, locals)));
            walk_code(&rule.code, &mut |node| see(node, locals));
        }
        for function in model.functions.iter() {
            walk_code(&function.code, &mut |node| see(node, &function.code.locals));
        }
        for claim in &self.claims {
            walk_expr(claim.body, &mut |node| see(node, claim.locals));
        }
        self.witness_sieves.extend(found);
    }

    /// The sieve of a quantifier or a loop, and where that is.
    fn witness_sieve_of(
        &self,
        node: Node<'m>,
        locals: &'m IndexVec<LocalId, Local>,
    ) -> Option<(usize, Sieve)> {
        let (site, element, domain, condition, decides) = match node {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Quantified { quantifier, local, domain, body } => {
                    let decides = match quantifier {
                        Quantifier::Exists | Quantifier::Count => true,
                        Quantifier::Forall => false,
                    };
                    (expr as *const Expr as usize, *local, domain, body.as_ref(), decides)
                }
                _ => return None,
            },
            Node::Stmt(stmt) => match &stmt.kind {
                // A round that does nothing where a condition is false.
                StmtKind::For { local, domain, body } => match &body[..] {
                    [Stmt { kind: StmtKind::If(arms, other), .. }] if arms.len() == 1 && other.is_empty() => {
                        (stmt as *const Stmt as usize, *local, domain, &arms[0].0, true)
                    }
                    _ => return None,
                },
                _ => return None,
            },
            Node::Place(_) => return None,
        };
        self.open_domain(domain)?;
        let is_plain = |id: &LocalId| self.model.kind(locals[*id].ty).is_scalar();
        let known: Vec<(LocalId, TypeId)> =
            locals.ids().filter(is_plain).map(|id| (id, locals[id].ty)).collect();
        let mut sieve = Sieve { element: which(&known, element)?, ..Sieve::default() };
        match decides {
            true => {
                let tests = condition.conjuncts().into_iter().map_while(|part| self.test(part, &known));
                sieve.tests = tests.collect();
            }
            false => sieve.tests.push(Test::Not(Box::new(self.test(condition, &known)?))),
        }
        (sieve.locals, sieve.params) = known.into_iter().unzip();
        (!sieve.tests.is_empty()).then_some((site, sieve))
    }

    /// What has to be so of an element that matters to a quantifier or loop.
    pub(crate) fn witness_sieve(&self, site: usize) -> Option<&Sieve> {
        self.witness_sieves.get(&site)
    }

    /// What is left of that in those of some siblings whose newest element was this star.
    pub(crate) fn witness_sifter(
        &self,
        site: usize,
        locals: &[Option<ViewScalar>],
        parent: &Structure,
        siblings: &Siblings,
        name: Option<Cell>,
    ) -> Option<Sifter> {
        let sieve = self.witness_sieve(site)?;
        let was = name.and_then(|star| Some((star, star.unpack()?)));
        let sight = Sight { cells: &parent.cells, script: &[], siblings: Some(siblings), was };
        Some(sieve.witness_sifter(sight, locals, siblings.newest()))
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
            ExprKind::IsUndefined(place) if self.model.kind(place.ty).is_scalar() => {
                let place = Operand::Peeked(self.located(place, locals)?);
                Test::Equal(place, Operand::Const(Cell::UNDEFINED))
            }
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
        let Some(sieve) = self.sieves.get(&(rule as *const Rule as usize)) else { return Answer::Perhaps };
        // Where there are no siblings nothing is left to be tested.
        sieve.sifter(Sight { cells: &structure.cells, script, siblings: None, was: None }).end
    }

    /// What is left of the tests of a rule in those of some siblings whose newest element was this star. Nothing if there are
    /// no tests.
    pub(crate) fn sifter(
        &self,
        rule: &Rule,
        parent: &Structure,
        script: &[ViewScalar],
        siblings: &Siblings,
        name: Option<Cell>,
    ) -> Option<Sifter> {
        let sieve = self.sieves.get(&(rule as *const Rule as usize))?;
        let was = name.and_then(|star| Some((star, star.unpack()?)));
        Some(sieve.sifter(Sight { cells: &parent.cells, script, siblings: Some(siblings), was }))
    }
}

fn is_local(place: &Place) -> bool {
    matches!(place.root, Root::Local(_))
}

/// Which parameter a local is.
fn which(locals: &Locals, local: LocalId) -> Option<usize> {
    locals.iter().position(|(it, _)| *it == local)
}
