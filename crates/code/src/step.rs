//! Runs through everything that can happen in a state.

mod parts;

use std::{
    ops::{ControlFlow, Range},
    time::Instant,
};

use shoal_model::{Fault, GuardFaults, Model, StopReason, Value, Watch};

use crate::{
    code::{AgentsCode, Handler, Pc, Program, RuleCode},
    exec::{After, CodeEnd, Halt, Machine, Sink, Trap},
    layout::Layout,
    runs::RunBuffer,
    stubborn::Stubborn,
};

/// Is told what happens. The rule is a number among the rules, or among the starts. If a watch ends a run
/// ([`Program::stopped`]), it is not told of all that happens.
pub trait Visitor {
    /// Whether it asks for the arguments of what fires. Then everything is interpreted, which is slower.
    const ARGS: bool = true;

    /// A body ran to its end: the machine has the new state, in normal form and packed. `moves` if it is another state.
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()>;
    /// A body faulted.
    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()>;
    /// The domains, bindings or the guard of an instance faulted.
    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()>;
    /// Whether it is content with the packed forms of successors, some at a time: [`Visitor::packed`] is then called
    /// for some of them.
    fn takes_packed(&self) -> bool {
        false
    }
    /// Bodies ran to their ends, in this state, with these successors: each the number of its rule and its packed form.
    fn packed(&mut self, _state: &[u64], _successors: &[u64]) {}
    /// A check covered a property.
    fn covered(&mut self, _property: shoal_model::PropertyId) {}
    /// What comes now are the steps of one agent that may go first, or of a stubborn set.
    fn tries(&mut self) {}
    /// Whether those will do, and the steps of the others need not be taken here.
    fn suffices(&mut self) -> bool {
        true
    }
}

/// Which steps of a state are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// All.
    All,
    /// Those of one agent that may go first, if there is one whose steps suffice the visitor; otherwise all.
    Ample,
    /// The same, where no agent goes first at a location that cuts loops: then no loop of such steps leaves out the others
    /// for ever.
    AmpleOutsideLoops,
    /// Those of a stubborn set of parts, if they suffice the visitor; otherwise all.
    Stubborn,
}

/// A machine that takes steps.
pub struct Stepper<'m> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    machine: Machine<'m>,
    /// The rules, least priority number first.
    order: Vec<usize>,
    /// The priorities, least first.
    ranks: Vec<i64>,
    /// The agents of the present state whose steps are taken, by family and number.
    taken: Vec<(usize, u32)>,
    /// What finds stubborn sets, once it was needed.
    stubborn: Option<Stubborn>,
    /// Expands states in runs, if that is possible.
    runs: Option<RunBuffer<'m>>,
    /// While starts run: when to end, after how many runs to look again, and why it was ended.
    watch: Option<Watch>,
    until_look: u32,
    stopped: Option<StopReason>,
}

/// Runs of a start between two looks at the watch.
const RUNS: u32 = 256;

impl<'m> Stepper<'m> {
    /// A machine at the model's empty state.
    pub fn new(model: &'m Model, layout: &'m Layout, program: &'m Program) -> Self {
        let mut order: Vec<usize> = (0..program.rules.len()).collect();
        order.sort_by_key(|rule| program.rules[*rule].priority);
        let mut ranks: Vec<i64> = order.iter().map(|rule| program.rules[*rule].priority).collect();
        ranks.dedup();
        let machine = Machine::new(program);
        let held = program.native.as_ref().filter(|native| native.held().rules && ranks.len() <= 1);
        let runs = held.and_then(RunBuffer::new);
        Stepper {
            model,
            layout,
            program,
            machine,
            order,
            ranks,
            taken: Vec::new(),
            stubborn: None,
            runs,
            watch: None,
            until_look: 0,
            stopped: None,
        }
    }

    /// Whether [`Stepper::run`] may do anything.
    pub fn runs(&self) -> bool {
        self.runs.is_some()
    }

