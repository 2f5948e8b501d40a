//! What is declared: constants, families of processes, their modes, variables.

use std::collections::BTreeMap;

use shoal_model::{Expr, Sort, SortId, SortSize, Type, TypeId, Value, VarId};
use shoal_syntax::{
    Diagnostic, Span,
    cursor::{Parsed, error, not_constant, unknown},
};
use shoal_template::{Options, Setting, build::TemplateBuilder, codes};

use super::ast::{self, ExprKind as K, Name, Program};

/// Words with a meaning of their own in expressions.
const RESERVED: [&str; 14] = [
    "P", "NULL", "TRUE", "FALSE", "true", "false", "mode", "and", "or", "not", "implies", "forall", "exists",
    "goto",
];

/// Everything that is declared.
pub(super) struct RedDeclarations<'p> {
    pub(super) constants: RedConstants<'p>,
    pub(super) families: Vec<RedFamily<'p>>,
    /// In the order of the source.
    pub(super) variables: Vec<RedVariable<'p>>,
    pub(super) modes: Modes<'p>,
    /// The type of a process.
    pub(super) process: TypeId,
    /// The type of a process or NULL.
    pub(super) pointer: TypeId,
}

/// The constants: numbers, and those that may be any number.
#[derive(Default)]
pub(super) struct RedConstants<'p> {
    numbers: BTreeMap<&'p str, i64>,
    any: Vec<&'p str>,
}

impl<'p> RedConstants<'p> {
    /// The number that a name stands for, if it is that of a constant.
    pub(super) fn number(&self, name: &Name) -> Parsed<Option<i64>> {
        if self.any.contains(&name.node.as_str()) {
            let message = format!(
                "not supported: `{}` is more than how many processes there are, so it cannot be any number",
                name.node
            );
            return error(codes::UNSUPPORTED, name.span, message);
        }
        Ok(self.numbers.get(name.node.as_str()).copied())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'p str> {
        self.numbers.keys().chain(&self.any).copied()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

/// Processes that run the same part of the program: a sort.
pub(super) struct RedFamily<'p> {
    pub(super) name: &'p str,
    pub(super) sort: SortId,
    /// The type of its processes.
    pub(super) ty: TypeId,
    /// How many there are, unless it is any number.
    pub(super) size: Option<u32>,
    /// How many processes of other families come before its own: its first has the next address. Nothing if they are any
    /// number.
    pub(super) before: Option<u32>,
    pub(super) program: &'p ast::Family,
}

/// A variable of the model.
#[derive(Clone, Copy)]
pub(super) struct RedVariable<'p> {
    pub(super) name: &'p str,
    pub(super) var: VarId,
    pub(super) local: bool,
    pub(super) pointer: bool,
}

/// The modes of all families. They are integers if their labels are numbers, and named constants otherwise.
pub(super) struct Modes<'p> {
    /// The variable `mode`.
    pub(super) var: VarId,
    /// The type of a mode.
    pub(super) ty: TypeId,
    /// Whether they have names.
    pub(super) named: bool,
    labels: Vec<&'p str>,
}

/// The mode of processes that have none.
pub(super) const PASSIVE: &str = "passive";

impl<'p> RedDeclarations<'p> {
    pub(super) fn new(
        b: &mut TemplateBuilder,
        program: &'p Program,
        options: &Options,
    ) -> Parsed<RedDeclarations<'p>> {
        let constants = constants(program, options)?;
        let families = families(b, program, &constants)?;
        let first = families.iter().map(|family| family.ty).collect::<Vec<_>>();
        let process = one_of(b, first);
        let nullable =
            families.iter().enumerate().map(|(at, family)| b.reference(family.sort, at == 0)).collect();
        let pointer = one_of(b, nullable);
        let modes = modes(b, &families, process)?;
        let mut declared =
            RedDeclarations { constants, families, variables: Vec::new(), modes, process, pointer };
        declared.variables(b, program)?;
        Ok(declared)
    }

    fn variables(&mut self, b: &mut TemplateBuilder, program: &'p Program) -> Parsed<()> {
        for variable in &program.variables {
            let name = variable.name.node.as_str();
            let taken = self.variables.iter().any(|other| other.name == name)
                || self.constants.has(name)
                || self.families.iter().any(|family| family.name == name)
                || self.modes.labels.contains(&name);
            declarable(&variable.name, taken)?;
            let scalar = match &variable.range {
                None => self.pointer,
                Some((first, last)) => {
                    let (lo, hi) = (value_of(&self.constants, first)?, value_of(&self.constants, last)?);
                    if hi < lo {
                        return error(codes::OUT_OF_RANGE, first.span.to(last.span), "an empty range");
                    }
                    b.ty(Type::Int { lo, hi })
                }
            };
            let ty = match variable.local {
                true => b.ty(Type::Array { index: self.process, element: scalar }),
                false => scalar,
            };
            let var = b.var(name, ty, variable.name.span);
            let pointer = variable.range.is_none();
            self.variables.push(RedVariable { name, var, local: variable.local, pointer });
        }
        Ok(())
    }

    pub(super) fn variable(&self, name: &str) -> Option<RedVariable<'p>> {
        self.variables.iter().find(|variable| variable.name == name).copied()
    }

    pub(super) fn family(&self, name: &Name) -> Parsed<&RedFamily<'p>> {
        match self.families.iter().find(|family| family.name == name.node) {
            Some(family) => Ok(family),
            None => unknown(&name.node, name.span, self.families.iter().map(|family| family.name)),
        }
    }
}

