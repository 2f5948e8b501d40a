//! How the languages say that something is always so: what is put around an expression, and where.

use std::path::Path;

use crate::{
    Loaded, Sources,
    load::{MURPHI, RED},
};

/// The words of a language.
pub(super) struct Wording {
    /// What stands before the condition and behind it.
    around: (&'static str, &'static str),
    not: &'static str,
    equals: &'static str,
    put: PropertySlot,
}

/// Where a property goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PropertySlot {
    /// Behind the text, on lines of its own.
    Behind,
    /// Before it, on its first line: what is behind may not be a property any more.
    Before,
    /// Into the file of queries beside the text.
    Queries,
    /// Among the queries of an XML file.
    Xml,
}

/// The words of a model's language; nothing if it has none.
pub(super) fn of(loaded: &Loaded) -> Option<Wording> {
    let main = loaded.sources.files().next()?;
    let ending = loaded
        .options
        .language
        .clone()
        .or_else(|| Some(Path::new(main.name()).extension()?.to_str()?.to_string()));
    let is_xml = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("xml"));
    Some(match loaded.language {
        MURPHI => Wording {
            around: ("\ninvariant \"$asked\" ", ";\n"),
            not: "!",
            equals: "=",
            put: PropertySlot::Behind,
        },
        RED => Wording {
            around: ("\nsafe \"$asked\": ", ";\n"),
            not: "not ",
            equals: "==",
            put: PropertySlot::Behind,
        },
        "Promela" | "Promela with objects" => Wording {
            around: ("\nltl shoal_asked { [] (", ") }\n"),
            not: "!",
            equals: "==",
            put: PropertySlot::Behind,
        },
        "VPL" => Wording {
            around: ("verify \"$asked\": all_paths (henceforth (", "));"),
            not: "not ",
            equals: "=",
            put: PropertySlot::Before,
        },
        "UPPAAL" => Wording {
            around: ("A[] (", ")"),
            not: "not ",
            equals: "==",
            put: if is_xml { PropertySlot::Xml } else { PropertySlot::Queries },
        },
        _ => return None,
    })
}

impl Wording {
    /// That an expression is never true.
    pub(super) fn never(&self, text: &str) -> String {
        format!("{}{}{}{}", self.around.0, self.not, self.enclosed(text), self.around.1)
    }

    /// That an expression is what it is.
    pub(super) fn same(&self, text: &str) -> String {
        let text = self.enclosed(text);
        format!("{}{text} {} {text}{}", self.around.0, self.equals, self.around.1)
    }

    /// In parentheses; where it may have lines of its own, a comment at its end hides nothing that follows.
    fn enclosed(&self, text: &str) -> String {
        match self.put {
            PropertySlot::Behind => format!("(\n{text}\n)"),
            PropertySlot::Before | PropertySlot::Queries | PropertySlot::Xml => {
                format!("({})", text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// The texts of a model with a property more.
    pub(super) fn sources(&self, loaded: &Loaded, property: &str) -> Sources {
        let mut files = loaded.sources.files();
        let (name, text) = files.next().map(|main| (main.name(), main.text())).unwrap_or_default();
        let text = match self.put {
            PropertySlot::Behind => format!("{text}{property}"),
            PropertySlot::Before => format!("{property} {text}"),
            PropertySlot::Queries => text.to_string(),
            PropertySlot::Xml => in_xml(text, property),
        };
        let mut others: Vec<(String, String)> =
            files.map(|file| (file.name().to_string(), file.text().to_string())).collect();
        if self.put == PropertySlot::Queries {
            match others.first_mut() {
                Some((_, queries)) => *queries = format!("{queries}\n{property}\n"),
                None => {
                    others.push((Path::new(name).with_extension("q").display().to_string(), property.into()))
                }
            }
        }
        others.into_iter().fold(Sources::text(name, text), |texts, (name, text)| texts.with(name, text))
    }
}

/// With a query more: before the end of the queries, or of everything.
fn in_xml(text: &str, property: &str) -> String {
    let escaped = property.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let query = format!("<query><formula>{escaped}</formula></query>");
    let (at, query) = match (text.rfind("</queries>"), text.rfind("</nta>")) {
        (Some(at), _) => (at, query),
        (None, Some(at)) => (at, format!("<queries>{query}</queries>")),
        (None, None) => (text.len(), query),
    };
    format!("{}{query}{}", &text[..at], &text[at..])
}
