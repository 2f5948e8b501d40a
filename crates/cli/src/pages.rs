//! Pages for a browser: one for each violation, and one that leads to them.

use std::{io, path::Path};

use shoal::{Loaded, Report};
use shoal_report::{IndexPage, Run, ViolationPage, write_index, write_violation_page};

use crate::{
    exit::CommandFailure,
    files::{self, FileKind},
};

/// Writes the pages of a run into a folder: `index.html`, and one for each violation.
pub(crate) fn save(
    folder: &Path,
    file: &str,
    loaded: &Loaded,
    report: &Report,
    run: &Run<'_>,
) -> Result<(), CommandFailure> {
    let wrong =
        |path: &Path, error: io::Error| CommandFailure::wrong(format_args!("{}: {error}", path.display()));
    files::make_folder(folder).map_err(|error| wrong(folder, error))?;
    let mut pages = Vec::new();
    for (property, violation) in report.violations() {
        let Some(told) = shoal::tell(loaded, property, violation) else { continue };
        let name = format!("{}.{}.html", loaded.model.name, pages.len() + 1);
        let path = folder.join(&name);
        let command = match run.trace(property) {
            Some(trace) => format!("shoal trace replay {trace}"),
            None => format!("shoal check {file}"),
        };
        let page = ViolationPage { file, property, violation, command: &command };
        files::save(&path, FileKind::Page, |out| write_violation_page(out, &page, loaded, &told))
            .map_err(|error| wrong(&path, error))?;
        pages.push((property, name));
    }
    let path = folder.join("index.html");
    let index = IndexPage { run, pages: &pages };
    files::save(&path, FileKind::Page, |out| write_index(out, &index)).map_err(|error| wrong(&path, error))
}
