//! The library façade of Shoal: load a model, check it, read the outcome.
//!
//! ```
//! use shoal::{CheckOptions, LoadOptions, Quiet, Status};
//!
//! let text = "
//!     const N: 3;
//!     type proc: scalarset(N);
//!     var inside: array [proc] of boolean;
//!     startstate begin for p: proc do inside[p] := false; end; end;
//!     ruleset p: proc do
//!       rule \"enter\" !inside[p] ==> begin inside[p] := true; end;
//!       rule \"leave\" inside[p] ==> begin inside[p] := false; end;
//!     end;
//!     invariant \"at most one is inside\"
//!       forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
//! ";
//! let loaded = shoal::load_text("lock.m", text, &LoadOptions::default())?;
//! let report = shoal::check(&loaded, &CheckOptions::default(), &mut Quiet)?;
//!
//! assert_eq!(report.status(), Status::Violated);
//! let (property, violation) = report.violations().next().unwrap();
//! assert_eq!(loaded.model.properties[property].name, "at most one is inside");
//! assert_eq!(violation.trace.as_ref().unwrap().steps.len(), 2);
//! # Ok::<(), shoal::Error>(())
//! ```
//!
//! The steps behind it, each of which can be taken alone:
//!
//! 1. [`load`] reads a file (the ending of its name says in which language it is) and makes a [`Loaded`] model,
//!    or says what is wrong with the source in [`Error::Source`].
//! 2. [`plan()`] chooses the engine and the symmetries to reduce by, and says why in one line.
//! 3. [`check`] runs the engine. The observer is told how it goes on and may end it; limits are part of
//!    [`CheckOptions`]. Reaching one is not an error: the verdict is then [`Verdict::Unknown`].
//! 4. Every violation is replayed by the reference interpreter before it is handed back in a [`Report`]. One that
//!    does not replay is a mistake in Shoal and comes back as [`Error::Internal`].
//!
//! Who wants to show a check while it runs, to end it, or to run several at once takes a [`Session`]: it tells [`Event`]s, a verdict as
//! soon as it is known among them, and works in a thread of the caller's or of its own. A model that was made in Rust
//! ([`model::ModelBuilder`]) becomes a [`Loaded`] by [`Loaded::of_model`].
//!
//! [`Simulation`] walks through a model at random or by hand, [`graph()`] gives its states and steps, [`replay`]
//! runs a trace again. Nothing here prints; the crate `shoal-report` turns what comes out into text, JSON, ITF,
//! JUnit, SARIF, DOT and AUT.
//!
//! Models may nest calls and expressions deeply. Where that matters, call this crate from a thread with a large
//! stack ([`on_large_stack`]), as [`Session::start`] and the command `shoal` do.
//!
//! The feature `jit`, on by default, makes machine code of models. Without it they are interpreted, with the same results.
#![deny(missing_docs)]

mod ask;
mod audit;
mod beyond;
mod certificates;
mod check;
mod checkpoint;
mod cover;
mod desk;
mod driver;
mod engines;
mod error;
mod expect;
mod extremes;
mod folder;
mod graph;
mod inactive;
mod languages;
mod load;
mod locals;
mod log;
mod memory;
mod minimise;
mod plan;
mod ranges;
mod refine;
mod replay;
mod saved_options;
mod script;
mod session;
mod simulate;
mod sources;
mod symmetric;
mod tell;
mod testgen;
mod vacuous;
mod views;
mod witness;

pub use ask::{Asked, ask};
pub use audit::{Audit, audit};
pub use beyond::{Beyond, DiskSpace, Processes};
pub use certificates::{Certified, Evidence, certificates};
pub use check::{CheckOptions, PATIENCE, PropertyReport, Report, Status, check, check_as_planned, select};
pub use checkpoint::{Checkpoints, Saving};
pub use cover::{CoverSet, GreatestElement, Proved, count, cover_set, rests_on, verify};
pub use desk::{Desk, DeskStep};
pub use error::{Error, Rejected};
pub use expect::{Expectation, ExpectedVerdict, expectations, unmet};
pub use folder::{Folder, FolderEntry};
pub use graph::{ModelGraph, OrbitStates, graph, graph_symmetry, states, verify_states};
pub use inactive::active_conditions;
pub use languages::{formatted, vocabularies, vocabulary_of};
pub use load::{
    Deadlock, LARGEST_FILE, LoadOptions, Loaded, PromelaOptions, is_known_ending, load, load_sources,
    load_text, read_text,
};
pub use locals::{ControlPoint, LocalStates, LocalsKnown, local_states};
pub use log::{LogOptions, LoggedRun, Miss, MissedBy, Observation, StuckLog, Validated, validate_log};
pub use memory::{default_memory_limit, memory_of_addresses, resident_memory};
pub use minimise::minimise;
pub use plan::{EngineKind, EngineKind as Engine, NOT_SYMMETRIC, Plan, Task, plan};
pub use refine::{Refined, load_refinement, load_refinement_sources, refine};
pub use replay::{Difference, Replayed, replay, replay_violation};
pub use script::{ScriptEvent, ScriptStep, Workshop, load_workshop, load_workshop_text};
pub use session::{Decided, Event, Phase, Running, STACK, Session, on_large_stack};
pub use simulate::{DisabledRule, Move, MoveKind, Simulation, WalkGoal};
pub use sources::{Resolver, Sources};

pub use shoal_analysis::{Activity, SortSymmetry, scalarset_hints, symmetry, symmetry_of_steps};
pub use shoal_counters::{BroadcastMode, Options as CounterOptions};
pub use shoal_cover::CountedModel;
pub use shoal_explicit::{Edge, Exchange, LostContact, Packet};
pub use shoal_interpret::{Blame, Claim, StateCell, under};
pub use shoal_model::{
    Cancel, Limits, Observer, Order, Outcome, PartialOrder, Progress, Quiet, Representatives, Storage,
    Strategy, Trace, Verdict, Violation, Watch,
};
pub use shoal_murphi::Dialect;
pub use shoal_story as story;
pub use shoal_timed::{ClockFact, zones_along};
pub use symmetric::asymmetry_warnings;
pub use tell::{Told, blamed, tell, tell_observed, tell_walk};
pub use testgen::{GoalReached, TestGoal, TestItem, TestOptions, TestRun, Tests, generate_tests, goals_of};
pub use views::{Abstracted, AbstractedProof, ViewInWords, ViewsAudit, abstracted, verify_views};
pub use witness::{has_witness, witness};
/// State-graphs and their manipulators.
pub mod graphs {
    pub use shoal_stategraphs::graphs::{
        Arc, GraphAnswer, GraphNode, GraphRefusal, MOST_NODES, Reducer, StateGraph, base,
        bypass_internal_transition, check, merge, read_write, shield_clock, shield_variables, symmetry,
        to_aut, to_dot, to_parts, to_text,
    };
    pub use shoal_stategraphs::{sequence, system};
}

/// The Model and the vocabulary of verdicts.
pub use shoal_model as model;
/// Sources, places and diagnostics.
pub use shoal_syntax as syntax;
