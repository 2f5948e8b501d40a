//! Canonical representatives: one state of each orbit, exactly.
//!
//! The group permutes the elements of the symmetric sorts, except those that the model names. To find the
//! representative of a state, elements get *colours* from what a state says of them without naming them
//! ([`refine`]): contents of the cells they index, the colours of what those refer to, the places that refer to
//! them. If all colours differ, they order the elements, and the state with its elements in that order is the
//! representative. Where a cell of elements with one colour remains, it is one of three things:
//!
//! - All its elements are *twins*: swapping two of them changes nothing. Any order will do. This is the common
//!   case (idle processes), and costs no search however many there are.
//! - One element after another is told apart from the rest by a colour of its own, and the search goes on. Of
//!   twins only one is tried. Of the others, one whose first leaf is a state that another's subtree gave before
//!   is a mirror image of that one, and is left (that is an automorphism which fixes all elements told apart
//!   before; so processes that each own a thing are cheap as well).
//! - In the end the least state of all leaves is the representative.
//! - Where the references between elements make a forest (as undirected edges), elements of one colour are mirror images
//!   of each other: colours tell the nodes of forests apart as far as anything does. Any of them is told apart, and
//!   there is one leaf. Only here a collision of hashes could give an orbit a second representative, which costs a state
//!   and changes no verdict.
//!
//! What is explored depends on colours only, never on which element is which, so equivalent states have the same
//! leaves. Signatures are hashes: if two collide, a cell is split later or by search, and nothing else changes.
//! What a leaf is compared by is the state itself.

mod contents;
mod facts;
mod heap;
mod mirrors;
mod moves;
mod quick;
mod refine;
mod shuffle;
mod structure;
#[cfg(test)]
mod tests;

use shoal_automorphism::Automorphisms;
use shoal_code::{Layout, Machine, normalise_changed};
use shoal_model::{Model, Representatives, SortId, Unsupported};

use crate::support::unsupported;
use contents::BagContents;
use facts::StateFacts;
use heap::Heap;
use mirrors::Mirrors;
use quick::{OwnWords, Quick};
use refine::{Colouring, Rounds};
use shuffle::Shuffles;

pub(crate) use heap::NotFollowed;
use structure::{CellsAndWords, Codes, Packed};
pub(crate) use structure::{StateStructure, TooManyElements};

/// What representatives cannot be found for.
#[derive(Debug)]
pub(crate) enum CanonRefused {
    TooManyElements,
    NotFollowed,
}

impl CanonRefused {
    /// What is lacking, in words.
    pub(crate) fn words(self) -> Unsupported {
        unsupported(
            match self {
                CanonRefused::TooManyElements => "more than 65,536 elements in symmetric sorts",
                CanonRefused::NotFollowed => {
                    "references to elements of growing sorts in multisets or tables of pairs"
                }
            },
            None,
        )
    }
}

impl From<TooManyElements> for CanonRefused {
    fn from(_: TooManyElements) -> CanonRefused {
        CanonRefused::TooManyElements
    }
}

impl From<NotFollowed> for CanonRefused {
    fn from(_: NotFollowed) -> CanonRefused {
        CanonRefused::NotFollowed
    }
}

/// Finds representatives. Has buffers, so one for each thread.
pub(crate) struct Canon {
    structure: StateStructure,
    /// If so few cells have to do with elements that all are read for each successor.
    quick: Option<Quick>,
    /// If not, and some have to do with one element alone.
    own_words: Option<OwnWords>,
    /// Whether there is nothing to permute but the elements of growing sorts.
    trivial: bool,
    heap: Option<Heap>,
    /// If there are no sorts, but automorphisms.
    mirrors: Option<Mirrors>,
    representatives: Representatives,
    /// The order of the group, if it fits.
    group: Option<u128>,
    /// Whether the elements of all sorts have cells to themselves.
    has_own: bool,
    /// What the present state says, and what the one says that it is a successor of, if that is known.
    facts: StateFacts,
    before: StateFacts,
    follows: Follows,
    /// The cells in which the two differ.
    differ: Vec<u32>,
    colouring: Colouring,
    rounds: Rounds,
    /// Whether what is known was passed on between elements, and whether these are in its order.
    linked: bool,
    in_order: bool,
    permutation: Vec<u32>,
    shuffles: Shuffles,
    contents: BagContents,
    /// The elements of each sort in order.
    order: Vec<u32>,
    /// The representative that was found, if it is another state and has been made of `permutation`.
    image: Vec<i64>,
    imaged: bool,
    scratch: Vec<i64>,
    settled: Vec<i64>,
}

