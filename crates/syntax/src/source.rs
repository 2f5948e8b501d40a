//! Files and the places in them.

use std::fmt;

/// One file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceId(pub u32);

/// A stretch of bytes in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end` (exclusive) of `source`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        Span { source, start: start as u32, end: end.max(start) as u32 }
    }

    /// The smallest span that covers both. The spans must be of one file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether no byte is covered.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A value and where it stood.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Where it stood.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs a value with its place.
    pub fn new(node: T, span: Span) -> Self {
        Spanned { node, span }
    }
}

/// Line and column as a person counts them, from 1. Columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The text of one file and where its lines begin.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    fn new(name: String, text: String) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        SourceFile { name, text, line_starts }
    }

    /// The name as the user gave it, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset) - 1;
        let start = self.line_starts[line] as usize;
        let column = self.text.get(start..offset as usize).map_or(0, |s| s.chars().count()) + 1;
        Position { line: line + 1, column }
    }

    /// The text of a line counted from 1, without its end of line.
    pub fn line(&self, line: usize) -> &str {
        let start = self.line_starts[line - 1] as usize;
        let end = self.line_starts.get(line).map_or(self.text.len(), |e| *e as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// The text without the mark that some editors put before it, to say that it is UTF-8. It is no part of any language.
pub fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    }
}

/// All files of one run.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; `name` is shown in messages.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.files.push(SourceFile::new(name.into(), without_mark(text.into())));
        SourceId(self.files.len() as u32 - 1)
    }

    /// The file with this id.
    pub fn file(&self, id: SourceId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files, in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter()
    }

    /// The text a span covers.
    pub fn snippet(&self, span: Span) -> &str {
        self.file(span.source).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// `file:line:column` of the start of a span.
    pub fn locate(&self, span: Span) -> String {
        let file = self.file(span.source);
        format!("{}:{}", file.name, file.position(span.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut map = SourceMap::new();
        let id = map.add("a.m", "ab\n¬x\r\n");
        let file = map.file(id);
        assert_eq!(file.position(0), Position { line: 1, column: 1 });
        assert_eq!(file.position(5), Position { line: 2, column: 2 });
        assert_eq!(file.line(2), "¬x");
        assert_eq!(map.locate(Span::new(id, 5, 6)), "a.m:2:2");
        assert_eq!(map.snippet(Span::new(id, 5, 6)), "x");
    }
}
