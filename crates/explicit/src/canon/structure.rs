//! How the elements of symmetric sorts occur in a state: as indices of cells and as values in them.

use std::{collections::HashMap, ops::Range};

use shoal_code::{AtomKind, Bag, CellStep, Layout, atoms};
use shoal_model::{Model, OrInternal as _, SortId, Type, TypeId, TypedId};

use super::moves::Moves;
use crate::support::pinned;

/// There are more elements in symmetric sorts than the engine can number.
#[derive(Debug)]
pub(crate) struct TooManyElements;

/// The most elements in all symmetric sorts.
const MAX_ELEMENTS: usize = 1 << 16;

/// A symmetric sort. Its elements are numbered from `first` on among all elements.
pub(crate) struct SymmetricSort {
    pub(crate) id: SortId,
    pub(crate) first: u32,
    pub(crate) size: u32,
    /// The elements that may be permuted, as numbers among all elements.
    pub(crate) free: Vec<u32>,
    /// The elements that stay.
    pub(crate) pinned: Vec<u32>,
}

/// An index on the way to a cell: an element, and how many cells the next element's lies further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coordinate {
    pub(crate) element: u32,
    pub(crate) stride: u32,
}

/// The codes of a cell that are elements: from the first code on, from the first element on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct References {
    pub(crate) code: i64,
    pub(crate) count: i64,
    pub(crate) element: u32,
}

impl References {
    /// The element that a code is, if it is one of these.
    pub(crate) fn element(&self, code: i64) -> Option<u32> {
        let offset = code.wrapping_sub(self.code);
        (0 <= offset && offset < self.count).then(|| self.element + offset as u32)
    }

    /// The code after a permutation.
    pub(crate) fn renamed(&self, code: i64, permutation: &[u32]) -> i64 {
        match self.element(code) {
            Some(element) => code + i64::from(permutation[element as usize]) - i64::from(element),
            None => code,
        }
    }
}

/// The contents of the cells of a state.
pub(crate) trait Codes: Copy {
    fn code(self, cell: u32) -> i64;

    /// The packed form of the state, if it is there.
    fn words(&self) -> Option<&[u64]>;
}

impl Codes for &[i64] {
    #[inline]
    fn code(self, cell: u32) -> i64 {
        self[cell as usize]
    }

    fn words(&self) -> Option<&[u64]> {
        None
    }
}

/// The cells of a state, and its packed form.
#[derive(Clone, Copy)]
pub(crate) struct CellsAndWords<'s> {
    pub(crate) cells: &'s [i64],
    pub(crate) words: &'s [u64],
}

impl Codes for CellsAndWords<'_> {
    #[inline]
    fn code(self, cell: u32) -> i64 {
        self.cells[cell as usize]
    }

    #[inline]
    fn words(&self) -> Option<&[u64]> {
        Some(self.words)
    }
}

/// A state in its packed form.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) words: &'s [u64],
}

impl Codes for Packed<'_> {
    #[inline]
    fn code(self, cell: u32) -> i64 {
        self.layout.code(self.words, cell as usize)
    }

    #[inline]
    fn words(&self) -> Option<&[u64]> {
        Some(self.words)
    }
}

/// A cell whose code is not an element. What it says is a multiple of its salt.
pub(crate) struct PlainCell {
    at: u32,
    salt: u64,
}

impl PlainCell {
    pub(crate) fn says(&self, cells: impl Codes) -> u64 {
        self.salt.wrapping_mul(cells.code(self.at) as u64)
    }
}

/// Cells that one element each indexes and that hold none, for a row of elements. What each says is a multiple of their
/// salt.
pub(crate) struct Own {
    start: u32,
    stride: u32,
    /// The first element.
    first: u32,
    count: u32,
    salt: u64,
}

impl Own {
    fn goes_on(&self, element: u32, cell: &PlainCell) -> bool {
        (element, cell.salt) == (self.first + self.count, self.salt)
            && if self.count == 1 {
                cell.at > self.start
            } else {
                cell.at == self.start + self.count * self.stride
            }
    }

