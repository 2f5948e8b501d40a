//! Starts and steps of lumped zones.

use shoal_dbm::{ClockBounds, ClockEvent, Constraint, Zone};
use shoal_model::{
    Condition, Fault, GuardFaults, Model, PropertyKind, Rule, RuleId, SortId, SortSize, StartId, TypedId,
    Watch,
};
use shoal_tctl::{ENGINE, TctlHalt};

use super::{
    bounds::ExtrapolationBounds,
    layout::{Room, ZoneLayout},
    machine::{Clocked, ZoneMachine, ZoneResult, ZoneStop},
    screen::{GuardScreen, PassingScreen, ScriptVisitor},
    state::{Counting, MemberClass, UNDEFINED, ZoneState},
};

/// More clocks than this are refused: one zone of so many takes 64 MB.
const MOST_CLOCKS: usize = 4_000;

/// A model with everything that its steps need.
pub(crate) struct ZoneSteps<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: ZoneLayout,
    pub(crate) counting: Counting,
    pub(crate) bounds: ExtrapolationBounds,
    /// Whether zones are kept so that all futures can be told, not only what can be reached: what is stuck must be.
    pub(crate) futures: bool,
    /// What every state must satisfy.
    pub(crate) given: Vec<&'m Condition>,
    /// Elements that are named, by sort.
    pinned: Vec<Vec<u32>>,
    /// Of these, the elements that may change places all the same, by sort.
    pub(crate) free: Vec<Vec<u32>>,
    /// What of each rule's guard is evaluated before it is tried.
    screens: Vec<Option<GuardScreen<'m>>>,
    /// What holds while time passes, if it may.
    passing: Option<PassingScreen<'m>>,
    /// When to give up: also in the middle of a step, which may take long.
    watch: Watch,
}

/// How a way to run code ends.
pub(crate) enum RunEnd {
    /// In a state.
    State,
    /// In a fault of the guard (or of what a parameter ranges over).
    GuardFault(Fault),
    /// In a fault of the body.
    Fault(Fault),
}

/// Is told how each way to run code ends, in order.
pub(crate) type EndVisitor<'d> = &'d mut dyn FnMut(&mut ZoneMachine<'_>, RunEnd);

/// Where a condition has a truth value in a state, and where it faults.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) ways: Clocked,
    pub(crate) faults: Vec<(Fault, Vec<Constraint>)>,
}

