//! Running code in the open world: the ordinary meaning of the Model on what is known. Where more would have to be known,
//! the run stops and says what.
//!
//! The run on a structure follows the run on a state that the structure is a part of: values are the images of the values
//! there, because known cells agree, cells of other elements are never read, and equal images mean equal elements.

use shoal_model::{
    Argument, Binding, CALL_DEPTH, CheckKind, Domain, Expr, ExprKind, Fault, FaultKind, FunctionId, IndexVec,
    Local, LocalId, LocalKind, OutputItem, Place, Projection, Quantifier, Root, SortId, Stmt, StmtKind, Type,
    TypeId, TypedId, UnaryOp,
};
use shoal_syntax::Span;

use crate::{
    cell::{Cell, Scalar},
    layout::{belongs, position},
    structure::Structure,
    system::System,
};

/// Which evaluation of a quantifier or loop: its place in memory, and the calls and rounds around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteKey {
    site: usize,
    around: Vec<(usize, Scalar)>,
}

impl SiteKey {
    pub(crate) fn substitute(&mut self, from: Scalar, to: Scalar) {
        self.around.iter_mut().filter(|(_, value)| *value == from).for_each(|(_, value)| *value = to);
    }
}

/// What has been assumed so far, so that a run can go on where it stopped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Of the elements that were not known then, none decides the quantifier (or has an effect beyond its own entries).
    Nobody { key: SiteKey, known: Vec<usize> },
    /// This element does.
    Witness { key: SiteKey, sort: usize, element: usize },
    /// Some element does, whichever.
    Somebody { key: SiteKey },
    /// After the step no element that is not known satisfies the context predicate.
    NobodyAfter(usize),
    /// After the step this element does.
    WitnessAfter { predicate: usize, sort: usize, element: usize },
    /// After the step some element that is not known does, whichever.
    SomebodyAfter(usize),
}

/// Why a run does not come to its end.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Fault(Fault),
    /// The step does not exist: a guard or an assumption is false.
    Dead,
    /// What was assumed contradicts what is known: there is no such state.
    Contradiction,
    /// A cell of this star is read.
    Resolve(Cell),
    /// Elements that are not known may matter.
    Quantify {
        key: SiteKey,
        sorts: Vec<usize>,
        may_assume: bool,
    },
    /// After the step, elements that are not known may satisfy a context predicate.
    After(usize),
    /// One of these has to be chosen.
    Choose(Vec<Scalar>),
    /// The engine cannot go on.
    Lacking(String, Span),
}

pub(crate) type Run<T = ()> = Result<T, Stop>;

fn fault<T>(kind: FaultKind, span: Span) -> Run<T> {
    Err(Stop::Fault(Fault { kind, span }))
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Scalar(Scalar),
    /// The cells of a record, an array or a bag.
    Block(Vec<Cell>),
}

#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Unbound,
    Data(Data),
    Refers(Location),
    /// What the last round of a loop has left: not to be read.
    Left,
}

#[derive(Clone, Debug, PartialEq)]
struct Location {
    base: Base,
    offset: usize,
    /// It belongs to an element that is not known; the offset is the one of the first element.
    outside: Option<Cell>,
    /// The cell that says whether the slot of a bag is in use through which it leads.
    in_use: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    Var,
    Local { frame: usize, local: LocalId },
}

struct Frame<'m> {
    locals: &'m IndexVec<LocalId, Local>,
    slots: Vec<Slot>,
    result: Option<TypeId>,
}

enum Flow {
    Next,
    Return(Option<Data>),
}

/// A run.
pub(crate) struct Machine<'s, 'm> {
    system: &'s System<'m>,
    pub(crate) structure: Structure,
    script: &'s [Scalar],
    /// How much of the script has been used.
    used: usize,
    decisions: &'s [Decision],
    frames: Vec<Frame<'m>>,
    around: Vec<(usize, Scalar)>,
    /// The context predicates of which it is no longer known whether an unknown element satisfies them.
    pub(crate) disturbed: u32,
    /// The cells of elements beyond those of a view that were read.
    pub(crate) reads: Vec<usize>,
}

