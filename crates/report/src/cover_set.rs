//! Everything that can be covered, as text and as JSON.

use std::io::{self, Write};

use serde_json::json;

use crate::{
    Palette,
    json::{event, line},
    names::plural,
};

/// A greatest element: the shared state, and how many tokens lie in which places; without a number, any number.
pub type Covered<'a> = (&'a str, &'a [(String, Option<u32>)]);

/// Writes the elements, those of a shared state together.
pub fn write_cover_set(out: &mut dyn Write, elements: &[Covered<'_>], palette: Palette) -> io::Result<()> {
    let count = plural(elements.len() as u64, "greatest element", "greatest elements");
    writeln!(out, "\n{} (ω: as many as anybody wants)", palette.strong(format_args!("cover set: {count}")))?;
    for same in elements.chunk_by(|one, other| one.0 == other.0) {
        if !same[0].0.is_empty() {
            writeln!(out, "  {}", palette.strong(same[0].0))?;
        }
        for (_, tokens) in same {
            let text: Vec<String> = tokens
                .iter()
                .map(|(place, count)| match count {
                    Some(1) => place.clone(),
                    Some(count) => format!("{count} × {place}"),
                    None => format!("ω × {place}"),
                })
                .collect();
            let text = if text.is_empty() { "nothing".to_string() } else { text.join(", ") };
            writeln!(out, "    {text}")?;
        }
    }
    Ok(())
}

/// The elements as an event; a count that is any number is `"w"`.
pub fn cover_set_event(file: &str, elements: &[Covered<'_>]) -> String {
    let count = |count: &Option<u32>| count.map_or(json!("w"), |count| json!(count));
    let element = |(shared, tokens): &Covered<'_>| {
        let tokens: serde_json::Value =
            tokens.iter().map(|token| json!({ "place": token.0, "count": count(&token.1) })).collect();
        json!({ "shared": shared, "tokens": tokens })
    };
    let mut object = event("cover_set", Some(file));
    object.insert("elements".into(), elements.iter().map(element).collect());
    line(object)
}
