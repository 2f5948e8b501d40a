//! Where the parts can stand, and the ways between: a family of parts as an automaton, with how many stand where.
//!
//! A place is a value of the variable in which a part keeps where it stands. A way is a rule whose guard asks for one place and whose
//! body leads to another. What a rule does otherwise is not looked at: these are pictures, and no engine reads them.

use std::collections::{BTreeMap, BTreeSet};

use shoal_interpret::StateCell;
use shoal_model::{
    Argument, Expr, ExprKind, LocalId, Model, Place, Projection, Root, Rule, RuleId, State, Stmt, StmtKind,
    Type, TypeId, Value, VarId,
};

use crate::{Lanes, because::value_at};

/// Parts that are alike, as an automaton.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// What the parts are called.
    pub name: String,
    /// The lanes that are parts of this kind, and where each keeps its place.
    parts: Vec<(usize, StateCell)>,
    /// The places.
    pub places: Vec<String>,
    /// The ways between them.
    pub ways: Vec<Way>,
}

/// A way from one place to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The number of the place where it begins.
    pub from: usize,
    /// And of the one where it ends.
    pub to: usize,
    /// The rules that go this way.
    pub rules: Vec<RuleId>,
}

/// More places than this are a program, and no picture.
const MOST_PLACES: usize = 80;

/// Where a place is kept: a variable, and a field of its records.
type KeptPlace = (VarId, Option<usize>);

/// Whose place: of the element that a local is, or of the one that there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Element(LocalId),
    Only,
}

/// The automata of a model: of each kind of parts that has places and ways between them.
pub fn templates(model: &Model, lanes: &Lanes) -> Vec<Template> {
    let mut found: Vec<Template> = Vec::new();
    let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, lane) in lanes.lanes().iter().enumerate() {
        match lane.family {
            Some(family) => families.entry(family).or_default().push(at),
            None => found.extend(template(model, lanes, &[at])),
        }
    }
    found.extend(families.values().filter_map(|own| template(model, lanes, own)));
    let mut alike: Vec<Template> = Vec::new();
    for template in found {
        // Processes of one template that have variables of their own: `Train(0)` and `Train(1)`.
        let same = |other: &&mut Template| {
            other.places == template.places
                && stem(&other.name) == stem(&template.name)
                && other
                    .ways
                    .iter()
                    .map(|way| (way.from, way.to))
                    .eq(template.ways.iter().map(|way| (way.from, way.to)))
        };
        match alike.iter_mut().find(same) {
            Some(other) => {
                other.name = stem(&other.name).to_string();
                other.parts.extend(template.parts);
                for (way, more) in other.ways.iter_mut().zip(template.ways) {
                    way.rules.extend(more.rules);
                }
            }
            None => alike.push(template),
        }
    }
    alike
}

/// A name without the number of a part: `Train(0)`, `user[2]`, `client_1`, `node 3`.
fn stem(name: &str) -> &str {
    match name.find(['(', '[']) {
        Some(at) => &name[..at],
        None => name.trim_end_matches(|it: char| it.is_ascii_digit()).trim_end_matches(['_', ' ']),
    }
}

/// The automaton of some lanes of one family: by that of their variables which has the most ways.
fn template(model: &Model, lanes: &Lanes, own: &[usize]) -> Option<Template> {
    let first = *own.first()?;
    let name = &lanes.lanes()[first].name;
    let name = if own.len() > 1 { stem(name) } else { name };
    let kept = |cell: &StateCell| -> KeptPlace {
        let entry = usize::from(matches!(model.kind(model.vars[cell.var].ty), Type::Array { .. }));
        (cell.var, cell.path.get(entry).copied())
    };
    let candidates = cells(model, lanes, first).into_iter().filter_map(|cell| {
        let variants = variants(model, kept(&cell))?;
        let ways = ways(model, kept(&cell));
        (!ways.is_empty() && variants.len() <= MOST_PLACES).then_some((kept(&cell), variants, ways))
    });
    let (kept_in, places, ways) = candidates.max_by_key(|(_, _, ways)| ways.len())?;
    let part = |lane: &usize| {
        let cell = cells(model, lanes, *lane).into_iter().find(|cell| kept(cell) == kept_in)?;
        Some((*lane, cell))
    };
    Some(Template { name: name.to_string(), parts: own.iter().filter_map(part).collect(), places, ways })
}

/// The cells in which a lane could keep where it stands. Of a process, that is known.
fn cells(model: &Model, lanes: &Lanes, lane: usize) -> Vec<StateCell> {
    let known = lanes.belongings(lane).find_map(|(var, entry)| {
        let field = lanes.place(var)?;
        Some(StateCell { var, path: entry.into_iter().chain([field]).collect() })
    });
    match known {
        Some(cell) => vec![cell],
        // What others write into is no place.
        None => lanes.places_of(model, lane).into_iter().filter(|cell| !lanes.is_mailbox(cell.var)).collect(),
    }
}

/// The type of what is kept somewhere.
fn type_of(model: &Model, (var, field): KeptPlace) -> Option<TypeId> {
    let mut ty = model.vars[var].ty;
    if let Type::Array { element, .. } = model.kind(ty) {
        ty = *element;
    }
    match (field, model.kind(ty)) {
        (None, _) => Some(ty),
        (Some(at), Type::Record { fields }) => fields.get(at).map(|field| field.ty),
        (Some(_), _) => None,
    }
}