/// What is known of the state that is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// It is no state: starts run.
    Nothing,
    /// What it says is not gathered yet.
    NotYet,
    /// What it says by the cells that one element has to itself is in [`Canon::before`].
    Own,
    /// It is in [`Canon::before`].
    Known,
}

/// A step in packed form: the state that is expanded, and what has become of it.
#[derive(Clone, Copy)]
pub(crate) struct PackedStep<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) base: &'s [u64],
    pub(crate) state: &'s [u64],
}

/// The representative of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Representative {
    /// Whether it is another state.
    pub(crate) moved: bool,
    /// How many states the orbit has, where that can be known.
    pub(crate) orbit: Option<u128>,
}

/// What a subtree of the search gives: its least state, and how many automorphisms keep what was told apart.
struct SubtreeLeast {
    least: Vec<i64>,
    automorphisms: u128,
}

impl Canon {
    /// For the symmetric sorts of a model; nothing if there is nothing to permute and nothing that comes and goes.
    pub(crate) fn new(
        model: &Model,
        layout: &Layout,
        symmetric: &[SortId],
        representatives: Representatives,
    ) -> Result<Option<Canon>, CanonRefused> {
        let heap = Heap::new(model, layout, symmetric)?;
        // The elements of growing sorts are ordered by themselves, unless there are others that they may tell apart.
        let fixed: Vec<SortId> =
            symmetric.iter().copied().filter(|sort| model.sorts[*sort].fixed_size().is_some()).collect();
        let mut structure = StateStructure::new(model, layout, &fixed)?;
        let trivial = structure.is_trivial();
        if trivial && heap.is_none() {
            return Ok(None);
        }
        if !trivial && heap.is_some() {
            structure = StateStructure::new(model, layout, symmetric)?;
        }
        Ok(Some(Canon::of(structure, heap, layout, representatives)))
    }

    /// For the automorphisms of a model without sorts.
    pub(crate) fn by_automorphisms(
        model: &Model,
        layout: &Layout,
        found: &Automorphisms,
    ) -> Result<Canon, CanonRefused> {
        let structure = StateStructure::new(model, layout, &[])?;
        let mut canon = Canon::of(structure, None, layout, Representatives::default());
        canon.mirrors = Some(Mirrors::new(found.clone(), layout.cells()));
        canon.group = None;
        Ok(canon)
    }

    fn of(
        structure: StateStructure,
        heap: Option<Heap>,
        layout: &Layout,
        representatives: Representatives,
    ) -> Canon {
        let trivial = structure.is_trivial();
        let group = structure.sorts.iter().try_fold(1u128, |order, sort| {
            factorial(sort.free.len()).and_then(|factor| order.checked_mul(factor))
        });
        let contents = BagContents::new(&structure, layout);
        let quick = Quick::new(&structure, layout, &contents).filter(|_| heap.is_none());
        let own_words = OwnWords::new(&structure, layout).filter(|_| quick.is_none());
        Canon {
            own_words,
            has_own: structure.has_own(),
            quick,
            mirrors: None,
            facts: StateFacts::new(structure.elements),
            before: StateFacts::new(structure.elements),
            follows: Follows::Nothing,
            differ: Vec::new(),
            colouring: Colouring::new(&structure),
            rounds: Rounds::new(structure.elements),
            linked: false,
            in_order: false,
            permutation: vec![0; structure.elements],
            shuffles: Shuffles::default(),
            contents,
            order: vec![0; structure.elements],
            image: vec![0; layout.cells()],
            imaged: false,
            scratch: vec![0; layout.cells()],
            settled: vec![0; layout.cells()],
            group: group.filter(|_| !heap.as_ref().is_some_and(Heap::reduces)),
            structure,
            trivial,
            heap,
            representatives,
        }
    }

