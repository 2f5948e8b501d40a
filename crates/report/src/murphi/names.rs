//! Names that are legal in Murphi and told apart, as close to those of the model as can be.

use std::collections::{BTreeSet, HashMap};

use shoal_model::{FunctionId, IndexVec, Model, SortId, Type, TypeId, VarId};

/// Words that one of the tools takes for its own, beside those that Shoal knows.
const OTHER_WORDS: [&str; 6] = ["process", "program", "endprocess", "endprogram", "flush", "wildcard"];

/// Names that are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct TakenNames {
    taken: BTreeSet<String>,
    /// Those of locals: nothing that is declared at the top afterwards may have one.
    locals: BTreeSet<String>,
}

impl TakenNames {
    /// A legal name that nothing else has, made of a name of the model.
    pub(crate) fn give(&mut self, wanted: &str) -> String {
        let name = free_name(wanted, &|name| self.taken.contains(name) || self.locals.contains(name));
        self.taken.insert(name.clone());
        name
    }

    /// A name for a type: where something else has it already, it says what it is.
    fn give_type(&mut self, wanted: &str) -> String {
        if self.taken.contains(&legal(wanted)) {
            self.give(&format!("{wanted}_type"))
        } else {
            self.give(wanted)
        }
    }

    /// A name for a local that can be seen together with some others.
    pub(crate) fn give_local(&mut self, wanted: &str, active: &[String]) -> String {
        let name = free_name(wanted, &|name| self.taken.contains(name) || active.iter().any(|it| it == name));
        self.locals.insert(name.clone());
        name
    }
}

/// A legal name made of a name of the model, that is not taken.
pub(crate) fn free_name(wanted: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let name = legal(wanted);
    if !is_taken(&name) {
        return name;
    }
    (2_u64..).map(|number| format!("{name}_{number}")).find(|name| !is_taken(name)).unwrap_or(name)
}

/// Letters, digits and underscores, with a letter first; no word of the language.
fn legal(wanted: &str) -> String {
    let mut name = String::new();
    for part in wanted.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty())
    {
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(part);
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name = format!("x{name}");
    }
    if is_word(&name) { format!("{name}_") } else { name }
}

fn is_word(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let known = shoal::vocabularies().iter().find(|it| it.id == "murphi");
    OTHER_WORDS.contains(&lower.as_str()) || known.is_some_and(|it| it.all_words().contains(&lower.as_str()))
}

/// A text between quotes: what both tools read as it stands.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('"', "'").replace('\\', "/"))
}

/// A text without line breaks.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of what is declared at the top.
#[derive(Debug)]
pub(crate) struct GlobalNames {
    pub(crate) taken: TakenNames,
    pub(crate) vars: IndexVec<VarId, String>,
    pub(crate) functions: IndexVec<FunctionId, String>,
    pub(crate) sorts: IndexVec<SortId, String>,
    /// Those of types that are declared.
    pub(crate) types: HashMap<TypeId, String>,
    pub(crate) variants: HashMap<TypeId, Vec<String>>,
    pub(crate) fields: HashMap<TypeId, Vec<String>>,
    /// Declarations of types in their order.
    pub(crate) declared: Vec<String>,
    /// References to elements of a sort or to nothing, where they are declared.
    pub(crate) nullable: HashMap<SortId, String>,
    /// The name of the reference to nothing, if there is one.
    pub(crate) null: Option<String>,
    written: BTreeSet<TypeId>,
    pub(crate) written_sorts: BTreeSet<SortId>,
}

impl GlobalNames {
    /// Variables come first, so that they keep the names that the user gave them.
    pub(crate) fn new(model: &Model) -> GlobalNames {
        let mut taken = TakenNames::default();
        let vars = model.vars.iter().map(|var| taken.give(&var.name)).collect();
        let sorts: IndexVec<SortId, String> = model.sorts.iter().map(|sort| taken.give(&sort.name)).collect();
        let mut types = HashMap::new();
        for (id, def) in model.types.enumerate() {
            let is_declared = match &def.kind {
                Type::Bool | Type::Ref { .. } | Type::Clock => false,
                Type::Int { .. } => def.kind != Type::INTEGER && def.name.is_some(),
                Type::Enum { .. } => true,
                Type::Union { .. }
                | Type::Record { .. }
                | Type::Array { .. }
                | Type::Multiset { .. }
                | Type::Sequence { .. } => def.name.is_some(),
            };
            if is_declared {
                types.insert(id, taken.give_type(def.name.as_deref().unwrap_or("values")));
            }
        }
        let (mut variants, mut fields) = (HashMap::new(), HashMap::new());
        for (id, def) in model.types.enumerate() {
            match &def.kind {
                Type::Enum { variants: of } => {
                    variants.insert(id, of.iter().map(|name| taken.give(variant_name(name))).collect());
                }
                Type::Record { fields: of } => {
                    let mut own = TakenNames::default();
                    fields.insert(id, of.iter().map(|field| own.give(&field_name(&field.name))).collect());
                }
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
        let functions = model.functions.iter().map(|function| taken.give(&function.name)).collect();
        let has_null = model.types.iter().any(|def| matches!(def.kind, Type::Ref { nullable: true, .. }));
        let null = has_null.then(|| taken.give("null"));
        let (declared, nullable) = (Vec::new(), HashMap::new());
        let (written, written_sorts) = (BTreeSet::new(), BTreeSet::new());
        GlobalNames {
            taken,
            vars,
            functions,
            sorts,
            types,
            variants,
            fields,
            declared,
            nullable,
            null,
            written,
            written_sorts,
        }
    }

    /// Whether a type is to be declared now; once.
    pub(crate) fn begin(&mut self, ty: TypeId) -> bool {
        self.written.insert(ty)
    }

    /// The section of types.
    pub(crate) fn type_declarations(&self) -> String {
        let mut text = String::new();
        if let Some(null) = &self.null {
            text += &format!("const\n  {null}: 0;\n\n");
        }
        if !self.declared.is_empty() {
            text += "type\n";
        }
        self.declared.iter().for_each(|line| text += &format!("  {line}\n"));
        text
    }
}

/// A value that stands for nowhere is called `-` by some front ends.
fn variant_name(name: &str) -> &str {
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { "none" }
}

/// Fields that only have a number are those of messages.
fn field_name(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("f{name}") } else { name.to_string() }
}
