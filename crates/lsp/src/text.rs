//! A document, and its places as editors count them: lines from 0, and in a line bytes or units of UTF-16.

use serde_json::{Value, json};

/// In what editors count the characters of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

/// A text and where its lines begin.
#[derive(Clone, Debug)]
pub(crate) struct IndexedText {
    pub(crate) text: String,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl IndexedText {
    pub(crate) fn new(text: String, encoding: Encoding) -> IndexedText {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        IndexedText { text, starts, encoding }
    }

    /// The place of a byte. One within a character is the character's.
    pub(crate) fn position(&self, offset: usize) -> Value {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        let character = match self.encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.encode_utf16().count(),
        };
        json!({"line": line, "character": character})
    }

    pub(crate) fn range(&self, from: usize, to: usize) -> Value {
        json!({"start": self.position(from), "end": self.position(to)})
    }

    /// The byte at a place; a place beyond the end of its line is that end.
    pub(crate) fn offset(&self, position: &Value) -> Option<usize> {
        let line = usize::try_from(position["line"].as_u64()?).ok()?;
        let wanted = usize::try_from(position["character"].as_u64()?).ok()?;
        let Some(&start) = self.starts.get(line) else { return Some(self.text.len()) };
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let mut units = 0;
        for (at, character) in self.text[start..end].char_indices() {
            if units >= wanted {
                return Some(start + at);
            }
            units += match self.encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
            };
        }
        Some(end)
    }

    /// The text after a change that an editor reports: of a range, or of all.
    pub(crate) fn changed(&self, change: &Value) -> Option<IndexedText> {
        let new = change["text"].as_str()?;
        let text = match change.get("range") {
            None | Some(Value::Null) => new.to_string(),
            Some(range) => {
                let (from, to) = (self.offset(&range["start"])?, self.offset(&range["end"])?);
                let mut text = self.text.clone();
                text.replace_range(from..to.max(from), new);
                text
            }
        };
        Some(IndexedText::new(text, self.encoding))
    }

    /// The word at a byte, and where it begins.
    pub(crate) fn word(&self, offset: usize) -> Option<(usize, &str)> {
        let before = self.text[..offset].char_indices().rev().take_while(|(_, it)| is_word(*it)).last();
        let start = before.map_or(offset, |(at, _)| at);
        let length: usize =
            self.text[start..].chars().take_while(|it| is_word(*it)).map(char::len_utf8).sum();
        let word = &self.text[start..start + length];
        (!word.is_empty()).then_some((start, word))
    }
}

pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_both_ways() {
        for (encoding, after) in [(Encoding::Utf8, 6), (Encoding::Utf16, 4)] {
            let text = IndexedText::new("a\n¬😀é x\r\nb".into(), encoding);
            let at = text.text.find('é').unwrap();
            let position = text.position(at);
            assert_eq!(position["line"], 1);
            assert_eq!(position["character"], if encoding == Encoding::Utf8 { after } else { after - 1 });
            assert_eq!(text.offset(&position), Some(at));
            for (at, _) in text.text.char_indices() {
                assert_eq!(text.offset(&text.position(at)), Some(at), "{encoding:?} {at}");
            }
        }
    }

    #[test]
    fn changes_are_made_where_they_are() {
        let text = IndexedText::new("one\ntwo\nthree".into(), Encoding::Utf16);
        let change = json!({"range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 2}}, "text": "X"});
        assert_eq!(text.changed(&change).unwrap().text, "one\nXree");
        assert_eq!(text.changed(&json!({"text": "all"})).unwrap().text, "all");
    }

    #[test]
    fn a_word_is_found_from_within_and_from_its_end() {
        let text = IndexedText::new("if abc_1 then".into(), Encoding::Utf8);
        for at in 3..=8 {
            assert_eq!(text.word(at), Some((3, "abc_1")));
        }
        assert_eq!(text.word(2), Some((0, "if")));
        assert_eq!(IndexedText::new("a  b".into(), Encoding::Utf8).word(2), None);
    }
}