impl Modes<'_> {
    /// A mode as a constant of the model.
    pub(super) fn constant(&self, b: &TemplateBuilder, label: &str, span: Span) -> Parsed<Expr> {
        let Some(position) = self.labels.iter().position(|known| *known == label) else {
            return unknown(label, span, self.labels.iter().copied());
        };
        let value = match (self.named, label.parse()) {
            (false, Ok(number)) => Value::Int(number),
            // The one mode without a label is numbered after the others.
            (false, Err(_)) => Value::Int(greatest(&self.labels) + 1),
            (true, _) => Value::Enum(self.ty, position as u32),
        };
        Ok(b.constant(value, self.ty, span))
    }

    /// Whether a mode has this name.
    pub(super) fn has(&self, label: &str) -> bool {
        self.labels.contains(&label)
    }
}

fn greatest(labels: &[&str]) -> i64 {
    labels.iter().filter_map(|label| label.parse().ok()).max().unwrap_or(-1)
}

/// A name that is not reserved and not taken.
fn declarable(name: &Name, taken: bool) -> Parsed<()> {
    if RESERVED.contains(&name.node.as_str()) {
        let message = format!("`{}` has a meaning of its own", name.node);
        return error(codes::REDECLARED, name.span, message);
    }
    match taken {
        true => error(codes::REDECLARED, name.span, format!("`{}` is declared twice", name.node)),
        false => Ok(()),
    }
}

/// A value of one of these types.
fn one_of(b: &mut TemplateBuilder, types: Vec<TypeId>) -> TypeId {
    match types.as_slice() {
        [only] => *only,
        _ => b.ty(Type::Union { members: types }),
    }
}

fn constants<'p>(program: &'p Program, options: &Options) -> Parsed<RedConstants<'p>> {
    let mut constants = RedConstants::default();
    for (name, value) in &program.constants {
        declarable(name, constants.has(&name.node))?;
        let setting = options.set.iter().rev().find(|(set, _)| *set == name.node);
        let number = match setting {
            Some((_, Setting::Number(number))) => *number,
            Some((_, Setting::Any)) => {
                constants.any.push(&name.node);
                continue;
            }
            None => value_of(&constants, value)?,
        };
        constants.numbers.insert(name.node.as_str(), number);
    }
    if let Some((name, _)) = options.set.iter().find(|(name, _)| !constants.has(name)) {
        let span = program.constants.first().map_or(Span::default(), |(name, _)| name.span);
        return error(codes::BAD_SET, span, format!("there is no constant `{name}` to set"));
    }
    for (name, _) in program.constants.iter().filter(|(name, _)| constants.any.contains(&name.node.as_str()))
    {
        if !program.families.iter().any(|family| plain_name(&family.count) == Some(name.node.as_str())) {
            let message =
                format!("`{}` is the number of no processes, so it cannot be any number", name.node);
            return error(codes::BAD_SET, name.span, message);
        }
    }
    Ok(constants)
}

/// The name that an expression is.
fn plain_name(expr: &ast::Expr) -> Option<&str> {
    match &expr.kind {
        K::Chain(ast::Chain { head, index: None, hops, .. }) if hops.is_empty() => Some(&head.node),
        _ => None,
    }
}

