//! From a model to a system of counters.
//!
//! The code of a rule is executed with its parameters bound to *roles*: one element in a known local state each. All
//! other elements take part as classes, one for each local state. What comes of it is a [`Move`]: where it can happen,
//! what it does to the rest of the state, from which local state to which each role goes, and what becomes of the
//! classes if the rule has a loop over all elements.
//!
//! Local states are found on the way: those at the start, and those that moves lead to when nothing is known of the
//! rest of the state. That is the paper's local reachability, but for the part of the structure of one component that
//! other components write: a role can be anybody's, so what is done to it by others is seen as well.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use shoal_model::{
    Domain, During, Fault, GuardFaults, Model, PropertyId, Rule, RuleId, SortId, StartId, Type, TypeId, Value,
};
use shoal_symbolic::{
    Trouble, assumptions, bits,
    dd::{Bdd, Care, Dd, Done, Halt, lacks},
    layout::{self, Bit, Layout},
    machine::{Machine, Member, MemberKind, Population},
    run,
    value::{Scalar, Sym},
};

use crate::support::Tracked;

/// The local state of an element: the values of its cells, in the order of the variables.
pub type LocalState = Vec<Value>;

/// Makes one of several local states that cannot be told apart any more.
pub(crate) type Normalise<'n> = &'n dyn Fn(SortId, LocalState) -> LocalState;

/// The local states of a counted sort.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// All of them; a class is its number here.
    pub states: Vec<LocalState>,
    known: FxHashMap<LocalState, usize>,
    /// How many elements are counted.
    pub counted: u32,
    /// The bits of the counter of each class, least significant first.
    pub bits: Vec<Vec<Bit>>,
}

impl Locals {
    /// The class of a local state; a new one if it was not known.
    fn class(&mut self, state: LocalState) -> usize {
        if let Some(class) = self.known.get(&state) {
            return *class;
        }
        let class = self.states.len();
        self.known.insert(state.clone(), class);
        self.states.push(state);
        class
    }

    /// The class of a local state, if it is known.
    pub fn find(&self, state: &LocalState) -> Option<usize> {
        self.known.get(state).copied()
    }
}

/// An argument of a rule in a move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arg {
    /// This value.
    Value(Value),
    /// The role with this number.
    Role(usize),
}

/// A role of a move: an element of a sort that goes from one class to another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Role {
    pub(crate) sort: SortId,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What an instance of a rule does, for roles in given local states and where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) rule: RuleId,
    pub(crate) args: Vec<Arg>,
    /// Where it happens and comes to its end.
    pub(crate) ends: Bdd,
    /// The bits of the rest of the state that it changes, and what to.
    pub(crate) changes: Vec<(Bit, Bdd)>,
    pub(crate) roles: Vec<Role>,
    /// Classes that go to another class as a whole, roles not among them.
    pub(crate) transfers: Vec<(SortId, usize, usize)>,
}

/// A start: the values of the cells, and how many elements are in each class.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) start: StartId,
    pub(crate) args: Vec<Arg>,
    pub(crate) choices: Vec<Value>,
    pub(crate) cells: Vec<Value>,
    pub(crate) counts: BTreeMap<(SortId, usize), u32>,
}

/// What the starts come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts {
    pub(crate) all: Vec<Start>,
    pub(crate) faults: Vec<(During, Fault)>,
    pub(crate) covered: Vec<PropertyId>,
}

/// A model as counters.
pub(crate) struct Compiled<'m> {
    pub(crate) model: &'m Model,
    pub(crate) dd: Dd,
    pub(crate) layout: Layout,
    pub(crate) bits: Bit,
    pub(crate) locals: BTreeMap<SortId, Locals>,
    pub(crate) base: Machine<'m>,
    pub(crate) moves: Vec<Move>,
    pub(crate) trouble: Trouble,
    pub(crate) starts: Starts,
    pub(crate) keep: Bdd,
    /// Whether a step was seen of which the local states do not tell whether it changes anything.
    pub(crate) ambiguous: bool,
    /// Where something happens, and where something happens that changes the state or faults.
    pub(crate) progress: Bdd,
    pub(crate) changes: Bdd,
}

/// Local states beyond this number are too many.
const MOST_CLASSES: usize = 5_000;
/// Numbers for roles begin here, beyond all elements and classes.
const FIRST_ROLE: u32 = 1 << 30;

