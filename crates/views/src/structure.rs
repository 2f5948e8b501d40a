//! Structures: what is known of a state of some instance, and what remains of it when elements are forgotten.
//!
//! A structure has some *known* elements of each sort, all cells that belong to known elements only, a *star* for each
//! other element that such a cell refers to, and for each context predicate whether an element that is not known satisfies
//! it. The map from elements to known ones and stars is injective: that is what the numbers of stars are for.

use shoal_model::{Model, OrInternal, State, Type, TypeId, TypedId, Value};
use shoal_syntax::Span;
use smallvec::{SmallVec, smallvec};

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{RunResult, Stop},
    layout::{BagInfo, ViewLayout, position},
    system::OpenSystem,
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Structure {
    /// The known elements of each sort; all of them where the size is fixed.
    pub(crate) known: Known,
    /// In the order of the layout.
    pub(crate) cells: Vec<Cell>,
    /// Bit j: an element that is not known satisfies context predicate j.
    pub(crate) bits: u32,
    /// For each sort, a number that no star has, nor any after it.
    pub(crate) stars: NextStars,
}

/// How many elements of each sort are known.
pub(crate) type Known = SmallVec<[usize; 4]>;

/// For each sort, a number that no star has, nor any after it.
pub(crate) type NextStars = SmallVec<[u32; 4]>;

/// A structure in normal form, as it is stored: its cells, then its bits.
pub(crate) type ViewKey = Box<[u32]>;

/// A choice of known elements: for each sort with any number, those that stay, in their new order.
pub(crate) type Pick = Vec<Vec<usize>>;

/// A choice of known elements, made ready: where a view of them is read off the cells of a structure.
#[derive(Debug)]
pub(crate) struct Glance {
    /// By position in the view: the cell of the structure.
    from: Vec<u32>,
    /// By sort with any number and element: its number in the view. Elements that are not chosen have none.
    names: Vec<Vec<Option<u16>>>,
}

/// Room to make views in, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Drawing {
    cells: Vec<Cell>,
    stands_for: StandsFor,
    pub(crate) view: Vec<u32>,
}

/// For each sort and known element, the context predicates it satisfies.
pub(crate) type Satisfied = SmallVec<[SmallVec<[u32; 6]>; 2]>;

/// The cells of structures with so many known elements.
#[derive(Debug)]
pub(crate) struct StructureShape {
    pub(crate) counts: Known,
    /// Which cells of the layout there are.
    pub(crate) offsets: Vec<usize>,
    /// By cell of the layout: its position among them.
    positions: Vec<Option<usize>>,
    /// Where bags begin among them.
    bags: Vec<(usize, BagInfo)>,
}

impl StructureShape {
    pub(crate) fn new(layout: &ViewLayout, any: &[bool], counts: &[usize]) -> StructureShape {
        let there = |at: &usize| {
            let dims = &layout.cells[*at].dims;
            dims.iter().all(|dim| !any[dim.sort] || dim.element < counts[dim.sort])
        };
        let offsets: Vec<usize> = (0..layout.cells.len()).filter(there).collect();
        let start = |bag: &BagInfo| offsets.binary_search(&bag.offset).ok().map(|at| (at, *bag));
        let bags = layout.bags.iter().filter(|bag| bag.capacity > 0).filter_map(start).collect();
        let mut positions = vec![None; layout.cells.len()];
        offsets.iter().enumerate().for_each(|(position, at)| positions[*at] = Some(position));
        StructureShape { counts: counts.into(), offsets, positions, bags }
    }

    /// Where a cell of the layout is.
    pub(crate) fn position(&self, at: usize) -> Option<usize> {
        self.positions[at]
    }
}

/// What a structure looks like when only some elements stay known.
#[derive(Debug)]
pub(crate) struct Projected {
    pub(crate) view: ViewKey,
    /// For each star of the view: which element or star of the structure it is. Where bags make it so that there is more
    /// than one way to see the structure in the view, all of them if they were asked for.
    pub(crate) ways: Vec<StandsFor>,
}

