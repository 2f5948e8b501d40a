//! What is declared in a text and where it is used, found in the Model.
//!
//! The parts of a Model know where they stood. A place such as `cache[c].state` begins with the name of its variable, so the
//! text says whether it is a use; what a front end made up, or took from somewhere else, is none. Names that the Model has no use for
//! (constants, types, fields, values, modes) are found in the text: what is spelt alike is the same, and is declared where it
//! stands first. So a text that has errors has names, too.

use std::collections::BTreeMap;

use shoal::{
    model::{
        Code, Condition, Expr, ExprKind, IndexVec, Local, LocalId, Model, Node, Place, Root, Rule, StmtKind,
        Type, TypedId, walk_argument, walk_code, walk_condition, walk_domain, walk_expr,
    },
    syntax::{PieceKind, SourceId, SourceMap, Span, Vocabulary},
};

use crate::text::is_word;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Sort,
    Variable,
    Local,
    Function,
    Rule,
    Property,
    /// A named value of a type.
    Value,
    /// A field of a record.
    Field,
    /// A type that is no sort.
    Type,
    /// Something else that the text names.
    Word,
}

/// Something that has a name.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredName {
    pub(crate) name: String,
    pub(crate) kind: NameKind,
    /// Where the name stands; where it does not stand at all, the beginning of the declaration.
    pub(crate) at: Span,
    /// Where all of it stands.
    pub(crate) whole: Span,
    /// Its type, or what else is to be known.
    pub(crate) detail: String,
    /// Whether the name stands in the text.
    pub(crate) is_written: bool,
}

/// All that is declared, in the order of the Model, and where it is used.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    pub(crate) declared: Vec<DeclaredName>,
    /// Each use and what is used; declarations count.
    uses: BTreeMap<Span, usize>,
}

impl NameTable {
    pub(crate) fn of(model: &Model, sources: &SourceMap) -> NameTable {
        let mut search = UseSearch { model, sources, names: NameTable::default(), known: BTreeMap::new() };
        search.all();
        search.names
    }

    /// With the names of the main text that are not known yet.
    #[must_use]
    pub(crate) fn with_words(
        mut self,
        text: &str,
        vocabulary: &Vocabulary,
        model: Option<&Model>,
    ) -> NameTable {
        for ((_, word), places) in self.unknown(text, vocabulary) {
            let known = self.meant(&word);
            let index = known.unwrap_or_else(|| {
                let (kind, detail) =
                    model.map_or((NameKind::Word, String::new()), |model| role(model, &word));
                let at = places[0];
                let whole = line_of(text, at);
                self.declared.push(DeclaredName {
                    name: word.clone(),
                    kind,
                    at,
                    whole,
                    detail,
                    is_written: true,
                });
                self.declared.len() - 1
            });
            for place in places {
                self.uses.entry(place).or_insert(index);
            }
        }
        self
    }

    /// Where names stand of which nothing is known, by whether they stand behind a dot, and how they are spelt. Fields are declared
    /// without a dot, so they are one with what is spelt so, unless that is known to be something else.
    fn unknown(&self, text: &str, vocabulary: &Vocabulary) -> BTreeMap<(bool, String), Vec<Span>> {
        let mut found: BTreeMap<(bool, String), Vec<Span>> = BTreeMap::new();
        let mut before = "";
        for piece in vocabulary.pieces(text).iter().filter(|piece| !piece.kind.is_comment()) {
            let span = Span::new(SourceId(0), piece.start, piece.end);
            if piece.kind == PieceKind::Name && !self.uses.contains_key(&span) {
                let behind_dot = matches!(before, "." | "->");
                found.entry((behind_dot, piece.text(text).to_string())).or_default().push(span);
            }
            before = piece.text(text);
        }
        let fields: Vec<String> =
            found.keys().filter(|(dot, _)| *dot).map(|(_, word)| word.clone()).collect();
        for word in fields.into_iter().filter(|word| self.declared.iter().all(|it| it.name != **word)) {
            let behind = found.remove(&(true, word.clone())).unwrap_or_default();
            let all = found.entry((false, word)).or_default();
            all.extend(behind);
            all.sort();
        }
        found
    }

    /// What is meant by a name that the Model has no use for where it stands, if there is one thing only that is called so.
    fn meant(&self, word: &str) -> Option<usize> {
        let mut called = self.declared.iter().enumerate().filter(|(_, it)| it.is_written && it.name == word);
        let (index, declared) = called.next()?;
        let is_one = called.next().is_none();
        let is_global = matches!(declared.kind, NameKind::Sort | NameKind::Variable | NameKind::Function);
        (is_one && is_global).then_some(index)
    }