    /// Replaces a state (in normal form) by its representative. Gives how many states the orbit has, where that
    /// can be known.
    pub(crate) fn canonicalise(&mut self, cells: &mut [i64]) -> Option<u128> {
        if let Some(mirrors) = &mut self.mirrors {
            mirrors.canonicalise(cells);
            return None;
        }
        if let Some(heap) = &mut self.heap {
            heap.settle(cells, true);
        }
        if self.trivial {
            return self.group;
        }
        self.facts.gather(&self.structure, &*cells, &mut self.contents);
        let Representative { moved, orbit } = self.find(cells);
        if moved {
            self.make_image(cells);
            cells.copy_from_slice(&self.image);
        }
        if let Some(heap) = &mut self.heap {
            // One order of the fixed elements is chosen, and now the others follow from it.
            heap.settle(cells, true);
        }
        orbit
    }

    /// Whether it needs no cells: nothing comes and goes, and no multiset has to do with elements.
    pub(crate) fn takes_packed(&self) -> bool {
        self.heap.is_none() && self.structure.groups.is_empty()
    }

    /// Whether a representative costs much more than a look into the store.
    pub(crate) fn is_dear(&self) -> bool {
        self.quick.as_ref().is_none_or(|quick| quick.bags) && !self.trivial
    }

    /// What comes now are successors of another state, or starts.
    pub(crate) fn begin(&mut self, starts: bool) {
        self.follows = if starts { Follows::Nothing } else { Follows::NotYet };
    }

    /// The representative of the state that a machine has come to: its packed form, if it is another state.
    pub(crate) fn represent(
        &mut self,
        layout: &Layout,
        machine: &Machine<'_>,
        words: &mut [u64],
    ) -> Representative {
        if let Some(heap) = &mut self.heap {
            let state = machine.state();
            // Most steps leave the elements that come and go in their order.
            if self.trivial && heap.is_settled(state, true) {
                return Representative { moved: false, orbit: self.group };
            }
            let mut cells = std::mem::take(&mut self.settled);
            cells.copy_from_slice(state);
            let orbit = match self.trivial {
                true => {
                    heap.rearrange(&mut cells);
                    self.group
                }
                false => self.canonicalise(&mut cells),
            };
            layout.pack(&cells, words);
            self.settled = cells;
            return Representative { moved: true, orbit };
        }
        let packed = PackedStep { layout, base: machine.base_words(), state: machine.words() };
        if self.mirrors.is_some() {
            return self.represent_mirrored(packed, machine.cells().map(|(_, state)| state), words);
        }
        match machine.cells() {
            Some((base, state)) => {
                let both = |cells, words| CellsAndWords { cells, words };
                let codes = (both(base, packed.base), both(state, packed.state));
                self.represent_step(packed, Some(state), codes, words)
            }
            None => self.represent_packed(packed, words),
        }
    }

    /// The same, of a state that has no cells.
    pub(crate) fn represent_packed(&mut self, step: PackedStep<'_>, words: &mut [u64]) -> Representative {
        if self.mirrors.is_some() {
            return self.represent_mirrored(step, None, words);
        }
        let PackedStep { layout, base, state } = step;
        let packed = |words| Packed { layout, words };
        self.represent_step(step, None, (packed(base), packed(state)), words)
    }

    /// The same, by automorphisms.
    fn represent_mirrored(
        &mut self,
        step: PackedStep<'_>,
        cells: Option<&[i64]>,
        words: &mut [u64],
    ) -> Representative {
        let scratch = &mut self.scratch;
        match cells {
            Some(cells) => scratch.copy_from_slice(cells),
            None => step.layout.unpack(step.state, scratch),
        }
        let moved = self.mirrors.as_mut().is_some_and(|mirrors| mirrors.canonicalise(scratch));
        if moved {
            step.layout.pack(scratch, words);
        }
        Representative { moved, orbit: None }
    }

    /// Whether steps of one rule may be the images of steps of another.
    pub(crate) fn same_rule(&self, left: usize, right: usize) -> bool {
        left == right || self.mirrors.as_ref().is_some_and(|mirrors| mirrors.same_rule(left, right))
    }

