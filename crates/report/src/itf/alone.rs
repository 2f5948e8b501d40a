//! A run without its model: the file of another tool, or one whose model is not here.
//!
//! A model is made up that has the variables of the file, with types read off their values, and a rule for what each step is called
//! and who takes it. Its rules do nothing: it is told of and never run.
//!
//! | in the file | in the model |
//! |---|---|
//! | truth values, integers | the same |
//! | records that all have the same fields | records |
//! | maps | arrays over all keys that occur; undefined where a key is missing |
//! | sets, lists | bags and lists of what is in them, as text |
//! | everything else | the texts that occur, as constants |
//!
//! The parts are the keys of maps that every state has, if steps name them or change one of them at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value as Json;
use shoal::{Loaded, Told};
use shoal_model::{
    Code, Field, Model, Property, PropertyKind, Ratio, Rule, RuleId, State, Step, Trace, Type, TypeDef,
    TypeId, Value, Var, VarId,
};
use shoal_story::ObservedParts;
use shoal_syntax::{SourceMap, Span};

use super::{SavedTrace, TraceError, show};

/// A run that was told from its file alone.
#[derive(Clone, Debug)]
pub struct LoneTrace {
    /// A model of the states; it cannot be run.
    pub loaded: Loaded,
    /// The run.
    pub trace: Trace,
    /// Who does what in it.
    pub told: Told,
}

/// More keys than this are places and not parts.
const MOST_PARTS: usize = 64;

/// Makes a model of a file, and tells its run. `name` is what the run is of.
pub(super) fn told(saved: &SavedTrace, name: &str) -> Result<LoneTrace, TraceError> {
    let states = saved.states();
    if saved.loops_to().is_some_and(|to| to >= states.len()) {
        return Err(TraceError("the trace loops to a state that it does not have".into()));
    }
    let mut maker = RunModelMaker::new(name);
    maker.add_variables(states);
    let values: Vec<State> = states.iter().map(|state| maker.state(state)).collect();
    let keyed = maker.keyed(states);
    let mut parts = parts(&maker.model, saved, &keyed, &values);
    let mut steps = Vec::new();
    let mut rules: BTreeMap<(String, Option<String>), RuleId> = BTreeMap::new();
    for (at, state) in states.iter().enumerate().skip(1) {
        let actor = actor(&parts, state, &values[at - 1], &values[at]);
        let label = show::label(state, at);
        let rule = *rules.entry((label.clone(), actor.clone())).or_insert_with(|| {
            parts.actors.push(actor);
            maker.model.rules.push(rule(label))
        });
        let (delay, args, choices) = (delay(state), Vec::new(), Vec::new());
        steps.push(Step { delay, rule, args, choices, state: values[at].clone() });
    }
    let start = maker.model.starts.push(rule(show::label(&states[0], 0)));
    let name = "no run-time errors".to_string();
    maker.model.properties.push(Property { name, kind: PropertyKind::NoFaults, span: Span::default() });
    let trace = Trace {
        start,
        args: Vec::new(),
        choices: Vec::new(),
        state: values[0].clone(),
        steps,
        loops_to: saved.loops_to(),
    };
    finish(maker.model, trace, &parts)
}

fn finish(model: Model, trace: Trace, parts: &ObservedParts) -> Result<LoneTrace, TraceError> {
    let name = model.name.clone();
    let cannot = |why: String| TraceError(format!("the trace cannot be told: {why}"));
    let mut loaded = Loaded::of_model(model).map_err(|error| cannot(error.to_string()))?;
    // There is no text that anybody wrote, and nothing that anybody asked.
    loaded.asked.clear();
    loaded.sources = SourceMap::new();
    loaded.sources.add(name.as_str(), "");
    let told = shoal::tell_observed(&loaded, &trace, parts);
    let told = told.ok_or_else(|| cannot("it is not a run".into()))?;
    Ok(LoneTrace { loaded, trace, told })
}

fn rule(name: String) -> Rule {
    Rule {
        name,
        params: Vec::new(),
        bindings: Vec::new(),
        guard: None,
        code: Code::default(),
        priority: 0,
        urgent: false,
        span: Span::default(),
    }
}

/// Time that passes before a step, where the file says so.
fn delay(state: &Json) -> Ratio {
    let text = state["#meta"]["shoal"]["delay"].as_str().unwrap_or("0");
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let ratio =
        above.parse().ok().zip(below.parse().ok()).and_then(|(above, below)| Ratio::new(above, below));
    ratio.unwrap_or(Ratio::ZERO)
}

