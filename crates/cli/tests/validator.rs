//! A reader of JSON Schema that knows the words that our schemas use.

use serde_json::{Map, Value as Json};

/// Checks a value against a schema, with the words that ours uses. A word that it does not know is a mistake of the test.
pub(crate) struct Validator(pub(crate) Json);

impl Validator {
    pub(crate) fn check(&self, schema: &Json, value: &Json, at: &str) -> Result<(), String> {
        for (word, says) in schema.as_object().expect("a schema is an object") {
            let fine = match word.as_str() {
                "description" | "title" | "$schema" | "$id" | "$defs" | "properties" => true,
                "$ref" => {
                    let name =
                        says.as_str().and_then(|it| it.strip_prefix("#/$defs/")).expect("a definition");
                    return self.check(&self.0["$defs"][name], value, at);
                }
                "oneOf" => {
                    let options = says.as_array().expect("a list");
                    let found: Vec<Result<(), String>> =
                        options.iter().map(|it| self.check(it, value, at)).collect();
                    return match found.iter().filter(|it| it.is_ok()).count() {
                        1 => Ok(()),
                        count => Err(format!("{at}: fits {count} of {} forms: {found:?}", options.len())),
                    };
                }
                "const" => value == says,
                "enum" => says.as_array().expect("a list").contains(value),
                "type" => match says {
                    Json::Array(types) => types.iter().any(|it| is_of(value, it)),
                    one => is_of(value, one),
                },
                "minimum" => value.as_f64().is_none_or(|number| number >= says.as_f64().expect("a number")),
                "required" => says
                    .as_array()
                    .expect("a list")
                    .iter()
                    .all(|name| value.get(name.as_str().expect("a name")).is_some()),
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(says, item, &format!("{at}[{number}]"))?;
                    }
                    true
                }
                "additionalProperties" => {
                    let none = Map::new();
                    let known = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        let at = format!("{at}.{name}");
                        match (known.get(name), says) {
                            (Some(own), _) => self.check(own, inner, &at)?,
                            (None, Json::Bool(false)) => return Err(format!("{at} is not in the schema")),
                            (None, other) => self.check(other, inner, &at)?,
                        }
                    }
                    true
                }
                other => panic!("the schema says {other:?}, which this test does not know"),
            };
            if !fine {
                return Err(format!("{at}: {value} breaks {word}: {says}"));
            }
        }
        Ok(())
    }
}

fn is_of(value: &Json, kind: &Json) -> bool {
    match kind.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        // Numbers of any size keep their digits.
        Some("integer") => {
            value.is_number() && value.to_string().bytes().all(|it| it.is_ascii_digit() || it == b'-')
        }
        _ => panic!("there is no type {kind}"),
    }
}
