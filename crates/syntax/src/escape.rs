//! Text of others that is shown: it must not be able to do anything but stand there.

use std::borrow::Cow;

/// Text in which every character that could do something to whoever reads it is written out: control characters (a terminal would
/// obey them, XML does not allow them, a line break would begin a line that we did not write), marks that change the
/// direction of writing, and what is no character at all. An escape sequence thus reads `\u{1b}[2J`.
///
/// Names are escaped when they come in: those of a model when it is made, those of a trace when it is read. So they are the same
/// in every format.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match acts(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something else than to be seen.
pub fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // Line and paragraph separators; overrides and isolates of the direction.
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // What XML does not know, and a byte order mark inside a text.
            | '\u{fffe}' | '\u{ffff}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_written_out() {
        assert_eq!(escaped("take the fork (s = 3) ✓ ü"), "take the fork (s = 3) ✓ ü");
        assert_eq!(escaped("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(escaped("a\n✓ holds\t\u{9b}31m\u{202e}"), "a\\n✓ holds\\t\\u{9b}31m\\u{202e}");
    }
}