    fn represent_step<C: Codes>(
        &mut self,
        step: PackedStep<'_>,
        cells: Option<&[i64]>,
        (base, state): (C, C),
        words: &mut [u64],
    ) -> Representative {
        self.gather_own(step, base, state);
        if let Some(found) = self.find_by_own() {
            if found.moved {
                // To permute cells, nobody need know who is named where; and small states are asked for that alone.
                if self.quick.is_none() {
                    if !self.structure.bags.is_empty() {
                        self.pack_image(step, cells, words);
                        return found;
                    }
                    self.gather_step(step, base, state);
                }
                self.pack_representative(step, cells, words);
            }
            return found;
        }
        self.gather_step(step, base, state);
        if let Some(found) = self.find_in_order() {
            if found.moved {
                self.pack_representative(step, cells, words);
            }
            return found;
        }
        if let Some(quick) = &self.quick {
            self.facts.mark_quickly(quick, step.state);
        }
        // What is told apart only by a search is looked at cell by cell.
        let mut made = std::mem::take(&mut self.settled);
        let cells = cells.unwrap_or_else(|| {
            step.layout.unpack(step.state, &mut made);
            &made
        });
        let found = self.find_among_alike(cells);
        if found.moved {
            self.pack_representative(step, Some(cells), words);
        }
        self.settled = made;
        found
    }

    /// The packed form of the representative that was found for a state, which is another one. There are cells if it was searched
    /// for.
    fn pack_representative(&mut self, step: PackedStep<'_>, cells: Option<&[i64]>, words: &mut [u64]) {
        let PackedStep { layout, state, .. } = step;
        let has_bags = !self.structure.bags.is_empty();
        if self.imaged || !self.permutes_packed() {
            return self.pack_image(step, cells, words);
        }
        match self.shuffles.of(&self.structure, layout, &self.permutation) {
            Some((number, shuffle)) => {
                shuffle.apply(state, words);
                if has_bags {
                    self.permute_bags(step, number, cells, words);
                }
            }
            None if has_bags => return self.pack_image(step, cells, words),
            None => {
                words.copy_from_slice(state);
                match cells {
                    Some(cells) => self.structure.move_packed(layout, cells, &self.permutation, words),
                    None => {
                        layout.unpack(state, &mut self.scratch);
                        self.structure.move_packed(layout, &self.scratch, &self.permutation, words);
                    }
                }
            }
        }
        if let Some(quick) = &self.quick {
            self.facts.name_quickly(quick, state);
        }
        self.structure.rename_packed(layout, &self.facts.named, &self.permutation, words);
        #[cfg(debug_assertions)]
        {
            let mut unpacked = vec![0; layout.cells()];
            layout.unpack(state, &mut unpacked);
            self.make_image(&unpacked);
            let mut whole = vec![0; words.len()];
            layout.pack(&self.image, &mut whole);
            assert_eq!(words, whole, "a state permuted in its packed form");
        }
    }

    /// Whether a state is permuted in its packed form: no multisets have to do with elements, or contents of multisets are
    /// remembered.
    fn permutes_packed(&self) -> bool {
        self.structure.bags.is_empty() || self.contents.count() > 0
    }

    /// Whether successors are represented by their packed forms as well as by their cells: most of what is asked for is remembered of the
    /// contents of multisets. (Unless it is read at once, what elements have to themselves would be read cell by cell.)
    pub(crate) fn needs_no_cells(&self) -> bool {
        self.heap.is_none() && self.contents.count() > 0 && (self.quick.is_some() || !self.has_own)
    }

    /// The packed form of the representative, by its cells.
    fn pack_image(&mut self, step: PackedStep<'_>, cells: Option<&[i64]>, words: &mut [u64]) {
        match cells {
            Some(cells) => {
                self.make_image(cells);
                step.layout.repack((cells, step.state), &self.image, words);
            }
            None => {
                self.make_image_of(step);
                step.layout.pack(&self.image, words);
            }
        }
    }