    /// Adds what the cells say of their elements.
    pub(crate) fn say(&self, cells: impl Codes, sums: &mut [u64]) {
        let sums = sums[self.first as usize..].iter_mut().take(self.count as usize);
        let cells = (self.start..).step_by(self.stride as usize).map(|cell| cells.code(cell));
        for (sum, code) in sums.zip(cells) {
            *sum = sum.wrapping_add(self.salt.wrapping_mul(code as u64));
        }
    }
}

/// A cell that at most one element indexes and that may hold an element.
pub(crate) struct CellLink {
    pub(crate) at: u32,
    pub(crate) owner: Option<u32>,
    /// Where its coordinates begin and end in [`StateStructure::coordinates`].
    coordinates: (u32, u32),
    /// Where its references begin and end in [`StateStructure::references`].
    of: (u32, u32),
    pub(crate) salt: u64,
}

/// A link or a wide cell, by its source, and the element that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedCell {
    pub(crate) source: u32,
    pub(crate) element: u32,
}

/// What a cell has to do with elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Concern {
    Nobody,
    /// One element indexes it, and it holds none. What it says is a multiple of the salt.
    Own {
        element: u32,
        salt: u64,
    },
    /// It is, or belongs to, the link, the wide cell or the multiset with this number, in this order.
    Source(u32),
}

/// A cell that has to do with elements.
#[derive(Clone, Debug)]
pub(crate) struct ElementCell {
    pub(crate) at: u32,
    /// The same for cells that differ in elements only.
    pub(crate) salt: u64,
    /// Where its coordinates begin and end in [`StateStructure::coordinates`].
    pub(crate) coordinates: (u32, u32),
    /// How many of those lie outside the multiset, if it is in one.
    pub(crate) outer: u32,
    /// Where its references begin and end in [`StateStructure::references`].
    pub(crate) references: (u32, u32),
}

/// A group of a multiset that has to do with elements.
#[derive(Clone, Debug)]
pub(crate) struct BagGroup {
    pub(crate) occupied: u32,
    /// The same for groups that differ in elements or position only.
    pub(crate) salt: u64,
    pub(crate) coordinates: (u32, u32),
    /// Its cells that elements index from within or that may hold some, in [`StateStructure::grouped`].
    pub(crate) cells: (u32, u32),
    /// Its other cells, in [`StateStructure::plain`].
    pub(crate) plain: (u32, u32),
}

impl BagGroup {
    /// One that begins with its occupied cell, and has as yet no cells.
    fn new(occupied: &ElementCell, (cells, plain): (u32, u32)) -> BagGroup {
        let first = occupied.coordinates.0;
        BagGroup {
            occupied: occupied.at,
            salt: occupied.salt,
            coordinates: (first, first + occupied.outer),
            cells: (cells, cells),
            plain: (plain, plain),
        }
    }
}

/// A multiset that is in no other and has to do with elements.
pub(crate) struct OuterBag {
    /// Its cells.
    range: (u32, u32),
    /// Its groups, in [`StateStructure::groups`].
    groups: (u32, u32),
    /// Which elements index it.
    coordinates: (u32, u32),
}

impl OuterBag {
    pub(crate) fn cells(&self) -> Range<usize> {
        self.range.0 as usize..self.range.1 as usize
    }
}

/// All of it.
pub(crate) struct StateStructure {
    pub(crate) sorts: Vec<SymmetricSort>,
    pub(crate) elements: usize,
    /// For each element, the first of its sort.
    first_of_sort: Vec<u32>,
    pub(crate) coordinates: Vec<Coordinate>,
    pub(crate) references: Vec<References>,
    /// The cells outside multisets that have to do with elements.
    pub(crate) cells: Vec<ElementCell>,
    /// Of those, the ones that one element indexes and that hold none.
    pub(crate) own: Vec<Own>,
    pub(crate) links: Vec<CellLink>,
    /// The rest of them, those that differ in elements only next to each other; where each such family ends.
    pub(crate) wide: Vec<ElementCell>,
    family_ends: Vec<u32>,
    /// For each wide cell, the number of its family, and where it is.
    family_of: Vec<u32>,
    wide_at: Vec<u32>,
    pub(crate) grouped: Vec<ElementCell>,
    pub(crate) plain: Vec<PlainCell>,
    pub(crate) groups: Vec<BagGroup>,
    /// The multisets that these are the groups of.
    pub(crate) outer: Vec<OuterBag>,
    /// For each cell of a state, what it has to do with elements.
    pub(crate) concerns: Vec<Concern>,
    /// The multisets that have to do with elements.
    pub(crate) bags: Vec<Bag>,
    moves: Moves,
    /// For each element, the cells (outside multisets) that it indexes.
    indexed: Vec<Vec<u32>>,
    /// The wide cells that hold references.
    holders: Vec<u32>,
}

