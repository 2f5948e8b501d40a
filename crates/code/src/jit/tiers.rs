//! Units of code, translated when they have earned it.
//!
//! A unit (a rule with its instances, or a condition) is interpreted at first, and it is noted which of its instructions run and
//! how many in all. Once interpreting it has cost about as much as translating it will, it is translated; those of its
//! instructions that have never run are left out, and code that comes to one goes on in the interpreter, as it does where
//! something faults. If that happens often, the unit is translated once more, with what has run by then.
//!
//! Protocols have many rules that seldom fire, and arms that are seldom taken: most of a translation would be for them.

use std::sync::{
    OnceLock,
    atomic::{AtomicPtr, AtomicUsize, Ordering},
};

use shoal_model::OrInternal as _;

use super::{
    DIRECT, Effort, Exit, Loops, Native, NativeFunction, Translator, UnitTranslators,
    expand::not_yet,
    flow::{Flow, FlowLimits},
};
use crate::{
    code::{Pc, Program},
    layout::Layout,
};

/// How often a unit is translated at most. What runs only later is interpreted.
const GENERATIONS: usize = 12;
/// Instructions that are interpreted before anybody asks whether a unit is worth it, and how many for each that would be
/// translated: Cranelift takes about as long to translate one as to interpret some thousands. Few in debug builds, so that tests see all
/// of it.
const FIRST: u64 = if cfg!(debug_assertions) { 32 } else { 4_000 };
const PRICE: u64 = if cfg!(debug_assertions) { 2 } else { 1_000 };
/// Translation that is to be quick costs a part of that: a small one where there is `direct`.
const QUICK_PART: u64 = match (cfg!(debug_assertions), DIRECT) {
    (true, _) => 1,
    (false, true) => 25,
    (false, false) => 2,
};
/// States that are expanded before everything is translated as well as can be. Of shorter runs, translation would be the larger
/// part.
pub(crate) const LONG_RUN: u64 = if cfg!(debug_assertions) { 256 } else { 1 << 16 };
/// One of so many runs of the interpreter is noted, as that takes time itself, and counts for all. In debug builds, all of them.
pub(crate) const NOTED: u64 = if cfg!(debug_assertions) { 1 } else { 4 };
/// What has not run is translated, too, if that makes a unit no larger than so many times what has.
const MUCH_MORE: usize = 2;
/// States that are taken apart before there is code for it. (Code that judges them takes as long to make as judging tens of
/// thousands of them one condition after the other: it is made in long runs only.)
pub(crate) const MANY_STATES: u64 = if cfg!(debug_assertions) { 64 } else { 10_000 };

/// What a unit is.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnitKind {
    /// The rule with a number.
    Rule(usize),
    /// The condition whose code begins there.
    Condition(Pc),
}

/// A place where a unit may be entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitRoot {
    /// The unit.
    pub(crate) unit: u32,
    pub(super) number: u32,
    /// Whether instances of a rule fire there.
    pub(crate) fires: bool,
}

/// The code of a unit.
pub(super) struct Unit {
    pub(super) function: NativeFunction,
    pub(super) exits: Vec<Exit>,
    pub(super) frame: u32,
    pub(super) held: bool,
    /// How many instructions it was made of.
    pub(super) instructions: usize,
}

/// The code of a unit that is to be put in its place, and whether memory stays where it is while it runs.
pub(super) struct Made {
    pub(super) generation: usize,
    pub(super) unit: Unit,
    pub(super) stays: bool,
}

/// A unit, and what was made of it so far.
pub(super) struct Tiers {
    pub(super) what: UnitKind,
    /// Where the instances of a rule end.
    pub(super) end: Pc,
    made: [OnceLock<Unit>; GENERATIONS],
    count: AtomicUsize,
}

impl Tiers {
    fn new(what: UnitKind, end: Pc) -> Tiers {
        Tiers { what, end, made: Default::default(), count: AtomicUsize::new(0) }
    }

    /// The last code that was made.
    #[inline]
    pub(super) fn latest(&self) -> Option<&Unit> {
        self.generation(self.count.load(Ordering::Acquire).checked_sub(1)?)
    }

    pub(super) fn generation(&self, generation: usize) -> Option<&Unit> {
        self.made.get(generation)?.get()
    }

    /// Puts code in its place, and in that of the table of rules if it may be called from there.
    pub(super) fn add(&self, Made { generation, unit, stays }: Made, place: Option<&AtomicPtr<u8>>) {
        let (function, few) = (unit.function, unit.frame <= super::REGISTERS || unit.held);
        let Some(room) = self.made.get(generation) else { return };
        if room.set(unit).is_ok() {
            self.count.store(generation + 1, Ordering::Release);
            if let Some(place) = place.filter(|_| stays && few) {
                place.store(function as *mut u8, Ordering::Release);
            }
        }
    }
}

/// The number of an exit, in parts.
pub(super) struct ExitNumber {
    pub(super) unit: usize,
    pub(super) generation: usize,
    pub(super) exit: usize,
}

