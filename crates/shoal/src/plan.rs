//! The plan: which engine decides what, with which reductions, and why.
//!
//! A plan is a list of tasks. A task decides what the tasks before it left open, so an engine that is likely to be quick
//! can have its try, and another takes over what it could not do. What is announced is what is run.

use std::cell::OnceCell;

use shoal_analysis::{Symmetry, mirror};
use shoal_model::{Logic, Model, PropertyId, PropertyKind, SortId, SortSize};
use shoal_syntax::{Advice, Diagnostic, DiagnosticCode, Diagnostics};

use crate::{
    CheckOptions, Loaded, engines,
    symmetric::{Sorts, why_not_checked},
};

/// A sort that was declared interchangeable and is not.
pub const NOT_SYMMETRIC: DiagnosticCode = DiagnosticCode("W0001");

/// What will be done, and why in one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// What is asked: one verdict comes of each.
    pub asked: Vec<PropertyId>,
    /// The tasks, in the order they are run.
    pub tasks: Vec<Task>,
    /// The sorts to reduce by: all are proved symmetric, but for those that the user answers for. As the first task has them.
    pub symmetric: Vec<SortId>,
    /// Those that the user answers for.
    pub trusted: Vec<SortId>,
    /// Sorts to reduce by whose symmetry is checked in every state.
    pub checked: Vec<SortId>,
    /// Why, in one line.
    pub reason: String,
    /// For each sort that was declared symmetric and is not: where it is broken and why.
    pub warnings: Diagnostics,
}

/// One engine, and what it is to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The engine.
    pub engine: EngineKind,
    /// What it is to decide, as far as no task before it has.
    pub properties: Vec<PropertyId>,
    /// The sorts to reduce by.
    pub symmetric: Vec<SortId>,
    /// Those whose symmetry is checked in every state.
    pub checked: Vec<SortId>,
    /// For a sort of any size: the number of elements that is tried. Only a violation counts then.
    pub size: Option<(SortId, u32)>,
    /// How many states it may store, if it is only a try.
    pub states: Option<u64>,
    /// Why, in one line.
    pub reason: String,
}

/// The engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// Breadth-first search that keeps one representative of each orbit.
    #[default]
    Explicit,
    /// Sets of states as decision diagrams.
    Symbolic,
    /// How many elements are in each local state.
    Counters,
    /// Coverability: any number of elements.
    Cover,
    /// Views: any number of elements that refer to each other.
    Views,
    /// Zones in which like processes are counted.
    Timed,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [EngineKind; 6] = [
        EngineKind::Explicit,
        EngineKind::Symbolic,
        EngineKind::Counters,
        EngineKind::Cover,
        EngineKind::Views,
        EngineKind::Timed,
    ];

    /// The engine with a name.
    pub fn named(name: &str) -> Option<EngineKind> {
        EngineKind::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Explicit => "explicit",
            EngineKind::Symbolic => "symbolic",
            EngineKind::Counters => "counters",
            EngineKind::Cover => "cover",
            EngineKind::Views => "views",
            EngineKind::Timed => "timed",
        }
    }

    /// Whether it can be given a model in which variables are reset. A counter system has certificates, which speak of the
    /// model itself.
    pub(crate) fn takes_reduced_models(self) -> bool {
        !matches!(self, EngineKind::Cover | EngineKind::Views)
    }
}

/// Decides how a model is going to be checked.
pub fn plan(loaded: &Loaded, options: &CheckOptions) -> Plan {
    let asked = crate::select(loaded, &options.properties).unwrap_or_default();
    let planner = Planner {
        loaded,
        options,
        explicit: Sorts::new(&loaded.model, options, EngineKind::Explicit),
        others: OnceCell::new(),
    };
    let tasks = match options.engine {
        Some(engine) => planner.with(engine, asked.clone()),
        None => planner.auto(&asked),
    };
    let mut reasons: Vec<&str> = tasks.iter().map(|task| task.reason.as_str()).collect();
    reasons.dedup();
    let first = tasks.first().map_or(EngineKind::Explicit, |task| task.engine);
    let one_by_one =
        tasks.iter().find(|task| matches!(task.engine, EngineKind::Explicit | EngineKind::Timed));
    let warnings = match one_by_one.filter(|_| options.symmetry) {
        Some(task) => warnings(loaded, options, planner.sorts(task.engine)),
        None => Diagnostics::new(),
    };
    let reason = if reasons.is_empty() { "nothing is asked".into() } else { reasons.join("; then ") };
    let (symmetric, checked) = planner.reduced_by(first);
    let trusted = planner.sorts(first).trusted.clone();
    Plan { asked, tasks, symmetric, trusted, checked, reason, warnings }
}