    /// Fires everything that may fire in packed states, one after the other, as far as the machine's own code alone can do
    /// it and there is room for the successors. Gives how many states are done; [`Stepper::successors`] has what came of
    /// them. If it is none, the next one is to be expanded by itself.
    pub fn run(&mut self, states: &[u64]) -> usize {
        match &mut self.runs {
            Some(runs) => runs.run(&mut self.machine, states, self.layout.words()),
            None => 0,
        }
    }

    /// The successors of some states of the last run, as [`Visitor::packed`] gets them.
    #[inline]
    pub fn successors(&self, states: Range<usize>) -> &[u64] {
        self.runs.as_ref().map_or(&[], |runs| runs.successors(states))
    }

    /// Makes a packed state the one that is expanded for a visitor, for which successors may wait or not.
    fn begin<V: Visitor>(&mut self, words: &[u64], wait: bool) {
        match V::ARGS {
            true => self.machine.begin(self.layout, words),
            false => self.machine.begin_steps(self.layout, words),
        }
        self.machine.let_wait(wait);
    }

    /// Runs all starts.
    pub fn starts(&mut self, visitor: &mut impl Visitor) -> ControlFlow<()> {
        self.machine.begin_blank(self.layout);
        self.machine.let_wait(false);
        for start in 0..self.program.starts.len() {
            self.instances(&self.program.starts[start], start, true, true, visitor, None)?;
        }
        ControlFlow::Continue(())
    }

    /// Runs all starts as long as a watch allows it: there may be many, and most of them may be dropped without a word to the
    /// visitor. The error says why not all of them were run.
    pub fn starts_within(
        &mut self,
        watch: &Watch,
        visitor: &mut impl Visitor,
    ) -> Result<ControlFlow<()>, StopReason> {
        self.watch = Some(watch.clone());
        let flow = self.starts(visitor);
        self.watch = None;
        let stopped = self.stopped.take().or_else(|| self.program.stopped().cloned());
        stopped.map_or(Ok(flow), Err)
    }

    /// Whether the starts are to end.
    fn expired(&mut self) -> bool {
        let Some(watch) = &self.watch else { return false };
        if self.until_look > 0 {
            self.until_look -= 1;
            return false;
        }
        self.until_look = RUNS;
        self.stopped = watch.check().err();
        self.stopped.is_some()
    }

    /// Fires everything that may fire in a state.
    pub fn expand(&mut self, cells: &[i64], visitor: &mut impl Visitor) -> ControlFlow<()> {
        let mut words = vec![0; self.layout.words()];
        self.layout.pack(cells, &mut words);
        self.expand_packed(&words, visitor)
    }

    /// Fires everything that may fire in a packed state.
    pub fn expand_packed(&mut self, words: &[u64], visitor: &mut impl Visitor) -> ControlFlow<()> {
        self.expand_steps(words, Steps::All, visitor)
    }

    /// Fires what may fire in a packed state, or as much of it as is asked for.
    pub fn expand_steps<V: Visitor>(
        &mut self,
        words: &[u64],
        steps: Steps,
        visitor: &mut V,
    ) -> ControlFlow<()> {
        self.begin::<V>(words, visitor.takes_packed());
        let violates = self.model.guard_faults == GuardFaults::Violate;
        if let Some(parts) = &self.program.parts {
            return self.expand_parts(parts, steps, violates, visitor);
        }
        if !self.program.agents.is_empty() {
            self.taken.clear();
            let mut done = Done::default();
            if steps != Steps::All && self.one_agent(steps, violates, visitor, &mut done)? {
                return ControlFlow::Continue(());
            }
            return self.all_agents(violates, visitor, done);
        }
        if self.ranks.len() <= 1 && self.expand_at_once(violates, visitor)? {
            return ControlFlow::Continue(());
        }
        self.one_by_one(violates, visitor, |_| {})
    }

