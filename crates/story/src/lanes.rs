//! Who there is, and whose each variable and each step is.
//!
//! A front end that knows of processes says so ([`shoal_model::Agents`]), and automata have rules that name them. Elsewhere the
//! parts are *inferred*: the families of elements (sorts, or ranges that rules run through) that index variables, with an owner
//! for each variable and an actor for each rule such that rules write little that is not their actor's. The cost of a choice
//! and the descent from "every rule is its parameter's" are in [`infer`].

mod observed;

use std::collections::BTreeMap;

use shoal_interpret::StateCell;
use shoal_model::{Domain, Model, RuleId, SortId, State, Trace, Type, TypeId, TypedId, Value, VarId};

use crate::{
    Directions,
    directions::variable,
    first_word,
    infer::{self, RuleWrites},
    values::is_neutral,
};

pub use observed::ObservedParts;

/// A part of the model that moves by itself, or what the parts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: LaneKind,
    /// Lanes with the same number are of one family.
    pub family: Option<usize>,
    /// The sort whose element it is.
    pub sort: Option<SortId>,
}

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// A process, an automaton, a thread, an element of a family.
    Part,
    /// What belongs to no part, or to one that the model does not name: a directory, a bus.
    Shared,
}

/// Whose a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VarOwner {
    /// The shared lane's.
    Shared,
    /// Each entry is one of this family's.
    Entry(usize),
    /// One lane's.
    Lane(usize),
}

/// Whose the steps of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// The shared lane's.
    Shared,
    /// Those of the element that a parameter is, of a family.
    Parameter(usize, usize),
    /// One lane's.
    Lane(usize),
}

/// What the lanes of a family are numbered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// The elements of a sort.
    Sort(SortId),
    /// Integers in a range: of the type with that name, if it has one.
    Range(i64, i64, Option<TypeId>),
    /// The entries of an array of agents.
    Agents(VarId),
}

/// Lanes that are alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) key: Key,
    first: usize,
    count: usize,
}

/// All lanes of a model, and what belongs to them.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Vec<Lane>,
    pub(crate) families: Vec<Family>,
    owners: Vec<VarOwner>,
    actors: Vec<Actor>,
    mailboxes: Vec<bool>,
    /// The field of a variable's records that says where an agent stands.
    places: Vec<Option<usize>>,
    /// Whether the values of a variable, or of its entries, are lines of a program.
    counters: Vec<bool>,
    /// Whether the author of the model wants to see nothing of a variable.
    hidden: Vec<bool>,
    /// The lane that takes the messages of a variable, where the author says so.
    addressees: BTreeMap<VarId, usize>,
}

impl Lanes {
    /// The lanes of a model, for one of its runs, as its author wants them.
    pub fn of(model: &Model, trace: &Trace, directions: &Directions) -> Lanes {
        let writes = RuleWrites::new(model);
        let mut lanes = Lanes::nobody(model, directions);
        if !model.agents.is_empty() {
            lanes.add_agents(model, trace);
        } else if !lanes.add_automata(model) {
            lanes.add_families(model, &writes);
        }
        lanes.add_directed(model, directions, &writes);
        lanes.add_shared(model);
        lanes.find_mailboxes(model, &trace.state, &writes);
        lanes.find_posts(model, directions);
        lanes
    }

    /// Before anybody is found.
    fn nobody(model: &Model, directions: &Directions) -> Lanes {
        Lanes {
            lanes: Vec::new(),
            families: Vec::new(),
            owners: vec![VarOwner::Shared; model.vars.len()],
            actors: vec![Actor::Shared; model.rules.len()],
            mailboxes: vec![false; model.vars.len()],
            places: vec![None; model.vars.len()],
            counters: model.vars.iter().map(|var| counts_lines(model, var.ty)).collect(),
            hidden: model.vars.iter().map(|var| directions.hidden.contains(&var.name)).collect(),
            addressees: BTreeMap::new(),
        }
    }