/// So many states of a model with ten elements are tried one by one before elements are counted: they take a second or less.
const FEW_STATES: u64 = 20_000;
/// So many are visited one by one before sets of states are tried, where formulas of branching time need these anyway.
const MANY_STATES: u64 = 2_000_000;
/// With fewer elements than this, counting them gains little.
const MANY_ELEMENTS: u32 = 10;
/// Numbers of elements up to this are tried one by one where there may be any number.
const TRIED_SIZES: u32 = 6;

struct Planner<'a> {
    loaded: &'a Loaded,
    options: &'a CheckOptions,
    /// What the explicit engine reduces by, and what the others do, once that is asked: it takes a while.
    explicit: Sorts,
    others: OnceCell<Sorts>,
}

impl Planner<'_> {
    fn others(&self) -> &Sorts {
        self.others.get_or_init(|| Sorts::new(&self.loaded.model, self.options, EngineKind::Symbolic))
    }

    /// One engine for everything. In dense time, formulas may take far longer than what is asked of states: that is a task of its
    /// own, before them, and stays decided if a limit ends the rest.
    fn with(&self, engine: EngineKind, properties: Vec<PropertyId>) -> Vec<Task> {
        let model = &self.loaded.model;
        let of_states = |id: &PropertyId| {
            engine != EngineKind::Timed || !shoal_timed::is_temporal(&model.properties[*id].kind)
        };
        let (states, formulas): (Vec<PropertyId>, Vec<PropertyId>) =
            properties.into_iter().partition(of_states);
        let mut tasks = Vec::new();
        for properties in [states, formulas].into_iter().filter(|properties| !properties.is_empty()) {
            if engine == EngineKind::Timed {
                tasks.extend(self.sizes(&properties));
            }
            tasks.push(self.task(engine, properties));
        }
        tasks
    }

    /// The engine best for each property. What concerns single states comes first: it is often decided soon, and what
    /// follows may take long.
    fn auto(&self, asked: &[PropertyId]) -> Vec<Task> {
        let model = &self.loaded.model;
        let of = |kind: fn(&PropertyKind) -> bool| -> Vec<PropertyId> {
            asked.iter().copied().filter(|id| kind(&model.properties[*id].kind)).collect()
        };
        if model.has_clocks() {
            return self.with(EngineKind::Timed, asked.to_vec());
        }
        if shoal_cover::is_net(model) {
            return self.of_net(asked);
        }
        if model.sorts.iter().any(|sort| sort.size == SortSize::Any) && !asked.is_empty() {
            // What can be counted is proved with a certificate; the rest is left to views.
            let engines = [EngineKind::Cover, EngineKind::Views];
            return engines.map(|engine| self.task(engine, asked.to_vec())).to_vec();
        }
        if engines::saves(self.options) {
            // Only explicit search can be saved, and what goes on must be what was saved.
            return self.with(EngineKind::Explicit, asked.to_vec());
        }
        let linear = of(|kind| matches!(kind, PropertyKind::Temporal(Logic::Ltl, _)));
        let branching = of(|kind| matches!(kind, PropertyKind::Temporal(Logic::Ctl, _)));
        let states = of(|kind| {
            !matches!(kind, PropertyKind::Temporal(..) | PropertyKind::Extreme(_) | PropertyKind::Unclear(_))
        });
        let mut tasks = Vec::new();
        let counted = self.counts([&states[..], &branching].concat().as_slice());
        let all = [&states[..], &linear, &branching].concat();
        if branching.is_empty() {
            if counted && !states.is_empty() {
                tasks.push(Task {
                    states: Some(self.few_states()),
                    ..self.task(EngineKind::Explicit, states.clone())
                });
                tasks.push(self.task(EngineKind::Counters, states));
            }
        } else {
            let few = if counted { self.few_states() } else { MANY_STATES };
            let on_sets = [&states[..], &branching].concat();
            tasks.push(Task { states: Some(few), ..self.task(EngineKind::Explicit, all.clone()) });
            // Constraints that name every element keep them from being counted; one by one, an element stands for all.
            if counted && model.fairness.iter().any(|condition| !mirror::named(condition).is_empty()) {
                if !states.is_empty() {
                    tasks.push(self.task(EngineKind::Counters, states.clone()));
                }
                tasks
                    .push(Task { states: Some(MANY_STATES), ..self.task(EngineKind::Explicit, all.clone()) });
            }
            if self.options.symmetry && !self.others().proved.is_empty() {
                tasks.push(self.task(EngineKind::Counters, on_sets.clone()));
            }
            tasks.push(self.task(EngineKind::Symbolic, on_sets));
        }
        if !all.is_empty() {
            tasks.push(self.task(EngineKind::Explicit, all));
        }
        let timed = of(|kind| matches!(kind, PropertyKind::Temporal(Logic::Tctl, _)));
        if !timed.is_empty() {
            tasks.push(self.task(EngineKind::Timed, timed));
        }
        tasks
    }

    /// Nets: whether something can be covered, for any number of tokens. What that does not answer is looked for marking by
    /// marking, where there is one to begin with.
    fn of_net(&self, asked: &[PropertyId]) -> Vec<Task> {
        let model = &self.loaded.model;
        let mut tasks = self.with(EngineKind::Cover, asked.to_vec());
        let begins = model.starts.iter().all(|start| start.params.is_empty());
        let all_covered = asked.iter().all(|id| shoal_cover::counts(model, *id));
        if begins && !all_covered {
            tasks.push(self.task(EngineKind::Explicit, asked.to_vec()));
        }
        tasks
    }

    /// What a state costs grows with the steps from it and with its size, and so with the square of the elements.
    fn few_states(&self) -> u64 {
        let size = |sort: &SortId| u64::from(self.loaded.model.sorts[*sort].fixed_size().unwrap_or(0));
        let elements: u64 = self.others().proved.iter().map(size).sum();
        (FEW_STATES * 100 / (elements * elements).max(1)).max(100)
    }

    /// Whether it is worth a try to count elements: every property allows it, and there are many.
    fn counts(&self, properties: &[PropertyId]) -> bool {
        let model = &self.loaded.model;
        let plain = self.options.symmetry
            && engines::is_plain(self.options)
            && !engines::saves(self.options)
            && self.options.watch.limits().depth.is_none();
        let many = |sort: &SortId| model.sorts[*sort].fixed_size().is_some_and(|size| size >= MANY_ELEMENTS);
        plain
            && model.sorts.ids().any(|sort| many(&sort))
            && self.others().proved.iter().any(many)
            && properties.iter().all(|id| shoal_counters::supports(model, &self.others().proved, *id).is_ok())
    }

    /// With clocks and any number of like processes: the smallest numbers, one by one, as a violation needs a number.
    fn sizes(&self, properties: &[PropertyId]) -> Vec<Task> {
        let model = &self.loaded.model;
        let mut any = model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any);
        let (Some((id, sort)), None) = (any.next(), any.next()) else { return Vec::new() };
        let tried = |size: u32| Task {
            size: Some((id, size)),
            reason: format!("zones with 1 to {TRIED_SIZES} of {}", sort.name),
            ..self.task(EngineKind::Timed, properties.to_vec())
        };
        (1..=TRIED_SIZES).map(tried).collect()
    }

    fn task(&self, engine: EngineKind, properties: Vec<PropertyId>) -> Task {
        let (symmetric, checked) = self.reduced_by(engine);
        Task { engine, properties, symmetric, checked, size: None, states: None, reason: self.reason(engine) }
    }

    fn sorts(&self, engine: EngineKind) -> &Sorts {
        if engine == EngineKind::Explicit { &self.explicit } else { self.others() }
    }

    /// The sorts that an engine reduces by, and those whose symmetry it checks.
    fn reduced_by(&self, engine: EngineKind) -> (Vec<SortId>, Vec<SortId>) {
        let sorts = self.sorts(engine);
        match engine {
            EngineKind::Cover | EngineKind::Views => (Vec::new(), Vec::new()),
            EngineKind::Explicit | EngineKind::Symbolic | EngineKind::Counters | EngineKind::Timed
                if self.options.symmetry =>
            {
                ([&sorts.proved[..], &sorts.trusted].concat(), sorts.checked.clone())
            }
            EngineKind::Explicit | EngineKind::Symbolic | EngineKind::Counters | EngineKind::Timed => {
                (Vec::new(), Vec::new())
            }
        }
    }

    fn reason(&self, engine: EngineKind) -> String {
        match engine {
            EngineKind::Explicit => self.search(engine, "explicit search, breadth first"),
            EngineKind::Timed => self.search(engine, "zones, breadth first"),
            EngineKind::Views => {
                "views: small instances first, then what a few elements can look like among any number".into()
            }
            EngineKind::Cover => cover_reason(&self.loaded.model),
            EngineKind::Symbolic | EngineKind::Counters if self.options.engine.is_some() => {
                format!("{} engine: asked for", engine.name())
            }
            EngineKind::Symbolic => "symbolic engine: sets of states".into(),
            EngineKind::Counters => "counters engine: elements that can be counted".into(),
        }
    }

    fn search(&self, engine: EngineKind, words: &str) -> String {
        reason(&self.loaded.model, self.sorts(engine), self.options.symmetry, words)
    }
}

