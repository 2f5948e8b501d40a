//! Live variables: which values of an element can still matter, where its control variable stands.
//!
//! Rules have no program text, so the *control variable* of a sort is inferred: an array over the sort that rules test
//! for a constant in their guards and set to constants. Its values are the control points; a rule is an edge from those
//! that its guard allows to those that its body sets.
//!
//! A variable is live at a control point if a rule can read it there, or if a rule can lead to a point where it is live
//! without writing it first. Beyond the paper (Emerson and Wahl 2005), what other elements and properties read counts:
//! an access through a bound variable other than a parameter keeps the variable alive everywhere, and so does anything
//! that this analysis does not follow (calls, references, whole arrays).

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    Argument, Expr, ExprKind, LocalId, Model, Node, Place, Projection, Root, Rule, SortId, Stmt, StmtKind,
    Type, TypedId, Value, VarId, walk_argument, walk_block, walk_condition, walk_expr,
};

/// What is known of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// The control variable.
    pub control: VarId,
    /// The variables with a value for each element.
    pub variables: Vec<VarId>,
    /// For each control point, the variables that are live there; the control variable is always.
    pub live: BTreeMap<Value, BTreeSet<VarId>>,
}

/// The live variables of the elements of a sort; nothing if no control variable is found.
pub fn liveness(model: &Model, sort: SortId) -> Option<Liveness> {
    let variables: Vec<VarId> = model.vars.ids().filter(|var| is_local(model, *var, sort)).collect();
    let control = control(model, sort, &variables).filter(|control| is_followed(model, *control))?;
    let Type::Array { element, .. } = model.kind(model.vars[control].ty) else { return None };
    let points: Vec<Value> = model.values(*element).collect();
    let analysis = LivenessAnalysis { model, sort, control, variables: &variables, points: &points };
    let live = analysis.run();
    Some(Liveness { control, variables, live })
}

/// Whether a variable is an array over a sort, with one plain value for each element.
fn is_local(model: &Model, var: VarId, sort: SortId) -> bool {
    match model.kind(model.vars[var].ty) {
        Type::Array { index, element } => {
            matches!(model.kind(*index), Type::Ref { sort: of, nullable: false } if *of == sort)
                && model.kind(*element).is_scalar()
        }
        _ => false,
    }
}

/// The variable that most guards test for a constant; it must have more than one value and not too many.
fn control(model: &Model, sort: SortId, variables: &[VarId]) -> Option<VarId> {
    let tests = |var: VarId| {
        let tested = |rule: &&Rule| {
            params(model, rule, sort).iter().any(|param| tested_for(rule, var, *param).is_some())
        };
        model.rules.iter().filter(tested).count()
    };
    let few = |var: &VarId| match model.kind(model.vars[*var].ty) {
        Type::Array { element, .. } => {
            model.cardinality(*element).is_some_and(|count| (2..=256).contains(&count))
        }
        _ => false,
    };
    let best = variables
        .iter()
        .copied()
        .filter(few)
        .max_by_key(|var| (tests(*var), std::cmp::Reverse(var.index())))?;
    (tests(best) > 0).then_some(best)
}

/// Whether every change of a variable can be seen: constants are assigned to it by rules, and nothing else happens to it.
fn is_followed(model: &Model, var: VarId) -> bool {
    let mut followed = true;
    let mut by_reference = |argument: &Argument| {
        if let Argument::Place(place) = argument {
            followed &= place.root != Root::Var(var);
        }
    };
    let codes = model.rules.iter().map(|rule| &rule.code).chain(model.functions.iter().map(|it| &it.code));
    for code in codes.clone() {
        walk_block(&code.body, &mut |node| match node {
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                bindings.iter().for_each(|binding| by_reference(&binding.to));
            }
            Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => {
                arguments.iter().for_each(&mut by_reference);
            }
            _ => {}
        });
    }
    model.rules.iter().flat_map(|rule| &rule.bindings).for_each(|binding| by_reference(&binding.to));
    for code in codes {
        walk_block(&code.body, &mut |node| match node {
            Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. }) if place.root == Root::Var(var) => {
                followed &= matches!(value.kind, ExprKind::Const(_));
            }
            Node::Stmt(Stmt { kind: StmtKind::Clear(place) | StmtKind::Undefine(place), .. }) => {
                followed &= place.root != Root::Var(var);
            }
            _ => {}
        });
    }
    let in_functions = model.functions.iter().any(|function| {
        let mut found = false;
        walk_block(&function.code.body, &mut |node| {
            if let Node::Stmt(Stmt { kind: StmtKind::Assign(place, _), .. }) = node {
                found |= place.root == Root::Var(var);
            }
        });
        found
    });
    followed && !in_functions
}