impl<'s, 'm> Machine<'s, 'm> {
    pub(crate) fn new(
        system: &'s System<'m>,
        structure: &Structure,
        script: &'s [Scalar],
        decisions: &'s [Decision],
    ) -> Self {
        Machine {
            system,
            structure: structure.clone(),
            script,
            used: 0,
            decisions,
            frames: Vec::new(),
            around: Vec::new(),
            disturbed: 0,
            reads: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, locals: &'m IndexVec<LocalId, Local>, result: Option<TypeId>) {
        let slot = |local: &Local| match local.kind {
            LocalKind::Variable => Slot::Data(self.blank(local.ty)),
            LocalKind::Bound | LocalKind::Reference { .. } => Slot::Unbound,
        };
        let slots = locals.iter().map(slot).collect();
        self.frames.push(Frame { locals, slots, result });
    }

    pub(crate) fn pop(&mut self) {
        self.frames.pop();
    }

    /// Marks what follows as another part of the run: the same expression may be evaluated in several.
    pub(crate) fn phase(&mut self, number: i64) {
        self.around.clear();
        self.around.push((0, Scalar::Int(number)));
    }

    pub(crate) fn set(&mut self, local: LocalId, scalar: Scalar) {
        self.put(local, Slot::Data(Data::Scalar(scalar)));
    }

    fn put(&mut self, local: LocalId, slot: Slot) -> Slot {
        match self.frames.last_mut().and_then(|frame| frame.slots.get_mut(local.index())) {
            Some(held) => std::mem::replace(held, slot),
            None => Slot::Unbound,
        }
    }

    fn blank(&self, ty: TypeId) -> Data {
        match self.system.model.kind(ty).is_scalar() {
            true => Data::Scalar(Scalar::Undefined),
            false => Data::Block(vec![Cell::UNDEFINED; self.system.layout.size(ty)]),
        }
    }

    /// Takes the next value of the script, or asks for one.
    pub(crate) fn choose(&mut self, options: impl FnOnce(&Self) -> Vec<Scalar>) -> Run<Scalar> {
        match self.script.get(self.used) {
            Some(value) => {
                self.used += 1;
                Ok(*value)
            }
            None => Err(Stop::Choose(options(self))),
        }
    }

    /// What an element of a sort may be: a known one, a star that occurs, a fresh star.
    fn elements_to_choose(&self, sort: usize) -> Vec<Scalar> {
        let id = SortId::from_index(sort);
        let known = (0..self.structure.known[sort]).map(|element| Scalar::Elem(id, element as u32));
        if !self.system.any[sort] {
            return known.collect();
        }
        // All numbers below `stars` are stars that occur, or did: then they are as good as fresh.
        known.chain((0..=self.structure.stars[sort]).map(|number| Scalar::Star(id, number))).collect()
    }

    /// The values of a finite scalar type that can be chosen.
    pub(crate) fn values_to_choose(&self, ty: TypeId) -> Vec<Scalar> {
        match self.system.model.kind(ty) {
            Type::Ref { sort, nullable } => {
                let null = nullable.then_some(Scalar::Null);
                null.into_iter().chain(self.elements_to_choose(sort.index())).collect()
            }
            Type::Union { members } => {
                members.iter().flat_map(|member| self.values_to_choose(*member)).collect()
            }
            _ => self.system.model.values(ty).filter_map(|value| Scalar::of(&value)).collect(),
        }
    }

    /// The values of a type that are known, in order, and the sorts that may have more.
    fn known_values(&self, ty: TypeId) -> (Vec<Scalar>, Vec<usize>) {
        match self.system.model.kind(ty) {
            Type::Ref { sort, nullable } => {
                let null = nullable.then_some(Scalar::Null);
                let known = self.structure.known[sort.index()] as u32;
                let elements = (0..known).map(|element| Scalar::Elem(*sort, element));
                let open = self.system.any[sort.index()].then_some(sort.index());
                (null.into_iter().chain(elements).collect(), open.into_iter().collect())
            }
            Type::Union { members } => {
                let (mut values, mut open) = (Vec::new(), Vec::new());
                for member in members {
                    let (some, sorts) = self.known_values(*member);
                    values.extend(some);
                    open.extend(sorts);
                }
                (values, open)
            }
            _ => {
                let values = self.system.model.values(ty).filter_map(|value| Scalar::of(&value));
                (values.collect(), Vec::new())
            }
        }
    }

    /// The values of a domain, the sorts that may have more, and whether it has no order.
    fn domain(&mut self, domain: &'m Domain) -> Run<(Vec<Scalar>, Vec<usize>, bool)> {
        match domain {
            Domain::Type(ty) => {
                let (values, open) = self.known_values(*ty);
                Ok((values, open, !self.system.model.sorts_of(*ty).is_empty()))
            }
            Domain::Range { from, to, by } => {
                let (first, last, step) = (self.integer(from)?, self.integer(to)?, self.integer(by)?);
                if step == 0 {
                    return fault(FaultKind::ZeroStep, by.span);
                }
                let inside = |value: &i64| if step > 0 { *value <= last } else { *value >= last };
                let next = |value: &i64| value.checked_add(step).filter(inside);
                let values = std::iter::successors(Some(first).filter(inside), next).map(Scalar::Int);
                Ok((values.collect(), Vec::new(), false))
            }
            Domain::Slots(place) => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let mut values = Vec::new();
                for slot in 0..capacity {
                    if self.cell(&location, slot * width)? == Cell::TAKEN {
                        values.push(Scalar::Int(slot as i64));
                    }
                }
                Ok((values, Vec::new(), true))
            }
        }
    }

    /// The values that a parameter or a choice may take.
    pub(crate) fn options(&mut self, domain: &'m Domain) -> Run<Vec<Scalar>> {
        match domain {
            Domain::Type(ty) => Ok(self.values_to_choose(*ty)),
            Domain::Range { .. } | Domain::Slots(_) => Ok(self.domain(domain)?.0),
        }
    }

    /// The cells of a slot and how many slots there are.
    fn bag(&self, place: &Place) -> Run<(usize, usize)> {
        match self.system.model.kind(place.ty) {
            Type::Multiset { capacity, element } => {
                Ok((1 + self.system.layout.size(*element), *capacity as usize))
            }
            _ => Err(Stop::Lacking("slots of what is no multiset".into(), place.span)),
        }
    }

    pub(crate) fn truth(&mut self, expr: &'m Expr) -> Run<bool> {
        match self.scalar(expr)? {
            Scalar::Bool(value) => Ok(value),
            other => unfit(other, expr.span),
        }
    }

    fn integer(&mut self, expr: &'m Expr) -> Run<i64> {
        match self.scalar(expr)? {
            Scalar::Int(value) => Ok(value),
            other => unfit(other, expr.span),
        }
    }