/// The model that is made up.
struct RunModelMaker {
    model: Model,
    /// The types that maps with the same keys are indexed by.
    indices: HashMap<Vec<String>, TypeId>,
    /// The numbers of the texts of each type.
    numbers: HashMap<TypeId, HashMap<String, u32>>,
}

impl RunModelMaker {
    fn new(name: &str) -> RunModelMaker {
        let model = Model { name: name.into(), ..Model::default() };
        RunModelMaker { model, indices: HashMap::new(), numbers: HashMap::new() }
    }

    /// Every variable that some state has, in the order of the file.
    fn add_variables(&mut self, states: &[Json]) {
        let mut known = BTreeSet::new();
        for state in states {
            for (name, _) in show::variables(state) {
                if !known.insert(name.clone()) {
                    continue;
                }
                let values: Vec<&Json> = states.iter().filter_map(|state| state.get(name)).collect();
                let ty = self.type_of(&values);
                self.model.vars.push(Var { name: name.clone(), ty, span: Span::default() });
            }
        }
    }

    fn add(&mut self, kind: Type) -> TypeId {
        self.model.types.push(TypeDef { name: None, kind })
    }

    /// The type that all of these values have.
    fn type_of(&mut self, values: &[&Json]) -> TypeId {
        let there: Vec<&Json> = values.iter().copied().filter(|value| !is_nothing(value)).collect();
        let all = |is: fn(&Json) -> bool| !there.is_empty() && there.iter().all(|value| is(value));
        let lists = |list: fn(&Json) -> Option<&Vec<Json>>| -> Option<Vec<&Vec<Json>>> {
            there.iter().map(|value| list(value)).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
        };
        if all(Json::is_boolean) {
            return self.add(Type::Bool);
        }
        if let Some(numbers) = there.iter().map(|value| number(value)).collect::<Option<Vec<i64>>>()
            && let (Some(lo), Some(hi)) = (numbers.iter().min(), numbers.iter().max())
        {
            return self.add(Type::Int { lo: *lo, hi: *hi });
        }
        if all(show::is_record)
            && let Some(names) = same_fields(&there)
        {
            return self.record(&names, &there);
        }
        if let Some(maps) = there.iter().map(|value| show::entries(value)).collect::<Option<Vec<_>>>()
            && !maps.is_empty()
        {
            return self.map(&maps);
        }
        if let Some(sets) = lists(|value| value.get("#set")?.as_array()) {
            let (capacity, element) = self.elements(&sets);
            return self.add(Type::Multiset { capacity, element });
        }
        if let Some(lists) = lists(Json::as_array) {
            let (capacity, element) = self.elements(&lists);
            return self.add(Type::Sequence { capacity, element });
        }
        self.words(there.iter().map(|value| show::text(value)))
    }

    /// The texts that occur, as constants.
    fn words(&mut self, texts: impl Iterator<Item = String>) -> TypeId {
        let (mut variants, mut numbers) = (Vec::new(), HashMap::new());
        for text in texts {
            if !numbers.contains_key(&text) {
                numbers.insert(text.clone(), variants.len() as u32);
                variants.push(text);
            }
        }
        // A type has values, even if nobody has seen one.
        if variants.is_empty() {
            variants.push("–".to_string());
        }
        let ty = self.add(Type::Enum { variants });
        self.numbers.insert(ty, numbers);
        ty
    }

    fn record(&mut self, names: &[String], records: &[&Json]) -> TypeId {
        let mut fields = Vec::new();
        for name in names {
            let values: Vec<&Json> = records.iter().filter_map(|record| record.get(name)).collect();
            fields.push(Field { name: name.clone(), ty: self.type_of(&values) });
        }
        self.add(Type::Record { fields })
    }

    fn map(&mut self, maps: &[Vec<(&Json, &Json)>]) -> TypeId {
        let mut keys: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for (key, _) in maps.iter().flatten() {
            let key = show::text(key);
            if known.insert(key.clone()) {
                keys.push(key);
            }
        }
        if keys.iter().all(|key| key.parse::<i64>().is_ok()) {
            keys.sort_by_key(|key| key.parse::<i64>().unwrap_or(0));
        }
        let values: Vec<&Json> = maps.iter().flatten().map(|(_, value)| *value).collect();
        let element = self.type_of(&values);
        let index = match self.indices.get(&keys) {
            Some(index) => *index,
            None => {
                let index = self.words(keys.iter().cloned());
                self.indices.insert(keys, index);
                index
            }
        };
        self.add(Type::Array { index, element })
    }

