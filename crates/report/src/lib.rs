//! Text, JSON, ITF, JUnit, SARIF, DOT and AUT: the only crate that serialises, and one that prints nothing.
//!
//! It takes what the façade gives, a model that was loaded and a report about it, and writes to an [`std::io::Write`] or gives a
//! string. Both together are a [`Run`]; every format is a view of it. Advice is worded by whoever shows it ([`Run::in_words`]).

mod arguments;
mod book;
mod certificate;
mod certificate_lines;
mod certified;
mod changes;
mod clocks;
mod cover_set;
mod diagnostic;
mod explain;
mod export;
mod grammar;
mod graph;
mod invariant_certificate;
mod itf;
mod json;
mod junit;
mod lanes;
mod log;
mod manipulation;
mod murphi;
mod names;
mod objects;
mod origin;
mod page;
mod palette;
mod profile;
mod record;
mod refinement;
mod run;
mod sarif;
mod sequence;
mod svg;
mod tests_json;
mod text;
mod told;
mod trace;
mod turns;
mod typed;

pub use arguments::{ArgumentRefusal, Arguments, ConstantValues};
pub use book::{error_page, section};
pub use certificate::{Certificate, SavedCertificate, read_certificate, write_certificate};
pub use certified::write_certified;
pub use changes::{PlaceChange, changes, render_node, render_state};
pub use cover_set::{cover_set_event, write_cover_set};
pub use diagnostic::{render_diagnostic, render_diagnostics};
pub use explain::{
    ActiveView, BreakView, ExplainView, HintView, LocalView, ProofView, SortView, ViewsView, write_explain,
};
pub use export::{CannotSay, ExportNote, NetLanguage, export_net};
pub use grammar::{EditorFile, editor_files};
pub use graph::{LabelledGraph, write_aut, write_dot, write_graphml};
pub use shoal_certificate::OpenInvariant;

pub use invariant_certificate::{
    AnyCertificate, ClaimOfInvariant, FiniteStates, digest, fnv, read_any_certificate,
    write_states_certificate, write_views_certificate,
};
pub use itf::{LoneTrace, SavedTrace, TraceError, read_trace, write_trace};
pub use json::{coverage_event, diagnostic_event, error_event, finished_event, progress_event};
pub use json::{session_event, started_event, steps_as_json, verdict_event};
pub use junit::write_junit;
pub use lanes::{LanesRoom, StoryDetail, write_lanes};
pub use log::{EventMap, Log, LogEvent, LogMap, logged_steps, read_log, write_stuck};
pub use manipulation::{GraphStep, graph_event};
pub use murphi::{DeadlockAsked, MurphiNote, MurphiReaders, MurphiText, export_murphi};
pub use names::{
    grouped, instance_name, instance_name_in, move_name, one_line, plural, render_value, start_name,
};
pub use origin::{Origin, violation_trace};
pub use page::{
    IndexPage, PageHead, PageOptions, ViolationPage, write_index, write_page, write_violation_page,
};
pub use palette::Palette;
pub use profile::{profile_event, write_profile};
pub use record::{RECORD_KIND, RecordedRun, RecordedVerdict};
pub use refinement::{offence_in_words, refined_event, write_offence};
pub use run::{NOTHING_ASKED, Run, Saved, Suite};
pub use sarif::write_sarif;
pub use sequence::{write_mermaid, write_plantuml};
pub use svg::{picture_as_json, picture_from, write_svg};
pub use tests_json::{item_name, tests_document};
pub use text::{reason_in_words, seconds, size, why_violated, write_run, write_verdicts};
pub use told::{blame_as_json, range_as_json, row_as_json, standing_as_json, state_as_json, story_as_json};
pub use trace::{
    ShownClaim, StepText, saved_steps, shown_steps, trace_steps, write_loop, write_states, write_step,
    write_steps, write_table,
};
pub use typed::with_typed_value;
