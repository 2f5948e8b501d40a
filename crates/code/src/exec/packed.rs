//! States that a machine gets packed, and successors that wait in its memory, packed too.

use bytemuck::cast_slice;

use super::{CodeEnd, Machine, Nobody};
use crate::{
    code::{Areas, Pc},
    jit::{Exit, LONG_RUN, MANY_STATES, Native, NativeFunction},
    layout::Layout,
};

impl Machine<'_> {
    /// Makes a packed state the one that conditions are about.
    pub fn begin_conditions(&mut self, layout: &Layout, words: &[u64]) {
        match &self.program.native {
            Some(native) if native.held().conditions => self.begin_packed(words),
            // Conditions change nothing: what is expanded need not be there to be put back.
            Some(native) if native.unpacks() => {
                self.begin_packed(words);
                native.unpack_work(self);
                self.has_cells = true;
            }
            Some(_) | None => self.begin(layout, words),
        }
    }

    /// Makes a packed state the one that is expanded by the machine's own code.
    pub(crate) fn begin_steps(&mut self, layout: &Layout, words: &[u64]) {
        match self.program.native.as_ref().is_some_and(|native| native.held().rules) {
            true => self.begin_packed(words),
            false => self.begin(layout, words),
        }
    }

    /// Makes a packed state the one that is expanded. Its cells are not made yet.
    fn begin_packed(&mut self, words: &[u64]) {
        let Areas { words: at, base_words, .. } = self.areas;
        (self.given, self.has_cells, self.unpacked) = (false, false, false);
        // Word by word: they will be read so soon that the processor would have to wait if they were written otherwise.
        for (position, word) in words.iter().enumerate() {
            self.mem[at + position] = *word as i64;
            self.mem[base_words + position] = *word as i64;
        }
    }

    /// Makes a packed state the one that is expanded.
    pub(crate) fn begin(&mut self, layout: &Layout, words: &[u64]) {
        self.begun += 1;
        if self.begun == MANY_STATES
            && let Some(native) = &self.program.native
        {
            native.unpack_many(self.program, layout);
        }
        if self.begun >= LONG_RUN
            && !self.settled
            && let Some(native) = &self.program.native
        {
            self.settled = native.settle(self.program, layout);
        }
        if self.program.native.as_ref().is_some_and(Native::unpacks) {
            self.begin_packed(words);
            self.make();
            self.unpacked = true;
            return;
        }
        // States that are expanded one after the other have much in common: cells of words that both have are there.
        let Areas { cells, width, base, base_words, .. } = self.areas;
        let (rest, before) = self.mem.split_at_mut(base_words);
        let (expanded, before) = (&mut rest[base..], cast_slice(&before[..width]));
        match self.unpacked {
            true => layout.unpack_over(before, words, expanded),
            false => layout.unpack(words, expanded),
        }
        self.begin_packed(words);
        (self.has_cells, self.unpacked) = (true, true);
        self.mem.copy_within(base..base + cells, 0);
    }

    /// Makes what starts begin with the one that is expanded: everything is undefined.
    pub(crate) fn begin_blank(&mut self, layout: &Layout) {
        self.begin_packed(&layout.blank());
        self.has_cells = true;
        let Areas { cells, base, .. } = self.areas;
        self.mem[..cells].fill(0);
        self.mem[base..base + cells].fill(0);
    }

    /// Makes the cells of the state that is expanded, unless there are any.
    pub(super) fn make(&mut self) {
        if let (Some(native), false) = (&self.program.native, self.has_cells) {
            native.unpack(self);
            self.has_cells = true;
        }
    }

    /// Successors may wait from now on, or must not.
    pub(crate) fn let_wait(&mut self, wait: bool) {
        let Areas { waiting, .. } = self.areas;
        self.mem[waiting] = 0;
        self.mem[waiting + 1] = if wait { self.areas.most_waiting() as i64 } else { 0 };
    }

    /// Whether successors wait.
    #[inline]
    pub(crate) fn lets_wait(&self) -> bool {
        self.mem[self.areas.waiting] != 0
    }

    /// The packed form of the state that is expanded, and the successors that wait.
    pub(crate) fn waiting(&self) -> (&[u64], &[u64]) {
        let Areas { waiting, base_words, width, .. } = self.areas;
        let length = self.mem[waiting] as usize;
        let base = &self.mem[base_words..][..width];
        (cast_slice(base), cast_slice(&self.mem[waiting + 2..][..length]))
    }

    /// No successors wait any more.
    pub(crate) fn wait_no_more(&mut self) {
        self.mem[self.areas.waiting] = 0;
    }

    /// Fires everything that may fire in a packed state, if the machine's own code can do it all without its cells. The
    /// successors wait behind those that wait already; how many cells there are of them then, or nothing, and nothing
    /// more waits.
    #[inline]
    pub(crate) fn expand_held(&mut self, expander: NativeFunction, words: &[u64]) -> Option<usize> {
        let native = self.program.native.as_ref()?;
        let before = self.mem[self.areas.waiting];
        self.begin_packed(words);
        // Where there is no room to wait, nobody is told.
        if native.expand(expander, 0, self, &mut Nobody).is_some() {
            self.mem[self.areas.waiting] = before;
            return None;
        }
        Some(self.mem[self.areas.waiting] as usize)
    }

    /// Whether all these conditions hold in a packed state, as far as the machine's own code can say: otherwise, and if one
    /// faults, it is false, and each is to be asked for by itself.
    pub fn all_hold(&mut self, layout: &Layout, words: &[u64], conditions: &[Pc]) -> bool {
        let Some(native) = &self.program.native else { return false };
        if let Some(all) = native.all_hold(words, conditions) {
            return all;
        }
        self.judged += 1;
        if self.judged == LONG_RUN && native.tiers().is_some() {
            native.judge_many(self.program, layout);
        }
        let entry = |pc: &Pc| native.root(*pc).and_then(|root| native.entry(root));
        // Once there is code, there is.
        if self.translated != conditions {
            if !conditions.iter().all(|pc| entry(pc).is_some()) {
                return false;
            }
            self.translated = conditions.to_vec();
        }
        self.begin_conditions(layout, words);
        self.assumes = false;
        let all = conditions.iter().all(|pc| {
            entry(pc).is_some_and(|entry| {
                self.make_room(entry);
                matches!(native.call(entry, self, &mut Nobody), Exit::Done(CodeEnd::Truth(true), _))
            })
        });
        self.assumes = true;
        all
    }
}
