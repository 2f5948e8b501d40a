//! Elements that come and go, numbered in the order in which a state leads to them (R. Iosif, "Exploiting heap
//! symmetries in explicit-state model checking of software", 2001): for each variable, in the order of the layout, what it
//! refers to, then what those elements refer to, and so on. References can only be compared, so two states are the same
//! but for the numbers of such elements if and only if they agree afterwards. What the walk does not reach is lost, and is
//! dropped in the same pass: the pass is a copying collector. It takes time linear in the elements that there are.
//!
//! Where we deviate: the paper walks in depth, and so by recursion as deep as the heap; here the list of what was reached
//! is the queue. As there, one variable is done with before the next: a list or tree that the first one holds is numbered
//! by itself, whatever others point into it, so that most steps leave the numbers as they are.

use shoal_code::{AtomKind, CellStep, Layout, Population, atoms};
use shoal_model::{
    FunctionId, Lost, Model, Node, SortId, SortSize, Stmt, StmtKind, Type, TypeId, TypedId, walk_code,
};

/// A reference that a state holds.
#[derive(Clone, Copy)]
struct Pointer {
    /// Where, for the first element if each has one.
    at: u32,
    /// From an element's to the next one's.
    stride: u32,
    /// The code of the first element, and which population it is of.
    code: i64,
    to: usize,
}

/// A growing sort.
struct Grown {
    population: Population,
    /// Where its elements begin among those of all growing sorts.
    first: usize,
    /// Whether its elements may be numbered anew.
    renumbered: bool,
    /// The arrays over it: where they begin, and how long an entry is.
    arrays: Vec<(u32, u32)>,
    /// The references that its entries hold.
    pointers: Vec<Pointer>,
}

/// The elements of all growing sorts.
pub(super) struct Heap {
    sorts: Vec<Grown>,
    /// The references that no entry of an element holds.
    roots: Vec<Pointer>,
    /// For each rule, whether it can change what leads where.
    touched: Vec<bool>,
    /// Whether a step may not lose elements.
    keeps_all: bool,
    /// For each element, one more than its new number; 0 if nothing leads to it.
    numbers: Vec<u32>,
    /// The elements that were reached: which sort, and which of its elements.
    reached: Vec<(u32, u32)>,
    /// How many of each sort were reached.
    counts: Vec<u32>,
    /// Whether all that were reached keep their numbers.
    in_place: bool,
    before: Vec<i64>,
}

/// A walk to all elements that a state leads to.
struct HeapWalk<'h> {
    sorts: &'h [Grown],
    numbers: &'h mut [u32],
    counts: &'h mut [u32],
    reached: &'h mut Vec<(u32, u32)>,
    renumber: bool,
    in_place: bool,
}

impl HeapWalk<'_> {
    /// Goes where a reference leads, if nobody was there before.
    #[inline]
    fn follow(&mut self, pointer: &Pointer, owner: u32, cells: &[i64]) {
        let Pointer { at, stride, code, to } = *pointer;
        let element = cells[(at + owner * stride) as usize] - code;
        let sort = &self.sorts[to];
        if element < 0 || element >= i64::from(sort.population.room) {
            return;
        }
        let number = &mut self.numbers[sort.first + element as usize];
        if *number != 0 {
            return;
        }
        self.counts[to] += 1;
        *number = if self.renumber && sort.renumbered { self.counts[to] } else { element as u32 + 1 };
        self.in_place &= i64::from(*number) == element + 1;
        self.reached.push((to as u32, element as u32));
    }
}

/// A reference where it cannot be followed: in a multiset, or in an array over two growing sorts.
pub(crate) struct NotFollowed;

impl Heap {
    /// For the growing sorts of a model; nothing if there are none.
    pub(super) fn new(
        model: &Model,
        layout: &Layout,
        symmetric: &[SortId],
    ) -> Result<Option<Heap>, NotFollowed> {
        if layout.populations().is_empty() {
            return Ok(None);
        }
        let mut first = 0;
        let mut grown = |population: &Population| {
            let begin = first;
            first += population.room as usize;
            Grown {
                population: *population,
                first: begin,
                renumbered: symmetric.contains(&population.sort),
                arrays: layout.arrays_over(model, population.sort),
                pointers: Vec::new(),
            }
        };
        let sorts: Vec<Grown> = layout.populations().iter().map(&mut grown).collect();
        let faults =
            |sort: &shoal_model::Sort| matches!(sort.size, SortSize::Growing { lost: Lost::Faults, .. });
        let mut heap = Heap {
            counts: vec![0; sorts.len()],
            sorts,
            roots: Vec::new(),
            touched: touched(model),
            keeps_all: model.sorts.iter().any(faults),
            numbers: vec![0; first],
            reached: Vec::new(),
            in_place: true,
            before: vec![0; layout.cells()],
        };
        let mut followed = true;
        layout.each_cell(model, &mut |at, ty, path| {
            followed &= ty.is_none_or(|ty| heap.add(model, at, ty, path));
        });
        if followed { Ok(Some(heap)) } else { Err(NotFollowed) }
    }