/// Stars of a view, and which elements or stars of a structure they are.
pub(crate) type StandsFor = Vec<(Cell, Cell)>;

impl OpenSystem<'_> {
    /// A choice of elements, made ready. `shape` has as many.
    pub(crate) fn glance(&self, shape: &StructureShape, pick: &Pick) -> Glance {
        Glance::new(&self.layout, &self.any, &self.room, shape, pick)
    }

    /// Forgets all elements but those of the glance, which has as many as the shape.
    pub(crate) fn project(
        &self,
        shape: &StructureShape,
        cells: &[Cell],
        bits: u32,
        satisfied: &Satisfied,
        glance: &Glance,
        all_ways: bool,
    ) -> RunResult<Projected> {
        let mut raw = Vec::with_capacity(shape.offsets.len() + 1);
        glance.gather(cells, &mut raw);
        let bits = bits | glance.forgotten(satisfied);
        let (mut view, ways) = match shape.bags.is_empty() {
            true => {
                let mut way = StandsFor::new();
                number(&mut raw, &mut way);
                (raw, vec![way])
            }
            false => least_order(raw, &shape.bags, all_ways).ok_or_else(too_many_orders)?,
        };
        view.push(Cell(bits));
        Ok(Projected { view: view.into_iter().map(|cell| cell.0).collect(), ways })
    }

    /// The view that is left, with these bits, is drawn.
    pub(crate) fn draw(
        &self,
        cells: &[Cell],
        bits: u32,
        glance: &Glance,
        drawing: &mut Drawing,
    ) -> RunResult {
        let Drawing { cells: raw, stands_for, view } = drawing;
        raw.clear();
        glance.gather(cells, raw);
        if self.shape.bags.is_empty() {
            number(raw, stands_for);
        } else {
            *raw = least_order(std::mem::take(raw), &self.shape.bags, false).ok_or_else(too_many_orders)?.0;
        }
        view.clear();
        view.extend(raw.iter().map(|cell| cell.0));
        view.push(bits);
        Ok(())
    }
}

impl Glance {
    pub(crate) fn new(
        layout: &ViewLayout,
        any: &[bool],
        room: &[usize],
        shape: &StructureShape,
        pick: &Pick,
    ) -> Glance {
        let from = shape.offsets.iter().map(|offset| {
            let dims = layout.cells[*offset].dims.iter();
            dims.fold(*offset, |from, dim| {
                from + pick[dim.sort][dim.element] * dim.stride - dim.element * dim.stride
            }) as u32
        });
        let names = |sort: usize| {
            let name = |element| pick[sort].iter().position(|it| *it == element).map(|at| at as u16);
            if any[sort] { (0..room[sort]).map(name).collect() } else { Vec::new() }
        };
        Glance { from: from.collect(), names: (0..any.len()).map(names).collect() }
    }

    fn gather(&self, cells: &[Cell], raw: &mut Vec<Cell>) {
        raw.extend(self.from.iter().map(|from| {
            let cell = cells[*from as usize];
            let Some((sort, element)) = cell.as_elem() else { return cell };
            match self.names[sort].get(element) {
                Some(Some(name)) => Cell::elem(sort, usize::from(*name)),
                // Marked as one that is to become a star.
                Some(None) => Cell(cell.0 | FORGOTTEN),
                None => cell,
            }
        }));
    }

    /// The context predicates that elements satisfy which are not chosen.
    pub(crate) fn forgotten(&self, satisfied: &Satisfied) -> u32 {
        let mut bits = 0;
        for (names, satisfied) in self.names.iter().zip(satisfied) {
            for (name, which) in names.iter().zip(satisfied) {
                if name.is_none() && !mutant::is(Mutant::BitsOfForgottenAreLost) {
                    bits |= which;
                }
            }
        }
        bits
    }
}

/// Elements have 16 bits in a cell and use far fewer: this one marks those that are forgotten.
const FORGOTTEN: u32 = 1 << 15;