    /// Sees to it that the representative that was found for a packed state is in `image`.
    fn make_image_of(&mut self, step: PackedStep<'_>) {
        let mut cells = std::mem::take(&mut self.scratch);
        step.layout.unpack(step.state, &mut cells);
        self.make_image(&cells);
        self.scratch = cells;
    }

    /// Permutes the multisets of a packed state.
    fn permute_bags(
        &mut self,
        step: PackedStep<'_>,
        number: usize,
        cells: Option<&[i64]>,
        words: &mut [u64],
    ) {
        self.contents.take_out(words);
        for bag in 0..self.contents.count() {
            if !self.contents.put_image(bag, number, step.state, words) {
                match cells {
                    Some(cells) => self.make_image(cells),
                    None => self.make_image_of(step),
                }
                let target = self.structure.outer_image(bag, &self.permutation);
                let cells = self.structure.outer[target].cells();
                self.contents.remember(step.layout, (target, cells), &self.image, words);
            }
        }
    }

    /// Sees to it that the representative that was found for a state is in `image`.
    fn make_image(&mut self, cells: &[i64]) {
        if !self.imaged {
            self.permute(cells);
            self.imaged = true;
        }
    }

    /// Gathers what the state that a step has come to says by the cells that one element has to itself.
    fn gather_own<C: Codes>(&mut self, step: PackedStep<'_>, base: C, state: C) {
        if let Some(quick) = &self.quick {
            return self.facts.gather_own_quickly(quick, step.state);
        }
        match self.follows {
            Follows::Nothing => return self.facts.gather_own(&self.structure, state),
            Follows::NotYet => {
                match &self.own_words {
                    Some(own) => {
                        own.say(step.base, &mut self.before.own);
                        debug_assert!(self.before.are_own(&self.structure, base), "what is said by words");
                    }
                    None => self.before.gather_own(&self.structure, base),
                }
                self.follows = Follows::Own;
            }
            Follows::Own | Follows::Known => {}
        }
        self.differ.clear();
        let passed = |word| self.contents.mask(word);
        step.layout.each_difference(step.base, step.state, passed, |cell| self.differ.push(cell as u32));
        self.facts.follow_own(&self.structure, (&self.before, base), state, &self.differ);
    }

    /// Gathers the rest of it. It says mostly what the one says that was expanded.
    fn gather_step<C: Codes>(&mut self, step: PackedStep<'_>, base: C, state: C) {
        if let Some(quick) = &self.quick {
            self.facts.gather_quickly(quick, step.state);
            if quick.bags {
                self.facts.gather_bags_quickly(&self.structure, state, &mut self.contents);
            }
            #[cfg(debug_assertions)]
            {
                self.facts.mark_quickly(quick, step.state);
                self.facts.name_quickly(quick, step.state);
                assert!(self.facts.are_of(&self.structure, state), "facts that are read at once");
            }
            return;
        }
        match self.follows {
            Follows::Nothing => {
                return self.facts.gather_others(&self.structure, state, &mut self.contents);
            }
            Follows::NotYet => self.before.gather(&self.structure, base, &mut self.contents),
            Follows::Own => self.before.gather_others(&self.structure, base, &mut self.contents),
            Follows::Known => {}
        }
        self.follows = Follows::Known;
        self.facts.follow(&self.structure, (&self.before, base), state, &self.differ, &mut self.contents);
        debug_assert!(self.facts.are_of(&self.structure, state), "facts after a step");
    }

    /// After a step by a rule from a representative: whether this is one, too, whatever the step did.
    pub(crate) fn keeps(&self, rule: usize) -> bool {
        self.trivial && self.heap.as_ref().is_some_and(|heap| heap.keeps(rule))
    }

    /// How many states the orbit of a state has that [`Canon::keeps`] has found to be its own representative.
    pub(crate) fn orbit_kept(&self) -> Option<u128> {
        self.group
    }

    /// Whether a representative stands for several states.
    pub(crate) fn reduces(&self) -> bool {
        !self.trivial || self.mirrors.is_some() || self.heap.as_ref().is_some_and(Heap::reduces)
    }