impl StateStructure {
    pub(crate) fn new(
        model: &Model,
        layout: &Layout,
        symmetric: &[SortId],
    ) -> Result<StateStructure, TooManyElements> {
        // Facts count how often each element occurs, at most twice a cell, in 21 bits.
        if layout.cells() >= 1 << 20 {
            return Err(TooManyElements);
        }
        let pinned = pinned(model);
        let mut by_sort = vec![None; model.sorts.len()];
        let mut sorts: Vec<SymmetricSort> = Vec::new();
        let mut elements = 0u32;
        for sort in symmetric {
            let size = model.sorts[*sort].room().unwrap_or(0);
            if by_sort[sort.index()].is_some() {
                continue;
            }
            let pinned = &pinned[sort.index()];
            let (stay, free): (Vec<u32>, Vec<u32>) = (elements..elements + size)
                .partition(|element| pinned.get((element - elements) as usize).copied().unwrap_or(false));
            // The elements of a sort that can only stay are values and indices like any other.
            if free.len() < 2 {
                continue;
            }
            by_sort[sort.index()] = Some(elements);
            sorts.push(SymmetricSort { id: *sort, first: elements, size, free, pinned: stay });
            elements = elements.checked_add(size).ok_or(TooManyElements)?;
            if elements as usize > MAX_ELEMENTS {
                return Err(TooManyElements);
            }
        }
        let first_of_sort =
            sorts.iter().flat_map(|sort| std::iter::repeat_n(sort.first, sort.size as usize)).collect();
        let mut structure = StateStructure {
            sorts,
            first_of_sort,
            elements: elements as usize,
            coordinates: Vec::new(),
            references: Vec::new(),
            cells: Vec::new(),
            own: Vec::new(),
            links: Vec::new(),
            wide: Vec::new(),
            family_ends: Vec::new(),
            family_of: Vec::new(),
            wide_at: Vec::new(),
            grouped: Vec::new(),
            plain: Vec::new(),
            groups: Vec::new(),
            outer: Vec::new(),
            concerns: vec![Concern::Nobody; layout.cells()],
            bags: layout.bags().to_vec(),
            moves: Moves::new(elements as usize),
            indexed: vec![Vec::new(); elements as usize],
            holders: Vec::new(),
        };
        Builder { model, by_sort, families: HashMap::new() }.build(layout, &mut structure);
        structure.weigh(layout);
        structure.find_outer_bags();
        structure.find_concerns();
        // With a multiset come those within it.
        let is_needed = |range: Range<usize>| {
            structure.outer.iter().any(|outer| {
                let outer = outer.cells();
                outer.start <= range.start && range.end <= outer.end
            })
        };
        structure.bags.retain(|bag| is_needed(bag.range()));
        Ok(structure)
    }

    /// Finds the multisets that have groups, which stand in the order of their cells.
    fn find_outer_bags(&mut self) {
        let mut bags: Vec<Range<usize>> = self.bags.iter().map(Bag::range).collect();
        bags.sort_by_key(|range| range.start);
        for cells in bags {
            let first = self.groups.partition_point(|group| (group.occupied as usize) < cells.start);
            let end = self.groups.partition_point(|group| (group.occupied as usize) < cells.end);
            let Some(group) = self.groups[first..end].first() else { continue };
            self.outer.push(OuterBag {
                range: (cells.start as u32, cells.end as u32),
                groups: (first as u32, end as u32),
                coordinates: group.coordinates,
            });
        }
    }

    /// The groups of a multiset.
    pub(crate) fn groups_of(&self, bag: usize) -> &[BagGroup] {
        let (first, end) = self.outer[bag].groups;
        &self.groups[first as usize..end as usize]
    }

