//! How things of a model are called in every format.

use shoal::{Move, MoveKind};
use shoal_model::{
    Domain, Expr, ExprKind, Model, Place, Projection, Root, Rule, RuleId, StartId, State, Type, TypeId, Value,
};

/// What a step of a process is called, without whose it is and where it stands: `q!1` for `A: q!1 (line 7)`.
pub(crate) fn bare_name(rule: &str) -> &str {
    let (_, name) = rule.split_once(": ").unwrap_or(("", rule));
    let name = name.rsplit_once(" (line ").map_or(name, |(name, _)| name);
    if name.is_empty() { rule } else { name }
}

/// A value with the names of its model and of its record fields.
pub fn render_value(model: &Model, ty: TypeId, value: &Value) -> String {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            let parts: Vec<String> = fields
                .iter()
                .zip(values)
                .map(|(field, value)| format!("{}: {}", field.name, render_value(model, field.ty, value)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        (Type::Array { element, .. } | Type::Sequence { element, .. }, Value::Array(values))
        | (Type::Array { element, .. } | Type::Sequence { element, .. }, Value::Sequence(values)) => {
            format!("[{}]", join_values(model, *element, values.iter()))
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            format!("{{|{}|}}", join_values(model, *element, slots.iter().flatten()))
        }
        _ => model.show(value).to_string(),
    }
}

fn join_values<'a>(model: &Model, ty: TypeId, values: impl Iterator<Item = &'a Value>) -> String {
    values.map(|value| render_value(model, ty, value)).collect::<Vec<_>>().join(", ")
}

/// What a move is called: the rule with its arguments, and what it chose.
pub fn move_name(model: &Model, before: Option<&State>, next: &Move) -> String {
    let name = match (next.what, before) {
        (MoveKind::Start(start), _) => start_name(model, start, &next.args),
        (MoveKind::Rule(rule), Some(before)) => instance_name_in(model, before, rule, &next.args),
        (MoveKind::Rule(rule), None) => instance_name(model, rule, &next.args),
    };
    if next.choices.is_empty() {
        return name;
    }
    let choices: Vec<String> = next.choices.iter().map(|value| model.show(value).to_string()).collect();
    format!("{name} choosing {}", choices.join(", "))
}

/// A rule with its arguments, such as `SendReqE(i = Client_1)`.
pub fn instance_name(model: &Model, rule: RuleId, args: &[Value]) -> String {
    with_arguments(model, &model.rules[rule], args, None)
}

/// The same in the state where it fires: a slot of a multiset is then named by what it holds.
pub fn instance_name_in(model: &Model, state: &State, rule: RuleId, args: &[Value]) -> String {
    with_arguments(model, &model.rules[rule], args, Some(state))
}

/// A start with its arguments.
pub fn start_name(model: &Model, start: StartId, args: &[Value]) -> String {
    with_arguments(model, &model.starts[start], args, None)
}

fn with_arguments(model: &Model, rule: &Rule, args: &[Value], state: Option<&State>) -> String {
    if args.is_empty() {
        return rule.name.clone();
    }
    let args: Vec<String> = arguments(model, rule, args, state)
        .into_iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    // A name of several words reads better with a gap before its arguments.
    let gap = if rule.name.contains(' ') { " " } else { "" };
    format!("{}{gap}({})", rule.name, args.join(", "))
}

/// The parameters of a rule by name, each with its value as text.
pub(crate) fn arguments(
    model: &Model,
    rule: &Rule,
    args: &[Value],
    state: Option<&State>,
) -> Vec<(String, String)> {
    let named = rule.params.iter().zip(args);
    named
        .map(|(parameter, value)| {
            let local = &rule.code.locals[parameter.local];
            let text = match (&parameter.domain, value) {
                (Domain::Slots(place), Value::Int(slot)) => {
                    let held = state.and_then(|state| in_slot(model, state, rule, args, place, *slot));
                    held.unwrap_or_else(|| format!("slot {slot}"))
                }
                _ => render_value(model, local.ty, value),
            };
            (local.name.clone(), text)
        })
        .collect()
}

/// What a slot of a multiset holds, where the place of the multiset is easily found.
fn in_slot(
    model: &Model,
    state: &State,
    rule: &Rule,
    args: &[Value],
    place: &Place,
    slot: i64,
) -> Option<String> {
    let Root::Var(var) = place.root else { return None };
    let (mut ty, mut value) = (model.vars[var].ty, state.value(var));
    for projection in &place.path {
        (ty, value) = match (projection, model.kind(ty), value) {
            (Projection::Field(field), Type::Record { fields }, Value::Record(values)) => {
                (fields.get(*field as usize)?.ty, values.get(*field as usize)?)
            }
            (Projection::Index(index), Type::Array { index: over, element }, Value::Array(values)) => {
                let position = model.ordinal(*over, plain_value(rule, args, index)?)?;
                (*element, values.get(position as usize)?)
            }
            _ => return None,
        };
    }
    let (Type::Multiset { element, .. }, Value::Multiset(slots)) = (model.kind(ty), value) else {
        return None;
    };
    let held = slots.get(usize::try_from(slot).ok()?)?.as_ref()?;
    Some(render_value(model, *element, held))
}

/// The value of an index that is a constant or a parameter of the rule.
fn plain_value<'a>(rule: &Rule, args: &'a [Value], index: &'a Expr) -> Option<&'a Value> {
    match &index.kind {
        ExprKind::Const(value) => Some(value),
        ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => {
            let position = rule.params.iter().position(|parameter| parameter.local == *local)?;
            args.get(position)
        }
        _ => None,
    }
}

/// A piece of source on one line, cut where it is too long to be read at a glance.
pub fn one_line(text: &str) -> String {
    const LIMIT: usize = 110;
    let words: Vec<&str> = text.split_whitespace().collect();
    // Names were escaped when they came in; this is the text of the file.
    let line = shoal_syntax::escaped(&words.join(" ")).into_owned();
    match line.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{} …", line[..end].trim_end()),
        None => line,
    }
}

/// A number with its digits in groups of three: `51 218`.
pub fn grouped(number: impl Into<u128>) -> String {
    grouped_digits(&number.into().to_string())
}

/// The digits of a number that may fit in no type, in groups of three.
pub(crate) fn grouped_digits(digits: &str) -> String {
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1 state`, `2 states`.
pub fn plural(number: impl Into<u128>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_source_is_put_on_one_line() {
        assert_eq!(grouped(51_218u64), "51 218");
        assert_eq!(grouped(7u64), "7");
        assert_eq!(plural(1u64, "step", "steps"), "1 step");
        assert_eq!(one_line("a\n   & b"), "a & b");
        assert!(one_line(&"ü ".repeat(200)).ends_with('…'));
    }
}
