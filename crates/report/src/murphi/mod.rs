//! A Model as Murphi text, which Rumur, CMurphi and Shoal read.
//!
//! The text has the same states and the same verdicts, or the model is refused by the name of what is in the way; what is left out,
//! and what only some of the tools read, is said beside it. Where the tools differ in meaning (undefined values that are copied or
//! compared, parameters that are passed without `var`), the text says it in a way that means the same to all.
//!
//! - A sort is a scalarset where its elements are proved to be interchangeable and nothing names one; otherwise it is a range from 1.
//! - A reference that may be null is a range from 0, which is null.
//! - Priorities are functions that say whether a rule goes first, where Rumur is to read the text.
//! - A choice inside a rule is a parameter of the rule.

mod aliasing;
mod code;
mod definedness;
mod helpers;
mod names;
mod property;
mod rule;
mod statement;
mod survey;
mod types;
mod undefined;

use std::fmt::Write;

use shoal_model::Model;

use crate::CannotSay;
use helpers::Helpers;
use names::GlobalNames;
use survey::Survey;

/// A part of the text, or what cannot be said.
pub(crate) type OrCannotSay<T> = Result<T, CannotSay>;

/// A model as Murphi text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MurphiText {
    /// The text.
    pub text: String,
    /// What has to be said beside it.
    pub notes: Vec<MurphiNote>,
}

/// What is to be asked about deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockAsked {
    /// Nothing.
    Off,
    /// States in which no rule is enabled.
    Stuck,
    /// States from which no rule leads to another.
    Stuttering,
}

/// Tools that read Murphi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MurphiReaders {
    /// Shoal and Rumur.
    ShoalAndRumur,
    /// Shoal and CMurphi.
    ShoalAndCmurphi,
    /// Shoal alone.
    Shoal,
}

/// What Murphi text does not say of the model that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MurphiNote {
    /// What to ask about deadlocks: it is no part of the text.
    Deadlock(DeadlockAsked),
    /// A property that is not asked in the text.
    LeftOut(String),
    /// A property that says where the model has no room is an assertion.
    BoundIsAssertion(String),
    /// Elements of this sort are numbers, because of this.
    SortIsRange(String, &'static str),
    /// The rounds that a `while` loop may take.
    WhileLimit(u64),
    /// Who reads the text, and because of what.
    Readers(MurphiReaders, Vec<&'static str>),
    /// Run-time errors are asked for, though the model does not ask.
    FaultsAsked,
}

/// A model as Murphi text; what is in the way, if it cannot be said.
pub fn export_murphi(model: &Model) -> OrCannotSay<MurphiText> {
    let survey = Survey::new(model)?;
    let names = GlobalNames::new(model);
    let mut writer = Writer { model, survey, names, helpers: Helpers::default(), notes: Vec::new() };
    let vars = writer.variables()?;
    let functions = writer.functions()?;
    let starts = writer.starts()?;
    let rules = writer.rules()?;
    let properties = writer.properties()?;
    writer.note_sorts();
    writer.note_readers();
    let mut text = format!("-- Made of {} by Shoal.\n", names::one_line(&model.name));
    let types = writer.names.type_declarations();
    let sections = [
        types,
        vars,
        writer.helpers.text(),
        functions,
        writer.helpers.last_text(),
        starts,
        rules,
        properties,
    ];
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let _ = write!(text, "\n{section}");
    }
    Ok(MurphiText { text, notes: writer.notes })
}

/// What is known while a text is written.
pub(crate) struct Writer<'m> {
    pub(crate) model: &'m Model,
    pub(crate) survey: Survey<'m>,
    pub(crate) names: GlobalNames,
    pub(crate) helpers: Helpers,
    pub(crate) notes: Vec<MurphiNote>,
}

impl Writer<'_> {
    /// Adds a note once.
    pub(crate) fn note(&mut self, note: MurphiNote) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn note_sorts(&mut self) {
        for (sort, reason) in self.survey.ranges() {
            let name = self.model.sorts[sort].name.clone();
            self.note(MurphiNote::SortIsRange(name, reason));
        }
    }

    fn note_readers(&mut self) {
        let (rumur, cmurphi) = (&self.survey.not_for_rumur, &self.survey.not_for_cmurphi);
        let readers = match (rumur.is_empty(), cmurphi.is_empty()) {
            (true, true) => return,
            (true, false) => MurphiReaders::ShoalAndRumur,
            (false, true) => MurphiReaders::ShoalAndCmurphi,
            (false, false) => MurphiReaders::Shoal,
        };
        let reasons = rumur.iter().chain(cmurphi).copied().collect();
        self.note(MurphiNote::Readers(readers, reasons));
    }
}
