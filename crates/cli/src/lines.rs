//! Lines that a person types: with editing and a history on a terminal, as they come elsewhere.

use std::{
    env,
    io::{self, BufRead, IsTerminal},
    path::PathBuf,
};

use rustyline::{Config, DefaultEditor, error::ReadlineError};

use crate::{exit::CommandFailure, output::Console};

/// So many lines are remembered.
const REMEMBERED: usize = 1_000;

/// Where lines come from.
pub(crate) enum LineSource {
    Terminal(Box<DefaultEditor>, Option<PathBuf>),
    Plain,
}

/// What came.
pub(crate) enum Typed {
    Line(String),
    /// Something that is no text.
    Garbage,
    /// Nothing more will come.
    End,
}

impl LineSource {
    /// The lines of standard input. What is typed is remembered under a name for the next time.
    pub(crate) fn of(name: &str) -> LineSource {
        let config =
            Config::builder().max_history_size(REMEMBERED).map(|it| it.auto_add_history(true).build());
        let editor = config.and_then(DefaultEditor::with_config);
        match editor {
            Ok(mut editor) if io::stdin().is_terminal() && io::stdout().is_terminal() => {
                let path = history(name);
                // The first time there is none.
                let _ = path.as_ref().map(|path| editor.load_history(path));
                LineSource::Terminal(Box::new(editor), path)
            }
            _ => LineSource::Plain,
        }
    }

    /// Asks for a line.
    pub(crate) fn next(&mut self, console: &Console) -> Result<Typed, CommandFailure> {
        let LineSource::Terminal(editor, _) = self else { return plain(console) };
        Ok(match editor.readline("> ") {
            Ok(line) => Typed::Line(line),
            // Ctrl-C takes the line back, as in a shell.
            Err(ReadlineError::Interrupted) => Typed::Line(String::new()),
            Err(_) => Typed::End,
        })
    }
}

impl Drop for LineSource {
    fn drop(&mut self) {
        if let LineSource::Terminal(editor, Some(path)) = self {
            // A history that cannot be kept is a pity, no more.
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = editor.save_history(path);
        }
    }
}

fn plain(console: &Console) -> Result<Typed, CommandFailure> {
    console.write(|out| write!(out, "> "))?;
    let mut line = String::new();
    Ok(match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Typed::End,
        Ok(_) => Typed::Line(line),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Typed::Garbage,
        Err(_) => Typed::End,
    })
}

/// Where what was typed is remembered, if there is a place for such things.
fn history(name: &str) -> Option<PathBuf> {
    let own = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = own.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("shoal").join(format!("{name}.history")))
}
