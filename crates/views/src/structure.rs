//! Structures: what is known of a state of some instance, and what remains of it when elements are forgotten.
//!
//! A structure has some *known* elements of each sort, all cells that belong to known elements only, a *star* for each
//! other element that such a cell refers to, and for each context predicate whether an element that is not known satisfies
//! it. The map from elements to known ones and stars is injective: that is what the numbers of stars are for.

use shoal_model::{Model, OrInternal, State, Type, TypeId, TypedId, Value};

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, Scalar},
    layout::{BagInfo, Layout, position},
    system::System,
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Structure {
    /// The known elements of each sort; all of them where the size is fixed.
    pub(crate) known: Vec<usize>,
    /// In the order of the layout.
    pub(crate) cells: Vec<Cell>,
    /// Bit j: an element that is not known satisfies context predicate j.
    pub(crate) bits: u32,
    /// For each sort, a number that no star has, nor any after it.
    pub(crate) stars: Vec<u32>,
}

/// A structure in normal form, as it is stored: its cells, then its bits.
pub(crate) type ViewKey = Box<[u32]>;

/// A choice of known elements: for each sort with any number, those that stay, in their new order.
pub(crate) type Pick = Vec<Vec<usize>>;

/// For each sort and known element, the context predicates it satisfies.
pub(crate) type Satisfied = Vec<Vec<u32>>;

/// The cells of structures with so many known elements.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) counts: Vec<usize>,
    /// Which cells of the layout there are.
    pub(crate) offsets: Vec<usize>,
    /// By cell of the layout: its position among them.
    positions: Vec<Option<usize>>,
    /// Where bags begin among them.
    bags: Vec<(usize, BagInfo)>,
}

impl Shape {
    pub(crate) fn new(layout: &Layout, any: &[bool], counts: &[usize]) -> Shape {
        let there = |at: &usize| {
            let dims = &layout.cells[*at].dims;
            dims.iter().all(|dim| !any[dim.sort] || dim.element < counts[dim.sort])
        };
        let offsets: Vec<usize> = (0..layout.cells.len()).filter(there).collect();
        let start = |bag: &BagInfo| offsets.binary_search(&bag.offset).ok().map(|at| (at, *bag));
        let bags = layout.bags.iter().filter(|bag| bag.capacity > 0).filter_map(start).collect();
        let mut positions = vec![None; layout.cells.len()];
        offsets.iter().enumerate().for_each(|(position, at)| positions[*at] = Some(position));
        Shape { counts: counts.to_vec(), offsets, positions, bags }
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
    /// than one way to see the structure in the view, all of them.
    pub(crate) ways: Vec<StandsFor>,
}

/// Stars of a view, and which elements or stars of a structure they are.
pub(crate) type StandsFor = Vec<(Cell, Cell)>;

impl System<'_> {
    /// Forgets all elements but those of the pick. `shape` has as many as the pick.
    pub(crate) fn project(
        &self,
        shape: &Shape,
        cells: &[Cell],
        bits: u32,
        satisfied: &Satisfied,
        pick: &Pick,
    ) -> Projected {
        let mut raw = Vec::with_capacity(shape.offsets.len() + 1);
        self.gather(shape, cells, pick, &mut raw);
        let bits = bits | self.forgotten(satisfied, pick);
        let (mut view, ways) = match shape.bags.is_empty() {
            true => {
                let way = number(&mut raw);
                (raw, vec![way])
            }
            false => least_order(raw, &shape.bags),
        };
        view.push(Cell(bits));
        Projected { view: view.into_iter().map(|cell| cell.0).collect(), ways }
    }

    /// The view that is left, without its bits. `raw` is room to work in.
    pub(crate) fn view_of(&self, cells: &[Cell], pick: &Pick, raw: &mut Vec<Cell>, view: &mut Vec<u32>) {
        raw.clear();
        self.gather(&self.shape, cells, pick, raw);
        if self.shape.bags.is_empty() {
            number(raw);
        } else {
            *raw = least_order(std::mem::take(raw), &self.shape.bags).0;
        }
        view.clear();
        view.extend(raw.iter().map(|cell| cell.0));
    }

