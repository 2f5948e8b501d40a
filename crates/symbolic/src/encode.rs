//! From a model to a transition system, with every part of the state in bits of its own.

use std::{cell::OnceCell, collections::BTreeMap};

use shoal_model::{
    Fault, FaultKind, GuardFaults, Model, OrInternal, PropertyId, PropertyKind, Rule, RuleId, State, Stmt,
    TypedId, Value, Var,
};

use crate::{
    dd::{Bdd, Care, Dd, DdResult},
    decide::DecideReporter,
    layout::{self, Bit, BitLayout},
    machine::{SymbolicMachine, bag},
    run,
    sets::Sets,
    split,
    stage::{self, ImageStage, RelationPart},
    starts::{self, SymbolicStarts},
    system::{Relation, RelationMaker, TransitionSystem},
    tail::{self, RuleBody, TailCache, TailGround},
    value::SymbolicValue,
    worlds::Worlds,
};

/// A model as diagrams.
pub(crate) struct Encoded<'m> {
    pub(crate) layout: BitLayout,
    pub(crate) system: TransitionSystem<'static>,
    /// The machine on all states at once.
    pub(crate) worlds: Worlds<'m>,
    /// For each rule, where each of its instances takes a step.
    pub(crate) fires: Vec<(RuleId, Bdd)>,
    pub(crate) trouble: Trouble,
    pub(crate) starts: SymbolicStarts,
}

/// Where something is wrong or worth noting, by what it is.
#[derive(Clone)]
pub struct Trouble {
    no: Bdd,
    /// Where a step, a guard or a condition faults, by the property it violates: that of an assertion, or none for
    /// all other faults.
    pub faults: BTreeMap<Option<PropertyId>, Sets>,
    /// The same for states that assumptions drop because they fault.
    pub dropped: BTreeMap<Option<PropertyId>, Bdd>,
    /// Where a check fails in a guard: as if something could happen there.
    pub guards: Bdd,
    /// Where a check of a cover property is passed.
    pub covered: BTreeMap<PropertyId, Bdd>,
}

impl Trouble {
    /// No trouble yet.
    pub fn new(dd: &Dd) -> Trouble {
        let no = dd.no();
        let guards = dd.no();
        Trouble { no, faults: BTreeMap::new(), dropped: BTreeMap::new(), guards, covered: BTreeMap::new() }
    }

    /// Notes faults.
    pub fn add(&mut self, faults: &[(Bdd, Fault)], within: &Bdd) -> DdResult<()> {
        for (place, fault) in faults {
            self.faults.entry(blamed(fault)).or_default().add(place.and(within)?)?;
        }
        Ok(())
    }

    fn put(
        all: &mut BTreeMap<Option<PropertyId>, Bdd>,
        no: &Bdd,
        faults: &[(Bdd, Fault)],
        within: &Bdd,
    ) -> DdResult<()> {
        for (place, fault) in faults {
            let entry = all.entry(blamed(fault)).or_insert_with(|| no.clone());
            *entry = entry.or(&place.and(within)?)?;
        }
        Ok(())
    }

    /// Notes that checks of cover properties are passed, unless the step does not exist.
    pub fn cover(&mut self, machine: &SymbolicMachine<'_>, within: &Bdd) -> DdResult<()> {
        for (property, place) in &machine.covered {
            let place = place.and(within)?.minus(&machine.dropped)?;
            let entry = self.covered.entry(*property).or_insert_with(|| self.no.clone());
            *entry = entry.or(&place)?;
        }
        Ok(())
    }
}

/// The assertion that a fault violates; nothing for all other faults.
pub(crate) fn blamed(fault: &Fault) -> Option<PropertyId> {
    match fault.kind {
        FaultKind::Assertion(property) => Some(property),
        _ => None,
    }
}

/// The values of a state, which depend on nothing.
pub(crate) fn constants(model: &Model, dd: &Dd, state: &State) -> Vec<SymbolicValue> {
    spread(model, state).iter().map(|value| SymbolicValue::constant(dd, value)).collect()
}

/// The values of a state, with slots for multisets.
fn spread(model: &Model, state: &State) -> Vec<Value> {
    let values = model.vars.iter().zip(&state.values);
    values.map(|(var, value)| bag::spread(model, var.ty, value)).collect()
}