    /// The lanes that the author asks for: they own the variables that are named, and what was nobody's step and writes one
    /// of them is theirs.
    fn add_directed(&mut self, model: &Model, directions: &Directions, writes: &RuleWrites<'_>) {
        let shared = self.shared_name(model);
        for (name, variables) in &directions.lanes {
            let own: Vec<VarId> = variables.iter().filter_map(|name| variable(model, name)).collect();
            if own.is_empty() {
                continue;
            }
            if *name == shared {
                own.iter().for_each(|var| self.owners[var.index()] = VarOwner::Shared);
                continue;
            }
            let known = self.lanes.iter().position(|lane| lane.name == *name);
            let lane = known.unwrap_or_else(|| self.add_part(name.clone()));
            own.iter().for_each(|var| self.owners[var.index()] = VarOwner::Lane(lane));
            for id in model.rules.ids() {
                let writes = || writes.of(id).iter().any(|(var, _)| own.contains(var));
                if self.actors[id.index()] == Actor::Shared && writes() {
                    self.actors[id.index()] = Actor::Lane(lane);
                }
            }
        }
    }

    /// The variables of which the author says that they carry messages.
    fn find_posts(&mut self, model: &Model, directions: &Directions) {
        for post in &directions.messages {
            let Some(var) = variable(model, &post.variable) else { continue };
            self.mailboxes[var.index()] = true;
            let named = |lane: &Lane| post.to.as_ref() == Some(&lane.name);
            if let Some(lane) = self.lanes.iter().position(named) {
                self.addressees.insert(var, lane);
            }
        }
    }

    /// All lanes.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lane of what is shared; it is the last.
    pub(crate) fn shared(&self) -> usize {
        self.lanes.len() - 1
    }

    /// Whose step an instance of a rule takes.
    pub fn actor(&self, model: &Model, rule: RuleId, args: &[Value]) -> usize {
        match self.actors[rule.index()] {
            Actor::Shared => self.shared(),
            Actor::Lane(lane) => lane,
            Actor::Parameter(at, family) => {
                let value = args.get(at);
                value.and_then(|value| self.member(model, family, value)).unwrap_or(self.shared())
            }
        }
    }

    /// The rules whose steps are a lane's, with the parameter that says so.
    pub(crate) fn rules_of(&self, lane: usize) -> impl Iterator<Item = (RuleId, Option<(usize, usize)>)> {
        let family = self.lanes[lane].family;
        let shared = self.shared();
        self.actors.iter().enumerate().filter_map(move |(rule, actor)| {
            let rule = RuleId::from_index(rule);
            match *actor {
                Actor::Shared => (lane == shared).then_some((rule, None)),
                Actor::Lane(own) => (lane == own).then_some((rule, None)),
                Actor::Parameter(at, of) => (family == Some(of)).then_some((rule, Some((at, of)))),
            }
        })
    }

    /// Whose a part of a variable is, and how much of the way to it that says.
    pub(crate) fn owner(&self, model: &Model, var: VarId, path: &[usize]) -> (usize, usize) {
        match self.owners[var.index()] {
            VarOwner::Shared => (self.shared(), 0),
            VarOwner::Lane(lane) => (lane, 0),
            VarOwner::Entry(family) => match (model.kind(model.vars[var].ty), path.first()) {
                (Type::Array { index, .. }, Some(at)) => match self.at_position(model, family, *index, *at) {
                    Some(lane) => (lane, 1),
                    None => (self.shared(), 0),
                },
                _ => (self.shared(), 0),
            },
        }
    }

    /// Whether a variable only carries what one part tells another.
    pub(crate) fn is_mailbox(&self, var: VarId) -> bool {
        self.mailboxes[var.index()]
    }

    /// Whether nothing of a variable is to be told.
    pub(crate) fn is_hidden(&self, var: VarId) -> bool {
        self.hidden[var.index()]
    }

