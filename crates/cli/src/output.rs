//! Where output goes and whether it has colours.

use std::{
    cell::Cell,
    env,
    fmt::Display,
    io::{self, BufWriter, IsTerminal, Write},
    path::Path,
};

use shoal_report::Palette;

use crate::{
    args::ColorChoice,
    clean::Clean,
    exit::CommandFailure,
    files::{self, FileKind},
    wrap::Wrap,
};

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) palette: Palette,
    pub(crate) error_palette: Palette,
    /// Nobody reads standard output any more.
    closed: Cell<bool>,
}

impl Console {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let palette = |terminal: bool| {
            let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || env::var_os("TERM").is_some_and(|term| term == "dumb");
            match color {
                ColorChoice::Always => Palette::coloured(),
                ColorChoice::Auto if terminal && !plain => Palette::coloured(),
                ColorChoice::Auto | ColorChoice::Never => Palette::plain(),
            }
        };
        Console {
            palette: palette(io::stdout().is_terminal()).within(terminal_width()),
            error_palette: palette(io::stderr().is_terminal()),
            closed: Cell::new(false),
        }
    }

    /// Writes to standard output. That nobody reads it is no error: the run goes on to its exit code.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandFailure> {
        if self.closed.get() {
            return Ok(());
        }
        let mut out = Clean::new(BufWriter::new(io::stdout().lock()), self.palette.coloured);
        match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                // What is left in the buffer must not be written when it is dropped.
                let _ = out.into_inner().into_parts();
                self.closed.set(true);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Writes what people read: lines fit the terminal.
    pub(crate) fn show(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandFailure> {
        let Some(width) = terminal_width() else { return self.write(write) };
        self.write(|out| {
            let mut wrap = Wrap::new(out, width);
            let written = write(&mut wrap);
            written.and(wrap.finish().1)
        })
    }

    pub(crate) fn line(&self, text: impl Display) -> Result<(), CommandFailure> {
        self.write(|out| writeln!(out, "{text}"))
    }

    /// Whether anybody still reads standard output, as far as is known.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }
}

/// Writes a line to standard error, in which names of files do nothing. If that fails there is nobody left to tell.
pub(crate) fn complain(text: impl Display) {
    let _ = writeln!(Clean::new(io::stderr(), false), "{text}");
}

/// The same of a text with colours, if there are any.
pub(crate) fn complain_coloured(text: impl Display, palette: Palette) {
    let _ = writeln!(Clean::new(io::stderr(), palette.coloured), "{text}");
}

/// Writes a file, or standard output for none and for `-`.
pub(crate) fn write_to(
    console: &Console,
    path: Option<&Path>,
    kind: FileKind,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandFailure> {
    match path.filter(|path| *path != Path::new("-")) {
        None => console.write(write),
        Some(path) => {
            let wrong = |error: io::Error| {
                CommandFailure::Wrong(format!("{}: cannot be written: {error}", path.display()))
            };
            files::save(path, kind, write).map_err(wrong)
        }
    }
}

/// How wide the terminal is; elsewhere, as wide as is easily read.
pub(crate) fn width() -> usize {
    const USUAL: usize = 120;
    terminal_width().unwrap_or(USUAL)
}

/// How wide the terminal is, or is said to be; nothing where there is none.
pub(crate) fn terminal_width() -> Option<usize> {
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || match io::stdout().is_terminal() {
        true => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
        false => None,
    };
    columns.or_else(terminal).filter(|width| *width >= 20)
}
