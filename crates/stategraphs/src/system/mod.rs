//! The processes of a model one by one: what state-graphs are made of.
//!
//! The paper's PTMTS: every process has rules with a guard over variables and timers, and assignments of constants.
//! A Model is taken apart into that form: its variables into scalar cells, each rule into an instance for each
//! process, each guard into a disjunction of conjunctions. What does not fit is refused by name.

mod conditions;
mod kinship;
mod limits;
mod places;
mod rules;

use shoal_dbm::{ClockBounds, Constraint};
use shoal_model::{LocalId, Model, RuleId, SortId, SortSize, Type, TypeId, TypedId, Unsupported, Value};
use shoal_syntax::Span;

use self::{kinship::Kinship, limits::ControlLimits};

/// A set of values of a cell, by position.
pub type ValueMask = u128;

/// A scalar variable, or a scalar part of one.
#[derive(Clone, Debug)]
pub struct ProcessCell {
    /// Its name with indices.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// The element whose cell it is, where it is an entry of an array over a sort.
    pub owner: Option<(SortId, u32)>,
    /// How many values it can have.
    pub size: u32,
    /// Its value at the start.
    pub start: u32,
}

/// A timer.
#[derive(Clone, Debug)]
pub struct Timer {
    /// Its name with indices.
    pub name: String,
    /// The element whose timer it is.
    pub owner: Option<(SortId, u32)>,
    /// What it is compared with, anywhere.
    pub limits: ClockBounds,
}

/// A conjunction: what cells may be, and constraints on timers (clock 1 is timer 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conjunction {
    /// The values that cells may have; each cell once, in order.
    pub cells: Vec<(usize, ValueMask)>,
    /// Constraints on timers.
    pub timers: Vec<Constraint>,
}

/// Any of several conjunctions.
pub type Dnf = Vec<Conjunction>;

/// A rule of one process.
#[derive(Clone, Debug)]
pub struct ProcessRule {
    /// The rule of the model.
    pub rule: RuleId,
    /// When it may fire. A guard with several disjuncts becomes several rules.
    pub guard: Conjunction,
    /// The values it assigns.
    pub assigns: Vec<(usize, u32)>,
    /// The timers it sets.
    pub resets: Vec<(usize, i32)>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its sort.
    pub sort: SortId,
    /// Its number.
    pub element: u32,
    /// Its name.
    pub name: String,
    /// Its rules.
    pub rules: Vec<ProcessRule>,
    /// What holds while it lives.
    pub invariant: Vec<Dnf>,
    /// What it compares timers with from each of its modes on.
    pub(crate) limits: ControlLimits,
}

/// All processes, and what they share.
#[derive(Clone, Debug)]
pub struct ProcessSystem<'m> {
    /// The model.
    pub model: &'m Model,
    /// Its scalar variables.
    pub cells: Vec<ProcessCell>,
    /// Its clocks.
    pub timers: Vec<Timer>,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Invariants that belong to no process.
    pub invariant: Vec<Dnf>,
    /// What each timer is compared with in these and in properties.
    pub(crate) common_limits: Vec<ClockBounds>,
    /// What permutations of processes do to cells, timers and values.
    pub(crate) kinship: Kinship,
}

type OrUnsupported<T> = Result<T, Unsupported>;

fn unsupported<T>(construct: impl Into<String>, span: Span) -> OrUnsupported<T> {
    Err(Unsupported { engine: "state-graph", construct: construct.into(), span: Some(span) })
}

/// Values of bound variables.
type BoundValues = Vec<(LocalId, Value)>;

impl<'m> ProcessSystem<'m> {
    /// Takes a model apart.
    pub fn new(model: &'m Model) -> OrUnsupported<ProcessSystem<'m>> {
        let mut system = ProcessSystem {
            model,
            cells: Vec::new(),
            timers: Vec::new(),
            processes: Vec::new(),
            invariant: Vec::new(),
            common_limits: Vec::new(),
            kinship: Kinship::default(),
        };
        for (_, sort) in model.sorts.enumerate() {
            if !matches!(sort.size, SortSize::Fixed(_)) {
                return unsupported(format!("sort `{}` without a fixed size", sort.name), sort.span);
            }
        }
        system.layout()?;
        system.start()?;
        for (sort, def) in model.sorts.enumerate() {
            for element in 0..def.fixed_size().unwrap_or(0) {
                let name = format!("{}[{}]", def.name, element + def.first);
                system.processes.push(Process {
                    sort,
                    element,
                    name,
                    rules: Vec::new(),
                    invariant: Vec::new(),
                    limits: ControlLimits::default(),
                });
            }
        }
        system.rules()?;
        system.invariants()?;
        system.limits();
        system.kinship = Kinship::new(&system);
        Ok(system)
    }

    /// The process that is an element of a sort.
    pub fn process(&self, sort: SortId, element: u32) -> Option<usize> {
        self.processes.iter().position(|process| process.sort == sort && process.element == element)
    }
}

/// A value of a cell as a person reads it.
pub fn show_value(model: &Model, ty: TypeId, position: u32) -> String {
    match (model.value_at(ty, position.into()), model.kind(ty)) {
        (Some(Value::Int(value)), _) => value.to_string(),
        (Some(Value::Bool(value)), _) => value.to_string(),
        (Some(Value::Null), _) => "0".into(),
        (Some(Value::Elem(sort, element)), _) => (element + model.sorts[sort].first).to_string(),
        (Some(Value::Enum(_, at)), Type::Enum { variants }) => variants[at as usize].clone(),
        _ => format!("{}", TypeId::from_index(ty.index())),
    }
}