/// The state that a machine on one state has come to.
pub(crate) fn state_of(machine: &SymbolicMachine<'_>, before: &State) -> State {
    let model = machine.model;
    let gathered =
        |(now, var): (&SymbolicValue, &Var)| now.known().map(|value| bag::gather(model, var.ty, value));
    let values = machine.vars.iter().zip(model.vars.iter()).map(gathered).zip(&before.values);
    let values = values.map(|(now, before)| now.unwrap_or_else(|| before.clone())).collect();
    State { values, live: before.live.clone() }
}

/// Makes diagrams of a model.
///
/// If the ends of rules are taken `apart`, [`TransitionSystem::changes`] is not known.
pub(crate) fn encode<'m>(
    model: &'m Model,
    apart: bool,
    watch: &mut DecideReporter<'_>,
) -> DdResult<Encoded<'m>> {
    let mut starts = starts::run(model, watch.watch())?;
    let tracked = BTreeMap::new();
    let cells = BitLayout::new(model, &tracked, &|_| true)?.cells;
    // A cell is taken to be defined always if all starts define it, until a rule says otherwise.
    let mut defined: Vec<bool> = cells
        .iter()
        .map(|cell| starts.states.iter().all(|(_, _, _, state)| is_defined(&spread(model, state), cell)))
        .collect();
    loop {
        let layout = BitLayout::new(model, &tracked, &|at| defined[at])?;
        let dd = Dd::new(2 * (layout.bits + starts.bits()), watch.watch(), Care::Speed)?;
        match Encoder::new(model, &dd, &layout, apart)?.run(&mut starts, watch)? {
            Ok((system, worlds, fires, trouble)) => {
                return Ok(Encoded { layout, system, worlds, fires, trouble, starts });
            }
            Err(undefined) => undefined.into_iter().for_each(|at| defined[at] = false),
        }
    }
}

fn is_defined(values: &[Value], cell: &layout::LayoutCell) -> bool {
    let value = cell.way.iter().try_fold(&values[cell.var.index()], |value, at| match value {
        Value::Record(parts) | Value::Array(parts) => parts.get(*at as usize),
        _ => None,
    });
    value.is_some_and(|value| *value != Value::Undefined)
}

/// One run of an instance of a rule.
struct InstanceRun<'r> {
    rule: RuleId,
    args: &'r [Value],
    /// What follows it, by number.
    tail: usize,
    /// Where it is a step, if only to a check that fails.
    progress: Bdd,
    /// Where it has come to its end.
    ends: Bdd,
    /// The bits it changes, and what to.
    changes: Vec<(Bit, Bdd)>,
    /// Where it changes anything, or fails a check.
    moves: Bdd,
}

struct Encoder<'m, 'l> {
    model: &'m Model,
    dd: &'l Dd,
    layout: &'l BitLayout,
    base: SymbolicMachine<'m>,
    /// The states whose bits mean something.
    valid: Bdd,
    trouble: Trouble,
    /// Whether the ends of rules are taken apart, and the ends there are.
    apart: bool,
    tails: Vec<Vec<ImageStage>>,
    ends: TailCache<'m>,
    /// Cells that were thought to be defined always and are not.
    undefined: Vec<usize>,
}

type EncodedParts<'m> = (TransitionSystem<'static>, Worlds<'m>, Vec<(RuleId, Bdd)>, Trouble);

impl<'m, 'l> Encoder<'m, 'l> {
    fn new(model: &'m Model, dd: &'l Dd, layout: &'l BitLayout, apart: bool) -> DdResult<Self> {
        let mut base = SymbolicMachine::new(model, dd, layout.states(model, dd, &BTreeMap::new())?);
        let trouble = Trouble::new(dd);
        base.given = base.bags_in_order()?;
        let valid = layout.valid(dd)?.and(&base.given)?;
        // Multisets are put in order at the end of a step, so steps stay whole.
        let apart = apart && !model.vars.iter().any(|var| bag::has_bags(model, var.ty));
        let (tails, ends, undefined) = (Vec::new(), TailCache::default(), Vec::new());
        Ok(Encoder { model, dd, layout, base, valid, trouble, apart, tails, ends, undefined })
    }

