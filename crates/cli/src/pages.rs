//! Pages for a browser: one for each violation, and one that leads to them.

use std::{
    io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use shoal::{Loaded, Report};
use shoal_report::{IndexPage, PageOptions, Run, ViolationPage, write_index, write_violation_page};

use crate::{
    args::PageArgs,
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
    args: PageArgs,
) -> Result<(), CommandFailure> {
    let options = options(args);
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
        let page = ViolationPage { file, property, violation, command: &command, options: &options };
        files::save(&path, FileKind::Page, |out| write_violation_page(out, &page, loaded, &told))
            .map_err(|error| wrong(&path, error))?;
        pages.push((property, name));
    }
    let path = folder.join("index.html");
    let index = IndexPage { run, pages: &pages, options: &options };
    files::save(&path, FileKind::Page, |out| write_index(out, &index)).map_err(|error| wrong(&path, error))
}

/// What a page says beside the run.
pub(crate) fn options(args: PageArgs) -> PageOptions {
    PageOptions { stamp: args.stamp.then(now), sources: !args.no_source }
}

/// The date and time, `2026-03-01 17:45 UTC`. `SOURCE_DATE_EPOCH`, in seconds, is another one: who builds things twice wants the same
/// bytes twice.
fn now() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    date(given.unwrap_or_else(clock))
}

fn date(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Years begin in March, so that the day that some of them have more is their last; 1 March 0000 is 719,468 days before 1970.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + later;
    format!("{year:04}-{month:02}-{of_month:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
        assert_eq!(date(1_795_000_000), "2026-11-18 11:06 UTC");
    }
}