    /// The multiset that a multiset goes to.
    pub(crate) fn outer_image(&self, bag: usize, permutation: &[u32]) -> usize {
        let OuterBag { range, coordinates, .. } = &self.outer[bag];
        let coordinates = &self.coordinates[coordinates.0 as usize..coordinates.1 as usize];
        let start = moved(range.0, coordinates, permutation);
        let image = self.outer.binary_search_by_key(&start, |bag| bag.range.0 as usize);
        image.ok().or_internal("a multiset goes to where one is")
    }

    /// The cells that one element indexes and that hold none, with that element and their salt.
    pub(crate) fn own_cells(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.own
            .iter()
            .flat_map(|own| (0..own.count).map(|at| (own.start + at * own.stride, own.first + at, own.salt)))
    }

    /// Whether the elements of each sort have cells to themselves, which may tell them apart.
    pub(crate) fn has_own(&self) -> bool {
        let has = |element: u32| self.own_cells().any(|(_, owner, _)| owner == element);
        self.sorts.iter().all(|sort| sort.free.iter().all(|element| has(*element)))
    }

    /// Whether there is nothing to permute.
    pub(crate) fn is_trivial(&self) -> bool {
        self.sorts.iter().all(|sort| sort.free.len() < 2)
    }

    /// The source that the first wide cell is.
    pub(crate) fn first_wide(&self) -> u32 {
        self.links.len() as u32
    }

    /// The source that the first multiset is.
    pub(crate) fn first_bag(&self) -> u32 {
        (self.links.len() + self.wide.len()) as u32
    }

    /// How many sources there are.
    pub(crate) fn sources(&self) -> usize {
        self.links.len() + self.wide.len() + self.outer.len()
    }

    /// The family of a source, if it is a wide cell.
    pub(crate) fn family(&self, source: u32) -> Option<u32> {
        self.family_of.get((source as usize).checked_sub(self.links.len())?).copied()
    }