    /// What the name at a byte of a source stands for.
    pub(crate) fn at(&self, source: u32, offset: usize) -> Option<usize> {
        let holds = |span: &Span| {
            span.source.0 == source && span.start as usize <= offset && offset <= span.end as usize
        };
        self.uses.iter().find(|(span, _)| holds(span)).map(|(_, declared)| *declared)
    }

    /// Where something is used, its declaration included, in the order of the text.
    pub(crate) fn uses_of(&self, declared: usize) -> impl Iterator<Item = Span> {
        self.uses.iter().filter(move |(_, of)| **of == declared).map(|(span, _)| *span)
    }

    /// All uses in the order of the text.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (Span, &DeclaredName)> {
        self.uses.iter().map(|(span, of)| (*span, &self.declared[*of]))
    }
}

/// What a name of the text is in a model, and what there is to say of it.
fn role(model: &Model, word: &str) -> (NameKind, String) {
    for (id, ty) in model.types.enumerate() {
        if ty.name.as_deref() == Some(word) {
            return (NameKind::Type, shape(model, id));
        }
        let of = || ty.name.clone().unwrap_or_else(|| "its type".into());
        match &ty.kind {
            Type::Enum { variants } if variants.iter().any(|it| it == word) => {
                return (NameKind::Value, format!("a value of {}", of()));
            }
            Type::Record { fields } => {
                if let Some(field) = fields.iter().find(|it| it.name == word) {
                    return (NameKind::Field, model.show_type(field.ty).to_string());
                }
            }
            _ => {}
        }
    }
    (NameKind::Word, String::new())
}

/// A type as it is written out.
fn shape(model: &Model, ty: shoal::model::TypeId) -> String {
    let mut unnamed = model.clone();
    unnamed.types[ty].name = None;
    unnamed.show_type(ty).to_string()
}

/// The line that a place is in.
fn line_of(text: &str, at: Span) -> Span {
    let (start, end) = (at.start as usize, at.end as usize);
    let first = text[..start].rfind('\n').map_or(0, |line| line + 1);
    let last = text[end..].find('\n').map_or(text.len(), |line| end + line);
    Span::new(at.source, first, last)
}

/// The word that a name of the Model is written as: what a template calls `Train(1).x` is `x` in its text.
fn word_of(name: &str) -> &str {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let end = last.find(|it| !is_word(it)).unwrap_or(last.len());
    &last[..end]
}

struct UseSearch<'a> {
    model: &'a Model,
    sources: &'a SourceMap,
    names: NameTable,
    /// Declarations that were met before, by place and name: a front end may make several of one.
    known: BTreeMap<(Span, String), usize>,
}