    /// What a step leaves behind: the elements are gone that nothing leads to.
    pub(crate) fn collect(&mut self, cells: &mut [i64]) {
        if let Some(heap) = &mut self.heap {
            heap.settle(cells, false);
        }
    }

    /// Whether a step to this state is a fault because of an element that nothing leads to any more.
    pub(crate) fn loses(&mut self, cells: &[i64]) -> bool {
        self.heap.as_mut().is_some_and(|heap| heap.loses(cells))
    }

    /// The representative by the elements of sorts that do not grow, and any order of the others, of a state whose facts are
    /// gathered. If it is another state, it is in `image`, or `permutation` says what it is.
    fn find(&mut self, cells: &[i64]) -> Representative {
        match self.find_by_own().or_else(|| self.find_in_order()) {
            Some(found) => found,
            None => self.find_among_alike(cells),
        }
    }

    /// The representative if the cells that each element has to itself tell all of them apart. In which states they do is the
    /// same in all states of an orbit.
    fn find_by_own(&mut self) -> Option<Representative> {
        if !self.has_own {
            return None;
        }
        self.imaged = false;
        let Ordered { in_order, distinct } = order(&self.structure, &self.facts.own, &mut self.order);
        distinct.then(|| self.put_in_order(in_order))
    }

    /// The representative if what is said of elements, and of those around them, tells all of them apart.
    fn find_in_order(&mut self) -> Option<Representative> {
        self.imaged = false;
        let mut rounds = self.facts.rounds();
        self.linked = rounds > 0;
        if self.linked {
            self.rounds.begin_with(&self.facts.sums);
        }
        // What is known of an element and of those around it is passed on only until it tells all apart.
        loop {
            let said = if self.linked { self.rounds.keys() } else { &self.facts.sums };
            let Ordered { in_order, distinct } = order(&self.structure, said, &mut self.order);
            if distinct {
                return Some(self.put_in_order(in_order));
            }
            if rounds == 0 {
                self.in_order = in_order;
                return None;
            }
            self.rounds.pass_on_and_order(&self.facts);
            rounds -= 1;
        }
    }

    /// The representative after [`Canon::find_in_order`] has found none.
    fn find_among_alike(&mut self, cells: &[i64]) -> Representative {
        let linked = self.linked;
        let said = if linked { self.rounds.keys() } else { &self.facts.sums };
        if self.in_order
            && let Some(automorphisms) = self.only_twins_alike(said, cells)
        {
            return Representative { moved: false, orbit: self.orbit(automorphisms) };
        }
        let mut colouring = std::mem::take(&mut self.colouring);
        colouring.reset(&self.structure);
        colouring.split(if linked { self.rounds.keys() } else { &self.facts.sums });
        let mut automorphisms = self.settle(cells, &mut colouring);
        if !colouring.is_discrete() && self.facts.is_forest(&mut self.permutation) {
            automorphisms = automorphisms.saturating_mul(self.tell_mirrors_apart(cells, &mut colouring));
        }
        let mut moved = true;
        let mut orbit = None;
        if colouring.is_discrete() {
            colouring.permutation(&self.structure, &mut self.permutation);
            // As a rule one step leaves the order as it is.
            moved = !is_identity(&self.permutation);
            orbit = self.orbit(automorphisms);
        } else if self.representatives == Representatives::Fast {
            self.image = self.first_leaf(cells, &colouring);
            self.imaged = true;
        } else {
            let found = self.branch(cells, &colouring);
            self.image = found.least;
            self.imaged = true;
            orbit = self.orbit(automorphisms.saturating_mul(found.automorphisms));
        }
        self.colouring = colouring;
        Representative { moved, orbit }
    }

    /// An orbit has as many states as the group has elements for each automorphism.
    fn orbit(&self, automorphisms: u128) -> Option<u128> {
        self.group.map(|group| if automorphisms <= 1 { group } else { group / automorphisms })
    }

    /// The representative where all elements are told apart, and their order is known.
    fn put_in_order(&mut self, in_order: bool) -> Representative {
        if !in_order {
            for sort in &self.structure.sorts {
                let ordered = &self.order[sort.first as usize..][..sort.free.len()];
                for (element, place) in ordered.iter().zip(&sort.free) {
                    self.permutation[*element as usize] = *place;
                }
                sort.pinned.iter().for_each(|element| self.permutation[*element as usize] = *element);
            }
        }
        Representative { moved: !in_order, orbit: self.group }
    }

