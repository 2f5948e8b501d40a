//! Names that come from a source and are shown.

use shoal_syntax::escaped;

use crate::{Code, Model, Type};

impl Model {
    /// Writes out every character in a name that could act on whoever reads it (see [`escaped`]). Done once, when a model is made, so
    /// that no surface has to think of it.
    pub fn escape_names(&mut self) {
        escape(&mut self.name);
        self.sorts.iter_mut().for_each(|sort| escape(&mut sort.name));
        self.vars.iter_mut().for_each(|var| escape(&mut var.name));
        self.tables.iter_mut().for_each(|table| escape(&mut table.name));
        for definition in self.types.iter_mut() {
            definition.name.iter_mut().for_each(escape);
            match &mut definition.kind {
                Type::Enum { variants } => variants.iter_mut().for_each(escape),
                Type::Record { fields } => fields.iter_mut().for_each(|field| escape(&mut field.name)),
                Type::Bool
                | Type::Int { .. }
                | Type::Ref { .. }
                | Type::Union { .. }
                | Type::Array { .. }
                | Type::Multiset { .. }
                | Type::Sequence { .. }
                | Type::Clock => {}
            }
        }
        for function in self.functions.iter_mut() {
            escape(&mut function.name);
            escape_locals(&mut function.code);
        }
        for rule in self.starts.iter_mut().chain(self.rules.iter_mut()) {
            escape(&mut rule.name);
            escape_locals(&mut rule.code);
        }
        for property in self.properties.iter_mut() {
            escape(&mut property.name);
        }
    }
}

fn escape_locals(code: &mut Code) {
    code.locals.iter_mut().for_each(|local| escape(&mut local.name));
}

fn escape(name: &mut String) {
    if let std::borrow::Cow::Owned(shown) = escaped(name) {
        *name = shown;
    }
}
