//! Values as a reader wants them: short, and without what says nothing.

use shoal_model::{Field, Model, Type, TypeId, Value};

/// What stands for nothing.
pub(crate) const NOTHING: &str = "–";

/// Whether a value says that there is nothing: undefined, null, a constant called `None`, `NoRequest` or `Empty`, a record that
/// begins with such a one or has nothing else, an empty bag or list.
pub(crate) fn is_neutral(model: &Model, ty: TypeId, value: &Value) -> bool {
    match (model.kind(ty), value) {
        (_, Value::Undefined | Value::Null) => true,
        (Type::Enum { variants }, Value::Enum(_, at)) => {
            variants.get(*at as usize).is_some_and(|name| says_nothing(name))
        }
        (Type::Record { fields }, Value::Record(values)) => {
            let parts = || fields.iter().zip(values);
            let begins = parts().next().is_some_and(|(field, value)| match (model.kind(field.ty), value) {
                (Type::Enum { .. }, value) => is_neutral(model, field.ty, value),
                (Type::Bool, value) => *value == Value::Bool(false),
                _ => false,
            });
            begins || parts().all(|(field, value)| is_neutral(model, field.ty, value))
        }
        (Type::Array { element, .. }, Value::Array(values)) => {
            values.iter().all(|value| is_neutral(model, *element, value))
        }
        (_, Value::Multiset(slots)) => slots.iter().flatten().next().is_none(),
        (_, Value::Sequence(items)) => items.is_empty(),
        _ => false,
    }
}

/// `NoRequest`, `no_msg`, `None`, `Empty`, `Nil`: but not `Node` or `Notify`.
fn says_nothing(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let whole = ["none", "no", "empty", "nil", "null", "nothing"].contains(&lower.as_str());
    let rest = |prefix: &str| lower.starts_with(prefix).then(|| &name[prefix.len()..]);
    let begins_word = |rest: &str| rest.starts_with(|it: char| it.is_uppercase() || it == '_');
    whole || ["no", "empty", "none"].iter().filter_map(|prefix| rest(prefix)).any(begins_word)
}

/// A value in one short line: a record that begins with a constant reads as `GrantExclusive(value_1)`, one with a constant elsewhere
/// as `GetM(adr 1, src cache_2)`, and what says nothing is left out.
pub fn short_value(model: &Model, ty: TypeId, value: &Value) -> String {
    match (model.kind(ty), value) {
        (_, Value::Undefined | Value::Null) => NOTHING.into(),
        (Type::Record { fields }, Value::Record(values)) => {
            if is_neutral(model, ty, value) {
                return NOTHING.into();
            }
            let mut parts: Vec<(&str, String)> = fields
                .iter()
                .zip(values)
                .filter(|(field, value)| !is_neutral(model, field.ty, value))
                .map(|(field, value)| (field.name.as_str(), short_value(model, field.ty, value)))
                .collect();
            let kind = kind_of_message(model, fields);
            let inside = kind.filter(|at| *at > 0).map(|at| fields[at].name.as_str());
            match inside.and_then(|name| parts.iter().position(|part| part.0 == name)) {
                None => constructor(kind == Some(0), &parts),
                Some(at) => {
                    let (_, what) = parts.remove(at);
                    let rest: Vec<String> =
                        parts.iter().map(|(name, text)| format!("{name} {text}")).collect();
                    if rest.is_empty() { what } else { format!("{what}({})", rest.join(", ")) }
                }
            }
        }
        (Type::Array { element, .. }, Value::Array(values)) => {
            let entry = |value: &Value| match is_neutral(model, *element, value) {
                true => "·".to_string(),
                false => short_value(model, *element, value),
            };
            format!("[{}]", values.iter().map(entry).collect::<Vec<_>>().join(" "))
        }
        (Type::Sequence { element, .. }, Value::Sequence(items)) => {
            let items: Vec<String> = items.iter().map(|item| short_value(model, *element, item)).collect();
            format!("[{}]", items.join(", "))
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            let items = slots.iter().flatten().map(|item| short_value(model, *element, item));
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        (Type::Enum { .. }, value) if is_neutral(model, ty, value) => NOTHING.into(),
        (_, value) => model.show(value).to_string(),
    }
}

/// The field that says what a record is: the first if that is a constant, or the only one that is.
fn kind_of_message(model: &Model, fields: &[Field]) -> Option<usize> {
    let mut named =
        fields.iter().enumerate().filter(|(_, field)| matches!(model.kind(field.ty), Type::Enum { .. }));
    let (first, _) = named.next()?;
    (first == 0 || named.next().is_none()).then_some(first)
}

/// `Name(a, b)` where the first part names what it is, else `{field a, field b}`. Fields without a name of their own (numbered
/// ones) are written without it.
fn constructor(begins: bool, parts: &[(&str, String)]) -> String {
    let plain = |parts: &[(&str, String)]| parts.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
    match parts {
        [(_, name), rest @ ..] if begins && rest.is_empty() => name.clone(),
        [(_, name), rest @ ..] if begins => format!("{name}({})", plain(rest).join(", ")),
        parts if parts.iter().all(|(name, _)| name.parse::<u32>().is_ok()) => plain(parts).join(", "),
        parts => {
            let named: Vec<String> = parts.iter().map(|(name, text)| format!("{name} {text}")).collect();
            format!("{{{}}}", named.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_nothing_are_known() {
        for name in ["NoRequest", "None", "Empty", "no_msg", "EmptyMsg", "Nil"] {
            assert!(says_nothing(name), "{name}");
        }
        for name in ["Node", "Notify", "Emptying", "Idle", "nonempty"] {
            assert!(!says_nothing(name), "{name}");
        }
    }
}
