//! Checks that windows hold everything that the reachable states of all instances can look like, and that properties hold
//! in all of it.
//!
//! Nothing of the prover is used. The code of the model is run on structures of values as the reference interpreter has
//! them; there is no order of work, no memory of what was done before and no reuse of one run for another. Every start and,
//! from every window, every rule is run; every outcome must be one of the windows; every property must hold in every
//! structure that the windows allow.

mod code;
mod expand;
mod facts;
mod machine;
mod order;
mod structure;

use shoal_certificate::OpenInvariant;
use shoal_model::{
    Condition, DeadlockKind, Domain, Expr, ExprKind, Fault, FaultKind, GuardFaults, IndexVec, Local, LocalId,
    Model, PropertyId, PropertyKind, Rule, SortId, SortSize, State, StopReason, TypedId, UnaryOp, Value,
    Watch,
};

pub(crate) use self::structure::{permutations, sorted};
use code::is_star;
use expand::{WindowStore, WindowTask};
use facts::Facts;
use machine::{Assumption, WindowMachine, WindowResult, WindowSlot, WindowStop};
use structure::{WindowPick, WindowStructure};

/// Why windows are not accepted.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// They are no proof: this is wrong with them.
    Rejected(String),
    /// The checker cannot take the model: it lacks this.
    Lacking(String),
    /// There was too little time.
    Stopped(StopReason),
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The windows (or states) from which all steps were taken and in which all properties were asked.
    pub windows: usize,
    /// All of them.
    pub all: usize,
    /// How often code was run.
    pub runs: u64,
}

/// So many ways to add an element take about as long as a run.
const LISTED_AS_ONE: u64 = 4;
/// Where some windows are to be looked at, they may take so many times the runs that were asked for.
const PATIENCE: u64 = 10;

/// So many elements of a sort are looked at together at most, beyond those the prover has looked at.
const MORE_THAN_PROVER: u32 = 2;

/// Checks that these properties hold in all instances that have at least as many elements as a window shows. The sorts with
/// any number must be symmetric. `least` says how many elements each sort has at least in all instances that are meant, as far
/// as that is known. With `runs`, only so many windows are looked at, evenly spread, as take about so many runs.
pub fn check_windows(
    model: &Model,
    invariant: &OpenInvariant,
    properties: &[PropertyId],
    least: &[usize],
    runs: Option<u64>,
    watch: &Watch,
) -> Result<Looked, Doubt> {
    let ordered = ordered(model, invariant)?;
    let facts = accepted(ordered.as_ref().unwrap_or(model), invariant)?;
    let (shown, given) = read(&facts, invariant)?;
    let mut checker = WindowChecker {
        store: WindowStore::new(&facts, shown.clone(), given).map_err(doubt)?,
        room: shown.iter().map(|count| count + invariant.more + MORE_THAN_PROVER).collect(),
        facts: &facts,
        properties,
        least,
        runs: 0,
        most: runs.map(|runs| runs.saturating_mul(PATIENCE)),
        watch,
    };
    checker.check(runs)
}

/// The model with variables for the order that windows show, if they show one.
fn ordered(model: &Model, invariant: &OpenInvariant) -> Result<Option<Model>, Doubt> {
    let with_list = |order| order::with_list(model, order);
    let misfit = || Doubt::Rejected("it is of another model".into());
    invariant.order.as_ref().map(|order| with_list(order).ok_or_else(misfit)).transpose()
}

/// What the text of the model tells, if it is one that the checker takes.
fn accepted<'m>(model: &'m Model, invariant: &OpenInvariant) -> Result<Facts<'m>, Doubt> {
    let misfit = || Doubt::Rejected("it is of another model".into());
    if invariant.elements.len() != model.sorts.len() || invariant.predicates.len() > 31 {
        return Err(misfit());
    }
    let facts = Facts::of(model, &invariant.predicates, invariant.order.as_ref()).ok_or_else(misfit)?;
    match facts.shape.lacking() {
        Some(what) => Err(Doubt::Lacking(what)),
        None => Ok(facts),
    }
}