/// The parameters of a rule that are elements of a sort.
fn params(model: &Model, rule: &Rule, sort: SortId) -> Vec<LocalId> {
    let of_sort = |local: &LocalId| model.sorts_of(rule.code.locals[*local].ty).contains(&sort);
    rule.params.iter().map(|param| param.local).filter(of_sort).collect()
}

/// The constants for which a guard tests a variable of a parameter.
fn tested_for(rule: &Rule, var: VarId, param: LocalId) -> Option<BTreeSet<Value>> {
    let guard = rule.guard.as_ref()?;
    let mut allowed: Option<BTreeSet<Value>> = None;
    for conjunct in guard.conjuncts() {
        if let Some(values) = equals(conjunct, var, param) {
            allowed = Some(match allowed {
                Some(known) => known.intersection(&values).cloned().collect(),
                None => values,
            });
        }
    }
    allowed
}

/// The values that `x[param] = c`, or a disjunction of such, allows.
fn equals(expr: &Expr, var: VarId, param: LocalId) -> Option<BTreeSet<Value>> {
    match &expr.kind {
        ExprKind::Equal(a, b) => match (&a.kind, &b.kind) {
            (ExprKind::Read(place) | ExprKind::Peek(place), ExprKind::Const(value))
            | (ExprKind::Const(value), ExprKind::Read(place) | ExprKind::Peek(place)) => {
                (owner(place, var) == Some(ValueOwner::Local(param))).then(|| BTreeSet::from([value.clone()]))
            }
            _ => None,
        },
        ExprKind::Or(of) => {
            let all = of.iter().map(|part| equals(part, var, param)).collect::<Option<Vec<_>>>()?;
            Some(all.into_iter().flatten().collect())
        }
        _ => None,
    }
}

/// Whose value of a variable a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueOwner {
    /// Of the element that a local stands for.
    Local(LocalId),
    /// Of somebody, or of all.
    Somebody,
}

/// Whose value of this variable a place is; nothing if it is another variable.
fn owner(place: &Place, var: VarId) -> Option<ValueOwner> {
    if place.root != Root::Var(var) {
        return None;
    }
    let Some(Projection::Index(index)) = place.path.first() else { return Some(ValueOwner::Somebody) };
    match &index.kind {
        ExprKind::Read(at) | ExprKind::Peek(at) if at.path.is_empty() => match at.root {
            Root::Local(local) => Some(ValueOwner::Local(local)),
            Root::Var(_) => Some(ValueOwner::Somebody),
        },
        _ => Some(ValueOwner::Somebody),
    }
}

struct LivenessAnalysis<'a> {
    model: &'a Model,
    sort: SortId,
    control: VarId,
    variables: &'a [VarId],
    points: &'a [Value],
}

/// Whether some of the statements may not be reached.
fn leaves_early(block: &[Stmt]) -> bool {
    let mut found = false;
    walk_block(block, &mut |node| {
        found |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return(_), .. }));
    });
    found
}

/// What a rule does with the values of one of its parameters.
struct ParameterUse {
    from: BTreeSet<Value>,
    to: BTreeSet<Value>,
    uses: BTreeSet<VarId>,
    kills: BTreeSet<VarId>,
}