    /// Does the same, and adds to the time that each rule has taken, in nanoseconds. What is done together otherwise is
    /// then done rule by rule, but for agents and parts: those are not timed.
    pub fn expand_timed<V: Visitor>(
        &mut self,
        words: &[u64],
        steps: Steps,
        visitor: &mut V,
        spent: &mut [u64],
    ) -> ControlFlow<()> {
        if !self.program.agents.is_empty() || self.program.has_parts() {
            return self.expand_steps(words, steps, visitor);
        }
        self.begin::<V>(words, visitor.takes_packed());
        let violates = self.model.guard_faults == GuardFaults::Violate;
        let mut began = Instant::now();
        self.one_by_one(violates, visitor, |rule| {
            let now = Instant::now();
            spent[rule] += now.duration_since(began).as_nanos() as u64;
            began = now;
        })
    }

    fn one_by_one(
        &mut self,
        violates: bool,
        visitor: &mut impl Visitor,
        mut done: impl FnMut(usize),
    ) -> ControlFlow<()> {
        let mut least = None;
        for at in 0..self.order.len() {
            let rule = self.order[at];
            let code = &self.program.rules[rule];
            // Rules that are outranked do not fire, but a fault in their guards is one.
            let fires = least.is_none_or(|least| code.priority == least);
            if !fires && !violates {
                break;
            }
            let instances = self.instances(code, rule, fires, violates, visitor, None)?;
            done(rule);
            if instances.enabled && fires {
                least = Some(code.priority);
            }
        }
        ControlFlow::Continue(())
    }

    /// Fires what may fire in a state of some rules, for callers who know that no other can. All rules must have the same
    /// priority, and belong to no agents or parts.
    pub fn expand_some(
        &mut self,
        cells: &[i64],
        rules: &[usize],
        visitor: &mut impl Visitor,
    ) -> ControlFlow<()> {
        let mut words = vec![0; self.layout.words()];
        self.layout.pack(cells, &mut words);
        self.machine.begin(self.layout, &words);
        self.machine.let_wait(visitor.takes_packed());
        let violates = self.model.guard_faults == GuardFaults::Violate;
        for rule in rules {
            self.instances(&self.program.rules[*rule], *rule, true, violates, visitor, None)?;
        }
        ControlFlow::Continue(())
    }

    /// Fires what an agent may fire that may go first. False if there is none, or none whose steps suffice.
    fn one_agent<V: Visitor>(
        &mut self,
        steps: Steps,
        violates: bool,
        visitor: &mut V,
        done: &mut Done,
    ) -> ControlFlow<(), bool> {
        let program = self.program;
        for (family, agents) in program.agents.iter().enumerate() {
            for number in 0..agents.count {
                let location = &agents.locations[self.control(agents, number)];
                let Some(condition) = location.goes_first else { continue };
                if steps == Steps::AmpleOutsideLoops && location.cuts_loops {
                    continue;
                }
                let agent = agents.first + i64::from(number);
                self.machine.set_register(0, agent);
                // A condition that faults is not known to hold.
                match self.machine.holds(condition) {
                    Ok(true) => {}
                    Ok(false) | Err(Halt::Fault(_)) => continue,
                    Err(Halt::Stopped) => return ControlFlow::Break(()),
                }
                visitor.tries();
                let mut mine = Done::default();
                for rule in &location.rules {
                    mine.add(self.rule_of_agent(*rule, agent, true, violates, visitor)?);
                }
                done.add(mine);
                if mine.reached && visitor.suffices() {
                    return ControlFlow::Continue(true);
                }
                self.taken.push((family, number));
            }
        }
        ControlFlow::Continue(false)
    }

    /// Fires what all agents may fire, but those whose steps are taken, and what else may fire. What is done already is of
    /// the first rank: who waits until nothing else can happen does not go first.
    fn all_agents<V: Visitor>(&mut self, violates: bool, visitor: &mut V, mut done: Done) -> ControlFlow<()> {
        let program = self.program;
        let mut outranked = false;
        for at in 0..self.ranks.len() {
            // Rules that are outranked do not fire, but a fault in their guards is one.
            let (rank, fires) = (self.ranks[at], !outranked);
            if !fires && !violates {
                break;
            }
            for (family, agents) in program.agents.iter().enumerate() {
                for number in 0..agents.count {
                    if self.taken.contains(&(family, number)) {
                        continue;
                    }
                    let location = &agents.locations[self.control(agents, number)];
                    for rule in &location.rules {
                        if program.rules[*rule].priority == rank {
                            let agent = agents.first + i64::from(number);
                            done.add(self.rule_of_agent(*rule, agent, fires, violates, visitor)?);
                        }
                    }
                }
            }
            for rule in &program.others {
                let code = &program.rules[*rule];
                if code.priority == rank {
                    done.add(self.instances(code, *rule, fires, violates, visitor, None)?);
                }
            }
            outranked |= done.enabled;
        }
        ControlFlow::Continue(())
    }

