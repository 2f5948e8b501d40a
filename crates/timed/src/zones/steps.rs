//! Starts and steps of lumped zones.

use shoal_model::{
    Condition, Domain, Fault, Model, PropertyKind, Rule, RuleId, SortId, SortSize, StartId, Type, TypedId,
    Unsupported,
};

use super::{
    bounds::Bounds,
    layout::Layout,
    machine::{Machine, Run, Stop},
    state::{Class, Counting, State, UNDEFINED},
};
use crate::dbm::Zone;

/// A model with everything that its steps need.
pub(crate) struct Steps<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: Layout,
    pub(crate) counting: Counting,
    pub(crate) bounds: Bounds,
    /// Whether zones are kept so that all futures can be told, not only what can be reached: what is stuck must be.
    pub(crate) futures: bool,
    /// What every state must satisfy.
    pub(crate) given: Vec<&'m Condition>,
    /// Elements that are named, by sort.
    pinned: Vec<Vec<u32>>,
    /// Of these, the elements that may change places all the same, by sort.
    pub(crate) free: Vec<Vec<u32>>,
}

/// A fault on the way, and the decisions that lead to it.
pub(crate) struct Wrong {
    pub(crate) fault: Fault,
}

/// Why steps cannot be taken.
pub(crate) enum Trouble {
    Wrong(Wrong),
    Unsupported(Unsupported),
}

