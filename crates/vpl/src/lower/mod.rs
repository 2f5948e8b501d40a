//! A [`Program`] to a Model.
//!
//! A family of automata is a sort. A register that is assigned or compared with the index of an automaton holds references
//! to that sort, and 0 is the reference to nobody; every other register holds integers. An array over `1..total(A)` has
//! one entry for each automaton of `A`. The mode is an array of its own.

mod automata;
mod terms;

use std::collections::BTreeMap;

use shoal_model::{LocalId, Model, Sort, SortId, SortSize, Type, TypeId, VarId};
use shoal_syntax::{
    Diagnostic, Span,
    cursor::{Parsed, error, not_constant, unknown},
};
use shoal_template::{Options, Setting, build::TemplateBuilder, codes};

use super::{
    ast::{self, Program},
    script::Script,
    usage::Usage,
};

/// A model and its script, or all that is wrong.
pub(crate) fn lower(
    program: &Program,
    text: &str,
    options: &Options,
) -> Result<(Model, Script), Vec<Diagnostic>> {
    let mut lowerer = Lowerer {
        b: TemplateBuilder::new(),
        program,
        text,
        families: Vec::new(),
        variables: BTreeMap::new(),
        scope: Vec::new(),
    };
    // Without what they declare, nothing can be said about the rest.
    lowerer.families(options).map_err(|error| vec![*error])?;
    lowerer.variables().map_err(|error| vec![*error])?;
    let automata = lowerer.automata();
    lowerer.item(automata);
    lowerer.goals();
    lowerer.b.no_faults(program.families[0].name.span);
    let families =
        lowerer.families.iter().map(|family| (family.name.clone(), family.first, family.size)).collect();
    let script = Script { statements: program.manipulation.clone(), families };
    Ok((lowerer.b.finish()?, script))
}

/// A family of automata.
struct VplFamily<'p> {
    name: String,
    first: i64,
    size: Option<u32>,
    sort: SortId,
    modes: Vec<&'p str>,
    mode_type: TypeId,
    mode: VarId,
    automaton: &'p ast::Automaton,
}

/// A clock or a register.
#[derive(Clone, Copy)]
struct VplVariable {
    var: VarId,
    clock: bool,
    /// What it is indexed by.
    array: Option<LoopDomain>,
    holds: RegisterContent,
}

#[derive(Clone, Copy)]
enum LoopDomain {
    Family(usize),
    Integers,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterContent {
    Integers,
    /// The indices of a family.
    Family(usize),
}

pub(super) struct Lowerer<'p> {
    pub(super) b: TemplateBuilder,
    pub(super) program: &'p Program,
    pub(super) text: &'p str,
    families: Vec<VplFamily<'p>>,
    variables: BTreeMap<&'p str, VplVariable>,
    /// Index variables: name, local, family. An automaton's own is among them.
    pub(super) scope: Vec<(&'p str, LocalId, usize)>,
}

impl<'p> Lowerer<'p> {
    /// What was made of an item; what is wrong with it is kept. Index variables end with the item that they stand in.
    pub(super) fn item<T>(&mut self, made: Parsed<T>) -> Option<T> {
        self.b.item(made)
    }

    /// A condition; one that is wrong is true, for the rest of what it stands in.
    fn condition(&mut self, expr: &'p ast::Expr) -> shoal_model::Expr {
        let depth = self.scope.len();
        let made = self.truth(expr);
        self.scope.truncate(depth);
        self.b.item_or_true(made, expr.span)
    }