    /// The lane that takes the messages of a variable, where the author of the model says so.
    pub(crate) fn addressee(&self, var: VarId) -> Option<usize> {
        self.addressees.get(&var).copied()
    }

    /// The field in which an agent keeps where it stands.
    pub(crate) fn place(&self, var: VarId) -> Option<usize> {
        self.places[var.index()]
    }

    /// Whether the front end has said who the processes are.
    pub(crate) fn has_agents(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }

    /// Whether a family keeps all it has in the records of one variable, so that its name says nothing.
    pub(crate) fn is_all_of_family(&self, model: &Model, var: VarId) -> bool {
        let owner = self.owners[var.index()];
        let alone = self.owners.iter().filter(|other| **other == owner).count() == 1;
        alone
            && matches!(owner, VarOwner::Entry(_))
            && matches!(model.kind(entry_of(model, model.vars[var].ty)), Type::Record { .. })
    }

    /// Whether a variable says which line of a program its owner has come to.
    pub(crate) fn is_program_counter(&self, var: VarId) -> bool {
        self.counters[var.index()]
    }

    /// The variables that are a lane's: its own, or its entry of each.
    pub(crate) fn belongings(&self, lane: usize) -> impl Iterator<Item = (VarId, Option<usize>)> {
        let family = self.lanes[lane].family;
        self.owners.iter().enumerate().filter_map(move |(var, owner)| {
            let var = VarId::from_index(var);
            match *owner {
                VarOwner::Lane(own) => (own == lane).then_some((var, None)),
                VarOwner::Entry(of) if family == Some(of) => {
                    Some((var, Some(lane - self.families[of].first)))
                }
                VarOwner::Entry(_) | VarOwner::Shared => None,
            }
        })
    }

    /// The cells in which a lane keeps where it stands: its parts of a named kind.
    pub(crate) fn places_of(&self, model: &Model, lane: usize) -> Vec<StateCell> {
        let mut places = Vec::new();
        for (var, entry) in self.belongings(lane) {
            let cell =
                |field: Option<usize>| StateCell { var, path: entry.into_iter().chain(field).collect() };
            let is_named = |ty: TypeId| matches!(model.kind(ty), Type::Enum { .. });
            match model.kind(if entry.is_some() {
                entry_of(model, model.vars[var].ty)
            } else {
                model.vars[var].ty
            }) {
                Type::Enum { .. } => places.push(cell(None)),
                Type::Record { fields } => {
                    let named = fields.iter().enumerate().filter(|(_, field)| is_named(field.ty));
                    places.extend(named.map(|(at, _)| cell(Some(at))));
                }
                _ => {}
            }
        }
        places
    }

    /// The lane of a value of a family.
    fn member(&self, model: &Model, family: usize, value: &Value) -> Option<usize> {
        let Family { key, first, count } = self.families[family];
        let at = match (key, value) {
            (Key::Sort(sort), Value::Elem(of, element)) => (sort == *of).then_some(*element as usize)?,
            (Key::Range(lo, hi, _), Value::Int(value)) => {
                ((lo..=hi).contains(value)).then(|| value.abs_diff(lo) as usize)?
            }
            (Key::Agents(var), value) => {
                let Type::Array { index, .. } = model.kind(model.vars[var].ty) else { return None };
                model.ordinal(*index, value)? as usize
            }
            _ => return None,
        };
        (at < count).then_some(first + at)
    }

    /// The lane that the entry at a position of an array belongs to.
    fn at_position(&self, model: &Model, family: usize, index: TypeId, at: usize) -> Option<usize> {
        let Family { key, first, count } = self.families[family];
        match key {
            Key::Agents(_) => (at < count).then_some(first + at),
            Key::Sort(_) | Key::Range(..) => self.member(model, family, &model.value_at(index, at as u64)?),
        }
    }