/// How many elements of each sort the views show, and the views.
fn read(facts: &Facts<'_>, invariant: &OpenInvariant) -> Result<(Vec<u32>, Vec<WindowStructure>), Doubt> {
    let model = facts.shape.model;
    let misfit = || Doubt::Rejected("it is of another model".into());
    let mut shown = Vec::new();
    for (sort, count) in model.sorts.iter().zip(&invariant.elements) {
        shown.push(match (sort.size == SortSize::Any, count) {
            (true, Some(count)) => *count,
            (false, None) => 0,
            (true, None) | (false, Some(_)) => return Err(misfit()),
        });
    }
    if shown.iter().any(|count| *count > 4) || invariant.more > 8 {
        return Err(Doubt::Lacking("so many elements at once".into()));
    }
    let mut given = Vec::new();
    for view in &invariant.views {
        if view.bits >> invariant.predicates.len() != 0 {
            return Err(misfit());
        }
        let read = facts.shape.read(&invariant.places, &view.cells, &shown, view.bits);
        let read = read.ok_or_else(misfit)?;
        if facts.shape.has_many_numberings(&read) {
            let what = "multisets with so many elements that nothing else refers to";
            return Err(Doubt::Lacking(what.into()));
        }
        given.push(read);
    }
    Ok((shown, given))
}