impl ExitNumber {
    const EXIT: u32 = 20;
    const GENERATION: u32 = 4;
    /// More units than this have no numbers, and are not translated.
    const UNITS: usize = 1 << 13;

    pub(super) fn number(&self) -> i64 {
        let ExitNumber { unit, generation, exit } = self;
        ((unit << Self::GENERATION | generation) << Self::EXIT | exit) as i64
    }

    pub(super) fn of(number: i64) -> ExitNumber {
        let number = number as usize;
        ExitNumber {
            unit: number >> (Self::GENERATION + Self::EXIT),
            generation: number >> Self::EXIT & ((1 << Self::GENERATION) - 1),
            exit: number & ((1 << Self::EXIT) - 1),
        }
    }
}

/// All units of a program, and where they may be entered.
pub(super) struct Units {
    pub(super) all: Vec<Tiers>,
    pub(super) numbers: Vec<u32>,
    pub(super) roots: Vec<UnitRoot>,
    pub(super) table: Box<[AtomicPtr<u8>]>,
}

impl Units {
    pub(super) fn new(program: &Program) -> Units {
        let mut units = Units {
            all: Vec::new(),
            numbers: vec![0; program.ops.len()],
            roots: Vec::new(),
            table: program.rules.iter().map(|_| AtomicPtr::new(not_yet as *mut u8)).collect(),
        };
        for (number, rule) in program.rules.iter().enumerate() {
            units.add(UnitKind::Rule(number), rule.body.saturating_sub(1), &Flow::roots_of(program, rule));
        }
        let locations = program.agents.iter().flat_map(|agents| &agents.locations);
        let of_agents = locations.filter_map(|location| location.goes_first.as_ref());
        let guards = program.parts.iter().flat_map(|parts| &parts.guards).flatten();
        for entry in program.conditions.iter().flatten().chain(of_agents).chain(guards) {
            units.add(UnitKind::Condition(*entry), *entry, &[*entry]);
        }
        units
    }

    fn add(&mut self, what: UnitKind, end: Pc, roots: &[Pc]) {
        let unit = self.all.len();
        self.all.push(Tiers::new(what, end));
        if unit >= ExitNumber::UNITS {
            return;
        }
        let mut known: Vec<Pc> = Vec::new();
        for pc in roots {
            if !known.contains(pc) {
                known.push(*pc);
                let (number, fires) = (known.len() as u32 - 1, matches!(what, UnitKind::Rule(_)));
                self.roots.push(UnitRoot { unit: unit as u32, number, fires });
                self.numbers[*pc as usize] = self.roots.len() as u32;
            }
        }
    }
}

/// Which instructions have run.
#[derive(Clone, Default)]
pub(super) struct RanInstructions {
    all: Vec<bool>,
}

impl RanInstructions {
    /// Whether an instruction has run.
    pub(super) fn has(&self, pc: Pc) -> bool {
        self.all.get(pc as usize).is_some_and(|seen| *seen)
    }

    /// Adds what has run elsewhere. Tells whether that is anything new.
    fn add(&mut self, other: &[bool]) -> bool {
        self.all.resize(self.all.len().max(other.len()), false);
        let mut new = false;
        for (here, there) in self.all.iter_mut().zip(other) {
            new |= there & !*here;
            *here |= there;
        }
        new
    }
}

/// What a machine has interpreted of a unit.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    /// For each instruction, whether it has run.
    pub(crate) seen: Vec<bool>,
    /// How many have run since it was translated last.
    pub(crate) ran: u64,
    /// After how many it is asked whether it is worth translating.
    pub(crate) enough: u64,
}

impl Heat {
    pub(crate) fn new(program: &Program) -> Heat {
        Heat { seen: vec![false; program.ops.len()], ran: 0, enough: FIRST }
    }
}

impl Native {
    /// A unit has been interpreted for a while: translates it, if it is worth it and nobody else is at it.
    #[cold]
    pub(crate) fn consider(&self, program: &Program, unit: usize, heat: &mut Heat) {
        let generation = self.units[unit].count.load(Ordering::Acquire);
        if generation >= GENERATIONS {
            heat.enough = u64::MAX;
            return;
        }
        let price = if self.settled.load(Ordering::Acquire) { PRICE } else { PRICE / QUICK_PART };
        let price = match generation.checked_sub(1).and_then(|last| self.units[unit].generation(last)) {
            None => price * heat.seen.iter().filter(|seen| **seen).count() as u64,
            // A function is taken in wherever it is called. What is made again and again must be worth ever more.
            Some(last) => 2 * price * generation as u64 * last.instructions as u64,
        };
        if heat.ran < price {
            heat.enough = price;
            return;
        }
        let Ok(mut workshop) = self.workshop.try_lock() else {
            heat.enough = heat.ran + FIRST;
            return;
        };
        (heat.ran, heat.enough) = (0, FIRST);
        let translator = match self.settled.load(Ordering::Acquire) {
            true => workshop.better.as_mut().or_internal("a translator for long runs"),
            false => &mut workshop.first,
        };
        if translator.seen[unit].add(&heat.seen) && translator.again(program, self, unit, generation).is_err()
        {
            // It is interpreted for ever.
            heat.enough = u64::MAX;
        }
    }

