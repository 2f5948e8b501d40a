//! What a shell and `man` know of the command: completions and manual pages, made from the arguments.

use std::{fs, path::Path};

use clap::CommandFactory;

use crate::{
    args::Args,
    exit::{CommandFailure, ExitKind},
    files::{self, FileKind},
    output::Console,
};

pub(crate) fn completions(
    console: &Console,
    shell: clap_complete::Shell,
) -> Result<ExitKind, CommandFailure> {
    console.write(|out| {
        clap_complete::generate(shell, &mut Args::command(), "shoal", out);
        Ok(())
    })?;
    Ok(ExitKind::Good)
}

/// `shoal.1`, `shoal-check.1`, ...: a page for each command and each command of a command.
pub(crate) fn manual(folder: &Path) -> Result<ExitKind, CommandFailure> {
    let mut shoal = Args::command();
    // Gives each command the name that it is called by, such as `shoal trace show`.
    shoal.build();
    pages(folder, &shoal)?;
    Ok(ExitKind::Good)
}

fn pages(folder: &Path, command: &clap::Command) -> Result<(), CommandFailure> {
    let page = clap_mangen::Man::new(command.clone());
    let path = folder.join(page.get_filename());
    files::save(&path, FileKind::Text, |out| page.render(out))
        .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", path.display())))?;
    let shown = |inner: &&clap::Command| !inner.is_hide_set() && inner.get_name() != "help";
    command.get_subcommands().filter(shown).try_for_each(|inner| pages(folder, inner))
}

/// The files that editors colour texts by. They are written over: nobody changes them by hand.
pub(crate) fn grammars(folder: &Path) -> Result<ExitKind, CommandFailure> {
    for file in shoal_report::editor_files(shoal::vocabularies()) {
        let path = folder.join(&file.path);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.text));
        written.map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", path.display())))?;
    }
    Ok(ExitKind::Good)
}