/// The position of the first of these reachable states of instances that looks, through some window, like nothing of the
/// invariant: there must be none. It shares no code with whoever has found the invariant.
pub fn missing_window(
    model: &Model,
    invariant: &OpenInvariant,
    states: &[(&Model, &State)],
) -> Result<Option<usize>, Doubt> {
    let ordered = ordered(model, invariant)?;
    let facts = accepted(ordered.as_ref().unwrap_or(model), invariant)?;
    let (shown, given) = read(&facts, invariant)?;
    let store = WindowStore::of(&facts, shown, given);
    for (at, (instance, state)) in states.iter().enumerate() {
        let sizes = instance.sorts.iter().zip(model.sorts.iter());
        let known: Vec<u32> = sizes
            .map(|(sized, sort)| if sort.size == SortSize::Any { sized.fixed_size().unwrap_or(0) } else { 0 })
            .collect();
        let whole = WindowStructure { values: state.values.clone(), known, bits: 0 };
        if !store.has_all(&whole).map_err(doubt)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn doubt(stop: WindowStop) -> Doubt {
    match stop {
        WindowStop::Lacking(what) => Doubt::Lacking(what),
        other => Doubt::Lacking(format!("internal error: {other:?}")),
    }
}

/// What is run.
#[derive(Clone, Copy)]
enum WindowRun<'p, 'm> {
    Start(&'m Rule),
    Rule(&'m Rule),
    /// A part of an invariant.
    Part(&'p WindowClaim<'m>),
}

/// A condition that is to hold for all values of its parameters, which stand for elements that a window shows.
struct WindowClaim<'m> {
    locals: &'m IndexVec<LocalId, Local>,
    params: Vec<(LocalId, SortId)>,
    body: &'m Expr,
    /// Whether it is to be false.
    denied: bool,
}

/// How a run ends.
enum WindowEnd {
    /// What there is after the step.
    After(WindowStructure),
    /// What the condition is.
    Truth(bool),
}

struct WindowChecker<'f, 'm> {
    store: WindowStore<'f, 'm>,
    facts: &'f Facts<'m>,
    /// How many elements of each sort may be looked at together.
    room: Vec<u32>,
    properties: &'f [PropertyId],
    least: &'f [usize],
    runs: u64,
    /// So many runs at most, where not everything is to be looked at.
    most: Option<u64>,
    watch: &'f Watch,
}

impl<'m> WindowChecker<'_, 'm> {
    fn check(&mut self, most: Option<u64>) -> Result<Looked, Doubt> {
        let model = self.facts.shape.model;
        self.can_be_claimed()?;
        for start in model.starts.iter() {
            for blank in self.blanks()? {
                self.explore(WindowRun::Start(start), blank)?;
            }
        }
        let judged = self.judged();
        let mut parts = Vec::new();
        for property in &judged {
            if let PropertyKind::Invariant(condition) = &model.properties[*property].kind {
                parts.extend(self.parts(condition).into_iter().map(|part| (*property, part)));
            }
        }
        let all = self.store.windows.len();
        let mut windows = 0;
        for at in scattered(all) {
            if most.is_some_and(|most| self.runs + self.store.listed.get() / LISTED_AS_ONE >= most) {
                break;
            }
            match self.window(at, &judged, &parts) {
                Ok(()) => windows += 1,
                // It would take too long from here; what was looked at before was right.
                Err(Doubt::Stopped(StopReason::States(_))) if most.is_some() && windows > 0 => break,
                Err(doubt) => return Err(doubt),
            }
        }
        Ok(Looked { windows, all, runs: self.runs })
    }

    /// Takes all steps from a window and asks all properties in it.
    fn window(
        &mut self,
        at: usize,
        judged: &[PropertyId],
        parts: &[(PropertyId, WindowClaim<'m>)],
    ) -> Result<(), Doubt> {
        let model = self.facts.shape.model;
        let window = self.store.windows[at].clone();
        for rule in model.rules.iter() {
            self.explore(WindowRun::Rule(rule), window.clone())?;
        }
        for (property, part) in parts {
            self.judge(*property, part, &window)?;
        }
        for property in judged {
            if let PropertyKind::Deadlock(kind) = &model.properties[*property].kind {
                self.alive(*property, kind, &window)?;
            }
        }
        Ok(())
    }

    fn claims(&self, property: PropertyId) -> bool {
        self.properties.contains(&property)
    }

    fn no_faults(&self) -> Option<PropertyId> {
        let mut all = self.facts.shape.model.properties.enumerate();
        let found = all.find(|(_, property)| property.kind == PropertyKind::NoFaults).map(|(id, _)| id);
        found.filter(|id| self.claims(*id))
    }

    /// The properties that are asked in every window: those that are claimed, and where it is claimed that nothing faults,
    /// all invariants, which might.
    fn judged(&self) -> Vec<PropertyId> {
        let model = self.facts.shape.model;
        let faultless = self.no_faults().is_some();
        let is_asked = |id: &PropertyId| {
            self.claims(*id) || faultless && matches!(model.properties[*id].kind, PropertyKind::Invariant(_))
        };
        model.properties.ids().filter(is_asked).collect()
    }

    /// Whether windows can tell of these properties at all.
    fn can_be_claimed(&self) -> Result<(), Doubt> {
        let model = self.facts.shape.model;
        for property in self.properties {
            let about = &model.properties[*property];
            match &about.kind {
                PropertyKind::Invariant(_) => {}
                PropertyKind::Deadlock(
                    DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
                ) => {
                    let assumes =
                        model.properties.iter().any(|it| matches!(it.kind, PropertyKind::Assume(_)));
                    let prioritised = model.rules.iter().any(|rule| {
                        Some(rule.priority) != model.rules.iter().next().map(|first| first.priority)
                    });
                    if assumes || prioritised {
                        return Err(Doubt::Lacking(
                            "deadlock where assumptions or priorities hold steps back".into(),
                        ));
                    }
                }
                // A fault in an evaluation with several elements is seen where a window shows all of them.
                PropertyKind::NoFaults | PropertyKind::Assertion => {
                    for sort in model.sorts.ids().filter(|sort| self.facts.shape.is_any(*sort)) {
                        if self.facts.depth(sort) > self.store.shown[sort.index()] as usize {
                            let why = format!(
                                "{:?}: more elements of `{}` meet than a window shows",
                                about.name, model.sorts[sort].name
                            );
                            return Err(Doubt::Rejected(why));
                        }
                    }
                }
                PropertyKind::Deadlock(DeadlockKind::Timelock)
                | PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    return Err(Doubt::Rejected(format!(
                        "windows do not tell whether {:?} holds",
                        about.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Before a start: all elements are blank, those outside as well. Of each sort there may be some or none.
    fn blanks(&self) -> Result<Vec<WindowStructure>, Doubt> {
        let shape = self.facts.shape;
        // What a blank element satisfies, one of each sort being there to ask.
        let some: Vec<u32> = model_sorts(self).map(|sort| u32::from(shape.is_any(sort))).collect();
        let masks = self.store.masks(&shape.nothing(&some)).map_err(doubt)?;
        let nothing = shape.nothing(&self.store.shown);
        let mut all = vec![0];
        for sort in model_sorts(self) {
            let mask = masks[sort.index()].first().copied().unwrap_or(0);
            if mask != 0 {
                all = all.iter().flat_map(|bits| [*bits, bits | mask]).collect();
            }
        }
        Ok(all.into_iter().map(|bits| WindowStructure { bits, ..nothing.clone() }).collect())
    }

    fn tick(&mut self) -> Result<(), Doubt> {
        self.runs += 1;
        if self.most.is_some_and(|most| self.runs > most) {
            return Err(Doubt::Stopped(StopReason::States(self.runs)));
        }
        match self.runs.is_multiple_of(64) {
            true => self.watch.check().map_err(Doubt::Stopped),
            false => Ok(()),
        }
    }

    fn run(&self, step: WindowRun<'_, 'm>, task: &WindowTask) -> WindowResult<WindowEnd> {
        let mut machine = WindowMachine::new(self.facts, &task.structure, &task.script, &task.assumptions);
        match step {
            WindowRun::Start(rule) | WindowRun::Rule(rule) => {
                machine.keeps_order = matches!(step, WindowRun::Rule(_));
                fire(&mut machine, rule)?;
                Ok(WindowEnd::After(machine.finish(&self.store.shown)?))
            }
            WindowRun::Part(part) => {
                machine.assumes = false;
                machine.enter(part.locals, None);
                for (local, sort) in &part.params {
                    let shown = (0..self.store.shown[sort.index()]).map(|number| Value::Elem(*sort, number));
                    let value = machine.choose(|_| Ok(shown.collect()))?;
                    machine.set(*local, WindowSlot::Value(value));
                }
                Ok(WindowEnd::Truth(machine.truth(part.body)? != part.denied))
            }
        }
    }

    /// Takes a step from a structure in every way that the windows allow. Every outcome must be a window.
    fn explore(&mut self, step: WindowRun<'_, 'm>, from: WindowStructure) -> Result<(), Doubt> {
        let name = |rule: &Rule| format!("{:?}", rule.name);
        let mut stack = vec![WindowTask::from(from)];
        while let Some(task) = stack.pop() {
            self.tick()?;
            match (self.run(step, &task), step) {
                (Ok(WindowEnd::After(after)), WindowRun::Start(rule) | WindowRun::Rule(rule)) => {
                    let masks = self.store.masks(&after).map_err(doubt)?;
                    let pick: WindowPick = self.facts.shape.everything(&self.store.shown);
                    if !self.store.contains(&after, &masks, &pick) {
                        return Err(Doubt::Rejected(format!("{} leads out of it", name(rule))));
                    }
                }
                (Err(WindowStop::Fault(fault)), WindowRun::Start(rule) | WindowRun::Rule(rule)) => {
                    self.forgive(&fault)
                        .map_err(|what| Doubt::Rejected(format!("{}: {what}", name(rule))))?;
                }
                (Err(WindowStop::Dead | WindowStop::Contradiction), _) => {}
                (Err(stop), _) => {
                    stack.extend(self.branch(&task, stop, matches!(step, WindowRun::Start(_)))?)
                }
                (Ok(_), _) => {
                    return Err(Doubt::Lacking("internal error: a step that is a condition".into()));
                }
            }
        }
        Ok(())
    }

    /// Whether a fault speaks against nothing that is claimed.
    fn forgive(&self, fault: &Fault) -> Result<(), String> {
        match &fault.kind {
            FaultKind::Assertion(property) if self.claims(*property) => Err("an assertion may fail".into()),
            FaultKind::Assertion(_) => Ok(()),
            _ if self.no_faults().is_some() => Err("it may fault".into()),
            _ => Ok(()),
        }
    }

    /// The parts of an invariant. The first elements that it speaks of are shown in some window, as many as a window shows.
    fn parts(&self, condition: &'m Condition) -> Vec<WindowClaim<'m>> {
        let shape = self.facts.shape;
        let part = |mut body: &'m Expr| {
            let mut params: Vec<(LocalId, SortId)> = Vec::new();
            let mut denied = false;
            loop {
                match &body.kind {
                    ExprKind::Unary(UnaryOp::Not, of) => {
                        denied = !denied;
                        body = of;
                    }
                    ExprKind::Quantified { quantifier, local, domain: Domain::Type(ty), body: inner }
                        if let Some(sort) = shape.over(*ty)
                            && quantifier.is_for_all(denied)
                            && (params.iter().filter(|param| param.1 == sort).count() as u32)
                                < self.store.shown[sort.index()] =>
                    {
                        params.push((*local, sort));
                        body = inner;
                    }
                    _ => return WindowClaim { locals: &condition.locals, params, body, denied },
                }
            }
        };
        condition.expr.conjuncts().into_iter().map(part).collect()
    }

    /// Asks a part of an invariant in every structure that the windows allow around one of them.
    fn judge(
        &mut self,
        property: PropertyId,
        part: &WindowClaim<'m>,
        window: &WindowStructure,
    ) -> Result<(), Doubt> {
        let name = &self.facts.shape.model.properties[property].name;
        let claimed = self.claims(property);
        let mut stack = vec![WindowTask::from(window.clone())];
        while let Some(task) = stack.pop() {
            self.tick()?;
            match self.run(WindowRun::Part(part), &task) {
                Ok(WindowEnd::Truth(false)) if claimed => {
                    return Err(Doubt::Rejected(format!("{name:?} is violated in what it allows")));
                }
                Ok(WindowEnd::Truth(_)) | Err(WindowStop::Dead | WindowStop::Contradiction) => {}
                Ok(WindowEnd::After(_)) => {
                    return Err(Doubt::Lacking("internal error: a condition that is a step".into()));
                }
                Err(WindowStop::Fault(fault)) => {
                    let wrong = if claimed { Err("it may fault".to_string()) } else { self.forgive(&fault) };
                    wrong.map_err(|what| Doubt::Rejected(format!("{name:?}: {what}")))?;
                }
                Err(stop) => stack.extend(self.branch(&task, stop, false)?),
            }
        }
        Ok(())
    }

    /// What is to be tried where a run has stopped: one of it is what is there.
    fn branch(&self, task: &WindowTask, stop: WindowStop, blank: bool) -> Result<Vec<WindowTask>, Doubt> {
        let known = &task.structure.known;
        let has_room = |sort: SortId| known[sort.index()] < self.room[sort.index()];
        let full = |sort: SortId| {
            let name = &self.facts.shape.model.sorts[sort].name;
            Doubt::Lacking(format!("a step in which so many elements of `{name}` play a part"))
        };
        let newest = |task: &WindowTask, sort: SortId| (sort, task.structure.known[sort.index()] - 1);
        match stop {
            WindowStop::Choose(options) => {
                let take = |value: Value| {
                    let mut task = task.clone();
                    task.script.push(value);
                    task
                };
                Ok(options.into_iter().map(take).collect())
            }
            WindowStop::Resolve(star) if has_room(star.0) => {
                self.store.expand(task, star.0, Some(star), blank).map_err(doubt)
            }
            WindowStop::Resolve(star) => Err(full(star.0)),
            WindowStop::Ask(key, sorts, may_assume) => {
                let mut next = vec![task.assuming(Assumption::Nobody(key.clone(), known.clone()))];
                for sort in sorts {
                    if has_room(sort) {
                        for task in self.store.expand(task, sort, None, blank).map_err(doubt)? {
                            let witness = newest(&task, sort);
                            next.push(task.assuming(Assumption::Witness(key.clone(), witness)));
                        }
                    } else if may_assume {
                        next.push(task.assuming(Assumption::Somebody(key.clone())));
                    } else {
                        return Err(full(sort));
                    }
                }
                Ok(next)
            }
            WindowStop::AskAfter(predicate) => {
                let sort = self.facts.predicates[predicate].sort;
                let nobody = Assumption::NobodyAfter(predicate, known.clone());
                let mut next = Vec::new();
                if has_room(sort) && self.is_hidden(&task.structure, predicate)? {
                    // One that satisfied it before the step is there.
                    for task in self.store.expand(task, sort, None, blank).map_err(doubt)? {
                        if self.satisfies(&task.structure, predicate, newest(&task, sort).1)? {
                            next.push(task.assuming(nobody.clone()));
                        }
                    }
                } else {
                    next.push(task.assuming(nobody));
                }
                if has_room(sort) {
                    for task in self.store.expand(task, sort, None, blank).map_err(doubt)? {
                        let witness = newest(&task, sort);
                        next.push(task.assuming(Assumption::WitnessAfter(predicate, witness)));
                    }
                } else {
                    next.push(task.assuming(Assumption::SomebodyAfter(predicate)));
                }
                Ok(next)
            }
            WindowStop::Fault(_) | WindowStop::Dead | WindowStop::Contradiction | WindowStop::Lacking(_) => {
                Err(doubt(stop))
            }
        }
    }

    /// Whether some element satisfies a predicate and none of those that are known beyond a window does.
    fn is_hidden(&self, structure: &WindowStructure, predicate: usize) -> Result<bool, Doubt> {
        let sort = self.facts.predicates[predicate].sort.index();
        if structure.bits >> predicate & 1 == 0 {
            return Ok(false);
        }
        for number in self.store.shown[sort]..structure.known[sort] {
            if self.satisfies(structure, predicate, number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn satisfies(&self, structure: &WindowStructure, predicate: usize, number: u32) -> Result<bool, Doubt> {
        WindowMachine::new(self.facts, structure, &[], &[]).satisfies(predicate, number).map_err(doubt)
    }

    /// Whether in every state that looks like this something can happen.
    fn alive(
        &mut self,
        property: PropertyId,
        kind: &DeadlockKind,
        window: &WindowStructure,
    ) -> Result<(), Doubt> {
        let moves = match kind {
            DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) => false,
            DeadlockKind::Stuttering => true,
            DeadlockKind::Timelock => return Err(Doubt::Lacking("time".into())),
        };
        // The less has to be looked at the better.
        for depth in 0..=ALIVE_DEPTH {
            if self.is_alive(&WindowTask::from(window.clone()), None, moves, depth)? {
                return Ok(());
            }
        }
        let name = &self.facts.shape.model.properties[property].name;
        Err(Doubt::Lacking(format!("what it would take to see that something can always happen ({name:?})")))
    }

    /// `begun` is a step that was followed up to where more had to be known.
    fn is_alive(
        &mut self,
        task: &WindowTask,
        begun: Option<(&'m Rule, WindowTask)>,
        moves: bool,
        depth: usize,
    ) -> Result<bool, Doubt> {
        let model = self.facts.shape.model;
        let mut open = Vec::new();
        let mut tries: Vec<(&'m Rule, WindowTask)> =
            model.rules.iter().rev().map(|rule| (rule, WindowTask::from(task.structure.clone()))).collect();
        tries.extend(begun);
        while let Some((rule, task)) = tries.pop() {
            self.tick()?;
            let mut machine =
                WindowMachine::new(self.facts, &task.structure, &task.script, &task.assumptions);
            match fire(&mut machine, rule) {
                Ok(())
                    if !moves
                        || machine.values.iter().cloned().map(sorted).ne(task
                            .structure
                            .values
                            .iter()
                            .cloned()
                            .map(sorted)) =>
                {
                    return Ok(true);
                }
                // There is no such state; or only a check fails. What faults otherwise is no step.
                Err(WindowStop::Contradiction) if !task.assumptions.is_empty() => return Ok(true),
                Err(WindowStop::Fault(fault)) if fault.kind.goes_on() => return Ok(true),
                Ok(()) | Err(WindowStop::Dead | WindowStop::Contradiction | WindowStop::Fault(_)) => {}
                Err(WindowStop::Choose(options)) => {
                    let mut stars = self.facts.shape.stars(&task.structure);
                    for value in task.script.iter().filter(|value| is_star(value)) {
                        if let Value::Elem(sort, number) = value
                            && !stars.contains(&(*sort, *number))
                        {
                            stars.push((*sort, *number));
                        }
                    }
                    for value in options {
                        // Whether there is an element that nothing refers to is not known, but where there must be more
                        // than are met so far.
                        let there = match &value {
                            Value::Elem(sort, number) if is_star(&value) => {
                                let met = stars.iter().filter(|star| star.0 == *sort).count();
                                let known = task.structure.known[sort.index()] as usize;
                                let least = self.least.get(sort.index()).copied().unwrap_or(0);
                                stars.contains(&(*sort, *number)) || known + met < least
                            }
                            _ => true,
                        };
                        if there {
                            let mut task = task.clone();
                            task.script.push(value);
                            tries.push((rule, task));
                        }
                    }
                }
                Err(stop @ (WindowStop::Resolve(_) | WindowStop::Ask(..))) => open.push((rule, task, stop)),
                Err(WindowStop::AskAfter(_) | WindowStop::Lacking(_)) => {}
            }
        }
        if depth == 0 {
            return Ok(false);
        }
        for (rule, task, stop) in self.in_order(task, open).into_iter().take(ALIVE_WAYS) {
            let Ok(next) = self.branch(&task, stop, false) else { continue };
            let mut all = true;
            for next in next {
                all = all && self.is_alive(&next, Some((rule, next.clone())), moves, depth - 1)?;
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What may be looked at to see that something can happen: first who came first, who can mostly go on, then what steps of known
    /// elements read, then those of others, the rest of the list, and last what only one step asks. Each element once.
    fn in_order(&self, task: &WindowTask, open: Vec<Unsettled<'m>>) -> Vec<Unsettled<'m>> {
        let rank = |(_, task, stop): &Unsettled<'m>| match stop {
            WindowStop::Resolve(_) => 1 + usize::from(task.script.iter().any(is_star)),
            _ => 4,
        };
        let mut ranked: Vec<(usize, Unsettled<'m>)> = open.into_iter().map(|it| (rank(&it), it)).collect();
        if let (Some(order), Some(rule)) = (&self.facts.order, self.facts.shape.model.rules.iter().next()) {
            for (at, star) in order.stars(&task.structure).into_iter().enumerate() {
                let task = WindowTask::from(task.structure.clone());
                ranked.push((if at == 0 { 0 } else { 3 }, (rule, task, WindowStop::Resolve(star))));
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut stars = Vec::new();
        ranked.retain(|(_, (_, _, stop))| match stop {
            WindowStop::Resolve(star) => {
                !stars.contains(star) && {
                    stars.push(*star);
                    true
                }
            }
            _ => true,
        });
        ranked.into_iter().map(|(_, it)| it).collect()
    }
}

/// A step, how far it was followed, and why not further.
type Unsettled<'m> = (&'m Rule, WindowTask, WindowStop);

/// How often more is looked at to see that something can happen, and in how many ways.
const ALIVE_DEPTH: usize = 4;
const ALIVE_WAYS: usize = 6;

fn model_sorts<'f>(checker: &'f WindowChecker<'_, '_>) -> impl Iterator<Item = SortId> + 'f {
    checker.facts.shape.model.sorts.ids()
}

/// Runs a rule: its parameters are the first choices.
fn fire<'m>(machine: &mut WindowMachine<'_, 'm>, rule: &'m Rule) -> WindowResult {
    let disables = machine.facts.shape.model.guard_faults == GuardFaults::Disable;
    let disabled = |stop: WindowStop| match stop {
        WindowStop::Fault(_) if disables => WindowStop::Dead,
        stop => stop,
    };
    machine.around = vec![(0, Value::Int(0))];
    machine.enter(&rule.code.locals, None);
    let mut arguments = Vec::new();
    for param in &rule.params {
        let value = machine.choose(|machine| machine.options(&param.domain)).map_err(disabled)?;
        machine.set(param.local, WindowSlot::Value(value.clone()));
        arguments.push((param.local, value));
    }
    machine.bind(&rule.bindings).map_err(disabled)?;
    if let Some(guard) = &rule.guard
        && !machine.truth(guard).map_err(disabled)?
    {
        return Err(WindowStop::Dead);
    }
    machine.leave();
    machine.around = vec![(0, Value::Int(1))];
    machine.enter(&rule.code.locals, None);
    for (local, value) in arguments {
        machine.set(local, WindowSlot::Value(value));
    }
    machine.bind(&rule.bindings)?;
    machine.block(&rule.code.body)?;
    machine.leave();
    Ok(())
}

/// All numbers below `count`, so that any first few of them are spread over all.
pub(crate) fn scattered(count: usize) -> impl Iterator<Item = usize> {
    let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
    let reverse =
        move |number: usize| if bits == 0 { 0 } else { number.reverse_bits() >> (usize::BITS - bits) };
    (0..1_usize << bits).map(reverse).filter(move |number| *number < count)
}

#[cfg(test)]
mod tests {
    #[test]
    fn scattered_numbers_are_all_numbers() {
        for count in 0..40 {
            let mut all: Vec<usize> = super::scattered(count).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