    fn families(&mut self, options: &Options) -> Parsed<()> {
        for (name, _) in &options.set {
            if !self.program.families.iter().any(|family| family.name.node == *name) {
                let span = self.program.families.first().map_or(Span::default(), |family| family.name.span);
                return error(
                    codes::BAD_SET,
                    span,
                    format!("there are no automata `{name}` to set the number of"),
                );
            }
        }
        for family in &self.program.families {
            if self.families.iter().any(|other| other.name == family.name.node) {
                return error(
                    codes::REDECLARED,
                    family.name.span,
                    format!("`{}` is declared twice", family.name.node),
                );
            }
            let first = self.constant(&family.first)?;
            let last = self.constant(&family.last)?;
            let setting = options.set.iter().rev().find(|(name, _)| *name == family.name.node);
            let count = match setting {
                Some((_, Setting::Any)) => None,
                Some((_, Setting::Number(count))) => Some(*count),
                None => Some(last - first + 1),
            };
            let size = match count.map(u32::try_from) {
                None => None,
                Some(Ok(size)) if size > 0 => Some(size),
                _ => {
                    return error(
                        codes::OUT_OF_RANGE,
                        family.last.span,
                        "there must be at least one automaton",
                    );
                }
            };
            let Ok(shown_first) = u32::try_from(first) else {
                return error(codes::OUT_OF_RANGE, family.first.span, "indices begin at 0 or more");
            };
            let automaton = self.description(family)?;
            let sort = self.b.model.sorts.push(Sort {
                name: family.name.node.clone(),
                size: size.map_or(SortSize::Any, SortSize::Fixed),
                first: shown_first,
                span: family.name.span,
            });
            let modes: Vec<&str> = automaton.modes.iter().map(|mode| mode.name.node.as_str()).collect();
            let variants = modes.iter().map(|mode| mode.to_string()).collect();
            let mode_type = self.b.ty(Type::Enum { variants });
            let index = self.b.reference(sort, false);
            let array = self.b.ty(Type::Array { index, element: mode_type });
            let name = match self.program.families.len() {
                1 => "mode".to_string(),
                _ => format!("mode_{}", family.name.node),
            };
            let mode = self.b.var(&name, array, automaton.name.span);
            let name = family.name.node.clone();
            self.families.push(VplFamily { name, first, size, sort, modes, mode_type, mode, automaton });
        }
        match self.families.is_empty() {
            true => error(
                codes::MISSING,
                Span::default(),
                "there are no automata: `automata A : i = 1..3;` declares some",
            ),
            false => Ok(()),
        }
    }