    fn add_family(&mut self, key: Key, names: Vec<String>) -> usize {
        let family = self.families.len();
        self.families.push(Family { key, first: self.lanes.len(), count: names.len() });
        let sort = if let Key::Sort(sort) = key { Some(sort) } else { None };
        let lane = |name| Lane { name, kind: LaneKind::Part, family: Some(family), sort };
        self.lanes.extend(names.into_iter().map(lane));
        family
    }

    /// Processes, as the front end tells of them.
    fn add_agents(&mut self, model: &Model, trace: &Trace) {
        for agents in &model.agents {
            let var = agents.var;
            let name = &model.vars[var].name;
            self.places[var.index()] = Some(agents.field as usize);
            let actor = match model.kind(model.vars[var].ty) {
                Type::Array { index, .. } => {
                    let length = |state: &State| match state.value(var) {
                        Value::Array(entries) => entries.len(),
                        _ => 0,
                    };
                    let count = trace.states().map(length).max().unwrap_or(0);
                    let entry = |at: usize| match model.value_at(*index, at as u64) {
                        Some(value) => format!("{name}[{}]", model.show(&value)),
                        None => format!("{name}[{at}]"),
                    };
                    let family = self.add_family(Key::Agents(var), (0..count).map(entry).collect());
                    self.owners[var.index()] = VarOwner::Entry(family);
                    Actor::Parameter(0, family)
                }
                _ => {
                    let lane = self.add_part(name.clone());
                    self.owners[var.index()] = VarOwner::Lane(lane);
                    Actor::Lane(lane)
                }
            };
            for rule in agents.locations.iter().flat_map(|location| &location.rules) {
                self.actors[rule.index()] = actor;
            }
        }
    }

    fn add_part(&mut self, name: String) -> usize {
        self.lanes.push(Lane { name, kind: LaneKind::Part, family: None, sort: None });
        self.lanes.len() - 1
    }

    /// Automata without a family: each has a variable of its name, and rules that say `Name: Here -> There`. False if there are
    /// none.
    fn add_automata(&mut self, model: &Model) -> bool {
        let mut by_name = BTreeMap::new();
        for rule in model.rules.iter() {
            for name in automata_in(&rule.name) {
                let of_name = |(_, var): &(VarId, &shoal_model::Var)| {
                    var.name == name && matches!(model.kind(var.ty), Type::Enum { .. })
                };
                if !by_name.contains_key(name)
                    && let Some((var, _)) = model.vars.enumerate().find(of_name)
                {
                    by_name.insert(name.to_string(), var);
                }
            }
        }
        let mut declared: Vec<(VarId, String)> = by_name.into_iter().map(|(name, var)| (var, name)).collect();
        declared.sort();
        for (_, name) in &declared {
            let lane = self.add_part(name.clone());
            let own = |var: &str| {
                var == name || var.strip_prefix(name.as_str()).is_some_and(|it| it.starts_with('.'))
            };
            for (id, var) in model.vars.enumerate().filter(|(_, var)| own(&var.name)) {
                let _ = var;
                self.owners[id.index()] = VarOwner::Lane(lane);
            }
        }
        for (id, rule) in model.rules.enumerate() {
            let first = automata_in(&rule.name).next();
            let lane = first.and_then(|name| self.lanes.iter().position(|lane| lane.name == name));
            if let Some(lane) = lane {
                self.actors[id.index()] = Actor::Lane(lane);
            }
        }
        !declared.is_empty()
    }

    /// Families of elements, with owners and actors inferred.
    fn add_families(&mut self, model: &Model, writes: &RuleWrites<'_>) {
        let keys = families_of(model);
        let found = infer::infer(model, &keys, writes);
        let mut numbers = BTreeMap::new();
        for (at, key) in keys.iter().enumerate() {
            let acts = found.actors.iter().any(|actor| matches!(actor, Actor::Parameter(_, of) if *of == at));
            let owns = found.owners.contains(&VarOwner::Entry(at));
            if acts && owns {
                let names = names_of(model, *key);
                let number = self.add_family(*key, names);
                numbers.insert(at, number);
            }
        }
        for (var, owner) in found.owners.into_iter().enumerate() {
            self.owners[var] = match owner {
                VarOwner::Entry(at) => {
                    numbers.get(&at).map_or(VarOwner::Shared, |family| VarOwner::Entry(*family))
                }
                other => other,
            };
        }
        for (rule, actor) in found.actors.into_iter().enumerate() {
            self.actors[rule] = match actor {
                Actor::Parameter(parameter, at) => {
                    numbers.get(&at).map_or(Actor::Shared, |family| Actor::Parameter(parameter, *family))
                }
                other => other,
            };
        }
    }