/// An integer that is known now.
fn value_of(constants: &RedConstants<'_>, expr: &ast::Expr) -> Parsed<i64> {
    let value = match &expr.kind {
        K::Number(number) => Some(*number),
        K::Truth(truth) => Some(i64::from(*truth)),
        K::Minus(of) => value_of(constants, of)?.checked_neg(),
        K::Binary(op, left, right) => {
            let (left, right) = (value_of(constants, left)?, value_of(constants, right)?);
            op.arithmetic().and_then(|op| op.apply(left, right).ok()).and_then(|value| value.as_int())
        }
        K::Chain(ast::Chain { head, index: None, hops, .. }) if hops.is_empty() => constants.number(head)?,
        _ => None,
    };
    match value {
        Some(value) => Ok(value),
        None => not_constant(expr.span),
    }
}

/// More processes than this are refused: nobody checks them one by one.
const MOST_PROCESSES: i64 = 1 << 16;

fn families<'p>(
    b: &mut TemplateBuilder,
    program: &'p Program,
    constants: &RedConstants<'p>,
) -> Parsed<Vec<RedFamily<'p>>> {
    let mut families: Vec<RedFamily<'p>> = Vec::new();
    let mut before = Some(0);
    for family in &program.families {
        let name = family.name.node.as_str();
        let taken = constants.has(name) || families.iter().any(|other| other.name == name);
        declarable(&family.name, taken)?;
        let size = match plain_name(&family.count).is_some_and(|name| constants.any.contains(&name)) {
            true => None,
            false => Some(size_of(constants, family)?),
        };
        let sort = b.model.sorts.push(Sort {
            name: name.to_string(),
            size: size.map_or(SortSize::Any, SortSize::Fixed),
            first: before.unwrap_or(0) + 1,
            span: family.name.span,
        });
        let ty = b.reference(sort, false);
        families.push(RedFamily { name, sort, ty, size, before, program: family });
        before = before.zip(size).map(|(before, size)| before + size);
    }
    match families.is_empty() {
        true => {
            let message = "there are no processes: `process node : 3 { ... }` declares some";
            Err(Box::new(Diagnostic::error(codes::MISSING, Span::default(), message)))
        }
        false => Ok(families),
    }
}

fn size_of(constants: &RedConstants<'_>, family: &ast::Family) -> Parsed<u32> {
    let (name, count) = (&family.name.node, value_of(constants, &family.count)?);
    match u32::try_from(count) {
        Ok(size) if (1..=MOST_PROCESSES).contains(&count) => Ok(size),
        _ => {
            let message = match count {
                ..1 => format!("there would be {count} processes `{name}`, but there is at least one"),
                _ => format!(
                    "there would be {count} processes `{name}`; {MOST_PROCESSES} are supported at most"
                ),
            };
            error(codes::OUT_OF_RANGE, family.count.span, message)
        }
    }
}

fn modes<'p>(b: &mut TemplateBuilder, families: &[RedFamily<'p>], process: TypeId) -> Parsed<Modes<'p>> {
    let mut labels: Vec<&'p str> = Vec::new();
    let mut kind: Option<bool> = None;
    for mode in families.iter().flat_map(|family| &family.program.modes) {
        let label = &mode.label;
        let is_name = label.node.parse::<i64>().is_err();
        if *kind.get_or_insert(is_name) != is_name {
            return error(codes::WRONG_KIND, label.span, "modes have either numbers or names, not both");
        }
        declarable(label, labels.contains(&label.node.as_str()) || label.node == PASSIVE)?;
        labels.push(&label.node);
    }
    let Some(named) = kind else {
        let span = families[0].program.name.span;
        return error(codes::MISSING, span, "no process has a mode: `mode 0 { ... }` declares one");
    };
    let passive = families.iter().any(|family| family.program.modes.is_empty());
    let numbers = || labels.iter().filter_map(|label| label.parse::<i64>().ok());
    let ty = match named {
        true => {
            let all = labels.iter().copied().chain(passive.then_some(PASSIVE));
            b.ty(Type::Enum { variants: all.map(str::to_string).collect() })
        }
        false => {
            let (lo, hi) = (numbers().min().unwrap_or(0), greatest(&labels) + i64::from(passive));
            b.ty(Type::Int { lo, hi })
        }
    };
    if passive {
        labels.push(PASSIVE);
    }
    let array = b.ty(Type::Array { index: process, element: ty });
    let var = b.var("mode", array, families[0].program.name.span);
    Ok(Modes { var, ty, named, labels })
}
