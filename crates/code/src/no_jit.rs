//! What the rest of the crate knows of machine code, where there is none: the feature `jit` is off. A [`Native`] cannot be
//! made, so nothing of it is ever called, and everything is interpreted.

use crate::{
    code::{Pc, Program},
    exec::{CodeEnd, Machine, Return, Sink},
    layout::Layout,
};

/// Where interpretation goes on.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) pc: Pc,
    pub(crate) frame: usize,
    pub(crate) stack: Vec<Return>,
    pub(crate) held: bool,
    pub(crate) again: bool,
}

/// How native code ends.
#[derive(Clone, Debug)]
pub(crate) enum Exit<P = Point> {
    Done(CodeEnd, Pc),
    Interpret(P),
    Trapped,
}

/// Where native code begins: nowhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {}

impl Entry {
    pub(crate) fn held(self) -> bool {
        match self {}
    }

    pub(crate) fn frame(self) -> u32 {
        match self {}
    }
}

/// A place where a unit may be entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitRoot {
    pub(crate) unit: u32,
    pub(crate) fires: bool,
}

/// What a machine has interpreted of a unit.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    pub(crate) seen: Vec<bool>,
    pub(crate) ran: u64,
    pub(crate) enough: u64,
}

impl Heat {
    pub(crate) fn new(_: &Program) -> Heat {
        Heat { seen: Vec::new(), ran: 0, enough: u64::MAX }
    }
}

/// States after which there would be code for what is done with each.
pub(crate) const MANY_STATES: u64 = u64::MAX;
pub(crate) const LONG_RUN: u64 = u64::MAX;
pub(crate) const NOTED: u64 = 1;

/// Code that runs through all rules of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NativeFunction {}

/// Code that expands many states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runner {
    pub(crate) most: usize,
}

/// What works on packed states, and needs no cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) rules: bool,
    pub(crate) conditions: bool,
}

/// Native code, of which there is none.
pub(crate) enum Native {}

impl Native {
    pub(crate) fn root(&self, _: Pc) -> Option<UnitRoot> {
        match *self {}
    }

    pub(crate) fn entry(&self, _: UnitRoot) -> Option<Entry> {
        match *self {}
    }

    pub(crate) fn tiers(&self) -> Option<usize> {
        match *self {}
    }

    pub(crate) fn consider(&self, _: &Program, _: usize, _: &mut Heat) {
        match *self {}
    }

    pub(crate) fn judge_many(&self, _: &Program, _: &Layout) {
        match *self {}
    }

    pub(crate) fn settle(&self, _: &Program, _: &Layout) -> bool {
        match *self {}
    }

    pub(crate) fn unpack_many(&self, _: &Program, _: &Layout) {
        match *self {}
    }

    pub(crate) fn frame(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn call(&self, _: Entry, _: &mut Machine<'_>, _: &mut dyn Sink) -> Exit<&Point> {
        match *self {}
    }

    pub(crate) fn unpacks(&self) -> bool {
        match *self {}
    }

    pub(crate) fn unpack(&self, _: &mut Machine<'_>) -> bool {
        match *self {}
    }

    pub(crate) fn unpack_work(&self, _: &mut Machine<'_>) {
        match *self {}
    }

    pub(crate) fn held(&self) -> Held {
        match *self {}
    }

    pub(crate) fn expander(&self) -> Option<NativeFunction> {
        match *self {}
    }

    pub(crate) fn runner(&self) -> Option<Runner> {
        match *self {}
    }

    pub(crate) fn all_hold(&self, _: &[u64], _: &[Pc]) -> Option<bool> {
        match *self {}
    }

    pub(crate) fn run(&self, _: Runner, _: &[u64], _: &mut [u64], _: usize, _: &mut [u64]) -> usize {
        match *self {}
    }

    pub(crate) fn expand(
        &self,
        _: NativeFunction,
        _: usize,
        _: &mut Machine<'_>,
        _: &mut dyn Sink,
    ) -> Option<(usize, Option<Exit<&Point>>)> {
        match *self {}
    }

    pub(crate) fn point(&self, _: u64) -> Option<&Point> {
        match *self {}
    }
}

/// Translates nothing.
pub(crate) fn translate(_: &Program, _: &Layout, _: bool) -> Option<Native> {
    None
}