    /// One lane for what is shared.
    fn add_shared(&mut self, model: &Model) {
        let name = self.shared_name(model);
        self.lanes.push(Lane { name, kind: LaneKind::Shared, family: None, sort: None });
    }

    /// What is shared is named as most of the rules that are nobody's begin, if they agree on a word.
    fn shared_name(&self, model: &Model) -> String {
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        let nobodys = |(id, _): &(RuleId, &shoal_model::Rule)| self.actors[id.index()] == Actor::Shared;
        let mut all = 0;
        for (_, rule) in model.rules.enumerate().filter(nobodys) {
            *words.entry(first_word(&rule.name)).or_default() += 1;
            all += 1;
        }
        let commonest = words.into_iter().max_by_key(|(_, count)| *count);
        match commonest {
            Some((word, count))
                if !word.is_empty() && count >= 2 && 2 * count >= all && !self.lanes.is_empty() =>
            {
                word
            }
            _ if self.lanes.is_empty() => model.name.clone(),
            _ => "shared".into(),
        }
    }

    /// Bags and lists, the channels of processes, and variables that begin with a value that says nothing and are written by
    /// others than their owner.
    fn find_mailboxes(&mut self, model: &Model, start: &State, writes: &RuleWrites<'_>) {
        let foreign = self.written_by_others(model, writes);
        for (id, var) in model.vars.enumerate() {
            let carries = |part: &Type| matches!(part, Type::Multiset { .. } | Type::Sequence { .. });
            let channel = !model.agents.is_empty() && is_channel(model, var.ty);
            let empty = match (model.kind(var.ty), start.value(id)) {
                (Type::Array { index, element }, Value::Array(values)) if !is_heap(model, *index) => {
                    (is_message(model, *element) || is_slots(model, *element))
                        && values.iter().all(|value| is_neutral(model, *element, value))
                }
                _ => false,
            };
            self.mailboxes[id.index()] =
                model.type_contains(var.ty, &carries) || channel || empty && foreign[id.index()];
        }
    }

    /// The variables that rules write of which they are not the actor's own.
    fn written_by_others(&self, model: &Model, writes: &RuleWrites<'_>) -> Vec<bool> {
        let mut foreign = vec![false; model.vars.len()];
        for id in model.rules.ids() {
            for (var, parameter) in writes.of(id).iter().copied() {
                let own = match (self.owners[var.index()], self.actors[id.index()]) {
                    (VarOwner::Shared, actor) => actor == Actor::Shared,
                    (VarOwner::Entry(family), Actor::Parameter(at, of)) => {
                        family == of && parameter == Some(at)
                    }
                    (VarOwner::Lane(lane), Actor::Lane(own)) => lane == own,
                    _ => false,
                };
                foreign[var.index()] |= !own;
            }
        }
        foreign
    }
}

/// The automata that a rule names: `Train(0)` and `Box` in `Train(0): Away -> Near, Box: Free -> Taken`.
fn automata_in(rule: &str) -> impl Iterator<Item = &str> {
    rule.split(", ").filter_map(|part| {
        let (name, moves) = part.split_once(": ")?;
        moves.contains(" -> ").then_some(name)
    })
}

/// What an array has entries of; the type itself if it is no array.
fn entry_of(model: &Model, ty: TypeId) -> TypeId {
    match model.kind(ty) {
        Type::Array { element, .. } => *element,
        _ => ty,
    }
}

