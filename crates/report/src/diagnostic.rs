//! Diagnostics as text: the message, the place as `file:line:column`, the line with an underline, the hint.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use shoal_syntax::{Diagnostic, Diagnostics, Severity, SourceFile, SourceMap, Span, Words};

use crate::{Palette, plural};

/// All messages of a list and how many errors there were.
pub fn render_diagnostics(
    sources: &SourceMap,
    diagnostics: &Diagnostics,
    words: Words,
    palette: Palette,
) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render_diagnostic(sources, diagnostic, words, palette));
        out.push('\n');
    }
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    if errors > 1 {
        out.push_str(&plural(errors as u64, "error", "errors"));
        out.push('\n');
    }
    out
}

/// One message with the pieces of source it is about.
pub fn render_diagnostic(
    sources: &SourceMap,
    diagnostic: &Diagnostic,
    words: Words,
    palette: Palette,
) -> String {
    let renderer = if palette.coloured { Renderer::styled() } else { Renderer::plain() };
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = printable(&diagnostic.message);
    let mut group =
        level.primary_title(message).id(diagnostic.code.0).elements(snippets(sources, diagnostic));
    if let Some(help) = diagnostic.hint(words) {
        group = group.element(Level::HELP.message(printable(&help)));
    }
    let report: &[Group<'_>] = &[group];
    format!("{}\n", renderer.render(report))
}

/// One snippet for each file, the file of the message first.
fn snippets<'a>(
    sources: &'a SourceMap,
    diagnostic: &'a Diagnostic,
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut files = vec![diagnostic.primary.span.source];
    files.extend(diagnostic.secondary.iter().map(|label| label.span.source));
    files.dedup();
    let labels = || {
        let others = diagnostic.secondary.iter().map(|label| (AnnotationKind::Context, label));
        std::iter::once((AnnotationKind::Primary, &diagnostic.primary)).chain(others)
    };
    let in_file = |file| {
        let source = sources.file(file);
        let here: Vec<_> = labels().filter(|(_, label)| label.span.source == file).collect();
        let window = Window::around(source, here.iter().map(|(_, label)| label.span));
        let annotations = here.into_iter().map(|(kind, label)| {
            let text = (!label.text.is_empty()).then(|| printable(&label.text));
            kind.span(window.range(label.span)).label(text)
        });
        let annotations: Vec<_> = annotations.collect();
        Snippet::source(window.text)
            .line_start(window.line)
            .path(shoal_syntax::escaped(source.name()).into_owned())
            .annotations(annotations)
    };
    files.into_iter().map(in_file).collect()
}

/// The lines of a file that the labels are in. Only these are given to the renderer, which would otherwise
/// look through the whole of a large file for every message.
struct Window<'a> {
    text: &'a str,
    line: usize,
    start: usize,
}

impl<'a> Window<'a> {
    fn around(source: &'a SourceFile, spans: impl Iterator<Item = Span>) -> Self {
        let text = source.text();
        let (mut first, mut last) = (text.len(), 0);
        for span in spans {
            first = first.min(span.start as usize);
            last = last.max(span.end as usize);
        }
        let (first, last) = (floor(text, first), floor(text, last));
        let start = text[..first].rfind('\n').map_or(0, |position| position + 1);
        let end = text[last..].find('\n').map_or(text.len(), |position| last + position);
        Window { text: &text[start..end.max(start)], line: source.position(start as u32).line, start }
    }

    /// Where a span lies in the window. An empty span is widened to a character where there is one.
    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let start = floor(self.text, (span.start as usize).saturating_sub(self.start));
        let end = floor(self.text, (span.end as usize).saturating_sub(self.start)).max(start);
        let widened = || self.text[start..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
        if end > start { start..end } else { start..start + widened() }
    }
}

/// The nearest character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Messages may quote the source: control characters of it must not reach a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use shoal_syntax::{Advice, DiagnosticCode};

    use super::*;

    fn sources() -> (SourceMap, Diagnostic) {
        let mut sources = SourceMap::new();
        let id = sources.add("german.m", "var\n  Cache: boolean;\nrule ==> begin Cahce := true; end;\n");
        let text = sources.file(id).text();
        let (wrong, near) = (text.find("Cahce").unwrap(), text.find("Cache").unwrap());
        let diagnostic = Diagnostic::error(
            DiagnosticCode("E0201"),
            Span::new(id, wrong, wrong + 5),
            "unknown name `Cahce`",
        )
        .also(Span::new(id, near, near + 5), "a similar name is declared here")
        .help("did you mean `Cache`?");
        (sources, diagnostic)
    }

    #[test]
    fn a_diagnostic_shows_its_place_line_underline_and_hint() {
        let (sources, diagnostic) = sources();
        let text = render_diagnostic(&sources, &diagnostic, Advice::to_string, Palette::plain());
        let expected = "\
error[E0201]: unknown name `Cahce`
 --> german.m:3:16
  |
2 |   Cache: boolean;
  |   ----- a similar name is declared here
3 | rule ==> begin Cahce := true; end;
  |                ^^^^^
  |
  = help: did you mean `Cache`?
";
        assert_eq!(text, expected);
        assert!(
            render_diagnostic(&sources, &diagnostic, Advice::to_string, Palette::coloured())
                .contains("\u{1b}[")
        );
    }

    #[test]
    fn spans_at_the_end_or_in_empty_files_are_shown() {
        let mut sources = SourceMap::new();
        let empty = sources.add("empty.m", "");
        let odd = sources.add("odd.m", "x¬\r\n");
        for span in [Span::new(empty, 0, 0), Span::new(odd, 2, 2), Span::new(odd, 5, 99)] {
            let diagnostic = Diagnostic::error(DiagnosticCode("E0110"), span, "oh").advise(Advice::MoreTime);
            let text = render_diagnostic(&sources, &diagnostic, |_| "words".into(), Palette::plain());
            assert!(text.contains("help: words"), "{text}");
            assert!(text.contains("E0110"), "{text}");
        }
    }
}