    /// Whether elements, which are in order by what is said of them, are twins where the same is said. If so, how many
    /// automorphisms there are.
    fn only_twins_alike(&self, said: &[u64], cells: &[i64]) -> Option<u128> {
        let sum = |element: u32| said[element as usize];
        let mut automorphisms: u128 = 1;
        for sort in &self.structure.sorts {
            let mut alike = 1;
            for pair in sort.free.windows(2) {
                if sum(pair[0]) != sum(pair[1]) {
                    alike = 1;
                    continue;
                }
                if pair.iter().any(|element| self.facts.is_marked(*element))
                    || !self.structure.same_blocks(cells, pair[0], pair[1])
                {
                    return None;
                }
                alike += 1;
                automorphisms = automorphisms.saturating_mul(alike);
            }
        }
        Some(automorphisms)
    }

    /// Splits cells of twins and refines until neither does anything. Gives the order of the group of the twins.
    fn settle(&mut self, cells: &[i64], colouring: &mut Colouring) -> u128 {
        // Twins come first: as a rule they are all that is left, and looking at them is cheap.
        let automorphisms = self.split_twins(cells, colouring);
        if colouring.is_discrete()
            || !self.facts.has_ties()
            || !refine::refine(&self.facts, colouring, &mut self.rounds)
        {
            return automorphisms;
        }
        // What one twin is tied to, so are the others: when they are split now, there is nothing left to refine.
        automorphisms.saturating_mul(self.split_twins(cells, colouring))
    }

    /// Where the elements of each cell are mirror images of each other: tells apart any of them until all are. Gives how
    /// many automorphisms that leaves out.
    fn tell_mirrors_apart(&mut self, cells: &[i64], colouring: &mut Colouring) -> u128 {
        let mut automorphisms: u128 = 1;
        while !colouring.is_discrete() {
            let (start, end) = colouring.smallest_cell();
            colouring.individualise(start, end, colouring.members(start, end)[0]);
            automorphisms = automorphisms.saturating_mul((end - start) as u128);
            automorphisms = automorphisms.saturating_mul(self.settle(cells, colouring));
        }
        automorphisms
    }

    /// Splits the cells all of whose elements are twins. Gives the order of their group.
    fn split_twins(&mut self, cells: &[i64], colouring: &mut Colouring) -> u128 {
        let mut automorphisms: u128 = 1;
        let mut start = 0;
        while start < self.structure.elements {
            let end = colouring.end(start);
            if end - start > 1 && self.all_twins(cells, colouring.members(start, end)) {
                let order = factorial(end - start).unwrap_or(u128::MAX);
                automorphisms = automorphisms.saturating_mul(order);
                colouring.split_all(start, end);
            }
            start = end;
        }
        automorphisms
    }

    /// Tries the elements of a cell in turn.
    fn branch(&mut self, cells: &[i64], colouring: &Colouring) -> SubtreeLeast {
        let (start, end) = colouring.smallest_cell();
        let members: Vec<u32> = colouring.members(start, end).to_vec();
        // For each element tried: how many twins it has in the cell, its first leaf, what was found.
        let mut tried: Vec<(u32, u128, Vec<i64>, Vec<i64>)> = Vec::new();
        let mut below: u128 = 1;
        for element in members {
            let twin = tried.iter().position(|(other, ..)| self.are_twins(cells, *other, element));
            if let Some(twin) = twin {
                tried[twin].1 += 1;
                continue;
            }
            let mut child = colouring.clone();
            child.individualise(start, end, element);
            let automorphisms = self.settle(cells, &mut child);
            let first = self.first_leaf(cells, &child);
            if let Some(mirror) =
                tried.iter().position(|(_, _, leaf, least)| first == *leaf || first == *least)
            {
                tried[mirror].1 += 1;
                continue;
            }
            let found = if child.is_discrete() {
                SubtreeLeast { least: first.clone(), automorphisms: 1 }
            } else {
                self.branch(cells, &child)
            };
            if tried.is_empty() {
                below = automorphisms.saturating_mul(found.automorphisms);
            }
            tried.push((element, 1, first, found.least));
        }
        // Elements with the same least state are mirror images of each other.
        let orbit = tried.iter().filter(|it| it.3 == tried[0].3).map(|it| it.1).sum::<u128>();
        let least = tried.into_iter().map(|it| it.3).min().unwrap_or_else(|| cells.to_vec());
        SubtreeLeast { least, automorphisms: below.saturating_mul(orbit) }
    }

