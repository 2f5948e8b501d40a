//! Types, and the constants that belong to them.

use shoal_model::{OrInternal as _, SortId, Type, TypeId, Value};

use super::{OrCannotSay, Writer, survey::is_of_pointers};
use crate::CannotSay;

/// Integers of the Model have 64 bits; the tools have room for fewer in a variable. What does not fit is a run-time error.
const INTEGERS: &str = "-2147483648..2147483647";

impl Writer<'_> {
    /// The section of variables. All types that it needs are declared on the way.
    pub(crate) fn variables(&mut self) -> OrCannotSay<String> {
        let model = self.model;
        for sort in model.sorts.ids() {
            self.declare_sort(sort)?;
        }
        for ty in model.types.ids().filter(|ty| self.names.types.contains_key(ty)).collect::<Vec<_>>() {
            self.declare(ty)?;
        }
        let mut text = String::from("var\n");
        for (var, declared) in model.vars.enumerate() {
            let ty = self.type_text(declared.ty)?;
            text += &format!("  {}: {ty};\n", self.names.vars[var]);
        }
        Ok(if model.vars.is_empty() { String::new() } else { text })
    }

    fn declare_sort(&mut self, sort: SortId) -> OrCannotSay<()> {
        if self.names.written_sorts.insert(sort) {
            let (name, size) = (self.names.sorts[sort].clone(), self.survey.size(sort)?);
            let base = self.survey.base(sort);
            let what = match self.survey.is_range(sort) {
                true => format!("{}..{}", base + 1, base + i64::from(size)),
                false => format!("scalarset({size})"),
            };
            self.names.declared.push(format!("{name}: {what};"));
        }
        Ok(())
    }

    fn declare(&mut self, ty: TypeId) -> OrCannotSay<()> {
        if self.names.begin(ty) {
            let text = self.written_out(ty)?;
            self.names.declared.push(format!("{}: {text};", self.names.types[&ty]));
        }
        Ok(())
    }

    /// A type by its name, or written out if it has none.
    pub(crate) fn type_text(&mut self, ty: TypeId) -> OrCannotSay<String> {
        match self.names.types.get(&ty).cloned() {
            Some(name) => {
                self.declare(ty)?;
                Ok(name)
            }
            None => self.written_out(ty),
        }
    }

    fn written_out(&mut self, ty: TypeId) -> OrCannotSay<String> {
        let model = self.model;
        Ok(match model.kind(ty) {
            Type::Bool => "boolean".into(),
            Type::Int { lo: i64::MIN, hi: i64::MAX } => INTEGERS.into(),
            Type::Int { lo, hi } => format!("{lo}..{hi}"),
            Type::Enum { .. } => format!("enum {{{}}}", self.names.variants[&ty].join(", ")),
            Type::Ref { sort, nullable: false } => {
                self.declare_sort(*sort)?;
                self.names.sorts[*sort].clone()
            }
            Type::Ref { sort, nullable: true } => self.nullable(*sort)?,
            Type::Union { .. } if is_of_pointers(model, ty) => {
                let (lo, hi) = self.survey.numbers_of(ty).or_internal("the numbers of a union of pointers");
                format!("{lo}..{hi}")
            }
            Type::Union { members } => {
                self.refuse_meeting_numbers(members)?;
                let members: OrCannotSay<Vec<String>> =
                    members.iter().map(|member| self.type_text(*member)).collect();
                format!("union {{{}}}", members?.join(", "))
            }
            Type::Record { fields } => {
                let mut text = String::from("record ");
                for (position, field) in fields.iter().enumerate() {
                    let of = self.type_text(field.ty)?;
                    text += &format!("{}: {of}; ", self.names.fields[&ty][position]);
                }
                text + "end"
            }
            Type::Array { index, element } => {
                format!("array [{}] of {}", self.type_text(*index)?, self.type_text(*element)?)
            }
            Type::Multiset { capacity, element } => {
                format!("multiset [{capacity}] of {}", self.type_text(*element)?)
            }
            Type::Sequence { .. } => return Err(CannotSay::new("sequences")),
            Type::Clock => return Err(CannotSay::new("clocks")),
        })
    }

    /// The type of references that may be null.
    fn nullable(&mut self, sort: SortId) -> OrCannotSay<String> {
        if let Some(name) = self.names.nullable.get(&sort) {
            return Ok(name.clone());
        }
        let size = self.survey.base(sort) + i64::from(self.survey.size(sort)?);
        let name = self.names.taken.give(&format!("{}_or_null", self.names.sorts[sort]));
        self.names.declared.push(format!("{name}: 0..{size};"));
        self.names.nullable.insert(sort, name.clone());
        Ok(name)
    }

    /// Numbers that stand for elements would meet others in a union.
    fn refuse_meeting_numbers(&self, members: &[TypeId]) -> OrCannotSay<()> {
        let is_number = |ty: &&TypeId| match self.model.kind(**ty) {
            Type::Int { .. } => true,
            Type::Ref { sort, .. } => self.survey.is_range(*sort),
            _ => false,
        };
        match members.iter().filter(is_number).count() {
            0 | 1 => Ok(()),
            _ => {
                Err(CannotSay::new("a union in which elements of sorts would be the same numbers as others"))
            }
        }
    }

    /// A constant.
    pub(crate) fn value(&self, value: &Value) -> OrCannotSay<String> {
        Ok(match value {
            Value::Bool(value) => value.to_string(),
            Value::Int(i64::MIN) => return Err(CannotSay::new("the least integer of 64 bits")),
            Value::Int(value) if *value < 0 => format!("({value})"),
            Value::Int(value) => value.to_string(),
            Value::Enum(ty, position) => self.names.variants[ty][*position as usize].clone(),
            Value::Elem(sort, element) => (self.survey.base(*sort) + i64::from(element + 1)).to_string(),
            Value::Null => self.names.null.clone().unwrap_or_else(|| "0".into()),
            Value::Undefined => "undefined".into(),
            Value::Clock(_) => return Err(CannotSay::new("clocks")),
            Value::Record(_) | Value::Array(_) | Value::Multiset(_) | Value::Sequence(_) => {
                return Err(CannotSay::new("constants that are made of others"));
            }
        })
    }
}
