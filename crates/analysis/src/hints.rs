//! Integer ranges that could be sorts.
//!
//! People write `Proc: 1..N` where they mean `scalarset(N)`, and lose the symmetry. A range is hinted at if
//! its values are only copied, compared with each other, used to index arrays over it and quantified over, and
//! if the rounds of every loop over it commute: then declaring it a scalarset changes no verdict. Ranges that
//! values flow between are taken together; they would have to become one scalarset.

use std::collections::BTreeMap;

use shoal_model::{
    Argument, Binding, Code, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, Model, Node,
    Place, Projection, Root, Rule, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp, walk_argument, walk_code,
    walk_condition, walk_domain, walk_expr,
};
use shoal_syntax::Span;

use crate::{
    effects::Source,
    loops::{ForLoop, for_each_loop},
    ranges::RangeClass,
};

/// A range that could be declared a scalarset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The range; of several that belong together, the first that has a name.
    pub ty: TypeId,
    /// Its name, or the range written out.
    pub name: String,
    /// The others that would have to become the same scalarset.
    pub with: Vec<TypeId>,
    /// Where it is first used: types have no spans.
    pub span: Span,
    /// How it is used.
    pub uses: Uses,
}

/// How often a range is used in the ways that make it worth a scalarset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Array types over it.
    pub arrays: usize,
    /// Rule parameters, quantifiers, loops and choices over it.
    pub domains: usize,
}

/// The integer ranges that could be declared scalarsets.
pub fn scalarset_hints(model: &Model) -> Vec<Hint> {
    let mut flow = IntegerFlow::new(model);
    flow.types();
    flow.code_and_conditions();
    flow.loops();
    flow.hints()
}

/// The same without a look at loops: ranges whose values are not used as numbers.
pub(crate) fn classes(model: &Model) -> Vec<RangeClass> {
    let mut flow = IntegerFlow::new(model);
    flow.types();
    flow.code_and_conditions();
    let class = |Hint { ty, name, with, span, .. }| RangeClass {
        name,
        types: std::iter::once(ty).chain(with).collect(),
        span,
    };
    flow.hints().into_iter().map(class).collect()
}

/// Which integer types exchange values, and which of them are used as numbers.
struct IntegerFlow<'a> {
    model: &'a Model,
    /// A union-find forest over types.
    parent: Vec<usize>,
    /// Of the root of each tree: whether some type in it is used as a number.
    is_number: Vec<bool>,
    uses: Vec<Uses>,
    first_use: Vec<Option<Span>>,
}

/// What a node stands in.
#[derive(Clone, Copy)]
struct HintScope<'a> {
    locals: &'a IndexVec<LocalId, Local>,
    result: Option<TypeId>,
}

impl<'a> IntegerFlow<'a> {
    fn new(model: &'a Model) -> Self {
        let count = model.types.len();
        IntegerFlow {
            model,
            parent: (0..count).collect(),
            is_number: vec![false; count],
            uses: vec![Uses::default(); count],
            first_use: vec![None; count],
        }
    }

    fn types(&mut self) {
        let model = self.model;
        for ty in model.types.ids() {
            match model.kind(ty) {
                Type::Array { index, .. } => self.uses[index.index()].arrays += 1,
                // A value of a union may come from any of its ranges: not followed.
                Type::Union { members } => members.iter().for_each(|member| self.number(*member)),
                _ => {}
            }
        }
    }

    fn code_and_conditions(&mut self) {
        let model = self.model;
        for rule in model.starts.iter().chain(model.rules.iter()) {
            self.rule(rule);
        }
        for function in model.functions.iter() {
            self.code(&function.code, function.result);
        }
        let of_properties = model.properties.iter().flat_map(|property| property.kind.conditions());
        for condition in of_properties.chain(&model.while_time_passes).chain(&model.fairness) {
            let scope = HintScope { locals: &condition.locals, result: None };
            walk_condition(condition, &mut |node| self.node(scope, node));
        }
    }