/// Makes counters of a model.
pub(crate) fn compile<'m>(
    model: &'m Model,
    tracked: &Tracked,
    normalise: Normalise<'_>,
    bytes: Option<u64>,
) -> Done<Compiled<'m>> {
    let mut locals: BTreeMap<SortId, Locals> = BTreeMap::new();
    for (sort, tracked) in tracked {
        let counted = model.sorts[*sort].fixed_size().unwrap_or(0) - tracked.len() as u32;
        locals.insert(*sort, Locals { counted, ..Locals::default() });
    }
    let starts = starts(model, tracked, &mut locals, normalise)?;
    let cells = Layout::new(model, tracked, &|_| true)?.cells.len();
    let mut defined: Vec<bool> =
        (0..cells).map(|at| starts.all.iter().all(|start| start.cells[at] != Value::Undefined)).collect();
    loop {
        let compiler = Compiler::new(model, tracked, &locals, &defined, normalise, bytes)?;
        match compiler.run(&starts)? {
            Round::Done(compiled) => return Ok(*compiled),
            Round::Undefined(cells) => cells.into_iter().for_each(|at| defined[at] = false),
            Round::Found(found) => {
                locals = found;
                let now: usize = locals.values().map(|it| it.states.len()).sum();
                if now > MOST_CLASSES {
                    return Err(Halt::Lacks {
                        construct: format!("components with more than {MOST_CLASSES} local states"),
                        span: None,
                    });
                }
            }
        }
    }
}

/// What a round of compilation comes to.
enum Round<'m> {
    Done(Box<Compiled<'m>>),
    /// Cells that can be undefined after all.
    Undefined(Vec<usize>),
    /// There are more local states.
    Found(BTreeMap<SortId, Locals>),
}

struct Compiler<'m, 'c> {
    model: &'m Model,
    dd: Dd,
    layout: Layout,
    bits: Bit,
    locals: BTreeMap<SortId, Locals>,
    tracked: &'c Tracked,
    base: Machine<'m>,
    moves: Vec<Move>,
    trouble: Trouble,
    normalise: Normalise<'c>,
    undefined: Vec<usize>,
    progress: Bdd,
    changes: Bdd,
    ambiguous: bool,
    /// How many classes had a counter when this round began.
    classes: BTreeMap<SortId, usize>,
}

/// Where something comes of a run, what becomes of its roles, and which classes go where.
type Case = (Bdd, Vec<Role>, Vec<(SortId, usize, usize)>);

/// An instance of a rule with its roles.
#[derive(Clone)]
struct Cast<'m> {
    machine: Machine<'m>,
    args: Vec<Arg>,
    values: Vec<Value>,
    roles: Vec<(SortId, usize, u32)>,
    /// Where there are elements for all roles.
    present: Bdd,
}

impl<'m, 'c> Compiler<'m, 'c> {
    fn new(
        model: &'m Model,
        tracked: &'c Tracked,
        locals: &BTreeMap<SortId, Locals>,
        defined: &[bool],
        normalise: Normalise<'c>,
        bytes: Option<u64>,
    ) -> Done<Self> {
        let mut layout = Layout::without_numbers(model, tracked, &|at| defined[at])?;
        let mut locals = locals.clone();
        // The counters of all sorts and large numbers together, least significant bits on top: sums are then small.
        let mut bits = layout.bits;
        for one in locals.values_mut() {
            one.bits = vec![Vec::new(); one.states.len()];
        }
        for significance in 0..64 {
            for cell in layout.cells.iter_mut().filter(|cell| layout::is_number(model, cell)) {
                if significance < cell.width() {
                    cell.bits.push(bits);
                    bits += 1;
                }
            }
            for one in locals.values_mut() {
                let width = u32::BITS - one.counted.leading_zeros();
                if significance < width {
                    for counter in &mut one.bits {
                        counter.push(bits);
                        bits += 1;
                    }
                }
            }
        }
        let dd = Dd::new(2 * bits, bytes, Care::Peak);
        let (trouble, progress, changes) = (Trouble::new(&dd), dd.no(), dd.no());
        let base = Machine::new(model, &dd, Vec::new());
        let classes = locals.iter().map(|(sort, one)| (*sort, one.states.len())).collect();
        let undefined = Vec::new();
        let mut compiler = Compiler {
            model,
            dd,
            layout,
            bits,
            locals,
            tracked,
            base,
            moves: Vec::new(),
            trouble,
            normalise,
            undefined,
            progress,
            changes,
            ambiguous: false,
            classes,
        };
        compiler.base = compiler.machine()?;
        Ok(compiler)
    }

