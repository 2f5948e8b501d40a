//! The plan: which engine, which reductions, and why.

use shoal_analysis::Symmetry;
use shoal_model::{Model, SortId};
use shoal_syntax::{Code, Diagnostic, Diagnostics};

use crate::{
    CheckOptions, Loaded,
    symmetric::{Sorts, why_not_checked},
};

/// A sort that was declared interchangeable and is not.
pub const NOT_SYMMETRIC: Code = Code("W0001");

/// What will be done, and why in one line.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The engine.
    pub engine: Engine,
    /// The sorts to reduce by: all are proved symmetric, but for those that the user answers for.
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

/// The engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
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

impl Engine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Explicit => "explicit",
            Engine::Symbolic => "symbolic",
            Engine::Counters => "counters",
            Engine::Cover => "cover",
            Engine::Views => "views",
            Engine::Timed => "timed",
        }
    }
}

/// Decides how a model is going to be checked.
pub fn plan(loaded: &Loaded, options: &CheckOptions) -> Plan {
    let model = &loaded.model;
    let asked = crate::select(loaded, &options.properties).unwrap_or_default();
    let engine = options.engine.unwrap_or_else(|| crate::engines::choose(loaded, &asked, options));
    if engine == Engine::Cover {
        return Plan {
            engine,
            symmetric: Vec::new(),
            trusted: Vec::new(),
            checked: Vec::new(),
            reason: cover_reason(model),
            warnings: Diagnostics::new(),
        };
    }
    if engine == Engine::Views {
        return Plan {
            engine,
            symmetric: Vec::new(),
            trusted: Vec::new(),
            checked: Vec::new(),
            reason: "views: small instances first, then what a few elements can look like among any number"
                .into(),
            warnings: Diagnostics::new(),
        };
    }
    let sorts = Sorts::new(model, options, engine);
    let reason = match engine {
        Engine::Explicit => reason(model, &sorts, options.symmetry, "explicit search, breadth first"),
        Engine::Timed => reason(model, &sorts, options.symmetry, "zones, breadth first"),
        _ if options.engine.is_some() => format!("{} engine: asked for", engine.name()),
        _ => format!("{} engine: formulas of branching time", engine.name()),
    };
    let warned = options.symmetry && matches!(engine, Engine::Explicit | Engine::Timed);
    let warnings = if warned { warnings(loaded, options, &sorts) } else { Diagnostics::new() };
    let Sorts { proved, checked, trusted, .. } = sorts;
    let symmetric = if options.symmetry { [proved, trusted.clone()].concat() } else { Vec::new() };
    Plan { engine, symmetric, trusted, checked, reason, warnings }
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
            warning = warning.help(format!("{more} more places are listed by `shoal explain`"));
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