    fn rule(&mut self, rule: &'a Rule) {
        let scope = HintScope { locals: &rule.code.locals, result: None };
        for param in &rule.params {
            self.domain(scope, param.local, &param.domain, rule.span);
            walk_domain(&param.domain, &mut |node| self.node(scope, node));
        }
        self.bindings(scope, &rule.bindings);
        for binding in &rule.bindings {
            walk_argument(&binding.to, &mut |node| self.node(scope, node));
        }
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut |node| self.node(scope, node)));
        self.code(&rule.code, None);
    }

    fn code(&mut self, code: &'a Code, result: Option<TypeId>) {
        let scope = HintScope { locals: &code.locals, result };
        walk_code(code, &mut |node| self.node(scope, node));
    }

    fn node(&mut self, scope: HintScope<'a>, node: Node<'a>) {
        match node {
            Node::Stmt(stmt) => self.stmt(scope, stmt),
            Node::Expr(expr) => self.expr(scope, expr),
            Node::Place(place) => self.place(scope, place),
        }
    }

    fn stmt(&mut self, scope: HintScope<'a>, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.flow(value, place.ty),
            StmtKind::Clear(place) => self.numbers_in(place.ty),
            StmtKind::For { local, domain, .. } | StmtKind::Choose { local, domain } => {
                self.domain(scope, *local, domain, stmt.span);
            }
            StmtKind::Bind(bindings) => self.bindings(scope, bindings),
            StmtKind::Return(Some(value)) => scope.result.iter().for_each(|ty| self.flow(value, *ty)),
            StmtKind::Call(function, arguments) => self.call(*function, arguments),
            StmtKind::MultisetAdd(place, value) => self.flow_into_part(value, place),
            StmtKind::Insert { place, at, value } => {
                self.flow_into_part(value, place);
                at.iter().for_each(|at| self.used_as_number(at));
            }
            StmtKind::Remove(_, at) => self.used_as_number(at),
            // Slots are no numbers of anything, and nothing flows into what is printed.
            StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Output(_)
            | StmtKind::Undefine(_)
            | StmtKind::If(..)
            | StmtKind::While { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(None)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => {}
        }
    }

    fn expr(&mut self, scope: HintScope<'a>, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Equal(left, right) => self.compare(left, right),
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, operand)
            | ExprKind::Ordinal(operand)
            | ExprKind::ElementAt(_, operand)
            | ExprKind::Entry(_, operand) => self.used_as_number(operand),
            ExprKind::Binary(_, left, right) => {
                self.used_as_number(left);
                self.used_as_number(right);
            }
            ExprKind::Quantified { local, domain, .. } => self.domain(scope, *local, domain, expr.span),
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            // Where a value comes from is asked where it goes.
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Peek(_)
            | ExprKind::IsUndefined(_)
            | ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Implies(..)
            | ExprKind::Cond(..)
            | ExprKind::IsMember(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => {}
        }
    }

    fn place(&mut self, scope: HintScope<'a>, place: &'a Place) {
        let mut ty = match place.root {
            Root::Var(var) => self.model.vars[var].ty,
            Root::Local(local) => scope.locals[local].ty,
        };
        for step in &place.path {
            ty = match (step, self.model.kind(ty)) {
                (Projection::Field(field), Type::Record { fields }) => fields[*field as usize].ty,
                (Projection::Index(at), Type::Array { index, element }) => {
                    self.note_use(*index, at.span);
                    self.flow(at, *index);
                    *element
                }
                (Projection::Item(at), Type::Sequence { element, .. }) => {
                    self.used_as_number(at);
                    *element
                }
                (Projection::Slot(_), Type::Multiset { element, .. }) => *element,
                _ => return,
            };
        }
        // The front end may say the type in other words than the declaration.
        self.meet(ty, place.ty);
    }

    fn domain(&mut self, scope: HintScope<'a>, local: LocalId, domain: &'a Domain, span: Span) {
        let ty = scope.locals[local].ty;
        match domain {
            Domain::Type(of) => {
                self.uses[of.index()].domains += 1;
                self.note_use(*of, span);
                self.meet(ty, *of);
            }
            Domain::Range { from, to, by } => {
                [from, to, by].into_iter().for_each(|bound| self.used_as_number(bound));
                self.number(ty);
            }
            Domain::Slots(_) => {}
        }
    }

    fn bindings(&mut self, scope: HintScope<'a>, bindings: &'a [Binding]) {
        for binding in bindings {
            self.argument(&binding.to, scope.locals[binding.local].ty);
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &'a [Argument]) {
        let callee = &self.model.functions[function];
        for (param, argument) in callee.params.iter().zip(arguments) {
            self.argument(argument, callee.code.locals[*param].ty);
        }
    }

    fn argument(&mut self, argument: &'a Argument, ty: TypeId) {
        match argument {
            Argument::Place(place) => self.meet(place.ty, ty),
            Argument::Value(value) => self.flow(value, ty),
        }
    }

    /// The types that a value comes from as it is; `None` where it is computed or a constant.
    fn origins(&self, expr: &Expr) -> Vec<Option<TypeId>> {
        match &expr.kind {
            ExprKind::Read(place) | ExprKind::Peek(place) => vec![Some(place.ty)],
            ExprKind::Call(function, _) => vec![self.model.functions[*function].result],
            ExprKind::Cond(_, then, other) => [self.origins(then), self.origins(other)].concat(),
            _ => vec![None],
        }
    }

    fn flow(&mut self, value: &Expr, ty: TypeId) {
        for origin in self.origins(value) {
            match origin {
                Some(origin) => self.meet(origin, ty),
                None => self.number(ty),
            }
        }
    }

    fn flow_into_part(&mut self, value: &Expr, whole: &Place) {
        if let Type::Multiset { element, .. } | Type::Sequence { element, .. } = self.model.kind(whole.ty) {
            self.flow(value, *element);
        }
    }

    fn compare(&mut self, left: &Expr, right: &Expr) {
        let (left, right) = (self.origins(left), self.origins(right));
        for pair in left.iter().flat_map(|left| right.iter().map(move |right| (*left, *right))) {
            match pair {
                (Some(left), Some(right)) => self.meet(left, right),
                (Some(ty), None) | (None, Some(ty)) => self.number(ty),
                (None, None) => {}
            }
        }
    }

    fn used_as_number(&mut self, expr: &Expr) {
        for origin in self.origins(expr).into_iter().flatten() {
            self.number(origin);
        }
    }

    /// Values of the one type go where values of the other do.
    fn meet(&mut self, a: TypeId, b: TypeId) {
        if a == b {
            return;
        }
        let model = self.model;
        match (model.kind(a), model.kind(b)) {
            (Type::Int { .. }, Type::Int { .. }) if model.kind(a) == model.kind(b) => self.join(a, b),
            (Type::Record { fields: of_a }, Type::Record { fields: of_b }) => {
                of_a.iter().zip(of_b).for_each(|(a, b)| self.meet(a.ty, b.ty));
            }
            (Type::Array { index: i, element: e }, Type::Array { index: j, element: f }) => {
                self.meet(*i, *j);
                self.meet(*e, *f);
            }
            (Type::Multiset { element: e, .. }, Type::Multiset { element: f, .. })
            | (Type::Sequence { element: e, .. }, Type::Sequence { element: f, .. }) => self.meet(*e, *f),
            _ => {
                self.number(a);
                self.number(b);
            }
        }
    }

    fn join(&mut self, a: TypeId, b: TypeId) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a] = b;
        self.is_number[b] |= self.is_number[a];
    }

    fn root(&mut self, ty: TypeId) -> usize {
        let mut at = ty.index();
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn number(&mut self, ty: TypeId) {
        let root = self.root(ty);
        self.is_number[root] = true;
    }

    fn numbers_in(&mut self, ty: TypeId) {
        match self.model.kind(ty) {
            Type::Record { fields } => fields.iter().for_each(|field| self.numbers_in(field.ty)),
            Type::Array { element, .. } | Type::Multiset { element, .. } | Type::Sequence { element, .. } => {
                self.numbers_in(*element)
            }
            _ => self.number(ty),
        }
    }

    fn note_use(&mut self, ty: TypeId, span: Span) {
        self.first_use[ty.index()].get_or_insert(span);
    }

    /// A loop whose rounds do not commute makes its range a range.
    fn loops(&mut self) {
        let model = self.model;
        let of_rules = model.starts.iter().chain(model.rules.iter()).map(Source::rule);
        let of_functions = model.functions.ids().map(|function| Source::function(model, function));
        for source in of_rules.chain(of_functions) {
            for_each_loop(model, source, &mut |found| self.check_loop(&found));
        }
    }

    fn check_loop(&mut self, found: &ForLoop<'_, 'a>) {
        let commutes = || found.conflicts(&found.round()).is_empty();
        match found.domain {
            Domain::Type(ty) if self.is_candidate(*ty) && !commutes() => self.number(*ty),
            // The order of the slots is the order of what they hold.
            Domain::Slots(bag) if !commutes() => self.numbers_in(bag.ty),
            _ => {}
        }
    }

    fn is_candidate(&mut self, ty: TypeId) -> bool {
        let root = self.root(ty);
        let several = self.model.cardinality(ty).is_some_and(|values| values > 1);
        let range = matches!(self.model.kind(ty), Type::Int { .. }) && *self.model.kind(ty) != Type::INTEGER;
        range && several && !self.is_number[root]
    }

    fn hints(mut self) -> Vec<Hint> {
        let mut classes: BTreeMap<usize, Vec<TypeId>> = BTreeMap::new();
        for ty in self.model.types.ids().filter(|ty| matches!(self.model.kind(*ty), Type::Int { .. })) {
            if self.is_candidate(ty) {
                classes.entry(self.root(ty)).or_default().push(ty);
            }
        }
        let mut hints: Vec<Hint> = classes.into_values().filter_map(|class| self.hint(class)).collect();
        hints.sort_by_key(|hint| hint.ty);
        hints
    }

    fn hint(&self, mut class: Vec<TypeId>) -> Option<Hint> {
        let uses = class.iter().fold(Uses::default(), |sum, ty| {
            let uses = self.uses[ty.index()];
            Uses { arrays: sum.arrays + uses.arrays, domains: sum.domains + uses.domains }
        });
        // A range that is never quantified over has values from nowhere, and nothing to permute.
        if uses.domains == 0 {
            return None;
        }
        let span = class.iter().filter_map(|ty| self.first_use[ty.index()]).min()?;
        let named = class.iter().position(|ty| self.model.types[*ty].name.is_some()).unwrap_or(0);
        let ty = class.remove(named);
        Some(Hint { ty, name: self.model.show_type(ty).to_string(), with: class, span, uses })
    }
}