    /// The machine on all states at once, with all classes known now.
    fn machine(&self) -> Done<Machine<'m>> {
        let mut counted = populations(self.tracked);
        let mut machine =
            Machine::new(self.model, &self.dd, self.layout.states(self.model, &self.dd, &counted)?);
        for (sort, locals) in &self.locals {
            for (class, state) in locals.states.iter().enumerate() {
                let Some(bits) = locals.bits.get(class) else { break };
                let count: Vec<Bdd> =
                    bits.iter().map(|bit| self.dd.var(layout::now(*bit))).collect::<Done<_>>()?;
                let count = bits::unsigned(&self.dd, count);
                add_class(self.model, &mut machine, &mut counted, *sort, class, state, count)?;
            }
        }
        machine.counted = counted;
        Ok(machine)
    }

    fn run(mut self, starts: &Starts) -> Done<Round<'m>> {
        let keep = assumptions(&self.base, &mut self.trouble)?;
        let mut guarded: Vec<(RuleId, &'m Rule, Cast<'m>, Bdd)> = Vec::new();
        let mut enabled: BTreeMap<i64, Bdd> = BTreeMap::new();
        for (id, rule) in self.model.rules.enumerate() {
            for cast in casts(&self.base, rule)? {
                let mut machine = cast.machine.clone();
                machine.given = cast.present.clone();
                let guard = run::guard(&machine, rule, &cast.values)?;
                if self.model.guard_faults == GuardFaults::Violate {
                    self.trouble.add(&guard.faults, &cast.present)?;
                    for (place, _) in &guard.faults {
                        self.trouble.guards = self.trouble.guards.or(place)?;
                    }
                }
                let holds = guard.holds.and(&cast.present)?;
                if !holds.is_false() {
                    let entry = enabled.entry(rule.priority).or_insert_with(|| self.dd.no());
                    *entry = entry.or(&holds)?;
                    guarded.push((id, rule, cast, holds));
                }
            }
        }
        for (id, rule, cast, holds) in guarded {
            let mut given = holds;
            for (_, rivals) in enabled.range(..rule.priority) {
                given = given.minus(rivals)?;
            }
            if !given.is_false() {
                self.instance(id, rule, cast, given)?;
            }
        }
        if !self.undefined.is_empty() {
            return Ok(Round::Undefined(self.undefined));
        }
        if self.locals.iter().any(|(sort, locals)| locals.states.len() > self.classes[sort]) {
            return Ok(Round::Found(self.locals));
        }
        Ok(Round::Done(Box::new(Compiled {
            model: self.model,
            dd: self.dd,
            layout: self.layout,
            bits: self.bits,
            locals: self.locals,
            base: self.base,
            moves: self.moves,
            trouble: self.trouble,
            starts: starts.clone(),
            keep,
            progress: self.progress,
            changes: self.changes,
            ambiguous: self.ambiguous,
        })))
    }

    /// Runs the body of an instance and makes moves of what comes of it.
    fn instance(&mut self, id: RuleId, rule: &'m Rule, cast: Cast<'m>, given: Bdd) -> Done<()> {
        for after in run::runs(&cast.machine, rule, &cast.values, &given)? {
            self.trouble.add(&after.faults, &given)?;
            self.trouble.cover(&after, &given)?;
            let ends = given.minus(&after.dead)?;
            let exists = given.minus(&after.dropped)?;
            self.progress = self.progress.or(&exists)?;
            self.changes = self.changes.or(&exists.and(&after.dead)?)?;
            let changes = self.cells(&after, &ends)?;
            for (place, roles, transfers) in self.outcomes(&after, &cast, &ends)? {
                let moved = Move {
                    rule: id,
                    args: cast.args.clone(),
                    ends: place,
                    changes: changes.clone(),
                    roles,
                    transfers,
                };
                let moves = self.moves_something(&moved)?;
                self.changes = self.changes.or(&moves)?;
                self.moves.push(moved);
            }
        }
        Ok(())
    }

    /// The bits of plain cells that a run changes.
    fn cells(&mut self, after: &Machine<'m>, ends: &Bdd) -> Done<Vec<(Bit, Bdd)>> {
        let mut changes = Vec::new();
        for (at, (cell, scalar)) in self.layout.cells.iter().zip(self.layout.scalars(after)).enumerate() {
            if !cell.optional && scalar.undefined.meets(ends)? {
                self.undefined.push(at);
                continue;
            }
            let code = layout::write(self.model, &self.dd, cell, scalar)?;
            for (bit, digit) in cell.bits.iter().zip(code) {
                let now = self.dd.var(layout::now(*bit))?;
                if now != digit && now.xor(&digit)?.meets(ends)? {
                    changes.push((*bit, digit));
                }
            }
        }
        changes.sort_by_key(|(bit, _)| *bit);
        Ok(changes)
    }

    /// Where a move makes a difference.
    fn moves_something(&self, moved: &Move) -> Done<Bdd> {
        let mut net: BTreeMap<(SortId, usize), i64> = BTreeMap::new();
        for role in &moved.roles {
            *net.entry((role.sort, role.from)).or_default() -= 1;
            *net.entry((role.sort, role.to)).or_default() += 1;
        }
        if net.values().any(|delta| *delta != 0) {
            return Ok(moved.ends.clone());
        }
        let mut differs = self.dd.no();
        for (bit, digit) in &moved.changes {
            differs = differs.or(&self.dd.var(layout::now(*bit))?.xor(digit)?)?;
        }
        for (sort, from, _) in &moved.transfers {
            // A class that moves has elements left beside the roles.
            let roles = moved.roles.iter().filter(|role| role.sort == *sort && role.from == *from).count();
            let Some((_, count)) = self.base.counted[sort].class(*from) else { continue };
            differs = differs.or(&bits::less(&self.dd, &bits::constant(&self.dd, roles as i64), count)?)?;
        }
        differs.and(&moved.ends)
    }

    /// What becomes of the roles and of the classes, case by case.
    fn outcomes(&mut self, after: &Machine<'m>, cast: &Cast<'m>, ends: &Bdd) -> Done<Vec<Case>> {
        let mut outcomes = vec![(ends.clone(), Vec::new(), Vec::new())];
        for (sort, from, id) in &cast.roles {
            let mut next = Vec::new();
            for (place, roles, transfers) in outcomes {
                for (place, to) in self.classes_of(after, (*sort, *from), *id, &place)? {
                    let mut roles: Vec<Role> = roles.clone();
                    roles.push(Role { sort: *sort, from: *from, to });
                    next.push((place, roles, transfers.clone()));
                }
            }
            outcomes = next;
        }
        for (sort, classes) in self.classes.clone() {
            for class in 0..classes {
                let Some((id, _)) = after.counted[&sort].class(class) else { continue };
                let state = after.local_state(sort, id);
                let known: Option<LocalState> = state.iter().map(|scalar| scalar.known()).collect();
                if known.as_ref() == Some(&self.locals[&sort].states[class]) {
                    continue;
                }
                let mut next = Vec::new();
                for (place, roles, transfers) in outcomes {
                    for (place, to) in self.classes_of(after, (sort, class), id, &place)? {
                        let mut transfers: Vec<(SortId, usize, usize)> = transfers.clone();
                        if to != class {
                            transfers.push((sort, class, to));
                        }
                        next.push((place, roles.clone(), transfers));
                    }
                }
                outcomes = next;
            }
        }
        Ok(outcomes)
    }

    /// The classes that a member can be in after a run, and where each of them.
    fn classes_of(
        &mut self,
        after: &Machine<'m>,
        (sort, from): (SortId, usize),
        id: u32,
        within: &Bdd,
    ) -> Done<Vec<(Bdd, usize)>> {
        let mut found = vec![(within.clone(), Vec::new())];
        for scalar in after.local_state(sort, id) {
            if let Some(value) = scalar.known() {
                found.iter_mut().for_each(|(_, state)| state.push(value.clone()));
                continue;
            }
            let mut next = Vec::new();
            for (place, state) in found {
                let mut put = |place: Bdd, value: Value| {
                    if !place.is_false() {
                        let mut state: LocalState = state.clone();
                        state.push(value);
                        next.push((place, state));
                    }
                };
                put(place.and(&scalar.undefined)?, Value::Undefined);
                for (value, here) in scalar.cases(&self.dd, &place)? {
                    put(here, value);
                }
            }
            found = next;
        }
        let normalise = self.normalise;
        let Some(locals) = self.locals.get_mut(&sort) else { return Ok(Vec::new()) };
        let mut classes: BTreeMap<usize, Bdd> = BTreeMap::new();
        for (place, state) in found {
            let reduced = normalise(sort, state.clone());
            let other = reduced != state;
            let class = locals.class(reduced);
            self.ambiguous |= other && class == from;
            let place = match classes.get(&class) {
                Some(known) => known.or(&place)?,
                None => place,
            };
            classes.insert(class, place);
        }
        Ok(classes.into_iter().map(|(class, place)| (place, class)).collect())
    }
}

