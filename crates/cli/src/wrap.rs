//! Lines that fit the terminal: what is too long goes on below, under the column that it began in.

use std::io::{self, Write};

/// Breaks lines at blanks. Colours take no room.
pub(crate) struct Wrap<W> {
    out: W,
    width: usize,
    line: Vec<u8>,
}

/// The rest of a line is not made narrower than this.
const NARROWEST: usize = 24;

impl<W: Write> Wrap<W> {
    pub(crate) fn new(out: W, width: usize) -> Self {
        Wrap { out, width, line: Vec::new() }
    }

    /// What is left without an end of its line is written as it is.
    pub(crate) fn finish(mut self) -> (W, io::Result<()>) {
        let rest = std::mem::take(&mut self.line);
        let done = self.out.write_all(&rest);
        (self.out, done)
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        // Half a character is nothing to break: every call of `write!` ends whole ones.
        let Ok(text) = std::str::from_utf8(&line) else { return self.out.write_all(&line) };
        self.out.write_all(wrapped(text.trim_end_matches('\n'), self.width).as_bytes())?;
        self.out.write_all(b"\n")
    }
}

impl<W: Write> Write for Wrap<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    /// A line that is not at its end waits: where it breaks is not known yet.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A line in lines of at most a width, if it has blanks to break at.
fn wrapped(line: &str, width: usize) -> String {
    if letters(line).count() <= width {
        return line.to_string();
    }
    let margin = hanging(line, width);
    let mut text = String::with_capacity(line.len() + 80);
    let (mut column, mut is_fresh) = (0, true);
    for word in line.split_inclusive(' ') {
        let long = letters(word.trim_end_matches(' ')).count();
        if column + long > width && !is_fresh && column > margin {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', margin));
            column = margin;
        }
        // Blanks that begin a line are its margin.
        is_fresh = is_fresh && word == " ";
        text.push_str(word);
        column += letters(word).count();
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// Where the rest of a line goes on: under its last column, the one behind two blanks or more, unless too little room is left there.
fn hanging(line: &str, width: usize) -> usize {
    let (mut column, mut blanks, mut last) = (0, 0, 0);
    let first = letters(line).take_while(|letter| *letter == ' ').count();
    for letter in letters(line).take(width) {
        if letter == ' ' {
            blanks += 1;
        } else {
            if blanks >= 2 && column > first {
                last = column;
            }
            blanks = 0;
        }
        column += 1;
    }
    if last > 0 && last + NARROWEST <= width { last } else { (first + 4).min(width / 2) }
}

/// The letters of a text that are seen.
fn letters(text: &str) -> impl Iterator<Item = char> {
    let mut colour = false;
    text.chars().filter(move |letter| match (*letter, colour) {
        ('\u{1b}', _) => {
            colour = true;
            false
        }
        (letter, true) => {
            colour = letter != 'm';
            false
        }
        (_, false) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_under_their_last_column() {
        let line = "   3  home takes a request  serving: NoRequest → WantExclusive, requester: client_1";
        let text = wrapped(line, 60);
        assert_eq!(
            text,
            "   3  home takes a request  serving: NoRequest →\n                            WantExclusive, requester:\n                            client_1"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 60));
    }

    #[test]
    fn words_that_do_not_fit_and_colours_are_left_as_they_are() {
        let word = "a".repeat(90);
        assert_eq!(wrapped(&word, 60), word);
        let coloured = format!("\u{1b}[31m{}\u{1b}[0m", "b ".repeat(30).trim_end());
        assert_eq!(wrapped(&coloured, 60), coloured);
    }

    #[test]
    fn what_comes_in_pieces_is_one_line() {
        let mut out = Wrap::new(Vec::new(), 30);
        for piece in ["  one two ", "three four five", " six seven eight\n", "short\nrest"] {
            out.write_all(piece.as_bytes()).unwrap();
        }
        let (written, done) = out.finish();
        done.unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "  one two three four five six\n      seven eight\nshort\nrest"
        );
    }
}