/// Whether values are called `main:19` and the like.
fn counts_lines(model: &Model, ty: TypeId) -> bool {
    let Type::Enum { variants } = model.kind(entry_of(model, ty)) else { return false };
    let is_line = |name: &&String| {
        let line = name.split_once(':').map(|(_, line)| line);
        line.is_some_and(|line| line.starts_with(|it: char| it.is_ascii_digit()))
    };
    2 * variants.iter().filter(is_line).count() > variants.len()
}

/// A channel of processes: how many messages there are, and the messages.
pub(crate) fn is_channel(model: &Model, ty: TypeId) -> bool {
    match model.kind(ty) {
        Type::Record { fields } => match fields.as_slice() {
            [len, messages] => len.name == "len" && messages.name == "messages",
            _ => false,
        },
        Type::Array { element, .. } => is_channel(model, *element),
        _ => false,
    }
}

/// Whether an array holds objects that come and go.
fn is_heap(model: &Model, index: TypeId) -> bool {
    model.sorts_of(index).iter().any(|sort| model.sorts[*sort].fixed_size().is_none())
}

/// Whether values of a type can say that there is nothing, and something else.
fn is_message(model: &Model, ty: TypeId) -> bool {
    matches!(model.kind(ty), Type::Enum { .. } | Type::Record { .. } | Type::Union { .. })
}

/// Whether an array is a row of places for messages.
pub(crate) fn is_slots(model: &Model, ty: TypeId) -> bool {
    match model.kind(ty) {
        Type::Array { index, element } => {
            !is_heap(model, *index) && is_message(model, *element) && !is_channel(model, *element)
        }
        _ => false,
    }
}

/// The families that some rule runs through and some variable is indexed by.
fn families_of(model: &Model) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let indices: Vec<Key> = model
        .vars
        .iter()
        .filter_map(|var| match model.kind(var.ty) {
            Type::Array { index, .. } => Some(keys_of(model, *index)),
            _ => None,
        })
        .flatten()
        .collect();
    for rule in model.rules.iter() {
        for parameter in &rule.params {
            let Domain::Type(ty) = &parameter.domain else { continue };
            for key in keys_of(model, *ty) {
                if indices.contains(&key) && !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
    }
    keys
}

/// What the values of a type number.
pub(crate) fn keys_of(model: &Model, ty: TypeId) -> Vec<Key> {
    match model.kind(ty) {
        Type::Ref { sort, nullable: false } if model.sorts[*sort].fixed_size().is_some() => {
            vec![Key::Sort(*sort)]
        }
        Type::Int { lo, hi } => vec![Key::Range(*lo, *hi, named_range(model, ty))],
        Type::Union { members } => members.iter().flat_map(|member| keys_of(model, *member)).collect(),
        _ => Vec::new(),
    }
}

/// The type with a name that a range is of: where it has none itself, the only one with the same numbers. Two types with names number
/// different things, even if they have the same numbers.
fn named_range(model: &Model, ty: TypeId) -> Option<TypeId> {
    if model.types[ty].name.is_some() {
        return Some(ty);
    }
    let same = |other: &TypeId| model.types[*other].name.is_some() && model.kind(*other) == model.kind(ty);
    let mut others = model.types.ids().filter(same);
    others.next().filter(|_| others.next().is_none())
}

fn names_of(model: &Model, key: Key) -> Vec<String> {
    match key {
        Key::Sort(sort) => {
            let sort = &model.sorts[sort];
            (0..sort.fixed_size().unwrap_or(0)).map(|element| sort.element_name(element)).collect()
        }
        Key::Range(lo, hi, named) => {
            let name = named.and_then(|ty| model.types[ty].name.clone()).unwrap_or_else(|| "part".into());
            (lo..=hi).map(|number| format!("{name} {number}")).collect()
        }
        Key::Agents(_) => Vec::new(),
    }
}