impl UseSearch<'_> {
    fn all(&mut self) {
        let model = self.model;
        for sort in model.sorts.iter() {
            self.declare(&sort.name, NameKind::Sort, sort.span, "a sort".into());
        }
        let vars: Vec<usize> = model
            .vars
            .iter()
            .map(|var| self.declare(&var.name, NameKind::Variable, var.span, self.type_of(var.ty)))
            .collect();
        let functions: Vec<usize> = model
            .functions
            .iter()
            .map(|function| {
                let result = function.result.map_or("a procedure".into(), |ty| self.type_of(ty));
                self.declare(&function.name, NameKind::Function, function.span, result)
            })
            .collect();
        let known = DeclarationIndex { vars, functions };
        for function in model.functions.iter() {
            let locals = self.locals(&function.code.locals);
            self.code(&function.code, &known, &locals);
        }
        for rule in model.starts.iter().chain(model.rules.iter()) {
            self.declare(&rule.name, NameKind::Rule, rule.span, parameters(model, rule));
            self.rule(rule, &known);
        }
        for property in model.properties.iter() {
            self.declare(&property.name, NameKind::Property, property.span, property.kind.noun().into());
            property.kind.conditions().into_iter().for_each(|condition| self.condition(condition, &known));
        }
        model.fairness.iter().for_each(|condition| self.condition(condition, &known));
    }

    fn type_of(&self, ty: shoal::model::TypeId) -> String {
        self.model.show_type(ty).to_string()
    }

    fn declare(&mut self, name: &str, kind: NameKind, whole: Span, detail: String) -> usize {
        // The names of rules and properties are texts, not words.
        let is_text = matches!(kind, NameKind::Rule | NameKind::Property);
        let word = if is_text { name } else { word_of(name) };
        if let Some(known) = self.known.get(&(whole, word.to_string())) {
            return *known;
        }
        let found = self.find(word, self.around(kind, whole));
        let at = found.unwrap_or(Span { end: whole.start, ..whole });
        let index = self.names.declared.len();
        let name = if found.is_some() { word } else { name };
        self.names.declared.push(DeclaredName {
            name: name.to_string(),
            kind,
            at,
            whole,
            detail,
            is_written: found.is_some(),
        });
        if found.is_some() {
            self.names.uses.entry(at).or_insert(index);
        }
        self.known.insert((whole, word.to_string()), index);
        index
    }

    /// Where the name may stand: that of a sort stands before its declaration, on the same line.
    fn around(&self, kind: NameKind, whole: Span) -> Span {
        if kind != NameKind::Sort || whole.source.0 as usize >= self.sources.files().count() {
            return whole;
        }
        let text = self.sources.file(whole.source).text();
        let line = text.get(..whole.start as usize).and_then(|before| before.rfind('\n'));
        Span { start: line.map_or(0, |at| at as u32 + 1), ..whole }
    }

    /// Where a word stands in a piece of the source, the first time.
    fn find(&self, word: &str, within: Span) -> Option<Span> {
        if word.is_empty() || within.source.0 as usize >= self.sources.files().count() {
            return None;
        }
        let text = self.sources.snippet(within);
        let is_whole = |at: usize| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        };
        let (at, _) = text.match_indices(word).find(|(at, _)| is_whole(*at))?;
        let start = within.start as usize + at;
        Some(Span::new(within.source, start, start + word.len()))
    }

    /// Whether a word goes on behind a piece of it.
    fn goes_on(&self, head: Span) -> bool {
        let text = self.sources.file(head.source).text();
        text.get(head.end as usize..).and_then(|rest| rest.chars().next()).is_some_and(is_word)
    }

    fn locals(&mut self, locals: &IndexVec<LocalId, Local>) -> Vec<Option<usize>> {
        let own = |local: &Local| !local.name.starts_with('$');
        let declared = locals.iter().map(|local| {
            own(local).then(|| {
                let detail = self.type_of(local.ty);
                self.declare(&local.name, NameKind::Local, local.span, detail)
            })
        });
        declared.collect()
    }

    fn rule(&mut self, rule: &Rule, known: &DeclarationIndex) {
        let locals = self.locals(&rule.code.locals);
        let mut met = Vec::new();
        let mut visit = |node: Node<'_>| met.extend(meet(node));
        rule.params.iter().for_each(|parameter| walk_domain(&parameter.domain, &mut visit));
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut visit));
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        walk_code(&rule.code, &mut visit);
        self.note(met, known, &locals);
    }

    fn code(&mut self, code: &Code, known: &DeclarationIndex, locals: &[Option<usize>]) {
        let mut met = Vec::new();
        walk_code(code, &mut |node| met.extend(meet(node)));
        self.note(met, known, locals);
    }

    fn condition(&mut self, condition: &Condition, known: &DeclarationIndex) {
        let locals = self.locals(&condition.locals);
        let mut met = Vec::new();
        walk_condition(condition, &mut |node| met.extend(meet(node)));
        self.note(met, known, &locals);
    }

    fn note(&mut self, met: Vec<(Span, MetName)>, known: &DeclarationIndex, locals: &[Option<usize>]) {
        for (span, what) in met {
            let declared = match what {
                MetName::Var(var) => Some(known.vars[var]),
                MetName::Function(function) => Some(known.functions[function]),
                MetName::Local(local) => locals[local],
            };
            let Some(declared) = declared else { continue };
            let word = self.names.declared[declared].name.clone();
            // The name is what the piece begins with, or it is not written there.
            let head = Span { end: span.end.min(span.start + word.len() as u32), ..span };
            // Nor is it one if it goes on: `i` is not `inside`.
            if self.find(&word, head) == Some(head) && !self.goes_on(head) {
                self.names.uses.entry(head).or_insert(declared);
            }
        }
    }
}

/// Where variables and functions are among what is declared.
struct DeclarationIndex {
    vars: Vec<usize>,
    functions: Vec<usize>,
}

enum MetName {
    Var(usize),
    Local(usize),
    Function(usize),
}

/// What a piece of code uses, and where it stands.
fn meet(node: Node<'_>) -> Option<(Span, MetName)> {
    match node {
        Node::Place(Place { root: Root::Var(var), span, .. }) => Some((*span, MetName::Var(var.index()))),
        Node::Place(Place { root: Root::Local(local), span, .. }) => {
            Some((*span, MetName::Local(local.index())))
        }
        Node::Expr(Expr { kind: ExprKind::Call(function, _), span, .. }) => {
            Some((*span, MetName::Function(function.index())))
        }
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Call(function, _) => Some((stmt.span, MetName::Function(function.index()))),
            _ => None,
        },
        Node::Expr(_) => None,
    }
}

fn parameters(model: &Model, rule: &Rule) -> String {
    let shown = rule.params.iter().map(|parameter| {
        let local = &rule.code.locals[parameter.local];
        format!("{}: {}", local.name, model.show_type(local.ty))
    });
    shown.collect::<Vec<_>>().join(", ")
}
