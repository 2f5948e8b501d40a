//! Comments that are meant for Shoal: what is expected of a model, and how its runs are to be told.

/// How such a comment begins, in the languages that there are.
const MARKS: [&str; 4] = ["-- shoal:", "// shoal:", "* shoal:", "# shoal:"];

/// The comments of a text that begin with `shoal:`, each with its line, counted from 1.
pub fn remarks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let rest = MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark))?;
        Some((at + 1, rest.trim().trim_end_matches("*/").trim_end()))
    })
}