fn cover_reason(model: &Model) -> String {
    let starts: Vec<&str> = model.starts.iter().map(|start| start.name.as_str()).collect();
    let from = if starts.len() == 1 { format!(" from {}", starts[0]) } else { String::new() };
    format!("coverability{from}: views, state inequation, forward and backward search")
}

fn reason(model: &Model, sorts: &Sorts, wanted: bool, engine: &str) -> String {
    if model.sorts.is_empty() {
        return format!("{engine}, every state: the model has no sorts");
    }
    if !wanted {
        return format!("{engine}, every state: symmetry is switched off");
    }
    let names = |sorts: &[SortId]| -> String {
        sorts.iter().map(|sort| model.sorts[*sort].name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let used = [&sorts.proved[..], &sorts.checked, &sorts.trusted].concat();
    let left: Vec<SortId> = model.sorts.ids().filter(|sort| !used.contains(sort)).collect();
    if used.is_empty() {
        return format!("{engine}, every state: no sort is symmetric ({})", names(&left));
    }
    let orbit = match orbit(model, &sorts.symmetry, &used) {
        Some(orbit) => format!("one state for up to {orbit}"),
        None => "one state for each orbit".into(),
    };
    let grounds = [
        ("symmetric in ", &sorts.proved, ""),
        ("", &sorts.checked, " checked in every state"),
        ("", &sorts.trusted, " taken for granted"),
        ("", &left, " is not symmetric"),
    ];
    let grounds = grounds.iter().filter(|(_, sorts, _)| !sorts.is_empty());
    let grounds: Vec<String> =
        grounds.map(|(before, sorts, after)| format!("{before}{}{after}", names(sorts))).collect();
    format!("{engine}, {orbit}: {}", grounds.join("; "))
}

/// How many states one can stand for: the number of permutations, where it is small enough to mean something.
fn orbit(model: &Model, symmetry: &Symmetry, proved: &[SortId]) -> Option<u64> {
    proved.iter().try_fold(1u64, |product, sort| {
        let free = u64::from(model.sorts[*sort].fixed_size()?) - symmetry.sorts[*sort].pinned.len() as u64;
        (1..=free).try_fold(product, u64::checked_mul)
    })
}

/// A sort is declared to be symmetric, so a part of the source that breaks it is likely a mistake.
fn warnings(loaded: &Loaded, options: &CheckOptions, sorts: &Sorts) -> Diagnostics {
    let mut warnings = Diagnostics::new();
    for (id, known) in sorts.symmetry.sorts.enumerate() {
        let Some(first) = known.breaks.first() else { continue };
        // What is checked is told when it is known.
        if sorts.checked.contains(&id) {
            continue;
        }
        let sort = &loaded.model.sorts[id];
        let message = match sorts.trusted.contains(&id) {
            true => format!("the symmetry of `{}` is taken for granted, not proved", sort.name),
            false => format!("`{}` is not shown to be symmetric; every state of it is searched", sort.name),
        };
        let mut warning = Diagnostic::warning(NOT_SYMMETRIC, first.span, message).at(first.reason.clone());
        for other in known.breaks.iter().skip(1).take(SHOWN - 1) {
            warning = warning.also(other.span, other.reason.clone());
        }
        if known.breaks.len() > SHOWN {
            let more = known.breaks.len() - SHOWN;
            warning = warning.advise(Advice::MorePlaces(more));
        }
        if let (false, Some(why)) = (options.trust, why_not_checked(&loaded.model, options)) {
            warning = warning.help(format!("symmetry is not checked in {why}"));
        }
        warnings.push(warning);
    }
    warnings
}

/// How many places that break a sort are shown before a search.
const SHOWN: usize = 3;