impl LivenessAnalysis<'_> {
    fn run(&self) -> BTreeMap<Value, BTreeSet<VarId>> {
        let mut everywhere = BTreeSet::from([self.control]);
        let mut edges = Vec::new();
        for rule in self.model.rules.iter() {
            everywhere.extend(self.uses_of_others(rule));
            for param in params(self.model, rule, self.sort) {
                edges.push(self.edge(rule, param));
            }
            edges.push(self.broadcast(rule));
        }
        for function in self.model.functions.iter() {
            walk_block(&function.code.body, &mut |node| everywhere.extend(self.mentioned(node)));
        }
        let conditions = self.model.properties.iter().flat_map(|property| property.kind.conditions());
        for condition in conditions.chain(&self.model.fairness) {
            walk_condition(condition, &mut |node| everywhere.extend(self.mentioned(node)));
        }
        let mut live: BTreeMap<Value, BTreeSet<VarId>> =
            self.points.iter().map(|point| (point.clone(), everywhere.clone())).collect();
        loop {
            let before = live.clone();
            for edge in &edges {
                let mut needed = edge.uses.clone();
                for to in &edge.to {
                    needed
                        .extend(before.get(to).into_iter().flatten().filter(|var| !edge.kills.contains(var)));
                }
                for from in &edge.from {
                    live.entry(from.clone()).or_default().extend(&needed);
                }
            }
            if live == before {
                return live;
            }
        }
    }

    fn all(&self) -> BTreeSet<Value> {
        self.points.iter().cloned().collect()
    }

    /// The variables that a node reads or writes, whoever's they are.
    fn mentioned(&self, node: Node<'_>) -> Option<VarId> {
        match node {
            Node::Place(place) => match place.root {
                Root::Var(var) if self.variables.contains(&var) => Some(var),
                _ => None,
            },
            Node::Stmt(_) | Node::Expr(_) => None,
        }
    }

    /// The variables that a rule reads of elements that are none of its parameters.
    fn uses_of_others(&self, rule: &Rule) -> BTreeSet<VarId> {
        let params = params(self.model, rule, self.sort);
        let mut used = BTreeSet::new();
        let mut visit = |node: Node<'_>| {
            let place = match node {
                Node::Expr(Expr {
                    kind: ExprKind::Read(place) | ExprKind::Peek(place) | ExprKind::IsUndefined(place),
                    ..
                }) => place,
                _ => return,
            };
            for var in self.variables {
                match owner(place, *var) {
                    Some(ValueOwner::Local(local)) if params.contains(&local) => {}
                    Some(_) => {
                        used.insert(*var);
                    }
                    None => {}
                }
            }
        };
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        walk_block(&rule.code.body, &mut visit);
        // References can stand for anything that they were bound to.
        for binding in &rule.bindings {
            walk_argument(&binding.to, &mut |node| used.extend(self.mentioned(node)));
        }
        let mut passed = |node: Node<'_>| {
            let arguments: Vec<&Argument> = match node {
                Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                    bindings.iter().map(|binding| &binding.to).collect()
                }
                Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
                | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => arguments.iter().collect(),
                _ => return,
            };
            for argument in arguments {
                if let Argument::Place(place) = argument {
                    used.extend(self.mentioned(Node::Place(place)));
                }
            }
        };
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut passed));
        walk_block(&rule.code.body, &mut passed);
        used
    }

    /// What a rule does with the values of a parameter.
    fn edge(&self, rule: &Rule, param: LocalId) -> ParameterUse {
        let from = tested_for(rule, self.control, param).unwrap_or_else(|| self.all());
        let mut uses = BTreeSet::new();
        if let Some(guard) = &rule.guard {
            self.reads(guard, param, &BTreeSet::new(), &mut uses);
        }
        let mut kills = BTreeSet::new();
        self.block(&rule.code.body, param, &mut kills, &mut uses);
        if leaves_early(&rule.code.body) {
            kills.clear();
        }
        let to = self.targets(rule, &from, &kills);
        ParameterUse { from, to, uses, kills }
    }

    /// Adds what an expression reads of a parameter's values and what was not written before.
    fn reads(&self, expr: &Expr, param: LocalId, written: &BTreeSet<VarId>, uses: &mut BTreeSet<VarId>) {
        walk_expr(expr, &mut |node| {
            if let Node::Place(place) = node {
                for var in self.variables {
                    if owner(place, *var) == Some(ValueOwner::Local(param)) && !written.contains(var) {
                        uses.insert(*var);
                    }
                }
            }
        });
    }

    /// Goes through statements: what is read before it was written is used; what is written whatever happens is killed.
    fn block(
        &self,
        block: &[Stmt],
        param: LocalId,
        written: &mut BTreeSet<VarId>,
        uses: &mut BTreeSet<VarId>,
    ) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    self.reads(value, param, written, uses);
                    let own = self
                        .variables
                        .iter()
                        .find(|var| owner(place, **var) == Some(ValueOwner::Local(param)));
                    match own {
                        Some(var) => {
                            written.insert(*var);
                        }
                        None => place.path.iter().for_each(|step| {
                            if let Projection::Index(index) = step {
                                self.reads(index, param, written, uses);
                            }
                        }),
                    }
                }
                StmtKind::If(arms, other) => {
                    let mut ends: Option<BTreeSet<VarId>> = None;
                    let mut arm = |block: &[Stmt], uses: &mut BTreeSet<VarId>| {
                        let mut inside = written.clone();
                        self.block(block, param, &mut inside, uses);
                        ends = Some(match ends.take() {
                            Some(known) => known.intersection(&inside).copied().collect(),
                            None => inside,
                        });
                    };
                    for (condition, block) in arms {
                        self.reads(condition, param, &BTreeSet::new(), uses);
                        arm(block, uses);
                    }
                    arm(other, uses);
                    *written = ends.unwrap_or_default();
                }
                // Whatever else there is: everything in it is read, nothing is written for sure.
                _ => walk_block(std::slice::from_ref(stmt), &mut |node| {
                    if let Node::Expr(Expr {
                        kind: ExprKind::Read(place) | ExprKind::Peek(place) | ExprKind::IsUndefined(place),
                        ..
                    }) = node
                    {
                        for var in self.variables {
                            if owner(place, *var) == Some(ValueOwner::Local(param)) && !written.contains(var)
                            {
                                uses.insert(*var);
                            }
                        }
                    }
                }),
            }
        }
    }

    /// Where the control variable of a parameter can stand after a rule.
    fn targets(&self, rule: &Rule, from: &BTreeSet<Value>, kills: &BTreeSet<VarId>) -> BTreeSet<Value> {
        let mut to = self.set_by(rule, &|_| true);
        if !kills.contains(&self.control) {
            to.extend(from.iter().cloned());
        }
        to
    }

    /// The constants that a rule sets the control variable to, of some of the elements.
    fn set_by(&self, rule: &Rule, of: &dyn Fn(ValueOwner) -> bool) -> BTreeSet<Value> {
        let mut to = BTreeSet::new();
        walk_block(&rule.code.body, &mut |node| {
            if let Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. }) = node
                && owner(place, self.control).is_some_and(of)
                && let ExprKind::Const(value) = &value.kind
            {
                to.insert(value.clone());
            }
        });
        to
    }

    /// What a rule does to elements that are none of its parameters: it can set their control variable.
    fn broadcast(&self, rule: &Rule) -> ParameterUse {
        let params = params(self.model, rule, self.sort);
        let of_others =
            |owner: ValueOwner| !matches!(owner, ValueOwner::Local(local) if params.contains(&local));
        let to = self.set_by(rule, &of_others);
        ParameterUse { from: self.all(), to, uses: BTreeSet::new(), kills: BTreeSet::new() }
    }
}