/// Whether a cell becomes a star.
fn is_unknown(cell: Cell) -> bool {
    cell.is_reference()
        && (cell.as_star().is_some()
            || cell.as_elem().is_some_and(|(_, element)| element >= FORGOTTEN as usize))
}

/// Numbers stars as they occur; says what each of them was.
fn number(cells: &mut [Cell], stands_for: &mut StandsFor) {
    stands_for.clear();
    for cell in cells {
        if !is_unknown(*cell) {
            continue;
        }
        *cell = match stands_for.iter().find(|(_, it)| it == cell) {
            Some((star, _)) => *star,
            None => {
                let (sort, _) =
                    cell.as_star().or(cell.as_elem()).or_internal("what is unknown is an element");
                let so_far =
                    stands_for.iter().filter(|(star, _)| star.as_star().is_some_and(|it| it.0 == sort));
                let star = Cell::star(sort, so_far.count() as u32);
                stands_for.push((star, *cell));
                star
            }
        };
    }
    for (_, cell) in stands_for {
        if cell.as_elem().is_some() {
            cell.0 &= !FORGOTTEN;
        }
    }
}

/// Bags have no order: of all orders of their slots, the one that gives the least view. Slots are sorted by what they
/// hold, where an unknown element is known again by its first place outside of bags; slots that differ only in elements
/// that have no such place are tried in all orders. Nothing if those are too many. All ways to see the cells in the view are
/// given only if they are asked for.
fn least_order(
    mut raw: Vec<Cell>,
    bags: &[(usize, BagInfo)],
    all_ways: bool,
) -> Option<(Vec<Cell>, Vec<StandsFor>)> {
    let in_bag =
        |at: &usize| bags.iter().any(|(start, bag)| (*start..*start + bag.capacity * bag.width).contains(at));
    let outside: Vec<usize> = (0..raw.len()).filter(|at| !in_bag(at) && is_unknown(raw[*at])).collect();
    let place = |raw: &[Cell], cell: Cell| outside.iter().find(|at| raw[**at] == cell).map_or(0, |at| at + 1);
    let mut ties: Vec<(usize, usize, usize)> = Vec::new();
    for (start, bag) in bags {
        let blind = |slot: &[Cell]| -> (bool, Vec<(Cell, usize)>) {
            let cells =
                slot.iter().map(|cell| match (is_unknown(*cell), cell.as_star().or(cell.as_elem())) {
                    (true, Some((sort, _))) => (Cell::star(sort, 0), place(&raw, *cell)),
                    _ => (*cell, 0),
                });
            (slot[0] != Cell::TAKEN, cells.collect())
        };
        let cells = &raw[*start..*start + bag.capacity * bag.width];
        let mut slots: Vec<(_, Vec<Cell>)> =
            cells.chunks(bag.width).map(|slot| (blind(slot), slot.to_vec())).collect();
        slots.sort_by(|a, b| a.0.cmp(&b.0));
        let mut first = 0;
        while first < slots.len() {
            let alike = slots[first..].iter().take_while(|slot| slot.0 == slots[first].0).count();
            let lost = |cell: &Cell| {
                let alone = || raw.iter().filter(|it| *it == cell).count() == 1;
                is_unknown(*cell) && place(&raw, *cell) == 0 && (all_ways || !alone())
            };
            if alike > 1 && slots[first..first + alike].iter().any(|slot| slot.1.iter().any(lost)) {
                ties.push((*start + first * bag.width, bag.width, alike));
            }
            first += alike;
        }
        for (at, cell) in slots.into_iter().flat_map(|slot| slot.1).enumerate() {
            raw[*start + at] = cell;
        }
    }
    let orders = ties.iter().flat_map(|(_, _, count)| 1..=*count).try_fold(1_usize, usize::checked_mul);
    if orders.is_none_or(|orders| orders > MOST_ORDERS) {
        return None;
    }
    let mut least = raw.clone();
    let mut ways = vec![StandsFor::new()];
    number(&mut least, &mut ways[0]);
    every_order(&mut raw, &ties, 0, &mut |raw| {
        let mut view = raw.to_vec();
        let mut way = StandsFor::new();
        number(&mut view, &mut way);
        if view < least {
            (least, ways) = (view, vec![way]);
        } else if view == least && !ways.contains(&way) {
            ways.push(way);
        }
    });
    Some((least, ways))
}

