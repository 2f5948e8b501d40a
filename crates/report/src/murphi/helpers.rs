//! Functions that say what the language has no words for: entries of tables, numbers of constants, elements by their numbers.

use std::collections::HashMap;

use shoal_model::{BinaryOp, OrInternal as _, SortId, TableId, Type, TypeId};

use super::{OrCannotSay, Writer, survey::is_of_pointers};
use crate::CannotSay;

/// Functions that are made for the text.
#[derive(Debug, Default)]
pub(crate) struct Helpers {
    texts: Vec<String>,
    /// Those that call functions of the model.
    last: Vec<String>,
    tables: HashMap<TableId, String>,
    ordinals: HashMap<TypeId, String>,
    elements: HashMap<SortId, String>,
}

impl Helpers {
    /// The functions in the order in which they are needed.
    pub(crate) fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// Adds one that calls functions of the model.
    pub(crate) fn add_last(&mut self, text: String) {
        self.last.push(text);
    }

    /// Those that call functions of the model.
    pub(crate) fn last_text(&self) -> String {
        self.last.join("\n")
    }
}

impl Writer<'_> {
    /// How an operator is written.
    pub(crate) fn symbol(&mut self, op: BinaryOp) -> &'static str {
        let bitwise = match op {
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => op.symbol(),
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => return op.symbol(),
        };
        self.survey.not_for_cmurphi.insert("bitwise operators");
        bitwise
    }

    /// The number of a value in its type.
    pub(crate) fn ordinal(&mut self, ty: TypeId, value: &str) -> OrCannotSay<String> {
        Ok(match self.model.kind(ty) {
            Type::Bool => format!("({value} ? 1 : 0)"),
            Type::Int { lo: 0, .. } => value.to_string(),
            Type::Int { lo, .. } => format!("({value} - ({lo}))"),
            Type::Ref { sort, nullable: false } => format!("({value} - {})", self.survey.base(*sort) + 1),
            Type::Ref { sort, nullable: true } => match self.survey.base(*sort) {
                0 => value.to_string(),
                base => format!("({value} = 0 ? 0 : {value} - {base})"),
            },
            Type::Union { .. } if is_of_pointers(self.model, ty) => {
                let (first, _) = self.survey.numbers_of(ty).or_internal("the numbers of a union of pointers");
                format!("({value} - {first})")
            }
            Type::Enum { .. } => format!("{}({value})", self.enum_ordinal(ty)),
            Type::Union { .. }
            | Type::Record { .. }
            | Type::Array { .. }
            | Type::Multiset { .. }
            | Type::Sequence { .. }
            | Type::Clock => return Err(CannotSay::new("the number of a value of a union")),
        })
    }

    fn enum_ordinal(&mut self, ty: TypeId) -> String {
        if let Some(name) = self.helpers.ordinals.get(&ty) {
            return name.clone();
        }
        let (of, variants) = (self.names.types[&ty].clone(), self.names.variants[&ty].clone());
        let name = self.names.taken.give(&format!("number_of_{of}"));
        let cases = variants.iter().enumerate().map(|(number, name)| (name.clone(), number as i64));
        let text =
            switch(&format!("function {name}(x: {of}): 0..{};\n", variants.len().max(1) - 1), "x", cases);
        self.helpers.texts.push(text);
        self.helpers.ordinals.insert(ty, name.clone());
        name
    }

    /// The element with a number: an error if there is none.
    pub(crate) fn element_at(&mut self, sort: SortId, number: &str) -> OrCannotSay<String> {
        let size = self.survey.size(sort)?;
        let name = match self.helpers.elements.get(&sort) {
            Some(name) => name.clone(),
            None => {
                let of = self.names.sorts[sort].clone();
                let name = self.names.taken.give(&format!("{of}_at"));
                self.helpers.texts.push(format!(
                    "function {name}(number: 0..{}): {of};\nbegin\n  return number + {};\nend;\n",
                    size.max(1) - 1,
                    self.survey.base(sort) + 1
                ));
                self.helpers.elements.insert(sort, name.clone());
                name
            }
        };
        Ok(format!("{name}({number})"))
    }

    /// The entry of a table at a position: an error if there is none.
    pub(crate) fn entry(&mut self, table: TableId, at: &str) -> String {
        let name = match self.helpers.tables.get(&table) {
            Some(name) => name.clone(),
            None => {
                let table_of = &self.model.tables[table];
                let name = self.names.taken.give(&table_of.name);
                let (least, most) = (table_of.entries.iter().min(), table_of.entries.iter().max());
                let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
                let last = table_of.entries.len().max(1) - 1;
                let cases = table_of.entries.iter().enumerate().map(|(at, entry)| (at.to_string(), *entry));
                let text =
                    switch(&format!("function {name}(at: 0..{last}): {least}..{most};\n"), "at", cases);
                self.helpers.texts.push(text);
                self.helpers.tables.insert(table, name.clone());
                name
            }
        };
        format!("{name}({at})")
    }
}

/// A function that returns a number for each value of its parameter.
fn switch(head: &str, subject: &str, cases: impl Iterator<Item = (String, i64)>) -> String {
    let mut text = format!("{head}begin\n  switch {subject}\n");
    for (label, value) in cases {
        text += &format!("    case {label}: return {value};\n");
    }
    text + "  end;\nend;\n"
}
