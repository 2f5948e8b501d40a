//! What a model says is to be found out about it, in its own comments:
//!
//! ```text
//! -- shoal: [set] [NAME=VALUE|any ...] verdict=holds|violated|unknown [states=N] [inactive=N] [full=N] [property="NAME"] [depth=N]
//! ```

use std::fmt;

use shoal_model::{Quiet, Strategy, Verdict};
use shoal_story::is_direction;
use shoal_syntax::remarks;

use crate::{CheckOptions, Error, LoadOptions, Loaded, Report, Sources, Status, check, load_sources};

/// One line of expectations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expectation {
    /// The line it stands on, from 1.
    pub line: usize,
    /// Constants, and what they are set to.
    pub set: Vec<(String, i64)>,
    /// Sorts that have any number of elements.
    pub any: Vec<String>,
    /// What is to come out.
    pub verdict: Option<ExpectedVerdict>,
    /// How many states are stored.
    pub states: Option<u64>,
    /// The same without symmetry, but with inactive variables reset.
    pub inactive: Option<u64>,
    /// How many states there are.
    pub full: Option<u64>,
    /// The property that the verdict is about; all together if none is named.
    pub property: Option<String>,
    /// How many steps its counterexample has.
    pub depth: Option<u64>,
    /// What the program refines: a file beside it.
    pub refines: Option<String>,
}

/// A verdict on all properties, or on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVerdict {
    /// Every property holds.
    Holds,
    /// Some property is violated.
    Violated,
    /// Something is not decided.
    Unknown,
}

impl fmt::Display for ExpectedVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExpectedVerdict::Holds => "holds",
            ExpectedVerdict::Violated => "violated",
            ExpectedVerdict::Unknown => "unknown",
        })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = self.verdict.map_or(String::new(), |verdict| verdict.to_string());
        let set = self.set.iter().map(|(name, value)| format!("{name}={value}"));
        let any = self.any.iter().map(|name| format!("{name}=any"));
        let with: Vec<String> = set.chain(any).collect();
        match (&self.property, with.is_empty()) {
            (Some(property), true) => write!(f, "{verdict}, {property:?}"),
            (Some(property), false) => write!(f, "{verdict}, {property:?} with {}", with.join(" ")),
            (None, true) => f.write_str(&verdict),
            (None, false) => write!(f, "{verdict} with {}", with.join(" ")),
        }
    }
}

/// The expectations in the comments of a text. The error says what is not understood, and where.
pub fn expectations(text: &str) -> Result<Vec<Expectation>, String> {
    let mut found = Vec::new();
    for (line, rest) in remarks(text).filter(|(_, rest)| !is_direction(rest)) {
        let at = |error: String| format!("line {line}: {error}");
        found.push(Expectation { line, ..expectation(rest).map_err(at)? });
    }
    Ok(found)
}

fn expectation(line: &str) -> Result<Expectation, String> {
    let mut expected = Expectation::default();
    for (key, value) in pairs(line)? {
        let number = || value.parse().map_err(|_| format!("{key}={value} is no number"));
        match key {
            "verdict" => {
                expected.verdict = Some(match value {
                    "holds" => ExpectedVerdict::Holds,
                    "violated" => ExpectedVerdict::Violated,
                    "unknown" => ExpectedVerdict::Unknown,
                    other => return Err(format!("a verdict is holds, violated or unknown, not {other}")),
                });
            }
            "states" => expected.states = Some(number()?),
            "full" => expected.full = Some(number()?),
            "inactive" => expected.inactive = Some(number()?),
            "depth" => expected.depth = Some(number()?),
            "property" => expected.property = Some(value.to_string()),
            "refines" => expected.refines = Some(value.to_string()),
            constant if value == "any" => expected.any.push(constant.into()),
            constant => {
                let number = value.parse().map_err(|_| format!("{key}={value} is no number"))?;
                expected.set.push((constant.into(), number));
            }
        }
    }
    match expected.verdict {
        Some(_) => Ok(expected),
        None => Err("an expectation names a verdict".into()),
    }
}

/// The `key=value` pairs of a line; a value in quotes may have spaces.
fn pairs(line: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut pairs = Vec::new();
    let mut rest = line.trim().trim_start_matches("set ").trim();
    while let Some((key, tail)) = rest.split_once('=') {
        let (value, tail) = match tail.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a quote is not closed")?,
            None => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
        };
        pairs.push((key.trim(), value));
        rest = tail.trim();
    }
    Ok(pairs)
}

