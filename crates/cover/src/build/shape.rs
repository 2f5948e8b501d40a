//! Whether the rules of a model touch so few threads at a time that counting them is enough.
//!
//! A model fits if one sort has any size, every variable is either shared or an array with an entry for each element of that
//! sort, and every piece of code reaches entries only through the parameters of its rule. Then a rule sees no more elements
//! than it has parameters, and a state with more elements can do all that one with fewer can.

use std::collections::BTreeSet;

use shoal_model::{
    Domain, Expr, ExprKind, LocalId, Model, Node, Place, Projection, Property, PropertyKind, Root, Rule,
    RuleId, SortId, SortSize, StmtKind, Type, TypeId, Unsupported, Value, VarId, walk_argument, walk_block,
    walk_code, walk_domain, walk_expr,
};
use shoal_syntax::Span;

/// The name of the engine.
pub const ENGINE: &str = "cover";

pub(crate) fn unsupported(construct: impl Into<String>, span: Span) -> Unsupported {
    Unsupported { engine: ENGINE, construct: construct.into(), span: Some(span) }
}

/// How a model is counted.
#[derive(Clone, Debug)]
pub(crate) struct CountedShape {
    /// The sort of any size.
    pub(crate) sort: SortId,
    /// The variables that all elements share.
    pub(crate) globals: Vec<VarId>,
    /// The variables with an entry for each element.
    pub(crate) locals: Vec<VarId>,
    /// The rules.
    pub(crate) rules: Vec<RuleShape>,
}

/// How many elements a rule touches.
#[derive(Clone, Debug)]
pub(crate) struct RuleShape {
    pub(crate) rule: RuleId,
    /// Which of its parameters are elements of the sort.
    pub(crate) elements: Vec<usize>,
    /// Whether it goes through all elements.
    pub(crate) broadcasts: bool,
}

impl CountedShape {
    pub(crate) fn of(model: &Model) -> Result<CountedShape, Unsupported> {
        let mut any = model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any);
        let (sort, declared) =
            any.next().ok_or_else(|| unsupported("a model without a sort of any size", Span::default()))?;
        if let Some((_, other)) = any.next() {
            return Err(unsupported("two sorts of any size", other.span));
        }
        if let Some(growing) = model.sorts.iter().find(|sort| matches!(sort.size, SortSize::Growing { .. })) {
            return Err(unsupported("sorts that grow", growing.span));
        }
        if model.while_time_passes.is_some() {
            return Err(unsupported("clocks", declared.span));
        }
        // A run ends where an assumption fails, and the steps of a counter system do not know of it.
        let assumed = |property: &&Property| matches!(property.kind, PropertyKind::Assume(Some(_)));
        if let Some(property) = model.properties.iter().find(assumed) {
            return Err(unsupported("assumptions about states", property.span));
        }
        let mut shape = CountedShape { sort, globals: Vec::new(), locals: Vec::new(), rules: Vec::new() };
        for (id, var) in model.vars.enumerate() {
            match model.kind(var.ty) {
                Type::Array { index, element } if shape.is_element(model, *index) => {
                    if shape.mentions(model, *element) {
                        let name = &var.name;
                        return Err(unsupported(
                            format!("references to other elements in `{name}`"),
                            var.span,
                        ));
                    }
                    shape.locals.push(id);
                }
                _ if shape.mentions(model, var.ty) => {
                    let sort = &declared.name;
                    return Err(unsupported(
                        format!("the variable `{}`, which holds elements of `{sort}`", var.name),
                        var.span,
                    ));
                }
                _ => shape.globals.push(id),
            }
        }
        let priority = model.rules.iter().next().map(|rule| rule.priority);
        for (id, rule) in model.rules.enumerate() {
            if Some(rule.priority) != priority {
                return Err(unsupported(
                    format!("priorities: rule {:?} waits for others", rule.name),
                    rule.span,
                ));
            }
            let rule = shape.rule(model, id, rule)?;
            shape.rules.push(rule);
        }
        for function in model.functions.iter() {
            let mut check = ShapeCheck::new(&shape, model, &function.name, "function");
            check.allowed.extend(function.params.iter().copied());
            walk_code(&function.code, &mut |node| check.node(node));
            check.finish()?;
        }
        Ok(shape)
    }

    /// Whether a type is that of the elements.
    pub(crate) fn is_element(&self, model: &Model, ty: TypeId) -> bool {
        matches!(model.kind(ty), Type::Ref { sort, .. } if *sort == self.sort)
    }

    fn mentions(&self, model: &Model, ty: TypeId) -> bool {
        let refers = |part: &Type| matches!(part, Type::Ref { sort, .. } if *sort == self.sort);
        model.type_contains(ty, &refers) || self.indexes(model, ty)
    }

    /// Whether arrays over the sort are inside.
    fn indexes(&self, model: &Model, ty: TypeId) -> bool {
        model.type_contains(
            ty,
            &|part| matches!(part, Type::Array { index, .. } if self.is_element(model, *index)),
        )
    }

    fn rule(&self, model: &Model, id: RuleId, rule: &Rule) -> Result<RuleShape, Unsupported> {
        let mut check = ShapeCheck::new(self, model, &rule.name, "rule");
        let mut elements = Vec::new();
        for (at, param) in rule.params.iter().enumerate() {
            match &param.domain {
                Domain::Type(ty) if self.is_element(model, *ty) => {
                    elements.push(at);
                    check.allowed.insert(param.local);
                }
                domain => walk_domain(domain, &mut |node| check.node(node)),
            }
        }
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut |node| check.node(node)));
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut |node| check.node(node)));
        check.may_broadcast = true;
        walk_code(&rule.code, &mut |node| check.node(node));
        let broadcasts = check.broadcasts;
        check.finish()?;
        if broadcasts && elements.len() > 1 {
            let name = &rule.name;
            return Err(unsupported(
                format!("rule {name:?}, which names two elements and goes through all"),
                rule.span,
            ));
        }
        if elements.len() > 2 {
            return Err(unsupported(
                format!("rule {:?}, which names more than two elements", rule.name),
                rule.span,
            ));
        }
        Ok(RuleShape { rule: id, elements, broadcasts })
    }
}

