//! Everything that can be covered, as text and as JSON.

use std::io::{self, Write};

use serde_json::json;
use shoal::{CoverSet, GreatestElement};

use crate::{
    Palette,
    json::{event, line},
    names::plural,
};

/// Writes the elements, those of a shared state together.
pub fn write_cover_set(out: &mut dyn Write, set: &CoverSet, palette: Palette) -> io::Result<()> {
    let elements = &set.elements;
    let count = plural(elements.len() as u64, "greatest element", "greatest elements");
    writeln!(out, "\n{} (ω: as many as anybody wants)", palette.strong(format_args!("cover set: {count}")))?;
    for same in elements.chunk_by(|one, other| one.shared == other.shared) {
        if !same[0].shared.is_empty() {
            writeln!(out, "  {}", palette.strong(&same[0].shared))?;
        }
        for element in same {
            let text: Vec<String> = element
                .tokens
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
pub fn cover_set_event(file: &str, set: &CoverSet) -> String {
    let count = |count: &Option<u32>| count.map_or(json!("w"), |count| json!(count));
    let element = |element: &GreatestElement| {
        let tokens: serde_json::Value = element
            .tokens
            .iter()
            .map(|token| json!({ "place": token.0, "count": count(&token.1) }))
            .collect();
        json!({ "shared": element.shared, "tokens": tokens })
    };
    let mut object = event("cover_set", Some(file));
    object.insert("elements".into(), set.elements.iter().map(element).collect());
    line(object)
}
