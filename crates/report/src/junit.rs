//! JUnit XML: one suite a file, one test case a property.

use std::io::{self, Write};

use shoal_model::{PropertyResult, Verdict, Violation};

use crate::{Palette, Run, Suite, text::violation_in_words, trace_steps, write_steps};

/// Writes a report of all files of a call.
pub fn write_junit(out: &mut dyn Write, suites: &[Suite<'_>]) -> io::Result<()> {
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="shoal">"#)?;
    for suite in suites {
        write_suite(out, suite)?;
    }
    writeln!(out, "</testsuites>")
}

fn write_suite(out: &mut dyn Write, suite: &Suite<'_>) -> io::Result<()> {
    let results = suite.run.map_or(&[][..], |run| &run.outcome().results);
    let count =
        |wanted: fn(&Verdict) -> bool| results.iter().filter(|result| wanted(&result.verdict)).count();
    let failures = count(|verdict| matches!(verdict, Verdict::Violated(_)));
    let unknown = count(|verdict| matches!(verdict, Verdict::Unknown(_)));
    let nothing = suite.run.is_some() && results.is_empty();
    let broken = usize::from(suite.error.is_some() || nothing);
    writeln!(
        out,
        r#"  <testsuite name="{}" tests="{}" failures="{failures}" errors="{}" skipped="0" time="{:.3}">"#,
        escape(suite.file),
        results.len() + broken,
        unknown + broken,
        suite.time.as_secs_f64(),
    )?;
    if let Some(run) = suite.run {
        for result in results {
            write_case(out, run, result)?;
        }
    }
    if suite.run.is_some() && results.is_empty() {
        writeln!(out, r#"    <testcase name="properties" classname="{}" time="0">"#, escape(suite.file))?;
        writeln!(out, r#"      <error type="unknown" message="{}"/>"#, crate::NOTHING_ASKED)?;
        writeln!(out, "    </testcase>")?;
    }
    if let Some(error) = suite.error {
        writeln!(out, r#"    <testcase name="load" classname="{}" time="0">"#, escape(suite.file))?;
        writeln!(out, r#"      <error type="model" message="{}"/>"#, escape(error))?;
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_case(out: &mut dyn Write, run: &Run<'_>, result: &PropertyResult) -> io::Result<()> {
    let property = run.property(result);
    let place = run.sources().file(property.span.source).position(property.span.start);
    writeln!(
        out,
        r#"    <testcase name="{}" classname="{}" file="{}" line="{}" time="{:.3}">"#,
        escape(&run.title(property)),
        escape(&run.model().name),
        escape(run.file),
        place.line,
        run.statistics(result).map_or(0.0, |statistics| statistics.time.as_secs_f64()),
    )?;
    match &result.verdict {
        Verdict::Holds => {}
        Verdict::Unknown(reason) => {
            writeln!(out, r#"      <error type="unknown" message="{}"/>"#, escape(&reason.to_string()))?;
        }
        Verdict::Violated(violation) => write_failure(out, run, result, violation)?,
    }
    writeln!(out, "    </testcase>")
}

fn write_failure(
    out: &mut dyn Write,
    run: &Run<'_>,
    result: &PropertyResult,
    violation: &Violation,
) -> io::Result<()> {
    let reason = violation_in_words(run, result.property, violation);
    let mut steps = Vec::new();
    if let Some(trace) = &violation.trace {
        write_steps(&mut steps, &trace_steps(run.model(), None, trace), Palette::plain())?;
    }
    let steps = String::from_utf8_lossy(&steps);
    writeln!(
        out,
        r#"      <failure type="violated" message="{}">{}</failure>"#,
        escape(&reason),
        escape(&steps)
    )
}

/// Text as XML text or as the value of an attribute. Characters that XML cannot hold are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn anything_in_a_name_or_a_message_is_still_xml() {
        let suite = Suite {
            file: "a<b>&\"c\".m",
            run: None,
            error: Some("bad \u{1} byte ]]> here"),
            diagnostics: None,
            time: Duration::from_millis(5),
            words: shoal_syntax::Advice::to_string,
        };
        let mut out = Vec::new();
        write_junit(&mut out, &[suite]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        assert_eq!(suite.attribute("name"), Some("a<b>&\"c\".m"));
        assert_eq!(suite.attribute("errors"), Some("1"));
    }
}
