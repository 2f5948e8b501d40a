//! Running code in the open world: the ordinary meaning of the Model on what is known. Where more would have to be known,
//! the run stops and says what.
//!
//! The run on a structure follows the run on a state that the structure is a part of: values are the images of the values
//! there, because known cells agree, cells of other elements are never read, and equal images mean equal elements.

mod bits;
mod expr;
mod place;
mod stmt;

use std::rc::Rc;

use shoal_model::{Domain, FaultKind, IndexVec, Local, LocalId, LocalKind, Type, TypeId, TypedId};

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{Decision, RunResult, SiteLocals, Stop, fault},
    structure::{Drawing, Structure},
    system::OpenSystem,
    task::ViewNode,
};

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Scalar(ViewScalar),
    /// The cells of a record, an array or a bag.
    Block(Vec<Cell>),
}

#[derive(Clone, Debug, PartialEq)]
enum ViewSlot {
    Unbound,
    /// A parameter whose value is chosen when it is needed.
    Open(TypeId),
    Data(Data),
    Refers(CellAddress),
    /// What the last round of a loop has left: not to be read.
    Left,
}

#[derive(Clone, Debug, PartialEq)]
struct CellAddress {
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
    slots: Vec<ViewSlot>,
    result: Option<TypeId>,
}

enum ViewFlow {
    Next,
    Return(Option<Data>),
}

/// What a run needs room for, kept from one to the next.
#[derive(Default)]
pub(crate) struct Scratch<'m> {
    cells: Vec<Cell>,
    frames: Vec<Frame<'m>>,
    spare: Vec<Vec<ViewSlot>>,
    around: Vec<(usize, ViewScalar)>,
    /// The cells of elements beyond those of a view that were read.
    pub(crate) reads: Vec<usize>,
    /// What the elements of the view look like after a step.
    pub(crate) drawing: Drawing,
}

/// A run.
pub(crate) struct ViewMachine<'s, 'm> {
    system: &'s OpenSystem<'m>,
    from: &'s Structure,
    /// For each sort, a number that no star has, nor any after it.
    stars: &'s [u32],
    script: &'s [ViewScalar],
    /// How much of the script has been used.
    used: usize,
    decisions: &'s [Decision],
    /// The cells as they are now, once something has been written.
    cells: Vec<Cell>,
    changed: bool,
    /// The context predicates that elements which are not known satisfy now.
    pub(crate) bits: u32,
    frames: Vec<Frame<'m>>,
    spare: Vec<Vec<ViewSlot>>,
    around: Vec<(usize, ViewScalar)>,
    /// The context predicates of which it is no longer known whether an unknown element satisfies them.
    disturbed: u32,
    /// The context predicates that read something that was written.
    touched: u32,
    /// The cells of elements beyond those of a view that were read.
    pub(crate) reads: Vec<usize>,
    pub(crate) drawing: Drawing,
    /// Whether it mattered which stars there are.
    pub(crate) counted_stars: bool,
    /// Whether something of the state may have been written, of known elements or of others.
    wrote: bool,
    /// How many rounds of loops are being run of which it is asked whether they have an effect.
    rounds_compared: u32,
}

impl<'s, 'm> ViewMachine<'s, 'm> {
    pub(crate) fn new(
        system: &'s OpenSystem<'m>,
        scratch: Scratch<'m>,
        from: &'s Structure,
        stars: &'s [u32],
        script: &'s [ViewScalar],
        decisions: &'s [Decision],
    ) -> Self {
        let Scratch { cells, mut frames, mut spare, mut around, mut reads, drawing } = scratch;
        spare.extend(frames.drain(..).map(|frame| frame.slots));
        around.clear();
        reads.clear();
        ViewMachine {
            system,
            from,
            stars,
            script,
            used: 0,
            decisions,
            cells,
            changed: false,
            bits: from.bits,
            frames,
            spare,
            around,
            disturbed: 0,
            touched: 0,
            reads,
            drawing,
            counted_stars: false,
            wrote: false,
            rounds_compared: 0,
        }
    }