    /// The state at the first leaf below a colouring that is settled.
    fn first_leaf(&mut self, cells: &[i64], colouring: &Colouring) -> Vec<i64> {
        let mut colouring = colouring.clone();
        while !colouring.is_discrete() {
            let (start, end) = colouring.smallest_cell();
            let element = colouring.members(start, end)[0];
            colouring.individualise(start, end, element);
            self.settle(cells, &mut colouring);
        }
        self.leaf(cells, &colouring);
        self.image.clone()
    }

    /// The state with its elements in the order of a discrete colouring, in `image`.
    fn leaf(&mut self, cells: &[i64], colouring: &Colouring) {
        colouring.permutation(&self.structure, &mut self.permutation);
        self.permute(cells);
    }

    /// The state after `permutation`, in `image`.
    fn permute(&mut self, cells: &[i64]) {
        permute(&self.structure, cells, &self.permutation, &mut self.image);
    }

    fn all_twins(&mut self, cells: &[i64], members: &[u32]) -> bool {
        members[1..].iter().all(|member| self.are_twins(cells, members[0], *member))
    }

    /// Whether swapping two elements leaves the state as it is.
    fn are_twins(&mut self, cells: &[i64], left: u32, right: u32) -> bool {
        if !self.facts.is_marked(left) && !self.facts.is_marked(right) {
            return self.structure.same_blocks(cells, left, right);
        }
        if self.facts.tells_apart(left, right) || !self.structure.swap_keeps_cells(cells, left, right) {
            return false;
        }
        if !self.facts.in_groups(left) && !self.facts.in_groups(right) {
            return true;
        }
        for (element, image) in self.permutation.iter_mut().enumerate() {
            *image = element as u32;
        }
        self.permutation.swap(left as usize, right as usize);
        permute(&self.structure, cells, &self.permutation, &mut self.scratch);
        self.scratch == cells
    }
}

/// Permutes the cells of a state.
fn permute(structure: &StateStructure, cells: &[i64], permutation: &[u32], image: &mut [i64]) {
    structure.apply(cells, permutation, image);
    normalise_changed(&structure.bags, cells, image);
}

/// What an order of elements is like.
struct Ordered {
    /// Whether they are in it.
    in_order: bool,
    /// Whether something else is said of each.
    distinct: bool,
}

/// Puts the free elements of each sort in the order of what is said of them: those of a sort stand where its elements
/// begin. They are few and almost in order as a rule: one step was made from a state whose elements were.
fn order(structure: &StateStructure, said: &[u64], order: &mut [u32]) -> Ordered {
    let said = |element: u32| said[element as usize];
    let (mut in_order, mut distinct) = (true, true);
    for sort in &structure.sorts {
        let order = &mut order[sort.first as usize..][..sort.free.len()];
        if sort.free.is_sorted_by(|left, right| said(*left) < said(*right)) {
            order.copy_from_slice(&sort.free);
            continue;
        }
        order.copy_from_slice(&sort.free);
        refine::sort(order, said);
        distinct &= order.is_sorted_by(|left, right| said(*left) < said(*right));
        in_order &= sort.free.is_sorted_by(|left, right| said(*left) <= said(*right));
    }
    Ordered { in_order, distinct }
}

fn is_identity(permutation: &[u32]) -> bool {
    permutation.iter().enumerate().all(|(element, image)| element as u32 == *image)
}

/// `n!` if it fits.
fn factorial(n: usize) -> Option<u128> {
    (1..=n as u128).try_fold(1u128, |product, factor| product.checked_mul(factor))
}
