//! What a front end has to say about a source text.

use crate::{Advice, Span, Words};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// A remark; the model is used as it is.
    Note,
    /// Probably a mistake; the model is used as it is.
    Warning,
    /// The model cannot be used.
    Error,
}

/// The stable name of a kind of diagnostic, such as `E0201`. Each has a page in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiagnosticCode(pub &'static str);

/// A place with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is said of it; may be empty.
    pub text: String,
}

/// One message about the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a diagnostic does nothing until it is added to a list and reported"]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Its stable name.
    pub code: DiagnosticCode,
    /// What is wrong, one line.
    pub message: String,
    /// Where it is.
    pub primary: Label,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// What the user can do about it, one line.
    pub help: Option<String>,
    /// The same, where it depends on how the user has come here.
    pub advice: Option<Advice>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message)
    }

    /// A warning at a place.
    pub fn warning(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message)
    }

    /// A note at a place.
    pub fn note(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, span, message)
    }

    fn new(severity: Severity, code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            code,
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            help: None,
            advice: None,
        }
    }

    /// Says something of the primary place.
    pub fn at(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a hint.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds a hint for which every surface has words of its own.
    pub fn advise(mut self, advice: Advice) -> Self {
        self.advice = Some(advice);
        self
    }

    /// The hint, in the words of a surface.
    pub fn hint(&self, words: Words) -> Option<String> {
        self.help.clone().or_else(|| self.advice.as_ref().map(words))
    }
}

/// A list of messages, in the order they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds all messages of another list.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Whether any message is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The messages.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// What is wrong has been put on the list of diagnostics already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported;

/// What a front end makes of a part of a text, or a mistake that has been reported.
pub type OrReported<T> = Result<T, Reported>;