    /// The content of the cell with the control location of an agent.
    fn control(&self, agents: &AgentsCode, number: u32) -> usize {
        self.machine.base()[(agents.control + number * agents.stride) as usize] as usize
    }

    fn rule_of_agent<V: Visitor>(
        &mut self,
        rule: usize,
        agent: i64,
        fires: bool,
        violates: bool,
        visitor: &mut V,
    ) -> ControlFlow<(), Done> {
        let code = &self.program.rules[rule];
        if let Some(param) = code.params.first() {
            self.machine.set_register(param.reg, agent);
        }
        self.instances(code, rule, fires, violates, visitor, None)
    }

    /// Does the same in one piece of the machine's own code. False if there is none.
    fn expand_at_once<V: Visitor>(&mut self, violates: bool, visitor: &mut V) -> ControlFlow<(), bool> {
        if V::ARGS {
            return ControlFlow::Continue(false);
        }
        let mut from = 0;
        loop {
            let mut firing = FiringVisitor { layout: self.layout, visitor, done: Done::default() };
            let expanded = self.machine.expand(from, &mut firing);
            firing.take_waiting(&mut self.machine);
            match expanded {
                None => return ControlFlow::Continue(false),
                Some(None) => return ControlFlow::Continue(true),
                // A rule that faults, or is not translated yet, is finished by itself.
                Some(Some((at, result))) => {
                    let rule = self.order[at];
                    self.instances(&self.program.rules[rule], rule, true, violates, visitor, result)?;
                    from = at + 1;
                }
            }
        }
    }

    /// Runs through the instances of a rule, of which some are done if there is a result.
    fn instances<V: Visitor>(
        &mut self,
        code: &RuleCode,
        rule: usize,
        fires: bool,
        violates: bool,
        visitor: &mut V,
        mut result: Option<Result<CodeEnd, Trap>>,
    ) -> ControlFlow<(), Done> {
        let mut pc = code.instances;
        let mut firing = FiringVisitor { layout: self.layout, visitor, done: Done::default() };
        // Under a watch one by one, so that it is looked at.
        let natively = fires && !V::ARGS && self.watch.is_none();
        loop {
            let result = match result.take() {
                Some(result) => result,
                None => self.machine.resume(pc, natively.then_some(&mut firing)),
            };
            firing.take_waiting(&mut self.machine);
            let in_body = self.machine.at() >= code.body;
            match result {
                Ok(CodeEnd::Fire) => {
                    pc = self.machine.at() + 1;
                    firing.done.enabled = true;
                    if self.expired() {
                        return ControlFlow::Break(());
                    }
                    if fires {
                        let result = self.machine.run(code.body);
                        pc = self.finish(code, rule, result, &mut firing)?;
                    }
                }
                Ok(CodeEnd::Stopped) | Err(Trap::Stopped) => return ControlFlow::Break(()),
                // The machine's own code has left a body to be interpreted.
                result if in_body => {
                    firing.done.enabled = true;
                    pc = self.finish(code, rule, result, &mut firing)?;
                }
                Ok(_) => return ControlFlow::Continue(firing.done),
                Err(trap) => {
                    let Some(handler) = code.handler(self.machine.at()) else {
                        return ControlFlow::Continue(firing.done);
                    };
                    if let Trap::Fault(fault) = trap
                        && violates
                    {
                        let args = self.partial_args(code, handler);
                        firing.visitor.guard_fault(rule, args, fault)?;
                    }
                    pc = handler.resume;
                }
            }
        }
    }