    /// The one automaton that describes a family.
    fn description(&self, family: &'p ast::Family) -> Parsed<&'p ast::Automaton> {
        let mut found =
            self.program.automata.iter().filter(|automaton| automaton.name.node == family.name.node);
        let Some(automaton) = found.next() else {
            let message = format!("`{}` has no description `automaton {0}[i] {{ ... }}`", family.name.node);
            return error(codes::MISSING, family.name.span, message);
        };
        if let Some(second) = found.next() {
            return error(
                codes::REDECLARED,
                second.name.span,
                format!("`{}` is described twice", second.name.node),
            );
        }
        for (position, mode) in automaton.modes.iter().enumerate() {
            if automaton.modes[..position].iter().any(|other| other.name.node == mode.name.node) {
                return error(
                    codes::REDECLARED,
                    mode.name.span,
                    format!("mode `{}` is described twice", mode.name.node),
                );
            }
        }
        if automaton.modes.is_empty() {
            return error(codes::MISSING, automaton.name.span, "an automaton needs at least one mode");
        }
        Ok(automaton)
    }

    fn variables(&mut self) -> Parsed<()> {
        for variable in &self.program.variables {
            let name = variable.name.node.as_str();
            if self.variables.contains_key(name) || self.families.iter().any(|family| family.name == name) {
                return error(codes::REDECLARED, variable.name.span, format!("`{name}` is declared twice"));
            }
            let usage = Usage::of(name, self.program);
            let (scalar, holds) = match (variable.clock, usage.families.len()) {
                (true, _) => (self.b.ty(Type::Clock), RegisterContent::Integers),
                (false, 1) if !usage.arithmetic && !usage.ordered && !usage.declared => {
                    let wanted = usage.families.first().copied().unwrap_or_default();
                    let family = self.family_at(wanted, variable.name.span)?;
                    let sort = self.families[family].sort;
                    (self.b.reference(sort, true), RegisterContent::Family(family))
                }
                _ => (self.integer_type(variable, &usage)?, RegisterContent::Integers),
            };
            let array = match &variable.range {
                None => None,
                Some(range) => Some(self.array_index(range)?),
            };
            let ty = match array {
                None => scalar,
                Some((_, index)) => self.b.ty(Type::Array { index, element: scalar }),
            };
            let var = self.b.var(name, ty, variable.name.span);
            let array = array.map(|(over, _)| over);
            self.variables.insert(name, VplVariable { var, clock: variable.clock, array, holds });
        }
        Ok(())
    }

    /// The integers a register holds: those that are written in the text, 0 among them, or those declared.
    fn integer_type(&mut self, variable: &'p ast::Variable, usage: &Usage<'_>) -> Parsed<TypeId> {
        let (lo, hi) = match &variable.values {
            Some((first, last)) => (self.constant(first)?, self.constant(last)?),
            None if usage.arithmetic && usage.families.is_empty() && !usage.declared => {
                let message = format!("`{}` is computed with; say what it can hold", variable.name.node);
                let error = Diagnostic::error(codes::OUT_OF_RANGE, variable.name.span, message);
                return Err(Box::new(error.help(format!("register {} : 0..9;", variable.name.node))));
            }
            None => {
                let indices =
                    self.families.iter().filter(|family| usage.families.contains(family.name.as_str()));
                let last =
                    indices.filter_map(|family| Some(family.first + i64::from(family.size?) - 1)).max();
                let mut declared = Vec::new();
                for (first, last) in self.program.variables.iter().filter_map(|of| usage.declares(of)) {
                    declared.extend([self.constant(first)?, self.constant(last)?]);
                }
                let numbers = || usage.numbers.iter().copied().chain(last).chain([0]).chain(declared.clone());
                (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
            }
        };
        Ok(self.b.ty(Type::Int { lo, hi: hi.max(lo) }))
    }

    /// `1..total(A)` is over the automata of `A`, everything else over integers.
    fn array_index(&mut self, range: &'p (ast::Expr, ast::Expr)) -> Parsed<(LoopDomain, TypeId)> {
        let (first, last) = range;
        if let ast::ExprKind::Call(function, arguments) = &last.kind
            && function.node == "total"
            && let [ast::Expr { kind: ast::ExprKind::Name(name), span }] = arguments.as_slice()
        {
            let family = self.family_at(name, *span)?;
            if self.constant(first)? == self.families[family].first {
                let sort = self.families[family].sort;
                return Ok((LoopDomain::Family(family), self.b.reference(sort, false)));
            }
        }
        let (lo, hi) = (self.constant(first)?, self.constant(last)?);
        if hi < lo {
            return error(
                codes::OUT_OF_RANGE,
                first.span.to(last.span),
                "an array needs at least one element",
            );
        }
        Ok((LoopDomain::Integers, self.b.ty(Type::Int { lo, hi })))
    }

    fn family_at(&self, name: &str, span: Span) -> Parsed<usize> {
        match self.families.iter().position(|family| family.name == name) {
            Some(family) => Ok(family),
            None => unknown(name, span, self.families.iter().map(|family| family.name.as_str())),
        }
    }

    /// An integer that is known now.
    fn constant(&self, expr: &ast::Expr) -> Parsed<i64> {
        use ast::ExprKind as K;
        let value = match &expr.kind {
            K::Number(number) => Some(*number),
            K::Minus(of) => self.constant(of)?.checked_neg(),
            K::Binary(op, left, right) => {
                let (left, right) = (self.constant(left)?, self.constant(right)?);
                op.arithmetic().and_then(|op| op.apply(left, right).ok()).and_then(|value| value.as_int())
            }
            K::Call(function, arguments) if function.node == "total" => {
                return self.total(arguments, expr.span);
            }
            _ => None,
        };
        match value {
            Some(value) => Ok(value),
            None => not_constant(expr.span),
        }
    }

    fn total(&self, arguments: &[ast::Expr], span: Span) -> Parsed<i64> {
        match arguments {
            [ast::Expr { kind: ast::ExprKind::Name(name), span }] => {
                let family = self.family_at(name, *span)?;
                match self.families[family].size {
                    Some(size) => Ok(size.into()),
                    None => {
                        let message =
                            format!("there may be any number of `{name}`, but here it matters how many");
                        error(codes::NOT_CONSTANT, *span, message)
                    }
                }
            }
            _ => error(codes::WRONG_KIND, span, "`total` takes the name of a family of automata"),
        }
    }
}