    /// The system; or the cells that can be undefined after all.
    fn run(
        mut self,
        starts: &mut SymbolicStarts,
        watch: &mut DecideReporter<'_>,
    ) -> DdResult<Result<EncodedParts<'m>, Vec<usize>>> {
        let worlds = Worlds::one(self.base.clone());
        let keep = assumptions(&worlds, self.model, &mut self.trouble)?;
        let mut guarded = Vec::new();
        for (id, rule) in self.model.rules.enumerate() {
            for args in run::valuations(&self.base, rule)? {
                watch.look(self.dd)?;
                guarded.push((id, rule, self.guards(rule, &args)?, args));
            }
        }
        let mut enabled: BTreeMap<i64, Sets> = BTreeMap::new();
        for (_, rule, cases, _) in &guarded {
            let enabled = enabled.entry(rule.priority).or_default();
            cases.iter().try_for_each(|holds| enabled.add(holds.clone()))?;
        }
        let mut runs = Vec::new();
        for (id, rule, cases, args) in &guarded {
            watch.look(self.dd)?;
            let mut cases = cases.clone();
            for (_, rivals) in enabled.range(..rule.priority) {
                cases = cases.iter().map(|given| rivals.taken_from(given)).collect::<DdResult<_>>()?;
            }
            cases.retain(|given| !given.is_false());
            if !cases.is_empty() {
                self.instance(*id, rule, args, &cases, &mut runs)?;
            }
        }
        let ground = TailGround { dd: self.dd, layout: self.layout, base: &self.base };
        let mut init = starts.open(&ground, &mut self.undefined)?;
        self.undefined.append(&mut self.ends.undefined);
        if !self.undefined.is_empty() {
            return Ok(Err(self.undefined));
        }
        for (_, _, _, state) in &starts.states {
            init = init.or(&self.minterm(state)?)?;
        }
        let (mut progress, mut changes) = (Sets::default(), Sets::default());
        for run in &runs {
            progress.add(run.progress.clone())?;
            changes.add(run.moves.clone())?;
        }
        let relations = self.relations(&runs, &init)?;
        let fires = runs.into_iter().map(|run| (run.rule, run.ends)).collect();
        let (dd, bits) = (self.dd.clone(), self.layout.bits);
        let refused = init.minus(&keep)?;
        let init = init.and(&keep)?;
        let (make, made): (RelationMaker<'static>, _) =
            (Box::new(|| Ok(Vec::new())), OnceCell::from(relations));
        let (fast, hasten, midst) = (Vec::new(), None, dd.no());
        let system = TransitionSystem {
            dd,
            bits,
            init,
            refused,
            keep,
            fast,
            hasten,
            make,
            made,
            progress,
            changes,
            midst,
        };
        Ok(Ok((system, worlds, fires, self.trouble)))
    }

    fn minterm(&self, state: &State) -> DdResult<Bdd> {
        let mut literals = Vec::new();
        let values = spread(self.model, state);
        for cell in &self.layout.cells {
            let value = cell.way.iter().try_fold(&values[cell.var.index()], |value, at| match value {
                Value::Record(parts) | Value::Array(parts) => parts.get(*at as usize),
                _ => None,
            });
            let value = value.or_internal("a cell is a part of its variable");
            literals.extend(self.layout.literals(self.model, cell, value));
        }
        self.dd.minterm(&literals)
    }

    /// Where the guard of an instance holds, case by case.
    fn guards(&mut self, rule: &'m Rule, args: &[Value]) -> DdResult<Vec<Bdd>> {
        let mut cases = Vec::new();
        for guard in split::guards(&self.base, rule, args)? {
            if self.model.guard_faults == GuardFaults::Violate {
                self.trouble.add(&guard.faults, &self.dd.yes())?;
                for (place, _) in guard.faults.iter().filter(|(_, fault)| fault.kind.goes_on()) {
                    self.trouble.guards = self.trouble.guards.or(place)?;
                }
            }
            if !guard.holds.is_false() {
                cases.push(guard.holds);
            }
        }
        Ok(cases)
    }