    pub(crate) fn into_scratch(self) -> Scratch<'m> {
        let ViewMachine { cells, frames, spare, around, reads, drawing, .. } = self;
        Scratch { cells, frames, spare, around, reads, drawing }
    }

    /// The cells as they are now.
    pub(crate) fn now(&self) -> &[Cell] {
        if self.changed { &self.cells } else { &self.from.cells }
    }

    fn put_cell(&mut self, at: usize, cell: Cell) {
        if !self.changed {
            self.changed = true;
            self.cells.clear();
            self.cells.extend_from_slice(&self.from.cells);
        }
        self.touched |= self.system.watchers(at);
        self.cells[at] = cell;
    }

    pub(crate) fn push(&mut self, locals: &'m IndexVec<LocalId, Local>, result: Option<TypeId>) {
        let mut slots = self.spare.pop().unwrap_or_default();
        slots.clear();
        for local in locals.iter() {
            slots.push(match local.kind {
                LocalKind::Variable => ViewSlot::Data(self.blank(local.ty)),
                LocalKind::Bound | LocalKind::Reference { .. } => ViewSlot::Unbound,
            });
        }
        self.frames.push(Frame { locals, slots, result });
    }

    /// Locals of which none has a value.
    pub(crate) fn push_blank(&mut self, locals: &'m IndexVec<LocalId, Local>) {
        let mut slots = self.spare.pop().unwrap_or_default();
        slots.clear();
        slots.resize(locals.len(), ViewSlot::Unbound);
        self.frames.push(Frame { locals, slots, result: None });
    }

    pub(crate) fn pop(&mut self) {
        self.spare.extend(self.frames.pop().map(|frame| frame.slots));
    }

    /// Marks what follows as another part of the run: the same expression may be evaluated in several.
    pub(crate) fn phase(&mut self, number: i64) {
        self.around.clear();
        self.around.push((0, ViewScalar::Int(number)));
    }

    pub(crate) fn set(&mut self, local: LocalId, scalar: ViewScalar) {
        self.put(local, ViewSlot::Data(Data::Scalar(scalar)));
    }

    fn put(&mut self, local: LocalId, slot: ViewSlot) -> ViewSlot {
        match self.frames.last_mut().and_then(|frame| frame.slots.get_mut(local.index())) {
            Some(held) => std::mem::replace(held, slot),
            None => ViewSlot::Unbound,
        }
    }

    fn blank(&self, ty: TypeId) -> Data {
        match self.system.model.kind(ty).is_scalar() {
            true => Data::Scalar(ViewScalar::Undefined),
            false => Data::Block(vec![Cell::UNDEFINED; self.system.layout.size(ty)]),
        }
    }

    /// Leaves it open which value of a type a parameter has.
    pub(crate) fn leave_open(&mut self, local: LocalId, ty: TypeId) {
        self.put(local, ViewSlot::Open(ty));
    }

    /// The value of a parameter, unless it is open still.
    pub(crate) fn settled(&self, local: LocalId) -> Option<ViewScalar> {
        match self.frames.last().map(|frame| &frame.slots[local.index()]) {
            Some(ViewSlot::Data(Data::Scalar(scalar))) => Some(*scalar),
            _ => None,
        }
    }

    /// Chooses the value of a local of the current frame that is open.
    fn settle(&mut self, local: LocalId) -> RunResult {
        let open = match self.frames.last().map(|frame| &frame.slots[local.index()]) {
            Some(ViewSlot::Open(ty)) => *ty,
            _ => return Ok(()),
        };
        let value = self.choose(|machine| machine.values_to_choose(open))?;
        self.set(local, value);
        Ok(())
    }

    /// What the locals are of which it depends whom a quantifier or loop is about. Nothing where that cannot be told, or where
    /// elements may no longer be what they were before the step.
    fn site_locals(&self, site: usize) -> Option<SiteLocals> {
        let wrote = self.wrote && !mutant::is(Mutant::SiftedAfterWrites);
        let sieve = self.system.witness_sieve(site).filter(|_| !wrote)?;
        let frame = self.frames.len() - 1;
        let value = |local: &LocalId| self.defined_scalar(frame, *local);
        Some(sieve.locals().iter().map(value).collect())
    }

    /// The value of a local, or of the local that it refers to, if it is known and defined.
    fn defined_scalar(&self, frame: usize, local: LocalId) -> Option<ViewScalar> {
        match &self.frames[frame].slots[local.index()] {
            ViewSlot::Data(Data::Scalar(ViewScalar::Undefined)) => None,
            ViewSlot::Data(Data::Scalar(scalar)) => Some(*scalar),
            ViewSlot::Refers(CellAddress { base: Base::Local { frame, local }, .. }) => {
                self.defined_scalar(*frame, *local)
            }
            ViewSlot::Refers(_)
            | ViewSlot::Data(Data::Block(_))
            | ViewSlot::Unbound
            | ViewSlot::Open(_)
            | ViewSlot::Left => None,
        }
    }

    /// Takes the next value of the script, if there is one.
    pub(crate) fn chosen(&mut self) -> Option<ViewScalar> {
        let value = self.script.get(self.used).copied();
        self.used += usize::from(value.is_some());
        value
    }

    /// Takes the next value of the script, or asks for one.
    pub(crate) fn choose(
        &mut self,
        options: impl FnOnce(&mut Self) -> Vec<ViewScalar>,
    ) -> RunResult<ViewScalar> {
        match self.chosen() {
            Some(value) => Ok(value),
            None => Err(Stop::Choose(options(self).into())),
        }
    }

    /// The values of a finite scalar type that can be chosen.
    pub(crate) fn values_to_choose(&mut self, ty: TypeId) -> Vec<ViewScalar> {
        self.counted_stars = true;
        self.system.values_to_choose(ty, &self.from.known, self.stars)
    }

    /// The values of a type that are known, in order, and the sorts that may have more.
    fn known_values(&self, ty: TypeId) -> (Vec<ViewScalar>, Vec<usize>) {
        match self.system.model.kind(ty) {
            Type::Ref { sort, nullable } => {
                let null = nullable.then_some(ViewScalar::Null);
                let known = self.from.known[sort.index()] as u32;
                let elements = (0..known).map(|element| ViewScalar::Elem(*sort, element));
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
                let values = self.system.model.values(ty).filter_map(|value| ViewScalar::of(&value));
                (values.collect(), Vec::new())
            }
        }
    }

    /// The values of a domain, the sorts that may have more, and whether it has no order.
    fn domain(&mut self, domain: &'m Domain) -> RunResult<(Vec<ViewScalar>, Vec<usize>, bool)> {
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
                let values = std::iter::successors(Some(first).filter(inside), next).map(ViewScalar::Int);
                Ok((values.collect(), Vec::new(), false))
            }
            Domain::Slots(place) => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let mut values = Vec::new();
                for slot in 0..capacity {
                    if self.cell(&location, slot * width)? == Cell::TAKEN {
                        values.push(ViewScalar::Int(slot as i64));
                    }
                }
                Ok((values, Vec::new(), true))
            }
        }
    }

    /// The values that a parameter or a choice may take.
    pub(crate) fn options(&mut self, domain: &'m Domain) -> RunResult<Vec<ViewScalar>> {
        match domain {
            Domain::Type(ty) => Ok(self.values_to_choose(*ty)),
            Domain::Range { .. } | Domain::Slots(_) => Ok(self.domain(domain)?.0),
        }
    }
}