    fn scalar(&mut self, expr: &'m Expr) -> Run<Scalar> {
        match self.eval(expr)? {
            Data::Scalar(scalar) => Ok(scalar),
            Data::Block(_) => Err(Stop::Lacking("a composite value as a scalar".into(), expr.span)),
        }
    }

    fn eval(&mut self, expr: &'m Expr) -> Run<Data> {
        let span = expr.span;
        let scalar = match &expr.kind {
            ExprKind::Const(value) => match Scalar::of(value) {
                Some(scalar) => scalar,
                None => return Err(Stop::Lacking("a constant that is not a scalar".into(), span)),
            },
            ExprKind::Read(place) => match self.peek(place)? {
                Data::Scalar(Scalar::Undefined) => return fault(FaultKind::Undefined, span),
                data => return Ok(data),
            },
            ExprKind::Peek(place) => return self.peek(place),
            ExprKind::IsUndefined(place) => {
                Scalar::Bool(self.peek(place)? == Data::Scalar(Scalar::Undefined))
            }
            ExprKind::Unary(op, operand) => match op {
                UnaryOp::Not => Scalar::Bool(!self.truth(operand)?),
                UnaryOp::BitNot => Scalar::Int(!self.integer(operand)?),
                UnaryOp::Neg => match self.integer(operand)?.checked_neg() {
                    Some(value) => Scalar::Int(value),
                    None => return fault(FaultKind::Overflow, span),
                },
            },
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.scalar(left)?, self.scalar(right)?);
                match (a, b) {
                    (Scalar::Int(a), Scalar::Int(b)) => match op.apply(a, b) {
                        Ok(value) => match Scalar::of(&value) {
                            Some(scalar) => scalar,
                            None => return Err(Stop::Lacking("this arithmetic".into(), span)),
                        },
                        Err(kind) => return fault(kind, span),
                    },
                    (Scalar::Int(_), other) => return unfit(other, right.span),
                    (other, _) => return unfit(other, left.span),
                }
            }
            ExprKind::Equal(left, right) => {
                let (a, b) = (self.eval(left)?, self.eval(right)?);
                if !matches!((&a, &b), (Data::Scalar(_), Data::Scalar(_)))
                    && (self.system.is_open(left.ty) || self.system.has_bag(left.ty))
                {
                    let what =
                        "a comparison of arrays over a sort with any number of elements, or of multisets";
                    return Err(Stop::Lacking(what.into(), span));
                }
                Scalar::Bool(a == b)
            }
            ExprKind::And(operands) => {
                let mut all = true;
                for operand in operands {
                    all = self.truth(operand)?;
                    if !all {
                        break;
                    }
                }
                Scalar::Bool(all)
            }
            ExprKind::Or(operands) => {
                let mut some = false;
                for operand in operands {
                    some = self.truth(operand)?;
                    if some {
                        break;
                    }
                }
                Scalar::Bool(some)
            }
            ExprKind::Implies(left, right) => Scalar::Bool(!self.truth(left)? || self.truth(right)?),
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.truth(condition)? { then } else { other };
                return self.eval(taken);
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(expr, *quantifier, *local, domain, body)?
            }
            ExprKind::Call(function, arguments) => {
                match self.call(*function, arguments, span, expr as *const Expr as usize)? {
                    Some(data) => return Ok(data),
                    None => return fault(FaultKind::NoResult, span),
                }
            }
            ExprKind::IsMember(of, ty) => {
                let value = self.scalar(of)?;
                if self.system.grows(*ty) {
                    return Err(Stop::Lacking("a type that grows with the number of elements".into(), span));
                }
                Scalar::Bool(belongs(self.system.model, *ty, value))
            }
            ExprKind::Ordinal(of) => {
                let value = self.scalar(of)?;
                if self.system.model.sorts_of(of.ty).iter().any(|sort| self.system.any[sort.index()]) {
                    return Err(Stop::Lacking("the number of an element".into(), span));
                }
                match position(self.system.model, of.ty, value).map(i64::try_from) {
                    Some(Ok(number)) => Scalar::Int(number),
                    Some(Err(_)) => return fault(FaultKind::Overflow, span),
                    None => return fault(FaultKind::OutOfRange, span),
                }
            }
            ExprKind::ElementAt(sort, number) => {
                if self.system.any[sort.index()] {
                    return Err(Stop::Lacking("an element found by its number".into(), span));
                }
                let number = u32::try_from(self.integer(number)?).ok();
                match number.filter(|number| (*number as usize) < self.structure.known[sort.index()]) {
                    Some(number) => Scalar::Elem(*sort, number),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Entry(table, at) => {
                let at = usize::try_from(self.integer(at)?).ok();
                match at.and_then(|at| self.system.model.tables[*table].entries.get(at)) {
                    Some(entry) => Scalar::Int(*entry),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Len(place) => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let mut count = 0;
                for slot in 0..capacity {
                    count += i64::from(self.cell(&location, slot * width)? == Cell::TAKEN);
                }
                Scalar::Int(count)
            }
            ExprKind::Exists(of) => match self.scalar(of)? {
                Scalar::Elem(..) | Scalar::Star(..) => Scalar::Bool(true),
                Scalar::Undefined | Scalar::Null | Scalar::Bool(_) | Scalar::Int(_) | Scalar::Enum(..) => {
                    Scalar::Bool(false)
                }
            },
        };
        Ok(Data::Scalar(scalar))
    }

    fn key(&self, site: usize) -> SiteKey {
        SiteKey { site, around: self.around.clone() }
    }

    fn quantified(
        &mut self,
        expr: &'m Expr,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'m Domain,
        body: &'m Expr,
    ) -> Run<Scalar> {
        let site = expr as *const Expr as usize;
        let (values, open, unordered) = self.domain(domain)?;
        let all = unordered || quantifier == Quantifier::Count;
        let (mut holds, mut fails) = (Vec::new(), Vec::new());
        let outer = self.put(local, Slot::Unbound);
        for value in values {
            self.set(local, value);
            self.around.push((site, value));
            let truth = self.truth(body)?;
            self.around.pop();
            if truth {
                holds.push(value)
            } else {
                fails.push(value)
            }
            let known = match quantifier {
                Quantifier::Forall => !fails.is_empty(),
                Quantifier::Exists => !holds.is_empty(),
                Quantifier::Count => false,
            };
            if known && !all {
                break;
            }
        }
        self.put(local, outer);
        let answer = |decided: bool| match quantifier {
            Quantifier::Forall => Scalar::Bool(!decided),
            Quantifier::Exists => Scalar::Bool(decided),
            Quantifier::Count => Scalar::Int(holds.len() as i64),
        };
        let deciders = if quantifier == Quantifier::Forall { &fails } else { &holds };
        if open.is_empty() {
            return Ok(answer(!deciders.is_empty()));
        }
        let counts = quantifier == Quantifier::Count;
        if let Some(predicate) = self.system.predicate_at(site).filter(|it| self.disturbed >> it & 1 == 0) {
            return Ok(answer(!deciders.is_empty() || self.structure.bits >> predicate & 1 == 1));
        }
        let key = self.key(site);
        let assumed = self.assumed(&key, deciders)?;
        match assumed {
            Assumed::Somebody if !counts => Ok(answer(true)),
            Assumed::Nobody => Ok(answer(!deciders.is_empty())),
            _ if !counts && !deciders.is_empty() => Ok(answer(true)),
            Assumed::Somebody | Assumed::Nothing => {
                Err(Stop::Quantify { key, sorts: open, may_assume: !counts })
            }
        }
    }

    /// What the decisions say of an evaluation in which these elements matter.
    fn assumed(&self, key: &SiteKey, matter: &[Scalar]) -> Run<Assumed> {
        let mut assumed = Assumed::Nothing;
        for decision in self.decisions {
            match decision {
                Decision::Nobody { key: of, known } if of == key => {
                    // One of those that became known later does after all.
                    let late = |value: &Scalar| matches!(value, Scalar::Elem(sort, element) if self.system.any[sort.index()] && *element as usize >= known[sort.index()]);
                    if matter.iter().any(late) {
                        return Err(Stop::Contradiction);
                    }
                    assumed = Assumed::Nobody;
                }
                Decision::Witness { key: of, sort, element } if of == key => {
                    let is_it = |value: &Scalar| matches!(value, Scalar::Elem(of, number) if of.index() == *sort && *number as usize == *element);
                    if !matter.iter().any(is_it) {
                        return Err(Stop::Contradiction);
                    }
                }
                Decision::Somebody { key: of } if of == key => assumed = Assumed::Somebody,
                Decision::Nobody { .. }
                | Decision::Witness { .. }
                | Decision::Somebody { .. }
                | Decision::NobodyAfter(_)
                | Decision::WitnessAfter { .. }
                | Decision::SomebodyAfter(_) => {}
            }
        }
        Ok(assumed)
    }

    fn peek(&mut self, place: &'m Place) -> Run<Data> {
        let location = self.locate(place)?;
        self.read(&location, place.ty, place.span)
    }

    fn locate(&mut self, place: &'m Place) -> Run<Location> {
        let model = self.system.model;
        let frame = self.frames.len().wrapping_sub(1);
        let (mut location, mut ty) = match place.root {
            Root::Var(var) => {
                let offset = self.system.layout.vars[var.index()];
                (Location { base: Base::Var, offset, outside: None, in_use: None }, model.vars[var].ty)
            }
            Root::Local(local) => {
                let Some(top) = self.frames.last() else { return fault(FaultKind::Undefined, place.span) };
                let location = match &top.slots[local.index()] {
                    Slot::Unbound => return fault(FaultKind::Undefined, place.span),
                    Slot::Refers(location) => location.clone(),
                    Slot::Data(_) | Slot::Left => Location {
                        base: Base::Local { frame, local },
                        offset: 0,
                        outside: None,
                        in_use: None,
                    },
                };
                (location, top.locals[local].ty)
            }
        };
        for projection in &place.path {
            match (projection, model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    let before = fields.iter().take(*at as usize);
                    location.offset += before.map(|field| self.system.layout.size(field.ty)).sum::<usize>();
                    ty = fields[*at as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let value = self.scalar(index)?;
                    let at = match value {
                        Scalar::Undefined => return fault(FaultKind::Undefined, index.span),
                        Scalar::Star(sort, _) => {
                            let Some(star) = Cell::pack(value) else {
                                return Err(Stop::Lacking("so many elements".into(), index.span));
                            };
                            location.outside = location.outside.or(Some(star));
                            position(model, *of, Scalar::Elem(sort, 0))
                        }
                        _ => position(model, *of, value),
                    };
                    match (at, value) {
                        (Some(at), _) => location.offset += at * self.system.layout.size(*element),
                        (None, Scalar::Null) => return fault(FaultKind::NullReference, index.span),
                        (None, _) => return fault(FaultKind::IndexOutOfRange, index.span),
                    }
                    ty = *element;
                }
                (Projection::Slot(slot), Type::Multiset { capacity, element }) => {
                    let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                    if at >= *capacity as usize {
                        return fault(FaultKind::EmptySlot, slot.span);
                    }
                    location.offset += at * (1 + self.system.layout.size(*element));
                    if self.cell(&location, 0)? != Cell::TAKEN {
                        return fault(FaultKind::EmptySlot, slot.span);
                    }
                    if matches!(location.base, Base::Local { .. }) {
                        return Err(Stop::Lacking("a multiset that is a local".into(), place.span));
                    }
                    location.in_use = Some(location.offset);
                    location.offset += 1;
                    ty = *element;
                }
                _ => return Err(Stop::Lacking("this way into a value".into(), place.span)),
            }
        }
        Ok(location)
    }

    /// One cell of what is at a location.
    fn cell(&mut self, location: &Location, further: usize) -> Run<Cell> {
        if let Some(star) = location.outside {
            return Err(Stop::Resolve(star));
        }
        let offset = location.offset + further;
        Ok(match location.base {
            Base::Var => {
                if self.system.is_beyond_view(offset) {
                    self.reads.push(offset);
                }
                self.structure.cells[offset]
            }
            Base::Local { frame, local } => match &self.frames[frame].slots[local.index()] {
                Slot::Data(Data::Block(cells)) => cells[offset],
                Slot::Data(Data::Scalar(scalar)) => {
                    return Cell::pack(*scalar).map_or_else(|| self.too_large(), Ok);
                }
                Slot::Left => return Err(self.left(frame, local)),
                Slot::Unbound | Slot::Refers(_) => {
                    return fault(FaultKind::Undefined, self.frames[frame].locals[local].span);
                }
            },
        })
    }

    fn left(&self, frame: usize, local: LocalId) -> Stop {
        let local = &self.frames[frame].locals[local];
        Stop::Lacking(
            format!("`{}`, which holds what the last round of a loop has left", local.name),
            local.span,
        )
    }

    fn too_large<T>(&self) -> Run<T> {
        Err(Stop::Lacking("a number beyond 2^28".into(), Span::default()))
    }

    fn read(&mut self, location: &Location, ty: TypeId, span: Span) -> Run<Data> {
        if let Some(in_use) = location.in_use
            && self.structure.cells[in_use] != Cell::TAKEN
        {
            return fault(FaultKind::EmptySlot, span);
        }
        if self.system.model.kind(ty).is_scalar() {
            // A scalar local may hold any integer.
            if let (Base::Local { frame, local }, None) = (location.base, location.outside)
                && let Slot::Data(Data::Scalar(scalar)) = &self.frames[frame].slots[local.index()]
            {
                return Ok(Data::Scalar(*scalar));
            }
            return match self.cell(location, 0)?.unpack() {
                Some(scalar) => Ok(Data::Scalar(scalar)),
                None => Err(Stop::Lacking("internal error: a cell that is not there is read".into(), span)),
            };
        }
        let cells = (0..self.system.layout.size(ty)).map(|at| self.cell(location, at));
        cells.collect::<Run<Vec<Cell>>>().map(Data::Block)
    }

    /// The data as a value of a type.
    fn fit(&self, data: Data, from: TypeId, to: TypeId, span: Span) -> Run<Data> {
        match &data {
            Data::Scalar(Scalar::Undefined) => Ok(data),
            Data::Scalar(scalar) if belongs(self.system.model, to, *scalar) => Ok(data),
            // For larger numbers of elements it may fit.
            Data::Scalar(_) if self.system.grows(to) => {
                let what = "a number that grows with the number of elements";
                Err(Stop::Lacking(what.into(), span))
            }
            Data::Scalar(_) => fault(FaultKind::OutOfRange, span),
            Data::Block(_) if self.system.model.same_values(from, to) => Ok(data),
            Data::Block(_) => Err(Stop::Lacking("a composite value of another type".into(), span)),
        }
    }

    fn write(&mut self, location: &Location, ty: TypeId, data: Data, span: Span) -> Run {
        if let Some(in_use) = location.in_use
            && self.structure.cells[in_use] != Cell::TAKEN
        {
            return fault(FaultKind::EmptySlot, span);
        }
        let system = self.system;
        let size = system.layout.size(ty);
        if let Some(star) = location.outside {
            let watched = location.base == Base::Var
                && (location.offset..location.offset + size).any(|at| system.watchers(at) != 0);
            return if watched { Err(Stop::Resolve(star)) } else { Ok(()) };
        }
        match location.base {
            Base::Var => {
                let whole = system.is_open(ty);
                let cells = match data {
                    Data::Scalar(scalar) => vec![Cell::pack(scalar).map_or_else(|| self.too_large(), Ok)?],
                    Data::Block(cells) => cells,
                };
                for (at, cell) in (location.offset..).zip(cells) {
                    let held = &mut self.structure.cells[at];
                    // Of an array, entries of elements that are not known may have changed too.
                    if whole || (*held != cell && !system.is_indexed(at)) {
                        self.disturbed |= system.watchers(at);
                    }
                    if *held != Cell::ABSENT {
                        *held = cell;
                    }
                }
            }
            Base::Local { frame, local } => {
                let name = self.frames[frame].locals[local].span;
                let slot = &mut self.frames[frame].slots[local.index()];
                match (slot, data) {
                    (Slot::Data(Data::Block(cells)), Data::Block(block)) => {
                        cells[location.offset..location.offset + size].copy_from_slice(&block);
                    }
                    (Slot::Data(Data::Block(cells)), Data::Scalar(scalar)) => {
                        let Some(cell) = Cell::pack(scalar) else { return self.too_large() };
                        cells[location.offset] = cell;
                    }
                    (slot, data) if location.offset == 0 && size == system.layout.size(ty) => {
                        if matches!(slot, Slot::Left) && !system.model.kind(ty).is_scalar() {
                            return Err(Stop::Lacking("a composite local after a loop".into(), name));
                        }
                        *slot = Slot::Data(data);
                    }
                    _ => return Err(Stop::Lacking("this way into a local".into(), name)),
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: FunctionId,
        arguments: &'m [Argument],
        span: Span,
        site: usize,
    ) -> Run<Option<Data>> {
        let callee = &self.system.model.functions[function];
        let mut slots = Vec::with_capacity(callee.params.len());
        for (param, argument) in callee.params.iter().zip(arguments) {
            slots.push((*param, self.argument(argument, &callee.code.locals[*param])?));
        }
        if self.frames.len() > CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        self.push(&callee.code.locals, callee.result);
        for (param, slot) in slots {
            self.put(param, slot);
        }
        self.around.push((site, Scalar::Undefined));
        let flow = self.block(&callee.code.body)?;
        self.around.pop();
        self.pop();
        match (flow, callee.result) {
            (Flow::Return(Some(data)), _) => Ok(Some(data)),
            (Flow::Next | Flow::Return(None), None) => Ok(None),
            (Flow::Next | Flow::Return(None), Some(_)) => fault(FaultKind::NoResult, span),
        }
    }

    fn argument(&mut self, argument: &'m Argument, local: &Local) -> Run<Slot> {
        Ok(match argument {
            Argument::Place(place) if matches!(local.kind, LocalKind::Reference { .. }) => {
                Slot::Refers(self.locate(place)?)
            }
            Argument::Place(place) => Slot::Data(self.peek(place)?),
            Argument::Value(value) => {
                let data = self.eval(value)?;
                Slot::Data(self.fit(data, value.ty, local.ty, value.span)?)
            }
        })
    }

    pub(crate) fn bind(&mut self, bindings: &'m [Binding]) -> Run {
        for binding in bindings {
            let Some(frame) = self.frames.last() else { return Ok(()) };
            let slot = self.argument(&binding.to, &frame.locals[binding.local])?;
            self.put(binding.local, slot);
        }
        Ok(())
    }

    /// Runs the body of a rule.
    pub(crate) fn body(&mut self, block: &'m [Stmt]) -> Run {
        self.block(block).map(|_| ())
    }

    fn block(&mut self, block: &'m [Stmt]) -> Run<Flow> {
        for stmt in block {
            if let Flow::Return(data) = self.stmt(stmt)? {
                return Ok(Flow::Return(data));
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'m Stmt) -> Run<Flow> {
        let (span, site) = (stmt.span, stmt as *const Stmt as usize);
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let data = self.eval(value)?;
                let location = self.locate(place)?;
                let data = self.fit(data, value.ty, place.ty, value.span)?;
                self.write(&location, place.ty, data, place.span)?;
            }
            StmtKind::Undefine(place) => {
                let location = self.locate(place)?;
                let blank = self.blank(place.ty);
                self.write(&location, place.ty, blank, place.span)?;
            }
            StmtKind::Clear(place) => {
                let location = self.locate(place)?;
                let least = self.least(place.ty, span)?;
                let data = match (self.system.model.kind(place.ty).is_scalar(), least.first()) {
                    (true, Some(cell)) => Data::Scalar(cell.unpack().unwrap_or(Scalar::Undefined)),
                    _ => Data::Block(least),
                };
                self.write(&location, place.ty, data, place.span)?;
            }
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    if self.truth(condition)? {
                        return self.block(block);
                    }
                }
                return self.block(other);
            }
            StmtKind::While { condition, body, limit } => {
                let mut rounds = 0;
                loop {
                    self.around.push((site, Scalar::Int(rounds as i64)));
                    if !self.truth(condition)? {
                        self.around.pop();
                        break;
                    }
                    if rounds == *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    rounds += 1;
                    if let Flow::Return(data) = self.block(body)? {
                        self.around.pop();
                        return Ok(Flow::Return(data));
                    }
                    self.around.pop();
                }
            }
            StmtKind::For { local, domain, body } => return self.for_each(stmt, *local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Choose { local, domain } => {
                let options = self.options(domain)?;
                let value = self.choose(|_| options)?;
                self.set(*local, value);
            }
            StmtKind::Check { kind, condition, property } => {
                let holds = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => false,
                };
                match kind {
                    CheckKind::Assert if !holds => return fault(FaultKind::Assertion(*property), span),
                    CheckKind::Assume if !holds => return Err(Stop::Dead),
                    CheckKind::Assert | CheckKind::Assume | CheckKind::Cover => {}
                }
            }
            StmtKind::Return(value) => {
                let result = self.frames.last().and_then(|frame| frame.result);
                let (Some(expr), Some(ty)) = (value, result) else { return Ok(Flow::Return(None)) };
                let data = self.eval(expr)?;
                return match self.fit(data, expr.ty, ty, expr.span)? {
                    Data::Scalar(Scalar::Undefined) => fault(FaultKind::Undefined, expr.span),
                    data => Ok(Flow::Return(Some(data))),
                };
            }
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, span, site)?;
            }
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.eval(value)?;
                    }
                }
            }
            StmtKind::MultisetAdd(place, value) => self.bag_add(place, value, span)?,
            StmtKind::MultisetRemove(place, slot) => {
                let location = self.locate(place)?;
                let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                let (width, capacity) = self.bag(place)?;
                if at >= capacity || self.cell(&location, at * width)? != Cell::TAKEN {
                    return fault(FaultKind::EmptySlot, slot.span);
                }
                self.bag_set(&location, at * width, &vec![Cell::UNDEFINED; width], place.span)?;
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let outer = self.put(*local, Slot::Unbound);
                let mut removed = Vec::new();
                for slot in 0..capacity {
                    if self.cell(&location, slot * width)? == Cell::TAKEN {
                        let value = Scalar::Int(slot as i64);
                        self.set(*local, value);
                        self.around.push((site, value));
                        if self.truth(condition)? {
                            removed.push(slot);
                        }
                        self.around.pop();
                    }
                }
                self.put(*local, outer);
                for slot in removed {
                    self.bag_set(&location, slot * width, &vec![Cell::UNDEFINED; width], place.span)?;
                }
            }
            StmtKind::Insert { .. } | StmtKind::Remove(..) => {
                return Err(Stop::Lacking("sequences".into(), span));
            }
            StmtKind::Create(..) | StmtKind::Delete(_) => {
                return Err(Stop::Lacking("elements that come and go".into(), span));
            }
        }
        Ok(Flow::Next)
    }

    fn bag_add(&mut self, place: &'m Place, value: &'m Expr, span: Span) -> Run {
        let Type::Multiset { element, .. } = self.system.model.kind(place.ty) else {
            return Err(Stop::Lacking("slots of what is no multiset".into(), span));
        };
        let data = self.eval(value)?;
        let location = self.locate(place)?;
        let data = self.fit(data, value.ty, *element, value.span)?;
        let (width, capacity) = self.bag(place)?;
        let mut cells = vec![Cell::TAKEN];
        match data {
            Data::Scalar(scalar) => cells.push(Cell::pack(scalar).map_or_else(|| self.too_large(), Ok)?),
            Data::Block(block) => cells.extend(block),
        }
        for slot in 0..capacity {
            if self.cell(&location, slot * width)? != Cell::TAKEN {
                return self.bag_set(&location, slot * width, &cells, place.span);
            }
        }
        fault(FaultKind::Full, span)
    }

    /// Writes the cells of a slot of a bag that is a part of the state.
    fn bag_set(&mut self, location: &Location, further: usize, cells: &[Cell], span: Span) -> Run {
        if location.base != Base::Var {
            return Err(Stop::Lacking("a multiset that is a local".into(), span));
        }
        for (at, cell) in cells.iter().enumerate() {
            let at = location.offset + further + at;
            if self.structure.cells[at] != *cell {
                self.disturbed |= self.system.watchers(at);
            }
            self.structure.cells[at] = *cell;
        }
        Ok(())
    }

    fn least(&self, ty: TypeId, span: Span) -> Run<Vec<Cell>> {
        let model = self.system.model;
        Ok(match model.kind(ty) {
            Type::Record { fields } => {
                let parts = fields.iter().map(|field| self.least(field.ty, span));
                parts.collect::<Run<Vec<_>>>()?.concat()
            }
            Type::Array { index, element } => {
                let one = self.least(*element, span)?;
                // How many entries there are is not known of a sort with any number of elements.
                let Some(entries) = model.cardinality(*index) else {
                    return Err(Stop::Lacking("this `clear`".into(), span));
                };
                one.repeat(entries as usize)
            }
            Type::Multiset { .. } => vec![Cell::UNDEFINED; self.system.layout.size(ty)],
            Type::Sequence { .. } | Type::Clock => return Err(Stop::Lacking("this `clear`".into(), span)),
            Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
                let Some(least) = Scalar::of(&model.least(ty)) else {
                    return Err(Stop::Lacking("this `clear`".into(), span));
                };
                let open = matches!(least, Scalar::Elem(sort, _) if self.system.any[sort.index()]);
                match Cell::pack(least).filter(|_| !open) {
                    Some(cell) => vec![cell],
                    None => return Err(Stop::Lacking("`clear` of a reference".into(), span)),
                }
            }
        })
    }

    fn for_each(
        &mut self,
        stmt: &'m Stmt,
        local: LocalId,
        domain: &'m Domain,
        body: &'m [Stmt],
    ) -> Run<Flow> {
        let site = stmt as *const Stmt as usize;
        let (values, open, _) = self.domain(domain)?;
        let facts = match open.is_empty() {
            true => None,
            false => Some(self.system.loop_at(site).ok_or_else(|| {
                Stop::Lacking("internal error: a loop that was not looked at".into(), stmt.span)
            })?),
        };
        if let Some(trouble) = facts.and_then(|facts| facts.trouble) {
            let what = format!("{trouble} in a loop over a sort with any number of elements");
            return Err(Stop::Lacking(what, stmt.span));
        }
        let key = self.key(site);
        let outer = self.put(local, Slot::Unbound);
        let mut matter = Vec::new();
        for value in values {
            self.set(local, value);
            let before = match facts {
                Some(facts) if !facts.own_only && self.is_asked(&key, value) => {
                    Some(self.snapshot(facts, local, value))
                }
                _ => None,
            };
            self.around.push((site, value));
            if let Flow::Return(data) = self.block(body)? {
                self.around.pop();
                return Ok(Flow::Return(data));
            }
            self.around.pop();
            if let (Some(before), Some(facts)) = (before, facts)
                && before != self.snapshot(facts, local, value)
            {
                matter.push(value);
            }
        }
        self.put(local, outer);
        let Some(facts) = facts else { return Ok(Flow::Next) };
        for family in &facts.written {
            self.disturbed |= self.system.watchers_of(*family);
        }
        if facts.anything {
            self.disturbed = self.system.all_predicates();
        }
        if !facts.own_only && !matches!(self.assumed(&key, &matter)?, Assumed::Nobody) {
            return Err(Stop::Quantify { key, sorts: open, may_assume: false });
        }
        for private in &facts.private {
            self.put(*private, Slot::Left);
        }
        Ok(Flow::Next)
    }

    /// Whether a decision is about the round of an element.
    fn is_asked(&self, key: &SiteKey, value: Scalar) -> bool {
        let Scalar::Elem(sort, element) = value else { return false };
        self.decisions.iter().any(|decision| match decision {
            Decision::Nobody { key: of, known } => of == key && element as usize >= known[sort.index()],
            Decision::Witness { key: of, sort: s, element: e } => {
                of == key && *s == sort.index() && *e == element as usize
            }
            Decision::Somebody { .. }
            | Decision::NobodyAfter(_)
            | Decision::WitnessAfter { .. }
            | Decision::SomebodyAfter(_) => false,
        })
    }

    /// All that a round may change beyond the entries of its element.
    fn snapshot(
        &self,
        facts: &crate::effects::LoopFacts,
        local: LocalId,
        value: Scalar,
    ) -> (Vec<Cell>, Vec<Slot>) {
        let own = |at: usize| {
            let dims = &self.system.layout.cells[at].dims;
            matches!(value, Scalar::Elem(sort, element)
                if dims.iter().any(|dim| dim.sort == sort.index() && dim.element == element as usize))
        };
        let cells = &self.structure.cells;
        let cells = (0..cells.len()).filter(|at| !own(*at)).map(|at| cells[at]).collect();
        let mut slots = Vec::new();
        for (depth, frame) in self.frames.iter().enumerate() {
            let here = depth + 1 == self.frames.len();
            for (at, slot) in frame.slots.iter().enumerate() {
                let id = LocalId::from_index(at);
                if !(here
                    && (id == local
                        || facts.private.contains(&id)
                        || frame.locals[id].kind == LocalKind::Bound))
                {
                    slots.push(slot.clone());
                }
            }
        }
        (cells, slots)
    }
}