    fn gather(&self, shape: &Shape, cells: &[Cell], pick: &Pick, raw: &mut Vec<Cell>) {
        for &offset in &shape.offsets {
            let mut from = offset;
            for dim in &self.layout.cells[offset].dims {
                from = from + pick[dim.sort][dim.element] * dim.stride - dim.element * dim.stride;
            }
            let cell = cells[from];
            raw.push(match cell.as_elem() {
                Some((sort, element)) if self.any[sort] => {
                    match pick[sort].iter().position(|it| *it == element) {
                        Some(at) => Cell::elem(sort, at),
                        // Marked as one that is to become a star.
                        None => Cell(cell.0 | FORGOTTEN),
                    }
                }
                _ => cell,
            });
        }
    }

    /// The context predicates that elements satisfy which are not picked.
    pub(crate) fn forgotten(&self, satisfied: &Satisfied, pick: &Pick) -> u32 {
        let mut bits = 0;
        for (sort, satisfied) in satisfied.iter().enumerate() {
            for (element, which) in satisfied.iter().enumerate() {
                let lost = mutant::is(Mutant::BitsOfForgottenAreLost);
                if self.any[sort] && !pick[sort].contains(&element) && !lost {
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
    cell.as_star().is_some() || cell.as_elem().is_some_and(|(_, element)| element >= FORGOTTEN as usize)
}

/// Numbers stars as they occur; says what each of them was.
fn number(cells: &mut [Cell]) -> StandsFor {
    let mut stands_for = StandsFor::new();
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
    for (_, cell) in &mut stands_for {
        if cell.as_elem().is_some() {
            cell.0 &= !FORGOTTEN;
        }
    }
    stands_for
}

/// Bags have no order: of all orders of their slots, the one that gives the least view. Slots are sorted by what they
/// hold; where they differ in stars alone, all orders are tried.
fn least_order(mut raw: Vec<Cell>, bags: &[(usize, BagInfo)]) -> (Vec<Cell>, Vec<StandsFor>) {
    let mut ties: Vec<(usize, usize, usize)> = Vec::new();
    for (start, bag) in bags {
        let blind = |slot: &[Cell]| -> (bool, Vec<Cell>) {
            let cells =
                slot.iter().map(|cell| match (is_unknown(*cell), cell.as_star().or(cell.as_elem())) {
                    (true, Some((sort, _))) => Cell::star(sort, 0),
                    _ => *cell,
                });
            (slot[0] != Cell::TAKEN, cells.collect())
        };
        let cells = &raw[*start..*start + bag.capacity * bag.width];
        let mut slots: Vec<Vec<Cell>> = cells.chunks(bag.width).map(<[Cell]>::to_vec).collect();
        slots.sort_by_key(|slot| blind(slot));
        let mut first = 0;
        while first < slots.len() {
            let alike = slots[first..].iter().take_while(|slot| blind(slot) == blind(&slots[first])).count();
            if alike > 1 && slots[first].iter().any(|cell| is_unknown(*cell)) {
                ties.push((*start + first * bag.width, bag.width, alike));
            }
            first += alike;
        }
        for (at, cell) in slots.concat().into_iter().enumerate() {
            raw[*start + at] = cell;
        }
    }
    let mut least = raw.clone();
    let mut ways = vec![number(&mut least)];
    every_order(&mut raw, &ties, 0, &mut |raw| {
        let mut view = raw.to_vec();
        let way = number(&mut view);
        if view < least {
            (least, ways) = (view, vec![way]);
        } else if view == least && !ways.contains(&way) {
            ways.push(way);
        }
    });
    (least, ways)
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
    pub(crate) fn of_view(system: &System<'_>, view: &[u32]) -> Structure {
        let mut cells = vec![Cell::ABSENT; system.layout.cells.len()];
        let mut stars = vec![0; system.any.len()];
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

impl System<'_> {
    /// A whole state of an instance. Nothing if it has more elements than there is room for.
    pub(crate) fn structure_of(&self, instance: &Model, state: &State) -> Option<Structure> {
        let mut known = Vec::new();
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
        Some(Structure { stars: vec![0; known.len()], known, cells, bits: 0 })
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
                    let entry = position(self.model, *index, Scalar::of(&entry)?)?;
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
            (_, value) => cells[at] = Cell::pack(Scalar::of(value)?)?,
        }
        Some(())
    }
}