impl<'m> ZoneSteps<'m> {
    pub(crate) fn new(
        model: &'m Model,
        lumped: &[SortId],
        pinned: Vec<Vec<u32>>,
        counting: Counting,
        precise: bool,
        watch: &Watch,
    ) -> Result<ZoneSteps<'m>, TctlHalt> {
        let layout = ZoneLayout::new(model, lumped)?;
        // A zone is a matrix of all clocks: how large the first one is can be told before it is made.
        let apart = |(local, pinned): (&Option<Room>, &Vec<u32>)| {
            local.map_or(0, |it| it.clocks) * (pinned.len() + 2)
        };
        let clocks = layout.global.clocks + layout.local.iter().zip(&pinned).map(apart).sum::<usize>();
        if clocks > MOST_CLOCKS {
            return shoal_tctl::unsupported(format!("{clocks} clocks that are told apart"), None);
        }
        let priorities: std::collections::BTreeSet<i64> =
            model.rules.iter().map(|rule| rule.priority).collect();
        if priorities.len() > 1 {
            return shoal_tctl::unsupported(
                "priorities among rules",
                model.rules.iter().next().map(|rule| rule.span),
            );
        }
        let given = model.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Assume(Some(condition)) => Some(condition),
            _ => None,
        });
        let given = given.collect();
        let none = ExtrapolationBounds::new(model, &layout, &[], false)?;
        let free = vec![Vec::new(); model.sorts.len()];
        let pure = model.pure_functions();
        let screens = model.rules.iter().map(|rule| GuardScreen::new(model, &layout, &pure, rule)).collect();
        let passing = model.while_time_passes.as_ref();
        let passing = passing.map(|condition| PassingScreen::new(model, &layout, condition));
        let mut steps = ZoneSteps {
            model,
            layout,
            counting,
            bounds: none,
            futures: false,
            given,
            pinned,
            free,
            screens,
            passing,
            watch: watch.clone(),
        };
        let mut starts = Vec::new();
        for (_, start) in model.starts.enumerate() {
            let blanks = steps.blanks(false);
            for blank in blanks {
                steps.runs(
                    &blank,
                    &[],
                    &mut |machine| {
                        machine.push_frame(&start.code.locals);
                        for param in &start.params {
                            machine.bind_parameter(param.local, &param.domain, start.span)?;
                        }
                        machine.block(&start.code.body).map(|_| ())
                    },
                    &mut |machine| starts.push(machine.state.clone()),
                )?;
            }
        }
        steps.bounds = ExtrapolationBounds::new(model, &steps.layout, &starts, precise)?;
        Ok(steps)
    }

    /// A machine that runs code on a state as a script says.
    pub(crate) fn machine(&self, state: ZoneState, script: Vec<usize>) -> ZoneMachine<'_> {
        ZoneMachine::new(self.model, &self.layout, self.counting, &self.watch, state, script)
    }

    /// The states before a start runs: one, or with any number of elements, one for each number up to the cut.
    pub(crate) fn blanks(&self, traced: bool) -> Vec<ZoneState> {
        let mut blanks = vec![ZoneState {
            globals: vec![UNDEFINED; self.layout.global.cells],
            classes: Vec::new(),
            zone: Zone::zero(0),
        }];
        for (sort, def) in self.model.sorts.enumerate() {
            let Some(room) = self.layout.local[sort.index()] else { continue };
            let pinned = &self.pinned[sort.index()];
            let cells = |name: i64| {
                let mut cells = vec![UNDEFINED; room.cells];
                cells[0] = name;
                cells
            };
            let counts: Vec<u32> = match (def.size, self.counting.cut) {
                (SortSize::Fixed(size), _) => vec![size - pinned.len() as u32],
                (_, Some(cut)) => (if pinned.is_empty() { 1 } else { 0 }..=cut).collect(),
                (_, None) => vec![1],
            };
            let mut next = Vec::new();
            for blank in &blanks {
                for count in &counts {
                    let mut state = blank.clone();
                    for name in pinned {
                        let class = MemberClass {
                            sort: sort.index(),
                            count: 1,
                            cells: cells((*name).into()),
                            members: vec![*name],
                        };
                        state.classes.push(class);
                    }
                    if *count > 0 {
                        let members = match def.size {
                            SortSize::Fixed(size) if traced => {
                                (0..size).rev().filter(|element| !pinned.contains(element)).collect()
                            }
                            _ => Vec::new(),
                        };
                        state.classes.push(MemberClass {
                            sort: sort.index(),
                            count: *count,
                            cells: cells(-1),
                            members,
                        });
                    }
                    next.push(state);
                }
            }
            blanks = next;
        }
        for blank in &mut blanks {
            let own = |class: &MemberClass| super::state::clocks(&self.layout, class.sort) * class.shown();
            blank.zone = Zone::zero(self.layout.global.clocks + blank.classes.iter().map(own).sum::<usize>());
        }
        blanks
    }

    /// Runs code in every way there is that begins with these decisions.
    fn runs(
        &self,
        state: &ZoneState,
        first: &[usize],
        code: &mut dyn FnMut(&mut ZoneMachine<'_>) -> ZoneResult,
        done: &mut dyn FnMut(&mut ZoneMachine<'_>),
    ) -> Result<(), TctlHalt> {
        let mut script = first.to_vec();
        loop {
            self.watch.check()?;
            let mut machine = self.machine(state.clone(), script);
            match code(&mut machine) {
                Ok(()) => done(&mut machine),
                Err(ZoneStop::NoRun | ZoneStop::Fault(_)) => {}
                Err(ZoneStop::Halt(halt)) => return Err(halt),
            }
            match machine.next_script(first) {
                Some(next) => script = next,
                None => return Ok(()),
            }
        }
    }

    /// Which of the model's starts the start with a number is.
    pub(crate) fn start_of(&self, ordinal: usize) -> StartId {
        StartId::from_index(ordinal / self.blanks(false).len())
    }

    /// The start with a number: which of the starts and blanks; false if there is none.
    pub(crate) fn start_with(
        &self,
        ordinal: usize,
        traced: bool,
        done: EndVisitor<'_>,
    ) -> Result<bool, TctlHalt> {
        let blanks = self.blanks(traced);
        let start = StartId::from_index(ordinal / blanks.len());
        let Some(rule) = self.model.starts.get(start) else { return Ok(false) };
        let blank = &blanks[ordinal % blanks.len()];
        self.ways_from(blank, &[], traced, rule, done)?;
        Ok(true)
    }

    /// All states that the instances of a rule lead to, after time has passed.
    pub(crate) fn fire(
        &self,
        state: &ZoneState,
        rule: RuleId,
        traced: bool,
        done: EndVisitor<'_>,
    ) -> Result<(), TctlHalt> {
        self.screened(state, rule, &mut |first| {
            self.ways_from(state, first, traced, &self.model.rules[rule], done)
        })
    }

    /// Tells of the values of the first parameters of a rule, as decisions, with which it may be enabled in a state.
    fn screened(&self, state: &ZoneState, rule: RuleId, visitor: ScriptVisitor<'_>) -> Result<(), TctlHalt> {
        match &self.screens[rule.index()] {
            Some(screen) => screen.pass(state, || self.machine(state.without_zone(), Vec::new()), visitor),
            None => visitor(&[]),
        }
    }

    /// Runs a rule or a start in every way, then what every step does: what is given must hold. The first decisions
    /// are taken already.
    fn ways_from(
        &self,
        state: &ZoneState,
        first: &[usize],
        traced: bool,
        rule: &Rule,
        done: EndVisitor<'_>,
    ) -> Result<(), TctlHalt> {
        let mut script = first.to_vec();
        loop {
            self.watch.check()?;
            let mut machine = self.machine(state.clone(), script);
            if traced {
                machine.record();
            }
            let enabled = self.enable(&mut machine, rule).map(|()| self.note_invariant(&mut machine));
            let end = match enabled {
                Ok(Err(stop)) => Err(stop),
                Err(ZoneStop::Fault(_)) if self.model.guard_faults == GuardFaults::Disable => {
                    Err(ZoneStop::NoRun)
                }
                Err(stop) => faulted(stop, RunEnd::GuardFault),
                Ok(Ok(())) => {
                    let given = |machine: &mut ZoneMachine<'_>| {
                        let held = |given: &&Condition| match machine.assume_condition(given, true) {
                            // How to show it is not known: it is neither the step nor a property that is asked.
                            Err(ZoneStop::Fault(fault)) => {
                                let construct = "an assumption that faults".into();
                                let span = Some(fault.span);
                                Err(ZoneStop::Halt(
                                    shoal_model::Unsupported { engine: ENGINE, construct, span }.into(),
                                ))
                            }
                            ended => ended,
                        };
                        self.given.iter().try_for_each(held)
                    };
                    let ended = machine.block(&rule.code.body).and_then(|_| given(&mut machine));
                    let ended = ended.and_then(|()| {
                        let differences = self.bounds.differences(&self.layout, &machine.state);
                        machine.split(&differences)
                    });
                    ended.map(|()| RunEnd::State).or_else(|stop| faulted(stop, RunEnd::Fault))
                }
            };
            match end {
                Ok(end) => done(&mut machine, end),
                Err(ZoneStop::Halt(halt)) => return Err(halt),
                Err(ZoneStop::NoRun | ZoneStop::Fault(_)) => {}
            }
            match machine.next_script(first) {
                Some(next) => script = next,
                None => return Ok(()),
            }
        }
    }

    /// For who wants to know what happens to clocks: a step is taken where the invariant still holds, however long one has
    /// waited for it. (That time may not pass at all is not said of clocks.)
    fn note_invariant(&self, machine: &mut ZoneMachine<'_>) -> ZoneResult {
        match &self.model.while_time_passes {
            Some(condition) if machine.events.is_some() => machine.note(condition),
            _ => Ok(()),
        }
    }

    /// Gives the parameters of a rule values with which its guard holds.
    fn enable(&self, machine: &mut ZoneMachine<'_>, rule: &Rule) -> ZoneResult {
        machine.push_frame(&rule.code.locals);
        for param in &rule.params {
            machine.bind_parameter(param.local, &param.domain, rule.span)?;
        }
        machine.bind(&rule.bindings)?;
        match &rule.guard {
            Some(guard) => machine.assume(guard),
            None => Ok(()),
        }
    }

    /// Where a condition is true, or false, in a state.
    pub(crate) fn judge(
        &self,
        state: &ZoneState,
        condition: &Condition,
        truth: bool,
    ) -> Result<Judged, TctlHalt> {
        let mut machine = self.machine(state.clone(), Vec::new());
        match machine.condition(condition, truth) {
            Ok(ways) => return Ok(Judged { ways, faults: Vec::new() }),
            Err(ZoneStop::Halt(halt)) => return Err(halt),
            Err(ZoneStop::NoRun) => return Ok(Judged::default()),
            Err(ZoneStop::Fault(_)) => {}
        }
        let (mut judged, mut script) = (Judged::default(), Vec::new());
        loop {
            let mut machine = self.machine(state.clone(), script);
            machine.record();
            let end = machine.assume_condition(condition, truth);
            let held = machine.events.iter().flatten().filter_map(|event| match event {
                ClockEvent::Holds(constraint) => Some(*constraint),
                ClockEvent::Set(..) => None,
            });
            let held: Vec<Constraint> = held.collect();
            match end {
                Ok(()) => judged.ways.push(held),
                Err(ZoneStop::Fault(fault)) => judged.faults.push((fault, held)),
                Err(ZoneStop::NoRun) => {}
                Err(ZoneStop::Halt(halt)) => return Err(halt),
            }
            match machine.next_script(&[]) {
                Some(next) => script = next,
                None => return Ok(judged),
            }
        }
    }

    /// Lets time pass as long as it may, in a state that has just been reached. False if what the invariant says of the
    /// clocks is no zone.
    pub(crate) fn elapse(&self, machine: &mut ZoneMachine<'_>) -> Result<(), TctlHalt> {
        if self.passing.is_none() || machine.state.zone.dim() == 1 {
            return Ok(());
        }
        if self.is_urgent(&machine.state)? {
            return Ok(());
        }
        let Some(passing) = &self.passing else { return Ok(()) };
        let invariant = match passing.clocked(machine) {
            Ok(invariant) => invariant,
            Err(ZoneStop::Halt(halt)) => return Err(halt),
            Err(ZoneStop::NoRun | ZoneStop::Fault(_)) => Vec::new(),
        };
        match invariant.as_slice() {
            // Time may not pass at all.
            [] => Ok(()),
            [constraints] => {
                let mut later = machine.state.zone.clone();
                // From where the invariant holds.
                if later.constrain_all(constraints.iter().copied()) {
                    later.up();
                    if later.constrain_all(constraints.iter().copied()) {
                        machine.state.zone = later;
                    }
                }
                Ok(())
            }
            _ => shoal_tctl::unsupported("an invariant with `or` between clocks", passing.span()),
        }
    }

    /// Whether time may pass in a state at all.
    pub(crate) fn may_wait(&self, state: &ZoneState) -> Result<bool, TctlHalt> {
        Ok(!self.is_urgent(state)?
            && match &self.model.while_time_passes {
                Some(condition) => !self.judge(state, condition, true)?.ways.is_empty(),
                None => true,
            })
    }

    /// Whether an urgent rule may fire, so that time stands still.
    pub(crate) fn is_urgent(&self, state: &ZoneState) -> Result<bool, TctlHalt> {
        for (id, rule) in self.model.rules.enumerate().filter(|(_, rule)| rule.urgent) {
            let mut enabled = false;
            self.screened(state, id, &mut |first| {
                self.runs(state, first, &mut |machine| self.enable(machine, rule), &mut |_| enabled = true)
            })?;
            if enabled {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets time pass in a state that has just been reached, and makes it one of those that are kept.
    pub(crate) fn settled(&self, state: ZoneState) -> Result<ZoneState, TctlHalt> {
        let mut machine = self.machine(state, Vec::new());
        self.elapse(&mut machine)?;
        let mut state = machine.state;
        self.settle(&mut state);
        Ok(state)
    }

    /// Makes states that cannot be told apart equal.
    pub(crate) fn settle(&self, state: &mut ZoneState) {
        let limits = self.bounds.of(&self.layout, state);
        let differences = self.bounds.differences(&self.layout, state);
        if !differences.is_empty() {
            self.settle_sides(&mut state.zone, &limits, &differences);
        } else if self.futures {
            state.zone.extrapolate_m(&limits);
        } else {
            state.zone.extrapolate_lu(&limits);
        }
        match self.folds() {
            true => drop(state.fold(&self.layout, &self.free)),
            false => state.normalise(&self.layout, self.counting),
        }
    }

    /// The same where differences of clocks are asked for: the zone stays on its side of each.
    fn settle_sides(&self, zone: &mut Zone, limits: &[ClockBounds], differences: &[Constraint]) {
        let entailed = |of: &Constraint| zone.get(of.left, of.right) <= of.bound;
        let sides = differences.iter().flat_map(|of| [*of, of.negated()]).filter(entailed);
        let sides: Vec<Constraint> = sides.collect();
        let mut wider = zone.clone();
        wider.extrapolate_max(limits);
        // (An abstraction only adds, so the zone itself stays in it.)
        if wider.constrain_all(sides) {
            *zone = wider;
        }
    }

    /// The number of the first element of a sort, if the elements of all sorts are numbered in a row.
    pub(crate) fn offset(&self, sort: usize) -> usize {
        let sizes = self.model.sorts.iter().map(|def| def.fixed_size().unwrap_or(0) as usize);
        sizes.take(sort).sum()
    }

    /// Whether elements change places.
    pub(crate) fn folds(&self) -> bool {
        self.free.iter().any(|free| free.len() > 1)
    }
}

/// The end that a fault is; other stops are none.
fn faulted(stop: ZoneStop, end: impl FnOnce(Fault) -> RunEnd) -> Result<RunEnd, ZoneStop> {
    match stop {
        ZoneStop::Fault(fault) => Ok(end(fault)),
        stop => Err(stop),
    }
}