    /// Deals with how a body ended. Gives where to go on: at the body again for the rest of its choices, otherwise at the next instance.
    fn finish<V: Visitor>(
        &mut self,
        code: &RuleCode,
        rule: usize,
        result: Result<CodeEnd, Trap>,
        firing: &mut FiringVisitor<'_, V>,
    ) -> ControlFlow<(), Pc> {
        let again = match result {
            Ok(_) => match firing.fired(rule, &mut self.machine, true) {
                After::GoOn => false,
                After::Again => true,
                After::Stop => return ControlFlow::Break(()),
            },
            Err(Trap::Stopped) => return ControlFlow::Break(()),
            Err(trap) => {
                // A step that does not exist covers nothing.
                let faults = matches!(trap, Trap::Fault(_));
                firing.cover(&mut self.machine, faults);
                if let Trap::Fault(fault) = trap {
                    self.program.heed(&fault);
                    firing.done.reached = true;
                    firing.visitor.body_fault(rule, &self.machine, fault)?;
                }
                self.machine.restore();
                self.machine.next_choices()
            }
        };
        match again {
            true if self.expired() => ControlFlow::Break(()),
            true => ControlFlow::Continue(code.body),
            false => ControlFlow::Continue(code.fire.map_or(code.instances, |fire| fire + 1)),
        }
    }

    /// The arguments of an instance that faults. A test that was done before the last parameters had values
    /// faults for all of them: the first values stand for all.
    fn partial_args(&self, code: &RuleCode, handler: Handler) -> Vec<Value> {
        let value = |param: &crate::code::Param, content| param.shown.value(self.model, content);
        let (known, rest) = code.params.split_at(handler.depth.min(code.params.len()));
        let mut args: Vec<Value> =
            known.iter().map(|param| value(param, self.machine.register(param.reg))).collect();
        if rest.iter().all(|param| param.first.is_some()) {
            args.extend(rest.iter().filter_map(|param| param.first.map(|first| value(param, first))));
        }
        args
    }
}

/// Passes on to a visitor what a rule does.
struct FiringVisitor<'v, V> {
    layout: &'v Layout,
    visitor: &'v mut V,
    done: Done,
}

/// What rules have done.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Whether an instance may fire.
    enabled: bool,
    /// Whether a step has come to its end, or has faulted.
    reached: bool,
}

impl Done {
    fn add(&mut self, other: Done) {
        self.enabled |= other.enabled;
        self.reached |= other.reached;
    }
}

impl<V: Visitor> FiringVisitor<'_, V> {
    /// Passes on the successors that wait.
    #[inline]
    fn take_waiting(&mut self, machine: &mut Machine<'_>) {
        if machine.lets_wait() {
            let (state, successors) = machine.waiting();
            self.done = Done { enabled: true, reached: true };
            self.visitor.packed(state, successors);
            machine.wait_no_more();
        }
    }

    fn cover(&mut self, machine: &mut Machine<'_>, exists: bool) {
        if machine.has_covered() {
            machine.take_covered().filter(|_| exists).for_each(|property| self.visitor.covered(property));
        }
    }
}

impl<V: Visitor> Sink for FiringVisitor<'_, V> {
    fn fired(&mut self, rule: usize, machine: &mut Machine<'_>, whole: bool) -> After {
        self.take_waiting(machine);
        self.done = Done { enabled: true, reached: true };
        if whole {
            self.cover(machine, true);
            machine.settle(self.layout);
        }
        machine.stepped(!whole);
        if self.visitor.fired(rule, machine, machine.moved()).is_break() {
            return After::Stop;
        }
        if !whole {
            return After::GoOn;
        }
        machine.restore_packed(self.layout);
        if !machine.next_choices() {
            return After::GoOn;
        }
        machine.begin_choices();
        After::Again
    }
}

/// The arguments of the instance that has just fired.
pub fn args(model: &Model, code: &RuleCode, machine: &Machine<'_>) -> Vec<Value> {
    code.params.iter().map(|param| param.shown.value(model, machine.register(param.reg))).collect()
}