    /// The families of wide cells.
    pub(crate) fn families(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.family_ends.len()).map(|family| self.members(family))
    }

    fn members(&self, family: usize) -> Range<usize> {
        let first = if family == 0 { 0 } else { self.family_ends[family - 1] };
        first as usize..self.family_ends[family] as usize
    }

    /// Where some wide cells are.
    pub(crate) fn wide_at(&self, wide: Range<usize>) -> &[u32] {
        &self.wide_at[wide]
    }

    pub(crate) fn family_size(&self, family: usize) -> usize {
        self.members(family).len()
    }

    pub(crate) fn sources_of_family(&self, family: usize) -> Range<u32> {
        let (links, Range { start, end }) = (self.links.len(), self.members(family));
        (links + start) as u32..(links + end) as u32
    }

    /// Gives the cells that elements have themselves weights in the upper half of sums, those with few values the largest, so that
    /// contents that are near are near in the order of elements. Then one step leaves most elements where they are: fewer
    /// successors have to be permuted, and what two steps lead to in either order is the same state more often. All else that is
    /// said of elements is in the lower half, at random.
    fn weigh(&mut self, layout: &Layout) {
        let values = |own: &Own| layout.place_of(own.start as usize).map_or(u64::MAX, |at| at.most());
        let mut families: Vec<(u64, u64)> = self.own.iter().map(|own| (values(own), own.salt)).collect();
        families.sort_unstable();
        families.dedup();
        let mut room = 1u64 << 31;
        let mut weights: HashMap<u64, u64> = HashMap::new();
        for (most, salt) in families {
            room = most.checked_add(1).map_or(0, |count| room / count);
            weights.entry(salt).or_insert(room);
        }
        for own in &mut self.own {
            let weight = weights.get(&own.salt).copied().unwrap_or(0);
            own.salt = weight << u32::BITS | own.salt >> 40;
        }
    }

    /// Says of each cell what it has to do with elements, once all are known.
    fn find_concerns(&mut self) {
        let own: Vec<_> = self.own_cells().collect();
        let concerns = &mut self.concerns;
        for (cell, element, salt) in own {
            concerns[cell as usize] = Concern::Own { element, salt };
        }
        let mut sources = (0..).map(Concern::Source);
        for (link, source) in self.links.iter().zip(&mut sources) {
            concerns[link.at as usize] = source;
        }
        for (cell, source) in self.wide.iter().zip(&mut sources) {
            concerns[cell.at as usize] = source;
        }
        for (bag, source) in self.outer.iter().zip(&mut sources) {
            concerns[bag.cells()].fill(source);
        }
    }

    pub(crate) fn coordinates(&self, cell: &ElementCell) -> &[Coordinate] {
        &self.coordinates[cell.coordinates.0 as usize..cell.coordinates.1 as usize]
    }

    /// The runs of codes of a cell that are elements.
    pub(crate) fn references(&self, cell: &ElementCell) -> &[References] {
        &self.references[cell.references.0 as usize..cell.references.1 as usize]
    }

    /// The element that a code is, if it is one.
    pub(crate) fn element(&self, cell: &ElementCell, code: i64) -> Option<u32> {
        self.references(cell).iter().find_map(|of| of.element(code))
    }

    /// The element that a link leads to where its cell has this code.
    pub(crate) fn linked(&self, link: &CellLink, code: i64) -> Option<u32> {
        self.references[link.of.0 as usize..link.of.1 as usize].iter().find_map(|of| of.element(code))
    }

    pub(crate) fn are_of_one_sort(&self, left: u32, right: u32) -> bool {
        self.first_of_sort[left as usize] == self.first_of_sort[right as usize]
    }

    /// Permutes a state: contents move and values are renamed. Multisets are left unsorted.
    pub(crate) fn apply(&self, cells: &[i64], permutation: &[u32], image: &mut [i64]) {
        self.moves.apply(cells, permutation, image);
    }

    /// Makes of the packed form of a state that of its image, where no multiset has to do with elements, but for the names in
    /// its cells.
    pub(crate) fn move_packed(&self, layout: &Layout, cells: &[i64], permutation: &[u32], words: &mut [u64]) {
        self.moves.apply_packed(layout, cells, permutation, words);
    }

    /// Renames what a packed state holds whose contents have moved. `named` says where elements were.
    pub(crate) fn rename_packed(
        &self,
        layout: &Layout,
        named: &[NamedCell],
        permutation: &[u32],
        words: &mut [u64],
    ) {
        for NamedCell { source, element } in named {
            let change = i64::from(permutation[*element as usize]) - i64::from(*element);
            if change == 0 {
                continue;
            }
            let at = *source as usize;
            let (cell, coordinates) = match self.links.get(at) {
                Some(link) => (link.at, link.coordinates),
                None => {
                    let wide = &self.wide[at - self.links.len()];
                    (wide.at, wide.coordinates)
                }
            };
            let coordinates = &self.coordinates[coordinates.0 as usize..coordinates.1 as usize];
            layout.add(words, moved(cell, coordinates, permutation), change);
        }
    }

    /// Where the content of a cell goes.
    pub(crate) fn moved(&self, cell: &ElementCell, permutation: &[u32]) -> usize {
        moved(cell.at, self.coordinates(cell), permutation)
    }

    /// Whether the cells that either of two elements alone indexes have the same contents.
    pub(crate) fn same_blocks(&self, cells: &[i64], left: u32, right: u32) -> bool {
        self.moves.same_blocks(cells, left, right)
    }

    /// Whether swapping two elements leaves all cells outside multisets as they are. Links of others are left
    /// out: they name neither.
    pub(crate) fn swap_keeps_cells(&self, cells: &[i64], left: u32, right: u32) -> bool {
        let swap = |element: u32| match element {
            _ if element == left => right,
            _ if element == right => left,
            _ => element,
        };
        let kept = |number: &u32| {
            let cell = &self.cells[*number as usize];
            let code = cells[cell.at as usize];
            let mut to = i64::from(cell.at);
            for coordinate in self.coordinates(cell) {
                let moved = i64::from(swap(coordinate.element)) - i64::from(coordinate.element);
                to += moved * i64::from(coordinate.stride);
            }
            let renamed = match self.element(cell, code) {
                Some(element) => code + i64::from(swap(element)) - i64::from(element),
                None => code,
            };
            cells[to as usize] == renamed
        };
        // Any other cell stays as it is: neither indexes it, and it holds neither.
        self.indexed[left as usize].iter().all(kept)
            && self.indexed[right as usize].iter().all(kept)
            && self.holders.iter().all(kept)
    }
}