/// Looks through code for what does not fit.
struct ShapeCheck<'a> {
    shape: &'a CountedShape,
    model: &'a Model,
    what: String,
    /// The locals that may stand for elements.
    allowed: BTreeSet<LocalId>,
    may_broadcast: bool,
    broadcasts: bool,
    found: Option<Unsupported>,
}

impl<'a> ShapeCheck<'a> {
    fn new(shape: &'a CountedShape, model: &'a Model, name: &str, kind: &str) -> ShapeCheck<'a> {
        ShapeCheck {
            shape,
            model,
            what: format!("in {kind} {name:?}"),
            allowed: BTreeSet::new(),
            may_broadcast: false,
            broadcasts: false,
            found: None,
        }
    }

    fn refuse(&mut self, construct: &str, span: Span) {
        let construct = format!("{construct} {}", self.what);
        self.found.get_or_insert_with(|| unsupported(construct, span));
    }

    fn finish(self) -> Result<(), Unsupported> {
        self.found.map_or(Ok(()), Err)
    }

    fn over_elements(&self, domain: &Domain) -> bool {
        matches!(domain, Domain::Type(ty) if self.shape.is_element(self.model, *ty))
    }

    fn node(&mut self, node: Node<'_>) {
        match node {
            Node::Expr(expr) => self.expr(expr),
            Node::Place(place) => self.place(place),
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::For { local, domain, body } if self.over_elements(domain) => {
                    if self.may_broadcast && !self.broadcasts {
                        self.broadcasts = true;
                        self.allowed.insert(*local);
                        walk_block(body, &mut |node| self.round(node, *local));
                    } else {
                        self.refuse("a second loop over all elements", stmt.span);
                    }
                }
                StmtKind::Choose { domain, .. } if self.over_elements(domain) => {
                    self.refuse("the choice of an element", stmt.span);
                }
                StmtKind::Assign(..)
                | StmtKind::Clear(_)
                | StmtKind::Undefine(_)
                | StmtKind::If(..)
                | StmtKind::While { .. }
                | StmtKind::For { .. }
                | StmtKind::Bind(_)
                | StmtKind::Choose { .. }
                | StmtKind::Check { .. }
                | StmtKind::Return(_)
                | StmtKind::Call(..)
                | StmtKind::Output(_)
                | StmtKind::MultisetAdd(..)
                | StmtKind::MultisetRemove(..)
                | StmtKind::MultisetRemoveIf { .. }
                | StmtKind::Insert { .. }
                | StmtKind::Remove(..)
                | StmtKind::Create(..)
                | StmtKind::Delete(_) => {}
            },
        }
    }

    /// In a loop over all elements each round must be for itself.
    fn round(&mut self, node: Node<'_>, element: LocalId) {
        let Node::Stmt(stmt) = node else { return };
        let place = match &stmt.kind {
            StmtKind::Assign(place, _) | StmtKind::Clear(place) | StmtKind::Undefine(place) => place,
            StmtKind::If(..) | StmtKind::Choose { .. } | StmtKind::Bind(_) | StmtKind::Output(_) => return,
            _ => {
                return self
                    .refuse("in a loop over all elements, a statement that is not simple,", stmt.span);
            }
        };
        let own = match place.path.first() {
            Some(Projection::Index(Expr { kind: ExprKind::Read(index), .. })) => {
                index.root == Root::Local(element)
            }
            _ => false,
        };
        if !own {
            self.refuse("in a loop over all elements, a change of something else,", stmt.span);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Quantified { domain, .. } if self.over_elements(domain) => {
                self.refuse("a quantifier over all elements", expr.span);
            }
            ExprKind::Const(Value::Elem(sort, _)) if *sort == self.shape.sort => {
                self.refuse("an element named by a constant", expr.span);
            }
            ExprKind::Ordinal(of) if self.shape.mentions(self.model, of.ty) => {
                self.refuse("the number of an element", expr.span);
            }
            ExprKind::ElementAt(sort, _) if *sort == self.shape.sort => {
                self.refuse("an element found by its number", expr.span);
            }
            _ => {}
        }
    }

    fn place(&mut self, place: &Place) {
        let Root::Var(var) = place.root else { return };
        if !self.shape.locals.contains(&var) {
            return;
        }
        let by_parameter = match place.path.first() {
            Some(Projection::Index(Expr { kind: ExprKind::Read(index), .. })) => {
                matches!(index.root, Root::Local(local) if index.path.is_empty() && self.allowed.contains(&local))
            }
            _ => false,
        };
        if !by_parameter {
            let name = &self.model.vars[var].name;
            self.refuse(&format!("`{name}` of an element that is no parameter,"), place.span);
        }
    }
}