    /// Takes notice of a cell; false if it holds a reference that cannot be followed.
    fn add(&mut self, model: &Model, at: u32, ty: TypeId, path: &[CellStep]) -> bool {
        if !model.type_contains(ty, &|part| matches!(part, Type::Ref { .. })) {
            return true;
        }
        let position = |sorts: &[Grown], sort: SortId| sorts.iter().position(|it| it.population.sort == sort);
        let mut owners = path.iter().filter_map(|step| match step {
            CellStep::Index { ty, ordinal, stride } => match model.kind(*ty) {
                Type::Ref { sort, .. } => {
                    position(&self.sorts, *sort).map(|owner| (owner, *ordinal, *stride))
                }
                _ => None,
            },
            _ => None,
        });
        let (owner, another) = (owners.next(), owners.next());
        for atom in atoms(model, ty) {
            let AtomKind::Elem(sort) = atom.kind else { continue };
            let Some(to) = position(&self.sorts, sort) else { continue };
            if another.is_some() || path.iter().any(|step| matches!(step, CellStep::Group)) {
                return false;
            }
            let mut pointer = Pointer { at, stride: 0, code: atom.first as i64, to };
            match owner {
                None => self.roots.push(pointer),
                // Those of the other elements are the same, so many strides further on.
                Some((owner, 0, stride)) => {
                    pointer.stride = stride;
                    self.sorts[owner].pointers.push(pointer);
                }
                Some(_) => {}
            }
        }
        true
    }

    /// Whether a rule leaves everything where it is.
    pub(super) fn keeps(&self, rule: usize) -> bool {
        !self.touched[rule]
    }

    /// Whether elements are numbered anew.
    pub(super) fn reduces(&self) -> bool {
        self.sorts.iter().any(|sort| sort.renumbered)
    }

    /// Whether a step to this state is a fault because an element is lost.
    pub(super) fn loses(&mut self, cells: &[i64]) -> bool {
        if !self.keeps_all {
            return false;
        }
        self.reach(cells, false);
        let exists =
            |sort: &Grown, at: u32| cells[(sort.population.first + at) as usize] == Population::EXISTS;
        self.sorts.iter().any(|sort| {
            (0..sort.population.room)
                .any(|at| self.numbers[sort.first + at as usize] == 0 && exists(sort, at))
        })
    }

    /// Whether a state is as it should be: nothing is lost, and everything has its number, if that matters.
    pub(super) fn is_settled(&mut self, cells: &[i64], renumber: bool) -> bool {
        self.in_place = self.reach(cells, renumber);
        self.in_place && !self.lost(cells)
    }

    /// Drops what is lost, and numbers the rest anew if that is wanted.
    pub(super) fn settle(&mut self, cells: &mut [i64], renumber: bool) {
        if !self.is_settled(cells, renumber) {
            self.rearrange(cells);
        }
    }

    /// Makes a state as it should be that was found not to be.
    pub(super) fn rearrange(&mut self, cells: &mut [i64]) {
        if self.in_place {
            self.drop_lost(cells);
        } else {
            self.move_all(cells);
        }
    }

    /// Walks to all that the state leads to. Says whether everything keeps its number.
    fn reach(&mut self, cells: &[i64], renumber: bool) -> bool {
        self.numbers.fill(0);
        self.counts.fill(0);
        self.reached.clear();
        let Heap { sorts, roots, numbers, counts, reached, .. } = self;
        let mut walk = HeapWalk { sorts, numbers, counts, reached, renumber, in_place: true };
        let mut next = 0;
        for root in roots.iter() {
            walk.follow(root, 0, cells);
            while let Some((sort, element)) = walk.reached.get(next).copied() {
                sorts[sort as usize].pointers.iter().for_each(|pointer| walk.follow(pointer, element, cells));
                next += 1;
            }
        }
        walk.in_place
    }

    /// Whether there is an element that nothing leads to.
    fn lost(&self, cells: &[i64]) -> bool {
        self.sorts.iter().zip(&self.counts).any(|(sort, count)| {
            let lives = &cells[sort.population.first as usize..][..sort.population.room as usize];
            lives.iter().filter(|life| **life != 0).count() != *count as usize
        })
    }