    /// How many elements there are at most, and their type.
    fn elements(&mut self, lists: &[&Vec<Json>]) -> (u32, TypeId) {
        let most = lists.iter().map(|list| list.len()).max().unwrap_or(0).max(1);
        let element = self.words(lists.iter().flat_map(|list| list.iter().map(show::text)));
        (u32::try_from(most).unwrap_or(u32::MAX), element)
    }

    fn state(&self, state: &Json) -> State {
        let value = |var: &Var| self.value(var.ty, state.get(&var.name).unwrap_or(&Json::Null));
        State { values: self.model.vars.iter().map(value).collect(), live: Vec::new() }
    }

    fn value(&self, ty: TypeId, json: &Json) -> Value {
        if is_nothing(json) {
            return Value::Undefined;
        }
        let found = match self.model.kind(ty) {
            Type::Bool => json.as_bool().map(Value::Bool),
            Type::Int { .. } => number(json).map(Value::Int),
            Type::Enum { .. } => self.word(ty, &show::text(json)),
            Type::Record { fields } => {
                let part = |field: &Field| self.value(field.ty, json.get(&field.name).unwrap_or(&Json::Null));
                Some(Value::Record(fields.iter().map(part).collect()))
            }
            Type::Array { index, element } => self.array(*index, *element, json),
            Type::Multiset { element, .. } => json.get("#set").and_then(Json::as_array).map(|items| {
                let mut items: Vec<Option<Value>> =
                    items.iter().map(|item| self.word(*element, &show::text(item))).collect();
                items.sort();
                Value::Multiset(items)
            }),
            Type::Sequence { element, .. } => json.as_array().map(|items| {
                Value::Sequence(
                    items.iter().filter_map(|item| self.word(*element, &show::text(item))).collect(),
                )
            }),
            Type::Ref { .. } | Type::Union { .. } | Type::Clock => None,
        };
        found.unwrap_or(Value::Undefined)
    }

    fn word(&self, ty: TypeId, text: &str) -> Option<Value> {
        let number = self.numbers.get(&ty)?.get(text)?;
        Some(Value::Enum(ty, *number))
    }

    fn array(&self, index: TypeId, element: TypeId, json: &Json) -> Option<Value> {
        let numbers = self.numbers.get(&index)?;
        let mut values = vec![Value::Undefined; numbers.len()];
        for (key, value) in show::entries(json)? {
            let at = *numbers.get(&show::text(key))?;
            values[at as usize] = self.value(element, value);
        }
        Some(Value::Array(values))
    }

    /// The variables that have an entry for each of some keys, in every state, by their keys.
    fn keyed(&self, states: &[Json]) -> Vec<(Vec<VarId>, Vec<String>)> {
        let mut found: Vec<(TypeId, Vec<VarId>)> = Vec::new();
        for (id, var) in self.model.vars.enumerate() {
            let Type::Array { index, .. } = self.model.kind(var.ty) else { continue };
            let count = self.numbers.get(index).map_or(0, HashMap::len);
            let whole = |state: &Json| {
                state.get(&var.name).and_then(show::entries).is_some_and(|entries| entries.len() == count)
            };
            if !(1..=MOST_PARTS).contains(&count) || !states.iter().all(whole) {
                continue;
            }
            match found.iter_mut().find(|(known, _)| known == index) {
                Some((_, vars)) => vars.push(id),
                None => found.push((*index, vec![id])),
            }
        }
        let keys = |index: TypeId| match self.model.kind(index) {
            Type::Enum { variants } => variants.clone(),
            _ => Vec::new(),
        };
        found.into_iter().map(|(index, vars)| (vars, keys(index))).collect()
    }
}

/// Undefined, or not there at all.
fn is_nothing(json: &Json) -> bool {
    let said = json.get("#unserializable").and_then(Json::as_str);
    json.is_null() || said.is_some_and(|said| said == "undefined" || said == "null")
}

fn number(json: &Json) -> Option<i64> {
    match json.get("#bigint") {
        Some(text) => text.as_str()?.parse().ok(),
        None => json.as_i64(),
    }
}