/// Where the content of a cell with these coordinates goes.
fn moved(cell: u32, coordinates: &[Coordinate], permutation: &[u32]) -> usize {
    let distance = coordinates.iter().map(|coordinate| {
        let to = i64::from(permutation[coordinate.element as usize]);
        (to - i64::from(coordinate.element)) * i64::from(coordinate.stride)
    });
    (i64::from(cell) + distance.sum::<i64>()) as usize
}

/// A step on the way to a cell without what symmetry changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PathShape {
    Field(u32),
    Index(u64),
    Element(u32),
    Group,
    Population,
}

struct Builder<'m> {
    model: &'m Model,
    /// The first element of each symmetric sort.
    by_sort: Vec<Option<u32>>,
    /// Numbers for the ways to cells without what symmetry changes.
    families: HashMap<(u32, Vec<PathShape>), u64>,
}

impl Builder<'_> {
    fn build(mut self, layout: &Layout, structure: &mut StateStructure) {
        let mut starts: Vec<u32> = self.model.vars.ids().map(|var| layout.var(var)).collect();
        starts.push(layout.cells() as u32);
        let mut var = 0;
        // The cells of the group that is being visited; it matters only if one of them does.
        let mut pending: Option<(BagGroup, bool)> = None;
        let mut own: Vec<(u32, PlainCell)> = Vec::new();
        layout.each_cell(self.model, &mut |at, ty, path| {
            while at >= starts[var + 1] {
                var += 1;
            }
            let bags = path.iter().filter(|step| matches!(step, CellStep::Group)).count();
            let in_bag = bags > 0;
            // A multiset within a group is part of it.
            if let Some(group) = pending.take_if(|_| !in_bag || ty.is_none() && bags == 1) {
                close(structure, group);
            }
            let cell = self.cell(structure, var as u32, at, ty, path);
            let coordinates = &structure.coordinates[cell.coordinates.0 as usize..];
            let references = &structure.references[cell.references.0 as usize..];
            let matters = !coordinates.is_empty() || !references.is_empty();
            let plain = coordinates.len() == cell.outer as usize && references.is_empty();
            structure.moves.add(&cell, coordinates, references);
            if !in_bag {
                if matters {
                    add_cell(structure, cell, &mut own);
                }
                return;
            }
            let here = (structure.grouped.len() as u32, structure.plain.len() as u32);
            let (group, needed) = pending.get_or_insert_with(|| (BagGroup::new(&cell, here), false));
            *needed |= matters;
            if plain {
                structure.plain.push(PlainCell { at, salt: cell.salt });
                group.plain.1 += 1;
            } else {
                structure.grouped.push(cell);
                group.cells.1 += 1;
            }
        });
        if let Some(group) = pending {
            close(structure, group);
        }
        structure.wide.sort_by_key(|cell| cell.salt);
        let mut end = 0;
        for family in structure.wide.chunk_by(|left, right| left.salt == right.salt) {
            end += family.len() as u32;
            let number = structure.family_ends.len() as u32;
            structure.family_of.extend(std::iter::repeat_n(number, family.len()));
            structure.wide_at.extend(family.iter().map(|cell| cell.at));
            structure.family_ends.push(end);
        }
        structure.moves.finish();
        own.sort_by_key(|(element, cell)| (cell.salt, *element, cell.at));
        for (element, cell) in own {
            match structure.own.last_mut() {
                Some(last) if last.goes_on(element, &cell) => {
                    last.stride = (cell.at - last.start) / last.count;
                    last.count += 1;
                }
                _ => structure.own.push(Own {
                    start: cell.at,
                    stride: 1,
                    first: element,
                    count: 1,
                    salt: cell.salt,
                }),
            }
        }
    }

    fn cell(
        &mut self,
        structure: &mut StateStructure,
        var: u32,
        at: u32,
        ty: Option<TypeId>,
        path: &[CellStep],
    ) -> ElementCell {
        let coordinates = structure.coordinates.len() as u32;
        let mut outer = 0;
        let mut shapes = Vec::with_capacity(path.len());
        let mut in_bag = false;
        for step in path {
            shapes.push(match *step {
                CellStep::Field(field) => PathShape::Field(field),
                CellStep::Population => PathShape::Population,
                CellStep::Group => {
                    in_bag = true;
                    PathShape::Group
                }
                CellStep::Index { ty, ordinal, stride } => match self.element(ty, ordinal) {
                    Some((sort, element)) => {
                        structure.coordinates.push(Coordinate { element, stride });
                        outer += u32::from(!in_bag);
                        PathShape::Element(sort)
                    }
                    None => PathShape::Index(ordinal),
                },
            });
        }
        if ty.is_none() {
            // The occupied cell is told apart from the cells of the element.
            shapes.push(PathShape::Group);
        }
        let next = self.families.len() as u64 + 1;
        let family = *self.families.entry((var, shapes)).or_insert(next);
        let references = structure.references.len() as u32;
        if let Some(ty) = ty {
            self.references(ty, &mut structure.references);
        }
        ElementCell {
            at,
            salt: salt(family),
            coordinates: (coordinates, structure.coordinates.len() as u32),
            outer,
            references: (references, structure.references.len() as u32),
        }
    }

    /// The sort (by its first element) and the element at a position of an index type.
    fn element(&self, ty: TypeId, ordinal: u64) -> Option<(u32, u32)> {
        let atoms = atoms(self.model, ty);
        let code = ordinal + 1;
        let atom = atoms.iter().find(|atom| atom.first <= code && code < atom.first + atom.count)?;
        match atom.kind {
            AtomKind::Elem(sort) => {
                let first = self.by_sort[sort.index()]?;
                Some((first, first + (code - atom.first) as u32))
            }
            _ => None,
        }
    }

    fn references(&self, ty: TypeId, references: &mut Vec<References>) {
        if !self.model.type_contains(ty, &|part| matches!(part, Type::Ref { .. })) {
            return;
        }
        for atom in atoms(self.model, ty) {
            if let AtomKind::Elem(sort) = atom.kind
                && let Some(element) = self.by_sort[sort.index()]
            {
                references.push(References { code: atom.first as i64, count: atom.count as i64, element });
            }
        }
    }
}