fn variants(model: &Model, kept: KeptPlace) -> Option<Vec<String>> {
    match model.kind(type_of(model, kept)?) {
        Type::Enum { variants } => Some(variants.clone()),
        _ => None,
    }
}

/// The ways that the rules of a model go through a variable.
fn ways(model: &Model, kept: KeptPlace) -> Vec<Way> {
    let mut ways: BTreeMap<(usize, usize), BTreeSet<RuleId>> = BTreeMap::new();
    for (id, rule) in model.rules.enumerate() {
        let reader = PlaceFinder { model, rule, kept };
        let mut here: BTreeMap<Whose, BTreeSet<usize>> = BTreeMap::new();
        rule.guard.iter().for_each(|guard| reader.asks(guard, &mut here));
        let mut there = Vec::new();
        reader.leads(&rule.code.body, &here, &mut there);
        for (from, to) in there {
            ways.entry((from, to)).or_default().insert(id);
        }
    }
    let way = |((from, to), rules): ((usize, usize), BTreeSet<RuleId>)| Way {
        from,
        to,
        rules: rules.into_iter().collect(),
    };
    ways.into_iter().map(way).collect()
}

/// Looks for the places of one variable in a rule.
struct PlaceFinder<'m> {
    model: &'m Model,
    rule: &'m Rule,
    kept: KeptPlace,
}

impl PlaceFinder<'_> {
    /// Whose place is kept there, if one is.
    fn whose(&self, place: &Place) -> Option<Whose> {
        let (var, field) = self.kept;
        let place = match place.root {
            Root::Var(_) => place.clone(),
            // A name for a part of a variable.
            Root::Local(local) => {
                let bound = self.rule.bindings.iter().find(|binding| binding.local == local)?;
                let Argument::Place(whole) = &bound.to else { return None };
                let mut whole = whole.clone();
                whole.path.extend(place.path.iter().cloned());
                whole
            }
        };
        if place.root != Root::Var(var) {
            return None;
        }
        let (whose, rest) = match place.path.split_first() {
            Some((Projection::Index(index), rest)) => match &index.kind {
                ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => {
                    (Whose::Element(*local), rest)
                }
                _ => return None,
            },
            _ => (Whose::Only, place.path.as_slice()),
        };
        let own = match rest {
            [] => None,
            [Projection::Field(at)] => Some(*at as usize),
            _ => return None,
        };
        (own == field).then_some(whose)
    }

    /// The number of a place, if an expression is one.
    fn place(&self, expr: &Expr) -> Option<usize> {
        match &expr.kind {
            ExprKind::Const(Value::Enum(ty, number)) => {
                (Some(*ty) == type_of(self.model, self.kept)).then_some(*number as usize)
            }
            _ => None,
        }
    }

    /// The places that a condition asks for.
    fn asks(&self, condition: &Expr, here: &mut BTreeMap<Whose, BTreeSet<usize>>) {
        for part in condition.conjuncts() {
            let alternatives = match &part.kind {
                ExprKind::Or(parts) => parts.iter().collect(),
                _ => vec![part],
            };
            let asked: Option<Vec<(Whose, usize)>> =
                alternatives.into_iter().map(|it| self.equation(it)).collect();
            for (whose, place) in asked.into_iter().flatten() {
                here.entry(whose).or_default().insert(place);
            }
        }
    }

    fn equation(&self, expr: &Expr) -> Option<(Whose, usize)> {
        let ExprKind::Equal(left, right) = &expr.kind else { return None };
        let (read, value) = match self.place(right) {
            Some(value) => (left, value),
            None => (right, self.place(left)?),
        };
        match &read.kind {
            ExprKind::Read(place) | ExprKind::Peek(place) => Some((self.whose(place)?, value)),
            _ => None,
        }
    }

    /// From where to where statements lead.
    fn leads(&self, body: &[Stmt], here: &BTreeMap<Whose, BTreeSet<usize>>, there: &mut Vec<(usize, usize)>) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    let to = self.whose(place).zip(self.place(value));
                    if let Some((from, to)) = to.and_then(|(whose, to)| Some((here.get(&whose)?, to))) {
                        there.extend(from.iter().map(|from| (*from, to)));
                    }
                }
                StmtKind::If(arms, otherwise) => {
                    for (condition, body) in arms {
                        let mut here = here.clone();
                        self.asks(condition, &mut here);
                        self.leads(body, &here, there);
                    }
                    self.leads(otherwise, here, there);
                }
                StmtKind::While { body, .. } | StmtKind::For { body, .. } => self.leads(body, here, there),
                // Nothing else writes one place.
                _ => {}
            }
        }
    }
}

impl Template {
    /// The lanes that are parts of this kind.
    pub fn lanes(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().map(|(lane, _)| *lane)
    }

    /// How many parts stand at each place in a state.
    pub fn counts(&self, state: &State) -> Vec<usize> {
        let mut counts = vec![0; self.places.len()];
        for at in self.parts.iter().filter_map(|(_, cell)| place_in(state, cell)) {
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        counts
    }
}

/// The number of the place that a cell holds; nothing if it holds none.
fn place_in(state: &State, cell: &StateCell) -> Option<usize> {
    match value_at(state, cell) {
        Some(Value::Enum(_, number)) => Some(*number as usize),
        _ => None,
    }
}