/// So many orders of slots are tried.
const MOST_ORDERS: usize = 5_040;

fn too_many_orders() -> Stop {
    let what = "multisets in which so many slots differ only in elements that are not shown";
    Stop::lacking(what.into(), Span::default())
}

/// Calls `visit` for every order of the slots in each group of those that tie: where it begins, how wide a slot is, how
/// many there are.
fn every_order(
    raw: &mut Vec<Cell>,
    ties: &[(usize, usize, usize)],
    from: usize,
    visit: &mut dyn FnMut(&[Cell]),
) {
    let Some(&(start, width, count)) = ties.first() else { return visit(raw) };
    if from + 1 >= count {
        return every_order(raw, &ties[1..], 0, visit);
    }
    for other in from..count {
        swap_slots(raw, start, width, from, other);
        every_order(raw, ties, from + 1, visit);
        swap_slots(raw, start, width, from, other);
    }
}

fn swap_slots(raw: &mut [Cell], start: usize, width: usize, a: usize, b: usize) {
    for cell in 0..width {
        raw.swap(start + a * width + cell, start + b * width + cell);
    }
}

impl Structure {
    /// The structure that a view stands for.
    pub(crate) fn of_view(system: &OpenSystem<'_>, view: &[u32]) -> Structure {
        let mut cells = vec![Cell::ABSENT; system.layout.cells.len()];
        let mut stars: NextStars = smallvec![0; system.any.len()];
        for (offset, cell) in system.shape.offsets.iter().zip(view) {
            cells[*offset] = Cell(*cell);
            if let Some((sort, number)) = Cell(*cell).as_star() {
                stars[sort] = stars[sort].max(number as u32 + 1);
            }
        }
        let bits = view.last().copied().unwrap_or(0);
        Structure { known: system.shape.counts.clone(), cells, bits, stars }
    }
}

impl OpenSystem<'_> {
    /// A whole state of an instance. Nothing if it has more elements than there is room for.
    pub(crate) fn structure_of(&self, instance: &Model, state: &State) -> Option<Structure> {
        let mut known = Known::new();
        for (at, sort) in instance.sorts.iter().enumerate() {
            known.push(sort.fixed_size()? as usize);
            if known[at] > self.room[at] {
                return None;
            }
        }
        let mut cells = vec![Cell::ABSENT; self.layout.cells.len()];
        for (id, var) in self.model.vars.enumerate() {
            self.write_value(instance, var.ty, state.value(id), self.layout.vars[id.index()], &mut cells)?;
        }
        Some(Structure { stars: smallvec![0; known.len()], known, cells, bits: 0 })
    }

    fn write_value(
        &self,
        instance: &Model,
        ty: TypeId,
        value: &Value,
        at: usize,
        cells: &mut [Cell],
    ) -> Option<()> {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let mut at = at;
                for (field, value) in fields.iter().zip(values) {
                    self.write_value(instance, field.ty, value, at, cells)?;
                    at += self.layout.size(field.ty);
                }
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                for (entry, value) in instance.values(*index).zip(values) {
                    let entry = position(self.model, *index, ViewScalar::of(&entry)?)?;
                    self.write_value(
                        instance,
                        *element,
                        value,
                        at + entry * self.layout.size(*element),
                        cells,
                    )?;
                }
            }
            (Type::Multiset { capacity, element }, Value::Multiset(slots)) => {
                let width = 1 + self.layout.size(*element);
                cells[at..at + *capacity as usize * width].fill(Cell::UNDEFINED);
                for (slot, value) in slots.iter().enumerate() {
                    cells[at + slot * width] = Cell::TAKEN;
                    self.write_value(instance, *element, value.as_ref()?, at + slot * width + 1, cells)?;
                }
            }
            (_, value) => cells[at] = Cell::pack(ViewScalar::of(value)?)?,
        }
        Some(())
    }
}