/// A word for the cells of a family. What cells say is multiplied by it and added up, so that no salt may be near a small
/// multiple of another: numbers in a row are scattered over all words.
fn salt(family: u64) -> u64 {
    let step = |word: u64, shift: u32, factor: u64| (word ^ (word >> shift)).wrapping_mul(factor);
    let word = step(family.wrapping_mul(0x9e37_79b9_7f4a_7c15), 30, 0xbf58_476d_1ce4_e5b9);
    let word = step(word, 27, 0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) | 1
}

/// Adds a cell outside multisets that has to do with elements.
fn add_cell(structure: &mut StateStructure, cell: ElementCell, own: &mut Vec<(u32, PlainCell)>) {
    let number = structure.cells.len() as u32;
    let coordinates = cell.coordinates.0 as usize..cell.coordinates.1 as usize;
    for coordinate in &structure.coordinates[coordinates.clone()] {
        structure.indexed[coordinate.element as usize].push(number);
    }
    let references = &structure.references[cell.references.0 as usize..cell.references.1 as usize];
    let (at, salt) = (cell.at, cell.salt);
    match (&structure.coordinates[coordinates], references) {
        ([coordinate], []) => own.push((coordinate.element, PlainCell { at, salt })),
        (owner @ ([] | [_]), [_, ..]) => {
            let owner = owner.first().map(|coordinate| coordinate.element);
            let (coordinates, of) = (cell.coordinates, cell.references);
            structure.links.push(CellLink { at, owner, coordinates, of, salt });
        }
        (_, references) => {
            if !references.is_empty() {
                structure.holders.push(number);
            }
            structure.wide.push(cell.clone());
        }
    }
    structure.cells.push(cell);
}

/// Ends a group: keeps it if it has to do with elements.
fn close(structure: &mut StateStructure, (group, needed): (BagGroup, bool)) {
    if needed {
        structure.groups.push(group);
    } else {
        structure.grouped.truncate(group.cells.0 as usize);
        structure.plain.truncate(group.plain.0 as usize);
    }
}