/// The populations of the counted sorts with nothing but their tracked elements.
fn populations(tracked: &Tracked) -> BTreeMap<SortId, Population> {
    let population = |elements: &Vec<u32>| Population {
        members: elements.iter().map(|id| Member { id: *id, kind: MemberKind::Tracked }).collect(),
        next: FIRST_ROLE,
    };
    tracked.iter().map(|(sort, elements)| (*sort, population(elements))).collect()
}

/// Adds the member that stands for a class.
fn add_class(
    model: &Model,
    machine: &mut Machine<'_>,
    counted: &mut BTreeMap<SortId, Population>,
    sort: SortId,
    class: usize,
    state: &LocalState,
    count: bits::Bits,
) -> Done<()> {
    let id = model.sorts[sort].fixed_size().unwrap_or(0) + class as u32;
    let mut values = state.iter();
    let dd = machine.dd.clone();
    for (var, sym) in model.vars.iter().zip(&mut machine.vars) {
        insert(model, &dd, var.ty, sym, (sort, id), &mut values)?;
    }
    if let Some(population) = counted.get_mut(&sort) {
        population.members.push(Member { id, kind: MemberKind::Class { class, count } });
    }
    Ok(())
}

/// Adds the entries of a member to a value of a type.
fn insert(
    model: &Model,
    dd: &Dd,
    ty: TypeId,
    value: &mut Sym,
    member: (SortId, u32),
    values: &mut std::slice::Iter<'_, Value>,
) -> Done<()> {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Sym::Record(parts)) => {
            for (field, part) in fields.iter().zip(parts) {
                insert(model, dd, field.ty, part, member, values)?;
            }
        }
        (Type::Array { element, .. }, Sym::Array(parts)) => {
            for part in parts {
                insert(model, dd, *element, part, member, values)?;
            }
        }
        (Type::Array { element, .. }, Sym::Family(sort, entries)) if *sort == member.0 => {
            let entry = Sym::build(model, *element, &|_| None, &mut |_| {
                Ok(Scalar::constant(dd, values.next().unwrap_or(&Value::Undefined)))
            })?;
            entries.insert(member.1, entry);
        }
        _ => {}
    }
    Ok(())
}

