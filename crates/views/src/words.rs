//! Views in the words of the model.

use shoal_model::{Fault, SortId, Type, TypeId, TypedId, Value};

use crate::{
    cell::{Cell, ViewScalar},
    layout::Hop,
    structure::Structure,
    system::OpenSystem,
};

/// So many views are shown.
pub(crate) const MOST_SHOWN: usize = 1_000;

/// What is known in a structure, such as `owned = true, cache[c1].state = Shared`.
pub(crate) fn structure(system: &OpenSystem<'_>, structure: &Structure) -> String {
    let ViewInWords { shared, own } = in_words(system, structure);
    [own, shared].concat().join(", ")
}

/// A view in the words of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewInWords {
    /// What belongs to no element, such as `owned = true`.
    pub shared: Vec<String>,
    /// What belongs to elements, such as `cache[client_1].state = Shared`, and what others satisfy.
    pub own: Vec<String>,
}

fn in_words(system: &OpenSystem<'_>, structure: &Structure) -> ViewInWords {
    let (mut shared, mut parts) = (Vec::new(), Vec::new());
    for (at, cell) in structure.cells.iter().enumerate() {
        if *cell != Cell::ABSENT && *cell != Cell::UNDEFINED {
            let text = format!("{} = {}", place(system, at), value(system, *cell));
            if system.is_indexed(at) { parts.push(text) } else { shared.push(text) }
        }
    }
    for at in (0..system.predicates.len()).filter(|at| structure.bits >> at & 1 == 1) {
        parts.push(format!("another has {}", predicate(system, at)));
    }
    ViewInWords { shared, own: parts }
}

/// A context predicate.
pub(crate) fn predicate(system: &OpenSystem<'_>, at: usize) -> String {
    let predicate = &system.predicates[at];
    let not = if predicate.forall { "not " } else { "" };
    format!("{not}{}", shoal_model::print_expr(system.model, predicate.locals, predicate.body))
}

/// The view that is stored so.
pub(crate) fn view_in_words(system: &OpenSystem<'_>, view: &[u32]) -> ViewInWords {
    in_words(system, &Structure::of_view(system, view))
}

pub(crate) fn view(system: &OpenSystem<'_>, view: &[u32]) -> String {
    structure(system, &Structure::of_view(system, view))
}

/// Why a property is not proved.
pub(crate) fn failure(system: &OpenSystem<'_>, rule: Option<&str>, fault: &Fault, at: &Structure) -> String {
    let what = match rule {
        Some(rule) => format!("in rule \"{rule}\" {}", fault.kind),
        None => "it is false".to_string(),
    };
    format!("{what} where {}", structure(system, at))
}

fn place(system: &OpenSystem<'_>, at: usize) -> String {
    let info = &system.layout.cells[at];
    let family = &system.layout.families[info.family];
    let model = system.model;
    let var = &model.vars[family.var];
    let mut text = var.name.clone();
    let mut ty = var.ty;
    let mut dims = info.dims.iter();
    for hop in &family.path {
        match (hop, model.kind(ty)) {
            (Hop::Field(field), Type::Record { fields }) => {
                text += &format!(".{}", fields[*field].name);
                ty = fields[*field].ty;
            }
            (Hop::Entry(entry), Type::Array { index, element }) => {
                text += &format!("[{}]", entry_name(system, *index, *entry));
                ty = *element;
            }
            (Hop::Elem(sort), Type::Array { element, .. }) => {
                let number = dims.next().map_or(0, |dim| dim.element);
                text += &format!("[{}]", name(system, *sort, number));
                ty = *element;
            }
            (Hop::Slot(slot), Type::Multiset { element, .. }) => {
                text += &format!("[slot {slot}]");
                ty = *element;
            }
            (Hop::InUse(slot), _) => text += &format!("[slot {slot}] in use"),
            _ => text += "?",
        }
    }
    text
}

fn entry_name(system: &OpenSystem<'_>, index: TypeId, entry: usize) -> String {
    system
        .model
        .value_at(index, entry as u64)
        .map_or("?".into(), |value| system.model.show(&value).to_string())
}

fn name(system: &OpenSystem<'_>, sort: usize, element: usize) -> String {
    system.model.sorts[SortId::from_index(sort)].element_name(element as u32)
}

fn value(system: &OpenSystem<'_>, cell: Cell) -> String {
    let value = match cell.unpack() {
        None | Some(ViewScalar::Undefined) => return "undefined".into(),
        Some(ViewScalar::Star(sort, number)) => {
            let more = if number == 0 { String::new() } else { format!(" (no. {})", number + 1) };
            return format!("another {}{more}", system.model.sorts[sort].name);
        }
        Some(ViewScalar::Elem(sort, element)) => return name(system, sort.index(), element as usize),
        Some(ViewScalar::Null) => Value::Null,
        Some(ViewScalar::Bool(value)) => Value::Bool(value),
        Some(ViewScalar::Int(value)) => Value::Int(value),
        Some(ViewScalar::Enum(ty, position)) => Value::Enum(ty, position),
    };
    system.model.show(&value).to_string()
}