/// What differs from an expectation; nothing if it is met. States are those of all orders of steps.
pub fn unmet(
    sources: &Sources,
    expected: &Expectation,
    load: &LoadOptions,
    how: &CheckOptions,
) -> Result<Vec<String>, Error> {
    let mut load = load.clone();
    load.set.extend(expected.set.iter().cloned());
    load.any.extend(expected.any.iter().cloned());
    let loaded = load_sources(sources, &load)?;
    let how = CheckOptions {
        strategy: Strategy { partial_order: shoal_model::PartialOrder::Off, ..how.strategy },
        ..how.clone()
    };
    let report = check(&loaded, &how, &mut Quiet)?;
    let mut unmet = Vec::new();
    let found = verdict(&loaded, &report, expected.property.as_deref());
    if Some(found) != expected.verdict {
        unmet.push(format!("the verdict is {found}"));
    }
    let mut compare = |what: &str, expected: Option<u64>, found: u64| {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            unmet.push(format!("{what}: {found}, expected {expected}"));
        }
    };
    compare("states", expected.states, report.outcome.statistics.states);
    if let Some(depth) = expected.depth {
        let found = depth_of(&loaded, &report, expected.property.as_deref());
        compare("depth", Some(depth), found.unwrap_or_default());
    }
    for (what, wanted, dead_variables) in
        [("full", expected.full, false), ("inactive", expected.inactive, true)]
    {
        if wanted.is_some() {
            let how = CheckOptions { symmetry: false, dead_variables: Some(dead_variables), ..how.clone() };
            compare(what, wanted, check(&loaded, &how, &mut Quiet)?.outcome.statistics.states);
        }
    }
    Ok(unmet)
}

/// The verdict on one property, or on all of them. A property that the line names is the one that is violated.
fn verdict(loaded: &Loaded, report: &Report, property: Option<&str>) -> ExpectedVerdict {
    let is_named = |name: &str| property.is_none_or(|property| property == name);
    let named = report.outcome.results.iter().filter(|result| {
        let property = &loaded.model.properties[result.property];
        is_named(&property.name) || is_named(&property.title())
    });
    let mut verdict = match report.status() {
        Status::Holds => ExpectedVerdict::Holds,
        Status::Violated if property.is_none() => ExpectedVerdict::Violated,
        Status::Violated => ExpectedVerdict::Holds,
        Status::Unknown | Status::Interrupted | Status::Internal => ExpectedVerdict::Unknown,
    };
    if property.is_some() {
        let mut any = false;
        for result in named {
            any = true;
            match &result.verdict {
                Verdict::Violated(_) => return ExpectedVerdict::Violated,
                Verdict::Unknown(_) => verdict = ExpectedVerdict::Unknown,
                Verdict::Holds => {}
            }
        }
        if !any {
            return ExpectedVerdict::Unknown;
        }
    }
    verdict
}

/// The length of the counterexample, of the property that is named or of the only one.
fn depth_of(loaded: &Loaded, report: &Report, property: Option<&str>) -> Option<u64> {
    let is_named = |name: &str| property.is_none_or(|property| property == name);
    report.violations().find_map(|(id, violation)| {
        let property = &loaded.model.properties[id];
        let named = is_named(&property.name) || is_named(&property.title());
        violation.trace.as_ref().filter(|_| named).map(|trace| trace.steps.len() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_what_is_not_understood_is_named() {
        let text = "-- shoal: verdict=holds states=4\n  // shoal: set N=5 P=any verdict=violated property=\"no two\" depth=3\n\
            # shoal is a word\n";
        let found = expectations(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].verdict, found[0].states), (Some(ExpectedVerdict::Holds), Some(4)));
        assert_eq!(found[1].set, [("N".to_string(), 5)]);
        assert_eq!(found[1].any, ["P"]);
        assert_eq!(
            (found[1].property.as_deref(), found[1].depth, found[1].line),
            (Some("no two"), Some(3), 2)
        );
        assert_eq!(found[1].to_string(), "violated, \"no two\" with N=5 P=any");
        for (wrong, why) in [
            ("-- shoal: verdict=fine", "line 1: a verdict is"),
            ("\n-- shoal: states=3", "line 2: an expectation names"),
            ("-- shoal: verdict=holds N=x", "line 1: N=x is no number"),
            ("-- shoal: property=\"x verdict=holds", "line 1: a quote"),
        ] {
            assert!(expectations(wrong).unwrap_err().starts_with(why), "{wrong}");
        }
    }
}