/// All ways to cast the parameters of a rule.
fn casts<'m>(base: &Machine<'m>, rule: &'m Rule) -> Done<Vec<Cast<'m>>> {
    let first = Cast {
        machine: base.clone(),
        args: Vec::new(),
        values: Vec::new(),
        roles: Vec::new(),
        present: base.dd.yes(),
    };
    let mut casts = vec![first];
    for param in &rule.params {
        let mut next = Vec::new();
        for cast in casts {
            let choices = match &param.domain {
                Domain::Type(ty) => cast.machine.values_of(*ty),
                Domain::Range { .. } => run::domain(&cast.machine, rule, &cast.values)?,
                Domain::Slots(place) => return lacks("multisets", place.span),
            };
            for value in choices {
                match cast.machine.class_of(&value) {
                    None => {
                        let mut cast = cast.clone();
                        let role =
                            cast.roles.iter().position(|(sort, _, id)| value == Value::Elem(*sort, *id));
                        cast.args.push(role.map_or(Arg::Value(value.clone()), Arg::Role));
                        cast.values.push(value);
                        next.push(cast);
                    }
                    Some((sort, class)) => next.extend(take(&cast, sort, class)?),
                }
            }
        }
        casts = Vec::new();
        for cast in next {
            let more = cast.values.len() < rule.params.len();
            if !more || !run::fails_early(&cast.machine, rule, &cast.values, &cast.present)? {
                casts.push(cast);
            }
        }
    }
    Ok(casts)
}

/// The cast with one more role, taken out of a class; none if the class can have no such element.
fn take<'m>(cast: &Cast<'m>, sort: SortId, class: usize) -> Done<Option<Cast<'m>>> {
    let mut cast = cast.clone();
    let population = &cast.machine.counted[&sort];
    let taken = bits::constant(&cast.machine.dd, population.roles_in(class));
    let Some((_, count)) = population.class(class) else { return Ok(None) };
    cast.present = cast.present.and(&bits::less(&cast.machine.dd, &taken, count)?)?;
    let Some(id) = cast.machine.take_role(sort, class).filter(|_| !cast.present.is_false()) else {
        return Ok(None);
    };
    cast.args.push(Arg::Role(cast.roles.len()));
    cast.values.push(Value::Elem(sort, id));
    cast.roles.push((sort, class, id));
    Ok(Some(cast))
}