    fn drop_lost(&self, cells: &mut [i64]) {
        for sort in &self.sorts {
            let lost = |at: &u32| self.numbers[sort.first + *at as usize] == 0;
            (0..sort.population.room).filter(lost).for_each(|at| sort.clear(at, cells));
        }
    }

    /// Gives all their numbers. Only what gets another one is copied; what had a number that nobody has now is dropped.
    fn move_all(&mut self, cells: &mut [i64]) {
        let mut before = std::mem::take(&mut self.before);
        let Heap { sorts, numbers, reached, counts, .. } = &*self;
        let moved = |sort: &Grown, element: u32| {
            let number = numbers[sort.first + element as usize] - 1;
            (number != element).then_some(number)
        };
        let all = || reached.iter().map(|(sort, element)| (&sorts[*sort as usize], *element));
        for (sort, element) in all().filter(|(sort, element)| moved(sort, *element).is_some()) {
            sort.entries(element).for_each(|(from, length)| copy(cells, from, &mut before, from, length));
        }
        for (sort, count) in sorts.iter().zip(counts) {
            let freed = |at: &u32| match sort.renumbered {
                true => at >= count,
                false => numbers[sort.first + *at as usize] == 0,
            };
            (0..sort.population.room).filter(freed).for_each(|at| sort.clear(at, cells));
        }
        for (sort, element) in all() {
            let number = moved(sort, element);
            if let Some(number) = number {
                let places = sort.entries(element).zip(sort.entries(number));
                places.for_each(|((from, length), (to, _))| copy(&before, from, cells, to, length));
            }
            let number = number.unwrap_or(element);
            sort.pointers.iter().for_each(|pointer| self.rename(pointer, number, cells));
        }
        self.roots.iter().for_each(|root| self.rename(root, 0, cells));
        self.before = before;
    }

    fn rename(&self, pointer: &Pointer, owner: u32, cells: &mut [i64]) {
        let cell = &mut cells[(pointer.at + owner * pointer.stride) as usize];
        let (element, sort) = (*cell - pointer.code, &self.sorts[pointer.to]);
        if element >= 0 && element < i64::from(sort.population.room) {
            *cell = pointer.code + i64::from(self.numbers[sort.first + element as usize]) - 1;
        }
    }
}

impl Grown {
    /// Where the cells of an element lie: what became of it, and its entries in arrays.
    fn entries(&self, element: u32) -> impl Iterator<Item = (usize, usize)> {
        let life = (self.population.first + element, 1);
        let arrays = self.arrays.iter().map(move |(base, stride)| (base + element * stride, *stride));
        std::iter::once(life).chain(arrays).map(|(from, length)| (from as usize, length as usize))
    }

    /// Leaves nothing of an element.
    fn clear(&self, element: u32, cells: &mut [i64]) {
        if cells[(self.population.first + element) as usize] != 0 {
            self.entries(element).for_each(|(from, length)| cells[from..from + length].fill(0));
        }
    }
}

/// Copies cells. As a rule it is one.
#[inline]
fn copy(source: &[i64], from: usize, target: &mut [i64], to: usize, length: usize) {
    if length == 1 {
        target[to] = source[from];
    } else {
        target[to..to + length].copy_from_slice(&source[from..from + length]);
    }
}

/// For each rule, whether it writes references to elements of growing sorts, creates some or deletes some.
fn touched(model: &Model) -> Vec<bool> {
    let refers = |part: &Type| match part {
        Type::Ref { sort, .. } => model.sorts[*sort].fixed_size().is_none(),
        _ => false,
    };
    let mut functions = vec![false; model.functions.len()];
    let touches = |code: &shoal_model::Code, functions: &[bool]| {
        let mut found = false;
        walk_code(code, &mut |node| {
            found |= match node {
                Node::Stmt(Stmt { kind, .. }) => match kind {
                    StmtKind::Create(..) | StmtKind::Delete(_) => true,
                    StmtKind::Call(function, _) => functions[FunctionId::index(*function)],
                    other => other.written().is_some_and(|place| model.type_contains(place.ty, &refers)),
                },
                Node::Expr(shoal_model::Expr { kind: shoal_model::ExprKind::Call(function, _), .. }) => {
                    functions[FunctionId::index(*function)]
                }
                _ => false,
            };
        });
        found
    };
    loop {
        let now: Vec<bool> = model.functions.iter().map(|it| touches(&it.code, &functions)).collect();
        if now == functions {
            break;
        }
        functions = now;
    }
    model.rules.iter().map(|rule| touches(&rule.code, &functions)).collect()
}
