//! Pages for a browser: one for each violation, and one that leads to them.

use std::{
    io::{self, Write},
    path::Path,
};

use shoal::{Blame, Loaded, Report, Told, Violation, model::PropertyId};
use shoal_report::{Cause, IndexPage, PageHead, Run, why_violated, write_index, write_page};

use crate::{
    exit::Failure,
    files::{self, Kind},
};

/// What the page of a violation says.
pub(crate) struct ViolationPage<'a> {
    pub(crate) file: &'a str,
    pub(crate) property: PropertyId,
    pub(crate) violation: &'a Violation,
    pub(crate) command: &'a str,
}

impl ViolationPage<'_> {
    pub(crate) fn write(&self, out: &mut dyn Write, loaded: &Loaded, told: &Told) -> io::Result<()> {
        let causes: Vec<Cause> = told.causes.iter().map(cause).collect();
        let why = why_violated(&told.model, &loaded.sources, self.property, self.violation, &causes);
        let marked: Vec<_> = causes.iter().map(|cause| cause.span).collect();
        let head = PageHead {
            file: self.file,
            property: &loaded.model.properties[self.property].name,
            why: &why,
            command: self.command,
            marked: &marked,
        };
        write_page(out, &told.model, &loaded.sources, &told.story, &head)
    }
}

/// What is to blame, as the formats want it.
pub(crate) fn cause(blame: &Blame) -> Cause {
    Cause { span: blame.span, bindings: blame.bindings.clone(), reads: blame.reads.clone() }
}

/// Writes the pages of a run into a folder: `index.html`, and one for each violation.
pub(crate) fn save(folder: &Path, loaded: &Loaded, report: &Report, run: &Run<'_>) -> Result<(), Failure> {
    let wrong = |path: &Path, error: io::Error| Failure::wrong(format_args!("{}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| wrong(folder, error))?;
    let mut pages = Vec::new();
    for (property, violation) in report.violations() {
        let Some(told) = shoal::tell(loaded, property, violation) else { continue };
        let name = format!("{}.{}.html", loaded.model.name, pages.len() + 1);
        let path = folder.join(&name);
        let command = match run.traces.get(&property) {
            Some(trace) => format!("shoal trace replay {trace}"),
            None => format!("shoal check {}", run.file),
        };
        let page = ViolationPage { file: run.file, property, violation, command: &command };
        files::save(&path, Kind::Page, |out| page.write(out, loaded, &told))
            .map_err(|error| wrong(&path, error))?;
        pages.push((property, name));
    }
    let path = folder.join("index.html");
    let index = IndexPage { run, pages: &pages };
    files::save(&path, Kind::Page, |out| write_index(out, &index)).map_err(|error| wrong(&path, error))
}