/// Runs all starts: one class of elements of which nothing is known yet.
fn starts(
    model: &Model,
    tracked: &Tracked,
    locals: &mut BTreeMap<SortId, Locals>,
    normalise: Normalise<'_>,
) -> Done<Starts> {
    let dd = Dd::new(0, Some(1 << 22), Care::Speed);
    let layout = Layout::new(model, tracked, &|_| false)?;
    let mut counted = populations(tracked);
    let blank = Scalar::undefined(&dd);
    let members = |index: TypeId| match model.kind(index) {
        Type::Ref { sort, nullable: false } => tracked.get(sort).map(|elements| (*sort, elements.clone())),
        _ => None,
    };
    let mut vars = Vec::new();
    for var in model.vars.iter() {
        vars.push(Sym::build(model, var.ty, &members, &mut |_| Ok(blank.clone()))?);
    }
    let mut machine = Machine::new(model, &dd, vars);
    for (sort, locals) in locals.iter() {
        let count = bits::constant(&dd, i64::from(locals.counted));
        add_class(model, &mut machine, &mut counted, *sort, 0, &Vec::new(), count)?;
    }
    machine.counted = counted;
    let mut starts = Starts::default();
    for (id, start) in model.starts.enumerate() {
        for cast in casts(&machine, start)? {
            for after in run::runs(&cast.machine, start, &cast.values, &dd.yes())? {
                let choices = run::choices(&after);
                if after.dropped.is_false() {
                    let covered = after.covered.iter().filter(|(_, place)| place.is_true());
                    starts.covered.extend(covered.map(|(property, _)| *property));
                }
                if let Some((_, fault)) = after.faults.first() {
                    starts.faults.push((During::Start(id, example(&cast), choices), fault.clone()));
                } else if after.dropped.is_false() {
                    let cells =
                        layout.scalars(&after).into_iter().map(|it| it.known().unwrap_or(Value::Undefined));
                    let cells = cells.collect();
                    let counts = counts(&after, &cast, locals, normalise);
                    starts.all.push(Start { start: id, args: cast.args.clone(), choices, cells, counts });
                }
            }
        }
    }
    Ok(starts)
}

/// Arguments with some element for each role: before a start they are all alike.
fn example(cast: &Cast<'_>) -> Vec<Value> {
    let mut taken: BTreeMap<SortId, u32> = BTreeMap::new();
    let elements: Vec<Value> = cast
        .roles
        .iter()
        .map(|(sort, _, _)| {
            let tracked = &cast.machine.counted[sort].members;
            let mut element = taken.get(sort).map_or(0, |last| last + 1);
            while tracked.iter().any(|it| it.id == element && matches!(it.kind, MemberKind::Tracked)) {
                element += 1;
            }
            taken.insert(*sort, element);
            Value::Elem(*sort, element)
        })
        .collect();
    let arg = |arg: &Arg| match arg {
        Arg::Value(value) => value.clone(),
        Arg::Role(role) => elements[*role].clone(),
    };
    cast.args.iter().map(arg).collect()
}

/// How many elements are in each class after a start.
fn counts(
    after: &Machine<'_>,
    cast: &Cast<'_>,
    locals: &mut BTreeMap<SortId, Locals>,
    normalise: Normalise<'_>,
) -> BTreeMap<(SortId, usize), u32> {
    let mut counts = BTreeMap::new();
    for (sort, locals) in locals.iter_mut() {
        let mut add = |id: u32, count: u32| {
            let state = after.local_state(*sort, id).into_iter();
            let state = state.map(|it| it.known().unwrap_or(Value::Undefined)).collect();
            *counts.entry((*sort, locals.class(normalise(*sort, state)))).or_default() += count;
        };
        let roles: Vec<u32> =
            cast.roles.iter().filter(|(of, _, _)| of == sort).map(|(_, _, id)| *id).collect();
        let rest = after.counted[sort].class(0).map(|(id, _)| id);
        roles.iter().for_each(|id| add(*id, 1));
        let left = locals.counted - roles.len() as u32;
        if let (Some(id), true) = (rest, left > 0) {
            let state = after.local_state(*sort, id).into_iter();
            let state = state.map(|it| it.known().unwrap_or(Value::Undefined)).collect();
            *counts.entry((*sort, locals.class(normalise(*sort, state)))).or_default() += left;
        }
    }
    counts
}