    /// Runs the body of an instance and notes what comes of it.
    fn instance<'r>(
        &mut self,
        id: RuleId,
        rule: &'m Rule,
        args: &'r [Value],
        cases: &[Bdd],
        runs: &mut Vec<InstanceRun<'r>>,
    ) -> DdResult<()> {
        let (body, tail) = self.body(rule, args)?;
        for given in cases {
            for after in split::runs(&self.base, rule, body, args, given)? {
                runs.push(self.ran(&after, id, args, tail)?);
            }
        }
        Ok(())
    }

    /// The statements of a rule that are run as one, and the number of what follows.
    fn body(&mut self, rule: &'m Rule, args: &[Value]) -> DdResult<(&'m [Stmt], usize)> {
        let ground = TailGround { dd: self.dd, layout: self.layout, base: &self.base };
        let apart = match self.apart {
            true => RuleBody::apart(&self.base, rule),
            false => RuleBody::whole(rule),
        };
        let (head, stages) = match apart.stages(&ground, rule, args, &mut self.ends)? {
            Some(stages) => (apart.head, stages),
            None => (rule.code.body.as_slice(), Vec::new()),
        };
        let number = self.tails.iter().position(|known| *known == stages).unwrap_or(self.tails.len());
        if number == self.tails.len() {
            self.tails.push(stages);
        }
        Ok((head, number))
    }

    /// What comes of a run.
    fn ran<'r>(
        &mut self,
        after: &SymbolicMachine<'m>,
        rule: RuleId,
        args: &'r [Value],
        tail: usize,
    ) -> DdResult<InstanceRun<'r>> {
        let given = &after.given;
        self.trouble.add(&after.faults, given)?;
        self.trouble.cover(after, given)?;
        let ends = given.minus(&after.dead)?;
        let checked = after.fails_checks()?.and(given)?;
        let progress = ends.or(&checked)?;
        let mut moves = checked;
        let mut changes = Vec::new();
        let scalars = self.layout.scalars(after).into_iter().zip(self.layout.scalars(&self.base));
        for (at, (cell, (scalar, before))) in self.layout.cells.iter().zip(scalars).enumerate() {
            if scalar == before {
                continue;
            }
            if !cell.optional && scalar.undefined.meets(&ends)? {
                self.undefined.push(at);
                continue;
            }
            let code = layout::write(self.model, self.dd, cell, scalar)?;
            for (bit, digit) in cell.bits.iter().zip(code) {
                let differs = self.dd.var(layout::now(*bit))?.xor(&digit)?.and(&ends)?.and(&self.valid)?;
                if !differs.is_false() {
                    // What follows may undo it.
                    moves = if self.apart { moves } else { moves.or(&differs)? };
                    changes.push((*bit, digit));
                }
            }
        }
        changes.sort_by_key(|(bit, _)| *bit);
        Ok(InstanceRun { rule, args, tail, progress, ends, changes, moves })
    }

    /// The relations: steps that change the same bits together, and those of one element that are followed by the same.
    fn relations(&self, runs: &[InstanceRun<'_>], init: &Bdd) -> DdResult<Vec<Relation>> {
        /// Relations are joined as long as they stay small.
        const SMALL: usize = 3_000;
        type Key<'r> = (Vec<usize>, &'r [Value]);
        let all = runs.iter().map(|run| (run.ends.clone(), run.changes.as_slice(), run.tail));
        let (ends, following) = tail::following(self.dd, &self.tails, &all.collect::<Vec<_>>(), init)?;
        let mut joined: BTreeMap<Key<'_>, BTreeMap<Vec<Bit>, Vec<Bdd>>> = BTreeMap::new();
        for (run, tail) in runs.iter().zip(following) {
            let relation = stage::function(self.dd, run.ends.clone(), &run.changes)?;
            let key = if tail.is_empty() { &[] } else { run.args };
            let group = joined.entry((tail, key)).or_default();
            let group = group.entry(stage::written(&run.changes)).or_default();
            match group.last_mut() {
                Some(last) if last.nodes() < SMALL => *last = last.or(&relation)?,
                _ => group.push(relation),
            }
        }
        let mut relations = Vec::new();
        for ((tail, _), groups) in joined {
            let parts = groups.into_iter().flat_map(|(written, group)| {
                group.into_iter().map(move |relation| RelationPart::new(self.dd, relation, &written))
            });
            match tail.is_empty() {
                true => relations.extend(parts.map(|part| Relation::either(vec![part]))),
                false => {
                    let tail: Vec<ImageStage> = tail.iter().map(|at| ends[*at].clone()).collect();
                    relations.push(Relation::either(parts.collect()).followed_by(&tail));
                }
            }
        }
        Ok(relations)
    }
}

/// The states that no assumption drops; what faults is dropped as well, and noted.
pub fn assumptions<'m>(worlds: &Worlds<'m>, model: &'m Model, trouble: &mut Trouble) -> DdResult<Bdd> {
    let mut keep = worlds.base.dd.yes();
    for property in model.properties.iter() {
        if let PropertyKind::Assume(Some(condition)) = &property.kind {
            let said = worlds.ask(condition, &keep)?;
            Trouble::put(&mut trouble.dropped, &trouble.no, &said.faults, &keep)?;
            keep = keep.and(&said.holds)?;
        }
    }
    Ok(keep)
}