impl<'m> Steps<'m> {
    pub(crate) fn new(
        model: &'m Model,
        lumped: &[SortId],
        pinned: Vec<Vec<u32>>,
        counting: Counting,
        precise: bool,
    ) -> Result<Steps<'m>, Unsupported> {
        let layout = Layout::new(model, lumped)?;
        let priorities: std::collections::BTreeSet<i64> =
            model.rules.iter().map(|rule| rule.priority).collect();
        if priorities.len() > 1 {
            return super::layout::unsupported(
                "priorities among rules",
                model.rules.iter().next().map(|rule| rule.span),
            );
        }
        let given = model.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Assume(Some(condition)) => Some(condition),
            _ => None,
        });
        let given = given.collect();
        let none = Bounds::new(model, &layout, &[], false)?;
        let free = vec![Vec::new(); model.sorts.len()];
        let mut steps = Steps { model, layout, counting, bounds: none, futures: false, given, pinned, free };
        let mut starts = Vec::new();
        for (_, start) in model.starts.enumerate() {
            let blanks = steps.blanks(false);
            for blank in blanks {
                steps.runs(
                    &blank,
                    &mut |machine| {
                        machine.push_frame(start.code.locals.len());
                        for param in &start.params {
                            machine.bind_parameter(param.local, &param.domain, start.span)?;
                        }
                        machine.block(&start.code.body).map(|_| ())
                    },
                    &mut |machine| starts.push(machine.state.clone()),
                )?;
            }
        }
        steps.bounds = Bounds::new(model, &steps.layout, &starts, precise)?;
        Ok(steps)
    }

    /// The states before a start runs: one, or with any number of elements, one for each number up to the cut.
    pub(crate) fn blanks(&self, traced: bool) -> Vec<State> {
        let mut blanks = vec![State {
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
                        let class = Class {
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
                        state.classes.push(Class {
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
            let own = |class: &Class| super::state::clocks(&self.layout, class.sort) * class.shown();
            blank.zone = Zone::zero(self.layout.global.clocks + blank.classes.iter().map(own).sum::<usize>());
        }
        blanks
    }

    /// Runs code in every way there is.
    fn runs(
        &self,
        state: &State,
        code: &mut dyn FnMut(&mut Machine<'_>) -> Run,
        done: &mut dyn FnMut(&mut Machine<'_>),
    ) -> Result<(), Unsupported> {
        let mut script = Vec::new();
        loop {
            let mut machine = Machine::new(self.model, &self.layout, self.counting, state.clone(), script);
            match code(&mut machine) {
                Ok(()) => done(&mut machine),
                Err(Stop::NoRun | Stop::Fault(_)) => {}
                Err(Stop::Unsupported(unsupported)) => return Err(unsupported),
            }
            match machine.next_script() {
                Some(next) => script = next,
                None => return Ok(()),
            }
        }
    }

    /// The start with a number: which of the starts and blanks; false if there is none.
    pub(crate) fn start_with(
        &self,
        ordinal: usize,
        traced: bool,
        done: &mut dyn FnMut(&mut Machine<'_>),
    ) -> Result<bool, Trouble> {
        let blanks = self.blanks(traced);
        let start = StartId::from_index(ordinal / blanks.len());
        let Some(rule) = self.model.starts.get(start) else { return Ok(false) };
        let blank = &blanks[ordinal % blanks.len()];
        self.all_ways(
            blank,
            traced,
            &mut |machine| {
                machine.push_frame(rule.code.locals.len());
                for param in &rule.params {
                    machine.bind_parameter(param.local, &param.domain, rule.span)?;
                }
                machine.block(&rule.code.body).map(|_| ())
            },
            done,
        )?;
        Ok(true)
    }

    /// All states that the instances of a rule lead to, after time has passed.
    pub(crate) fn fire(
        &self,
        state: &State,
        rule: RuleId,
        traced: bool,
        done: &mut dyn FnMut(&mut Machine<'_>),
    ) -> Result<(), Trouble> {
        let rule = &self.model.rules[rule];
        let mut code = |machine: &mut Machine<'_>| {
            machine.push_frame(rule.code.locals.len());
            for param in &rule.params {
                machine.bind_parameter(param.local, &param.domain, rule.span)?;
            }
            if let Some(guard) = &rule.guard {
                machine.assume(guard)?;
            }
            machine.block(&rule.code.body).map(|_| ())
        };
        match self.able(state, rule) {
            Some(able) => able
                .into_iter()
                .try_for_each(|first| self.ways_from(state, Some(first), traced, &mut code, done)),
            None => self.all_ways(state, traced, &mut code, done),
        }
    }

    /// For a rule of one element of a lumped sort: the classes whose members may satisfy its guard, as far as can be told
    /// without taking one out. Most do not, and so most work is saved.
    fn able(&self, state: &State, rule: &Rule) -> Option<Vec<usize>> {
        let ([param], Some(guard), true) = (rule.params.as_slice(), &rule.guard, rule.bindings.is_empty())
        else {
            return None;
        };
        let Domain::Type(ty) = &param.domain else { return None };
        let Type::Ref { sort, nullable: false } = self.model.kind(*ty) else { return None };
        self.layout.local[sort.index()]?;
        let mut machine = Machine::new(self.model, &self.layout, self.counting, state.clone(), Vec::new());
        machine.push_frame(rule.code.locals.len());
        machine.inside = 1;
        let own = (0..state.classes.len()).filter(|class| state.classes[*class].sort == sort.index());
        let may = |class: usize, machine: &mut Machine<'_>| {
            machine.set_local(param.local, class as i64);
            // What cannot be told is left to the step itself.
            machine.clocked(guard, true).map_or(true, |ways| !ways.is_empty())
        };
        Some(own.enumerate().filter(|(_, class)| may(*class, &mut machine)).map(|(way, _)| way).collect())
    }

    /// Runs code in every way, then what every step does: what is given must hold, and time passes.
    fn all_ways(
        &self,
        state: &State,
        traced: bool,
        code: &mut dyn FnMut(&mut Machine<'_>) -> Run,
        done: &mut dyn FnMut(&mut Machine<'_>),
    ) -> Result<(), Trouble> {
        self.ways_from(state, None, traced, code, done)
    }

    /// The same, perhaps with the first decision taken already.
    fn ways_from(
        &self,
        state: &State,
        first: Option<usize>,
        traced: bool,
        code: &mut dyn FnMut(&mut Machine<'_>) -> Run,
        done: &mut dyn FnMut(&mut Machine<'_>),
    ) -> Result<(), Trouble> {
        let mut script: Vec<usize> = first.into_iter().collect();
        loop {
            let mut machine = Machine::new(self.model, &self.layout, self.counting, state.clone(), script);
            if traced {
                machine.record();
            }
            let end = code(&mut machine)
                .and_then(|()| self.given.iter().try_for_each(|given| machine.assume_condition(given)));
            match end {
                Ok(()) => done(&mut machine),
                Err(Stop::NoRun) => {}
                Err(Stop::Fault(fault)) => return Err(Trouble::Wrong(Wrong { fault })),
                Err(Stop::Unsupported(unsupported)) => return Err(Trouble::Unsupported(unsupported)),
            }
            match machine.next_script() {
                Some(next) if first.is_none_or(|first| next.first() == Some(&first)) => script = next,
                _ => return Ok(()),
            }
        }
    }

    /// Lets time pass as long as it may, in a state that has just been reached. False if what the invariant says of the
    /// clocks is no zone.
    pub(crate) fn elapse(&self, machine: &mut Machine<'_>) -> Result<(), Unsupported> {
        if self.model.while_time_passes.is_none() || machine.state.zone.dim() == 1 {
            return Ok(());
        }
        if self.is_urgent(&machine.state)? {
            return Ok(());
        }
        let Some(condition) = &self.model.while_time_passes else { return Ok(()) };
        let invariant = match machine.condition(condition, true) {
            Ok(invariant) => invariant,
            Err(Stop::Unsupported(unsupported)) => return Err(unsupported),
            Err(_) => Vec::new(),
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
            _ => {
                super::layout::unsupported("an invariant with `or` between clocks", Some(condition.expr.span))
            }
        }
    }

    /// Whether an urgent rule may fire, so that time stands still.
    pub(crate) fn is_urgent(&self, state: &State) -> Result<bool, Unsupported> {
        for rule in self.model.rules.iter().filter(|rule| rule.urgent) {
            let mut enabled = false;
            self.runs(
                state,
                &mut |machine| {
                    machine.push_frame(rule.code.locals.len());
                    for param in &rule.params {
                        machine.bind_parameter(param.local, &param.domain, rule.span)?;
                    }
                    match &rule.guard {
                        Some(guard) => machine.assume(guard),
                        None => Ok(()),
                    }
                },
                &mut |_| enabled = true,
            )?;
            if enabled {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes states that cannot be told apart equal.
    pub(crate) fn settle(&self, state: &mut State) {
        let limits = self.bounds.of(&self.layout, state);
        match self.futures {
            true => state.zone.extrapolate_m(&limits),
            false => state.zone.extrapolate_lu(&limits),
        }
        match self.folds() {
            true => drop(state.fold(&self.layout, &self.free)),
            false => state.normalise(&self.layout, self.counting),
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