/// The names of the fields that all records have, if all have the same.
fn same_fields(records: &[&Json]) -> Option<Vec<String>> {
    let names =
        |record: &Json| -> Option<Vec<String>> { Some(record.as_object()?.keys().cloned().collect()) };
    let first = names(records.first()?)?;
    let same = |record: &&Json| names(record).is_some_and(|names| names == first);
    (!first.is_empty() && records.iter().all(same)).then_some(first)
}

/// Who takes part: as the file says, or the keys that steps name or change one at a time.
fn parts(
    model: &Model,
    saved: &SavedTrace,
    keyed: &[(Vec<VarId>, Vec<String>)],
    values: &[State],
) -> ObservedParts {
    let said = saved.lanes();
    let mut found = ObservedParts::default();
    for (vars, keys) in keyed {
        let named: Option<Vec<String>> = keys
            .iter()
            .map(|key| said.iter().find(|lane| is_called(model, lane, vars, key)).cloned())
            .collect();
        let family = named.or_else(|| acts(saved, vars, keys, values).then(|| keys.clone()));
        found.families.extend(family.map(|names| (vars.clone(), names)));
    }
    let of_family = |name: &String| found.families.iter().any(|(_, names)| names.contains(name));
    let (shared, others) = match said.split_last() {
        Some((last, others)) => (Some(last.clone()), others),
        None => (None, [].as_slice()),
    };
    let owns = |name: &String, var: &str| {
        var == name || var.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
    };
    let own = |name: &String| -> Vec<VarId> {
        model.vars.enumerate().filter(|(_, var)| owns(name, &var.name)).map(|(id, _)| id).collect()
    };
    found.singles =
        others.iter().filter(|name| !of_family(name)).map(|name| (name.clone(), own(name))).collect();
    let alone = found.families.is_empty() && found.singles.is_empty();
    found.shared = shared.unwrap_or_else(|| if alone { model.name.clone() } else { "shared".into() });
    found
}

/// Whether a lane is the part with a key: `client_1`, `station[0]`, `thread 1`.
fn is_called(model: &Model, lane: &str, vars: &[VarId], key: &str) -> bool {
    let entry = |var: &VarId| lane == format!("{}[{key}]", model.vars[*var].name);
    lane == key || vars.iter().any(entry) || lane.rsplit_once(' ').is_some_and(|(_, number)| number == key)
}

/// Whether keys are parts that act: steps name them, or most steps that change an entry change those of one key.
fn acts(saved: &SavedTrace, vars: &[VarId], keys: &[String], values: &[State]) -> bool {
    let picked = |state: &Json| show::picks(state).iter().any(|pick| keys.contains(pick));
    if saved.states().iter().skip(1).any(picked) {
        return true;
    }
    let changed: Vec<usize> = values
        .windows(2)
        .map(|pair| changed_keys(vars, &pair[0], &pair[1]).len())
        .filter(|count| *count > 0)
        .collect();
    let alone = changed.iter().filter(|count| **count == 1).count();
    keys.len() > 1 && !changed.is_empty() && 2 * alone >= changed.len()
}

/// The keys, by position, of which some variable changes. What is put into a bag or a list of another's is not that one's doing, so
/// these count only where nothing else changes.
fn changed_keys(vars: &[VarId], before: &State, after: &State) -> BTreeSet<usize> {
    let (mut own, mut put) = (BTreeSet::new(), BTreeSet::new());
    for var in vars {
        let (Value::Array(old), Value::Array(new)) = (before.value(*var), after.value(*var)) else {
            continue;
        };
        for at in (0..old.len()).filter(|at| old.get(*at) != new.get(*at)) {
            match old[at] {
                Value::Multiset(_) | Value::Sequence(_) => put.insert(at),
                _ => own.insert(at),
            };
        }
    }
    if own.is_empty() { put } else { own }
}

/// Who takes a step: whom the file names, whom the step is about, or the one part of which something changes.
fn actor(parts: &ObservedParts, state: &Json, before: &State, after: &State) -> Option<String> {
    let names =
        || parts.families.iter().flat_map(|(_, names)| names).chain(parts.singles.iter().map(|it| &it.0));
    if let Some(lane) = state["#meta"]["lane"].as_str() {
        return names().find(|name| *name == lane).cloned();
    }
    let picks = show::picks(state);
    let picked = picks.iter().find_map(|pick| names().find(|name| *name == pick));
    let mut changed = parts
        .families
        .iter()
        .flat_map(|(vars, names)| changed_keys(vars, before, after).into_iter().map(move |at| &names[at]));
    let one = changed.next().filter(|_| changed.next().is_none());
    picked.or(one).cloned()
}
