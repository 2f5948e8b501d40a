//! The last look at what goes to a terminal.
//!
//! Names are escaped where they come in ([`shoal::syntax::escaped`]). This is the net below: whatever text was forgotten, no control
//! character reaches the terminal but line breaks, tabs and, where there are colours, the sequences that make them.

use std::io::{self, Write};

/// Lets through what is only text.
pub(crate) struct Clean<W> {
    out: W,
    colours: bool,
}

impl<W: Write> Clean<W> {
    pub(crate) fn new(out: W, colours: bool) -> Self {
        Clean { out, colours }
    }

    /// Where nobody reads: what waits is not written.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for Clean<W> {
    /// Takes all bytes. What was written with one call is whole characters, as `write!` does it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| may_act(*byte)) {
            self.out.write_all(&rest[..at])?;
            rest = &rest[at..];
            let length = match rest {
                [b'\x1b', ..] if self.colours && colour(rest) > 0 => colour(rest),
                // U+0080 to U+009F.
                [0xc2, second @ 0x80..=0x9f, ..] => {
                    write!(self.out, "\\u{{{second:x}}}")?;
                    rest = &rest[2..];
                    continue;
                }
                [0xc2, ..] => 1,
                [byte, ..] => {
                    write!(self.out, "\\u{{{byte:x}}}")?;
                    rest = &rest[1..];
                    continue;
                }
                [] => 0,
            };
            self.out.write_all(&rest[..length])?;
            rest = &rest[length..];
        }
        self.out.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn may_act(byte: u8) -> bool {
    byte < b' ' && byte != b'\n' && byte != b'\t' || byte == 0x7f || byte == 0xc2
}

/// How long the sequence is that begins here and sets a colour; 0 if there is none.
fn colour(bytes: &[u8]) -> usize {
    let [0x1b, b'[', numbers @ ..] = bytes else { return 0 };
    match numbers.iter().position(|byte| !(byte.is_ascii_digit() || *byte == b';')) {
        Some(end) if numbers[end] == b'm' => end + 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str, colours: bool) -> String {
        let mut out = Clean::new(Vec::new(), colours);
        out.write_all(text.as_bytes()).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn only_text_and_colours_get_through() {
        let text = "a\tü ✓\n\u{1b}[1;32mgreen\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m £\r";
        let shown = clean(text, true);
        assert_eq!(
            shown,
            "a\tü ✓\n\u{1b}[1;32mgreen\u{1b}[0m \\u{1b}[2J\\u{1b}]0;title\\u{7} \\u{9b}31m £\\u{d}"
        );
        assert!(clean(text, false).starts_with("a\tü ✓\n\\u{1b}[1;32mgreen"));
    }
}
