//! What a user can do next, as a value.

use std::fmt;

/// What a user can do about a message or a verdict. How it is done differs from surface to surface (an option of a command, a
/// field of a page, an argument of a tool), so each has words of its own for it; [`fmt::Display`] has some that fit everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Allow more time, or make the model smaller.
    MoreTime,
    /// Allow more memory, or make the model smaller.
    MoreMemory,
    /// Allow more steps from a start.
    Deeper,
    /// Decide all properties, however long that takes after a violation.
    AllProperties,
    /// Keep states whole.
    WholeStates,
    /// Search everything instead of walking at random.
    SearchEverything,
    /// Say how many elements there are.
    ChooseNumber,
    /// Raise the bounds of the model that were reached.
    RaiseBounds,
    /// Allow more objects of a type at a time.
    MoreObjects,
    /// Give a value only to what is declared.
    SetDeclared(Settable),
    /// Ask for a label of a program.
    AskForLabel,
    /// Say what threads must not reach, in a line of the file or from outside, as in this example.
    TargetOfThreads(&'static str),
    /// Say what a net must not reach, as in this example.
    TargetOfNet(&'static str),
    /// Say what must not be reached in this form.
    FormOfTarget(&'static str),
    /// So many more places are told where symmetry is explained.
    MorePlaces(usize),
    /// Look at the trace that was saved here.
    ShowTrace(String),
    /// Check the certificate that was saved here.
    VerifyCertificate(String),
}

/// What values can be given to from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settable {
    /// A constant.
    Constant,
    /// A macro.
    Macro,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::MoreTime => f.write_str("allow more time, or make the model smaller"),
            Advice::MoreMemory => f.write_str("allow more memory, or make the model smaller"),
            Advice::Deeper => f.write_str("allow more steps, or any number to search to the end"),
            Advice::AllProperties => {
                f.write_str("the other properties can be decided too, if all are asked for")
            }
            Advice::WholeStates => f.write_str("to be sure, keep states whole"),
            Advice::SearchEverything => f.write_str("to search everything, search breadth first"),
            Advice::ChooseNumber => f.write_str("choose a number of processes"),
            Advice::RaiseBounds => f.write_str("the bounds that the verdicts name can be raised"),
            Advice::MoreObjects => f.write_str("allow more objects of a type at a time"),
            Advice::SetDeclared(Settable::Constant) => {
                f.write_str("only a constant that is declared in the model can be given another value")
            }
            Advice::SetDeclared(Settable::Macro) => {
                f.write_str("only a macro that the model defines or asks for can be given a value")
            }
            Advice::AskForLabel => f.write_str("a label can be given as the target"),
            Advice::TargetOfThreads(example) => {
                write!(f, "write a line such as `{example}`, or give it as the target")
            }
            Advice::TargetOfNet(example) => write!(f, "give a target such as `{example}`"),
            Advice::FormOfTarget(example) => write!(f, "write a target such as `{example}`"),
            Advice::MorePlaces(count) => write!(f, "there are {count} more places"),
            Advice::ShowTrace(path) => write!(f, "the trace is in {path}"),
            Advice::VerifyCertificate(path) => write!(f, "the certificate is in {path}"),
        }
    }
}

/// The words that a surface has for advice.
pub type Words = fn(&Advice) -> String;
