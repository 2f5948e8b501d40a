//! Conditions as a person reads them.

use shoal_model::{Model, Type, Value};

use super::{
    Activity, Cube,
    atoms::{ValueClass, ViewAtom},
};

pub(super) fn shown(activity: &Activity, model: &Model) -> Vec<(String, String)> {
    let show = |variable: &super::ElementVariable| {
        let cubes = variable.active.0.iter().map(|cube| conjunction(activity, model, cube));
        let condition = cubes.collect::<Vec<_>>().join(", or ");
        let condition = if condition.is_empty() { "never".into() } else { condition };
        (name(model, &activity.atoms.atoms[variable.atom]), condition)
    };
    activity.variables.iter().map(show).collect()
}

fn name(model: &Model, atom: &ViewAtom) -> String {
    let mut name = model.vars[atom.var].name.clone();
    let mut ty = match model.kind(model.vars[atom.var].ty) {
        Type::Array { element, .. } if atom.own => *element,
        _ => return name,
    };
    for field in &atom.fields {
        if let Type::Record { fields } = model.kind(ty) {
            let field = &fields[*field as usize];
            name += &format!(".{}", field.name);
            ty = field.ty;
        }
    }
    name
}

fn conjunction(activity: &Activity, model: &Model, cube: &Cube) -> String {
    let atoms = activity.atoms.atoms.iter().zip(&cube.0);
    let told = atoms.filter(|(atom, mask)| **mask != atom.full());
    told.map(|(atom, mask)| test(model, atom, *mask)).collect::<Vec<_>>().join(" and ")
}

fn test(model: &Model, atom: &ViewAtom, mask: u64) -> String {
    let name = name(model, atom);
    let outside = atom.full() & !mask;
    if outside == ViewAtom::UNDEFINED {
        return format!("{name} is defined");
    }
    // That it may be undefined goes without saying.
    let negated = mask & ViewAtom::UNDEFINED != 0 && mask != ViewAtom::UNDEFINED;
    let listed = list(model, atom, if negated { outside } else { mask });
    match (negated, listed.as_slice()) {
        (false, [one]) if !one.contains("..") => format!("{name} = {one}"),
        (true, [one]) if !one.contains("..") => format!("{name} != {one}"),
        (false, of) => format!("{name} in {}", of.join(", ")),
        (true, of) => format!("{name} not in {}", of.join(", ")),
    }
}

/// The classes of a mask; of numbers in a row only the first and the last.
fn list(model: &Model, atom: &ViewAtom, mask: u64) -> Vec<String> {
    let mut out = Vec::new();
    let mut row: Option<(i64, i64)> = None;
    let flush = |row: Option<(i64, i64)>, out: &mut Vec<String>| match row {
        Some((first, last)) if first == last => out.push(first.to_string()),
        Some((first, last)) => out.push(format!("{first}..{last}")),
        None => {}
    };
    for class in atom.of_mask(mask) {
        if let ValueClass::Value(Value::Int(number)) = class {
            row = match row {
                Some((first, last)) if last + 1 == *number => Some((first, *number)),
                before => {
                    flush(before, &mut out);
                    Some((*number, *number))
                }
            };
            continue;
        }
        out.push(match class {
            ValueClass::Undefined => "undefined".into(),
            ValueClass::Me => "P".into(),
            ValueClass::Another => "another".into(),
            ValueClass::Any => "anything".into(),
            ValueClass::Value(value) => model.show(value).to_string(),
        });
    }
    flush(row, &mut out);
    out
}
