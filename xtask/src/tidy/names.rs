//! Names of types. A name means one thing in the whole workspace, so that a search for it finds it.

use std::collections::BTreeMap;

/// Names that several crates use for the same thing of their own, and why.
const SHARED: &[(&str, &str)] = &[
    ("Lexer", "each language has one"),
    ("Lowerer", "each language has one"),
    ("Options", "what a front end or an engine can be told, named with its crate where it is used"),
    ("Parser", "each language has one"),
    ("Token", "each language has its own"),
    ("TokenKind", "each language has its own"),
];

/// Whether the types of a file are looked at.
///
/// Syntax trees have the words of the grammar and are named with their module (`ast::Expr`). Without machine code,
/// `no_jit.rs` stands where `jit.rs` stands with it.
fn is_looked_at(path: &str) -> bool {
    let is_tree = path.ends_with("/ast.rs") || path.contains("/ast/");
    path.ends_with(".rs") && !is_tree && !path.ends_with("/no_jit.rs")
}

/// Types that have the name of another.
pub(super) fn shared_names(sources: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in sources.iter().filter(|(path, _)| is_looked_at(path)) {
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = declared(line) {
                places.entry(name).or_default().push(format!("{path}:{}", number + 1));
            }
        }
    }
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let several = places.iter().filter(|(name, at)| at.len() > 1 && !is_shared(name));
    let mut breaches: Vec<String> =
        several.map(|(name, at)| format!("several types are called {name}: {}", at.join(", "))).collect();
    // A list that allows more than there is guards nothing.
    let alone = SHARED.iter().filter(|(name, _)| places.get(name).is_none_or(|at| at.len() < 2));
    breaches.extend(alone.map(|(name, _)| format!("xtask/src/tidy/names.rs need not allow several {name}")));
    breaches
}

/// The type that a line declares. Types inside of traits and their implementations, which stand further in, are not meant.
fn declared(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let is_inside = rest.len() < line.len();
    let rest = match rest.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => rest.strip_prefix("pub ").unwrap_or(rest),
    };
    let (word, rest) = rest.split_once(' ')?;
    let declares = match word {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !is_inside,
        _ => false,
    };
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| declares && name.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(sources: &[(&str, &str)]) -> Vec<String> {
        let owned: Vec<_> = sources.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let mut breaches = shared_names(&owned);
        breaches.retain(|breach| !breach.contains("need not allow"));
        breaches
    }

    #[test]
    fn a_second_type_of_a_name_is_found() {
        let found = breaches(&[
            ("crates/a/src/lib.rs", "/// struct Run\npub(crate) struct Run<'a> {"),
            ("crates/b/src/run.rs", "use a::Run;\n\ntype Run<T> = Result<T, Stop>;"),
        ]);
        assert_eq!(
            found,
            ["several types are called Run: crates/a/src/lib.rs:2, crates/b/src/run.rs:3".to_string()]
        );
    }

    #[test]
    fn syntax_trees_and_associated_types_have_the_names_they_need() {
        let found = breaches(&[
            ("crates/a/src/lib.rs", "pub struct Expr;\npub enum Item {"),
            ("crates/b/src/ast.rs", "pub struct Expr;"),
            ("crates/c/src/lib.rs", "impl Iterator for X {\n    type Item = u32;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn what_need_not_be_allowed_is_told() {
        assert_eq!(shared_names(&[]).len(), SHARED.len());
    }
}
