//! Pieces of the book.

/// The page of the book about error codes.
const ERRORS: &str = include_str!("../errors.md");

/// What the book says about an error code.
pub fn error_page(code: &str) -> Option<String> {
    let is_code = code.len() == 5 && code.starts_with(|first: char| first.is_ascii_uppercase());
    section(ERRORS, code).filter(|_| is_code)
}

/// The section of a Markdown text whose heading contains a word: up to the next heading of its rank or above.
pub fn section(text: &str, word: &str) -> Option<String> {
    let rank = |line: &str| line.chars().take_while(|c| *c == '#').count();
    let mut found: Option<(usize, Vec<&str>)> = None;
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let heading = if in_code { 0 } else { rank(line) };
        match &mut found {
            Some((own, _)) if heading > 0 && heading <= *own => break,
            Some((_, lines)) => lines.push(line),
            None if heading > 0 && line.contains(word) => {
                found = Some((heading, vec![line.trim_start_matches('#').trim()]));
            }
            None => {}
        }
    }
    found.map(|(_, lines)| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text =
            "# Errors\n\n## E0001: one\nfirst\n```\n# no heading\n```\n### more\nx\n## E0002: two\nsecond\n";
        assert_eq!(section(text, "E0001").unwrap(), "E0001: one\nfirst\n```\n# no heading\n```\n### more\nx");
        assert_eq!(section(text, "E0002").unwrap(), "E0002: two\nsecond");
        assert_eq!(section(text, "E0003"), None);
        assert!(error_page("E0201").is_some_and(|page| page.contains("E0201")));
    }
}