    /// So many states have been judged by a machine: makes code that judges them at once, if that is worth it.
    pub(crate) fn judge_many(&self, program: &Program, layout: &Layout) {
        if let Ok(mut workshop) = self.workshop.try_lock()
            && let Some(translator) = workshop.better(program, layout)
        {
            self.judge.get_or_init(|| translator.judge_later(program, layout));
        }
    }

    /// So many states have been taken apart by a machine: makes code for it.
    pub(crate) fn unpack_many(&self, program: &Program, layout: &Layout) {
        if self.unpack.get().is_none()
            && let Ok(mut workshop) = self.workshop.try_lock()
            && let Some(translator) = workshop.better(program, layout)
            && let Ok(Some(ids)) = translator.unpack_both(program)
            && translator.module.finalize_definitions().is_ok()
        {
            self.unpack.get_or_init(|| translator.finished_unpack(ids));
        }
    }

    /// So many states have been expanded by a machine: what is translated already is translated once more, and better. (If
    /// another thread is translating just now, the next state will do.) Tells whether that is done.
    pub(crate) fn settle(&self, program: &Program, layout: &Layout) -> bool {
        if !self.tiered || self.settled.load(Ordering::Acquire) {
            return true;
        }
        let Ok(mut workshop) = self.workshop.try_lock() else { return false };
        let seen = workshop.first.seen.clone();
        let Some(translator) = workshop.better(program, layout) else { return true };
        translator.seen = seen;
        for (unit, tiers) in self.units.iter().enumerate() {
            let generation = tiers.count.load(Ordering::Acquire);
            // What fails stays as it is.
            if (1..GENERATIONS).contains(&generation) {
                let _ = translator.again(program, self, unit, generation);
            }
        }
        self.settled.store(true, Ordering::Release);
        true
    }
}

impl UnitTranslators {
    /// The translator for what is used long.
    fn better(&mut self, program: &Program, layout: &Layout) -> Option<&mut Translator> {
        if self.better.is_none() {
            self.better = Translator::new(program, layout, Effort::Full);
        }
        self.better.as_mut()
    }
}

/// Translation failed.
struct Failed;

impl Translator {
    /// Translates a unit with what has run of it by now.
    fn again(
        &mut self,
        program: &Program,
        native: &Native,
        unit: usize,
        generation: usize,
    ) -> Result<(), Failed> {
        let seen = std::mem::take(&mut self.seen[unit]);
        let flow = self.flow(program, native.units[unit].what, &seen);
        let made = self.unit(program, unit, generation, &flow);
        self.seen[unit] = seen;
        if made.is_err() || self.module.finalize_definitions().is_err() {
            return Err(Failed);
        }
        for pending in std::mem::take(&mut self.pending) {
            let (number, made) = self.made(pending);
            native.units[number].add(made, native.table.get(number));
        }
        Ok(())
    }

    /// The flow of what has run of a unit. In a long run, of all of it if that is not much more: code that comes to an arm which
    /// never ran before is left, and the body is interpreted from its beginning.
    fn flow<'p>(&self, program: &'p Program, what: UnitKind, seen: &'p RanInstructions) -> Flow<'p> {
        let (rule, roots) = match what {
            UnitKind::Rule(rule) => {
                let rule = &program.rules[rule];
                (Some(rule), Flow::roots_of(program, rule))
            }
            UnitKind::Condition(entry) => (None, vec![entry]),
        };
        let limits = match self.effort {
            Effort::Little if DIRECT => {
                return Flow::links(program, rule, &roots, seen, FlowLimits::LONG_RUN);
            }
            Effort::Little => return Flow::as_seen(program, rule, &roots, seen, FlowLimits::SHORT_RUN),
            Effort::Full => FlowLimits::LONG_RUN,
        };
        let ran = Flow::as_seen(program, rule, &roots, seen, limits);
        let most = MUCH_MORE * ran.nodes.len();
        let whole = Flow::whole(program, rule, &roots, FlowLimits { most, ..limits });
        whole.filter(|whole| whole.stays() || !ran.stays()).unwrap_or(ran)
    }

    fn judge_later(&mut self, program: &Program, layout: &Layout) -> Option<super::NativeJudge> {
        let none = &Loops::none();
        let flows = program.conditions.iter().flatten().map(|entry| Flow::condition(program, *entry, none));
        if !self.fits(program, flows) {
            return None;
        }
        let judge = self.judge(program, layout, &Loops::all(program)).ok()?;
        self.module.finalize_definitions().ok()?;
        Some(self.finished_judge(judge))
    }
}
