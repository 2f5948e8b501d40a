//! What can go wrong, whose fault it is, and how to say it.

use std::fmt;

use shoal_model::{StopReason, Unsupported};
use shoal_syntax::{Diagnostics, SourceMap};

/// Why there is no answer. All but [`Error::Internal`] are about the model or the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or is no text.
    File {
        /// The file as it was named.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No front end reads files with this ending.
    UnknownLanguage {
        /// The file as it was named.
        path: String,
    },
    /// The source has errors.
    Source(Box<Rejected>),
    /// The model has no such property.
    UnknownProperty {
        /// The name that was asked for.
        name: String,
        /// The nearest name there is.
        near: Option<String>,
        /// All names there are.
        known: Vec<String>,
    },
    /// The engine that was asked for cannot take the model, or decides nothing that was asked.
    Unsupported(Unsupported),
    /// The engine cannot do what the options of the call ask of it.
    Call(Unsupported),
    /// The model cannot be run step by step.
    NotRunnable(String),
    /// A limit was reached, or somebody cancelled, before there was anything to report on.
    Stopped(StopReason),
    /// A model that was made without a source breaks a rule that every model keeps.
    Malformed(String),
    /// The system gives no thread to work in.
    NoThread(String),
    /// A mistake in Shoal.
    Internal(String),
}

/// A source that has errors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rejected {
    /// The sources, to show the places.
    pub sources: SourceMap,
    /// What is wrong with them; at least one is an error.
    pub diagnostics: Diagnostics,
}

impl Error {
    /// Whether it is a mistake in Shoal rather than one of its user.
    pub fn is_internal(&self) -> bool {
        matches!(self, Error::Internal(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, problem } => write!(f, "{path}: {problem}"),
            Error::UnknownLanguage { path } => {
                write!(f, "{path}: no language is known by the ending of this name; ")?;
                write!(f, "supported: {}", crate::load::supported())
            }
            Error::Source(rejected) => {
                let errors = rejected.diagnostics.iter();
                let error = errors.max_by_key(|diagnostic| diagnostic.severity);
                match error {
                    Some(error) => {
                        write!(f, "{}: {}", rejected.sources.locate(error.primary.span), error.message)
                    }
                    None => f.write_str("the source has errors"),
                }
            }
            Error::UnknownProperty { name, near, known } => {
                write!(f, "the model has no property {name:?}")?;
                match near {
                    Some(near) => write!(f, "; did you mean {near:?}?"),
                    None if known.is_empty() => write!(f, "; it has none at all"),
                    None => {
                        let known: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
                        write!(f, "; it has {}", known.join(", "))
                    }
                }
            }
            Error::Unsupported(unsupported) | Error::Call(unsupported) => write!(f, "{unsupported}"),
            Error::Stopped(reason) => write!(f, "nothing is decided: {reason}"),
            Error::Malformed(why) => write!(f, "the model is not well-formed: {why}"),
            Error::NoThread(why) => write!(f, "there is no thread to work in: {why}"),
            Error::NotRunnable(message) => f.write_str(message),
            Error::Internal(message) => write!(f, "internal error: {message}; please report it"),
        }
    }
}

impl std::error::Error for Error {}
