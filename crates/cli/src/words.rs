//! Advice in the words of the command line: which option does it.

use shoal::syntax::{Advice, Settable};

/// What to type.
pub(crate) fn advise(advice: &Advice) -> String {
    match advice {
        Advice::MoreTime => "more time: --time SECONDS; or a smaller model: --set NAME=VALUE".into(),
        Advice::MoreMemory => "more memory: --memory BYTES; or a smaller model: --set NAME=VALUE".into(),
        Advice::Deeper => "deeper: --depth STEPS, or leave the option out to search to the end".into(),
        Advice::AllProperties => "to decide the other properties too: --all".into(),
        Advice::WholeStates => "to be sure: --storage exact".into(),
        Advice::SearchEverything => "to search everything: --search breadth".into(),
        Advice::ChooseNumber => "a number of processes: --set NAME=NUMBER".into(),
        Advice::RaiseBounds => {
            "the bounds that the verdicts name can be raised: --processes N, --heap N".into()
        }
        Advice::MoreObjects => "more objects of a type at a time: --heap N".into(),
        Advice::SetDeclared(Settable::Constant) => {
            "--set changes a constant that is declared in the model".into()
        }
        Advice::SetDeclared(Settable::Macro) => {
            "--set gives a value to a macro that the model defines or asks for".into()
        }
        Advice::AskForLabel => "to ask for a label, give it with `--target LABEL`".into(),
        Advice::TargetOfThreads(example) => {
            format!("write a line such as `{example}`, or give it with `--target {example}`")
        }
        Advice::TargetOfNet(example) => format!("give one with `--target '{example}'`"),
        Advice::FormOfTarget(example) => format!("write `--target '{example}'`"),
        Advice::MorePlaces(count) => format!("{count} more places are listed by `shoal explain`"),
        Advice::ShowTrace(path) => format!("shoal trace show {path}"),
        Advice::VerifyCertificate(path) => format!("shoal verify {path}"),
        // What is newer than these words has some that fit everywhere.
        other => other.to_string(),
    }
}