impl OpenSystem<'_> {
    /// The values of a finite scalar type that can be chosen: of elements the known ones, the stars that occur (or did: then
    /// they are as good as fresh) and a fresh star.
    pub(crate) fn values_to_choose(&self, ty: TypeId, known: &[usize], stars: &[u32]) -> Vec<ViewScalar> {
        match self.model.kind(ty) {
            Type::Ref { sort, nullable } => {
                let at = sort.index();
                let elements = (0..known[at]).map(|element| ViewScalar::Elem(*sort, element as u32));
                let open = self.any[at] && !mutant::is(Mutant::NobodyOutsideMoves);
                let open = if open { stars[at] + 1 } else { 0 };
                let stars = (0..open).map(|number| ViewScalar::Star(*sort, number));
                nullable.then_some(ViewScalar::Null).into_iter().chain(elements).chain(stars).collect()
            }
            Type::Union { members } => {
                members.iter().flat_map(|member| self.values_to_choose(*member, known, stars)).collect()
            }
            _ => self.model.values(ty).filter_map(|value| ViewScalar::of(&value)).collect(),
        }
    }

    /// A structure that runs can share.
    pub(crate) fn node(&self, structure: Structure) -> RunResult<Rc<ViewNode>> {
        let satisfied = self.satisfied(&structure)?;
        Ok(ViewNode::new(structure, satisfied))
    }
}
