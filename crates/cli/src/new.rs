//! `shoal new`: a first model in each language, to start from. All say the same: a lock, and that one at most holds it.

use std::path::{Path, PathBuf};

use crate::{
    args::{NewArgs, NewLanguage},
    exit::{CommandFailure, ExitKind},
    files::{self, FileKind},
    output::Console,
};

pub(crate) fn run(console: &Console, args: &NewArgs) -> Result<ExitKind, CommandFailure> {
    let (ending, text) = first_model(args.language);
    let path = args.file.clone().unwrap_or_else(|| PathBuf::from("lock").with_extension(ending));
    save(&path, text)?;
    // What is asked of some models stands in a file beside them.
    if args.language == NewLanguage::Uppaal {
        save(&path.with_extension("q"), include_str!("new/lock.q"))?;
    }
    if args.language == NewLanguage::Pnml {
        save(&path.with_extension("xml"), include_str!("new/lock.xml"))?;
    }
    console.line(format_args!("{} is written; try", path.display()))?;
    console.line(format_args!("  shoal check {}", path.display()))?;
    Ok(ExitKind::Good)
}

fn first_model(language: NewLanguage) -> (&'static str, &'static str) {
    match language {
        NewLanguage::Murphi => ("m", include_str!("new/lock.m")),
        NewLanguage::Promela => ("pml", include_str!("new/lock.pml")),
        NewLanguage::Vpl => ("vpl", include_str!("new/lock.vpl")),
        NewLanguage::Uppaal => ("xta", include_str!("new/lock.xta")),
        NewLanguage::Red => ("red", include_str!("new/lock.red")),
        NewLanguage::Objects => ("dpml", include_str!("new/lock.dpml")),
        NewLanguage::Threads => ("bp", include_str!("new/lock.bp")),
        NewLanguage::Tts => ("tts", include_str!("new/lock.tts")),
        NewLanguage::Net => ("spec", include_str!("new/lock.spec")),
        NewLanguage::Pnml => ("pnml", include_str!("new/lock.pnml")),
    }
}

/// Nothing that is there is written over.
fn save(path: &Path, text: &str) -> Result<(), CommandFailure> {
    files::save(path, FileKind::Text, |out| out.write_all(text.as_bytes()))
        .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", path.display())))
}