impl<'m> Machine<'_, 'm> {
    /// Whether a known element satisfies a context predicate now. A fault is as good as no.
    pub(crate) fn satisfies(&mut self, predicate: usize, element: usize) -> Run<bool> {
        let of = &self.system.predicates[predicate];
        let slots = vec![Slot::Unbound; of.locals.len()];
        self.frames.push(Frame { locals: of.locals, slots, result: None });
        self.set(of.local, Scalar::Elem(SortId::from_index(of.sort), element as u32));
        let truth = self.truth(of.body);
        self.pop();
        match truth {
            Ok(holds) => Ok(holds != of.forall),
            Err(Stop::Fault(_)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    /// What the bits are after the step: those of predicates that were disturbed are decided anew.
    pub(crate) fn settle_bits(&mut self) -> Run {
        let system = self.system;
        for (predicate, of) in system.predicates.iter().enumerate() {
            if self.disturbed >> predicate & 1 == 0 {
                continue;
            }
            let mut satisfied = Vec::new();
            for element in system.view[of.sort]..self.structure.known[of.sort] {
                if self.satisfies(predicate, element)? {
                    satisfied.push(element);
                }
            }
            self.structure.bits &= !(1 << predicate);
            let (mut nobody, mut somebody) = (false, false);
            for decision in self.decisions {
                match decision {
                    Decision::NobodyAfter(of) if *of == predicate => nobody = true,
                    Decision::SomebodyAfter(of) if *of == predicate => somebody = true,
                    Decision::WitnessAfter { predicate: of, element, .. }
                        if *of == predicate && !satisfied.contains(element) =>
                    {
                        return Err(Stop::Contradiction);
                    }
                    Decision::Nobody { .. }
                    | Decision::Witness { .. }
                    | Decision::Somebody { .. }
                    | Decision::NobodyAfter(_)
                    | Decision::WitnessAfter { .. }
                    | Decision::SomebodyAfter(_) => {}
                }
            }
            match (satisfied.is_empty(), nobody, somebody) {
                (false, true, _) => return Err(Stop::Contradiction),
                (false, false, _) | (true, true, _) => {}
                (true, false, true) => self.structure.bits |= 1 << predicate,
                (true, false, false) => return Err(Stop::After(predicate)),
            }
        }
        Ok(())
    }
}

/// What the decisions say of a quantifier or a loop.
enum Assumed {
    Nothing,
    Nobody,
    Somebody,
}

/// The fault of using a value where another kind of value is needed.
fn unfit<T>(value: Scalar, span: Span) -> Run<T> {
    match value {
        Scalar::Null => fault(FaultKind::NullReference, span),
        _ => fault(FaultKind::Undefined, span),
    }
}
