//! The reduced model: at the end of every step, what has become inactive is undefined.

use std::collections::BTreeSet;

use shoal_model::{
    Condition, Domain, Expr, ExprKind, IndexVec, Local, LocalId, LocalKind, Model, Node, Place, Projection,
    Property, PropertyId, PropertyKind, Quantifier, Root, Rule, Stmt, StmtKind, Type, TypeDef, TypeId,
    UnaryOp, VarId, walk_block,
};
use shoal_syntax::Span;

use super::{
    Activity, ElementVariable,
    atoms::{ValueClass, ViewAtom},
    cube::Cube,
};

/// A model in which inactive variables are undefined. Its starts, rules and properties have the same numbers as before.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The model.
    pub model: Model,
    /// That no active variable has been reset, where that was guessed. Only if it holds is the model as good as the one
    /// it was made of.
    pub guess: Option<PropertyId>,
}

/// Resets what is inactive.
pub fn reduce(model: &Model, activities: &[Activity]) -> Reduced {
    let mut reduced = model.clone();
    let truth = truth(&mut reduced);
    let mut locals = IndexVec::new();
    let mut guesses = Vec::new();
    for activity in activities {
        let reset = ActivityReset { model, activity, truth };
        for start in reduced.starts.iter_mut() {
            let ending = reset.everybody(start, &|_| true);
            end_with(&mut start.code.body, &ending);
        }
        for rule in reduced.rules.iter_mut() {
            let ending = reset.ending(rule);
            end_with(&mut rule.code.body, &ending);
        }
        guesses.extend(reset.nothing_active_was_reset(&mut locals));
    }
    let guess = (!guesses.is_empty()).then(|| {
        let expr = Expr { kind: ExprKind::And(guesses), ty: truth, span: Span::default() };
        let kind = PropertyKind::Invariant(Condition { locals, expr });
        let name = "$nothing active was reset".into();
        reduced.properties.push(Property { name, kind, span: Span::default() })
    });
    Reduced { model: reduced.made_by("resetting what is inactive"), guess }
}

/// The type of truth values, which is made if there is none.
pub(crate) fn truth(model: &mut Model) -> TypeId {
    let found = model.types.enumerate().find(|(_, def)| def.kind == Type::Bool).map(|(id, _)| id);
    found.unwrap_or_else(|| model.types.push(TypeDef { name: None, kind: Type::Bool }))
}

/// Puts statements at the end of a block, and before everything that leaves it early.
pub(crate) fn end_with(block: &mut Vec<Stmt>, ending: &[Stmt]) {
    before_returns(block, ending);
    block.extend_from_slice(ending);
}

fn before_returns(block: &mut Vec<Stmt>, ending: &[Stmt]) {
    let mut at = 0;
    while at < block.len() {
        match &mut block[at].kind {
            StmtKind::Return(_) => {
                block.splice(at..at, ending.iter().cloned());
                at += ending.len();
            }
            StmtKind::If(arms, other) => {
                arms.iter_mut().for_each(|(_, block)| before_returns(block, ending));
                before_returns(other, ending);
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } => before_returns(body, ending),
            _ => {}
        }
        at += 1;
    }
}

/// A local that is an element, and its type.
#[derive(Clone, Copy)]
struct ElementLocal {
    local: LocalId,
    ty: TypeId,
}

struct ActivityReset<'a> {
    model: &'a Model,
    activity: &'a Activity,
    truth: TypeId,
}

impl ActivityReset<'_> {
    /// What a rule has to reset: its own elements' variables, everybody's where it does something to others.
    fn ending(&self, rule: &mut Rule) -> Vec<Stmt> {
        let params: Vec<LocalId> = rule.params.iter().map(|param| param.local).collect();
        let params: Vec<LocalId> =
            params.into_iter().filter(|param| self.is_element(rule.code.locals[*param].ty)).collect();
        let (written, others) = self.writes(rule, &params);
        let concerned = |variable: &ElementVariable| {
            let of_condition = self.support(variable).into_iter();
            of_condition.chain([self.atom(variable).var]).any(|var| written.contains(&var))
        };
        if others {
            return self.everybody(rule, &concerned);
        }
        let concerned = || self.activity.variables.iter().filter(|variable| concerned(variable));
        let element = |local: &LocalId| ElementLocal { local: *local, ty: rule.code.locals[*local].ty };
        let elements: Vec<ElementLocal> = params.iter().map(element).collect();
        elements.iter().flat_map(|it| concerned().map(|variable| self.unless_active(variable, *it))).collect()
    }

    fn is_element(&self, ty: TypeId) -> bool {
        let sorts = &self.activity.atoms.sorts;
        matches!(self.model.kind(ty), Type::Ref { sort, nullable: false } if sorts.contains(sort))
    }

    fn atom(&self, variable: &ElementVariable) -> &ViewAtom {
        &self.activity.atoms.atoms[variable.atom]
    }

    /// The variables that a condition speaks of.
    fn support(&self, variable: &ElementVariable) -> BTreeSet<VarId> {
        let atoms = &self.activity.atoms.atoms;
        let cubes = variable.active.0.iter();
        let told =
            cubes.flat_map(|cube| atoms.iter().zip(&cube.0).filter(|(atom, mask)| **mask != atom.full()));
        told.map(|(atom, _)| atom.var).collect()
    }

    /// The variables that a rule writes, and whether that can make a variable of others than its parameters inactive.
    fn writes(&self, rule: &Rule, params: &[LocalId]) -> (BTreeSet<VarId>, bool) {
        let shared: BTreeSet<VarId> =
            self.activity.variables.iter().flat_map(|variable| self.support(variable)).collect();
        let mut written = BTreeSet::new();
        let mut others = false;
        walk_block(&rule.code.body, &mut |node| {
            let Node::Stmt(stmt) = node else { return };
            let Some((place, var)) = target(stmt) else { return };
            written.insert(var);
            others |= match self.activity.atoms.own(place) {
                Some((_, index)) => !params.iter().any(|param| is_local(index, *param)),
                None => shared.contains(&var),
            };
        });
        (written, others)
    }

    /// Resets the variables of all elements.
    fn everybody(&self, rule: &mut Rule, concerned: &dyn Fn(&ElementVariable) -> bool) -> Vec<Stmt> {
        let concerned: Vec<&ElementVariable> =
            self.activity.variables.iter().filter(|variable| concerned(variable)).collect();
        if concerned.is_empty() {
            return Vec::new();
        }
        let index = self.activity.index;
        let local = rule.code.locals.push(self.local(index, rule.span));
        let body = {
            let element = ElementLocal { local, ty: index };
            concerned.into_iter().map(|variable| self.unless_active(variable, element)).collect()
        };
        let kind = StmtKind::For { local, domain: Domain::Type(index), body };
        vec![Stmt { kind, span: rule.span }]
    }

    fn local(&self, ty: TypeId, span: Span) -> Local {
        Local { name: "$element".into(), ty, kind: LocalKind::Bound, span }
    }

    /// What is undefined already needs no further look.
    fn unless_active(&self, variable: &ElementVariable, element: ElementLocal) -> Stmt {
        let span = Span::default();
        let place = self.place(self.atom(variable), element);
        let undefined = self.truth(ExprKind::IsUndefined(place.clone()));
        let undefine = Stmt { kind: StmtKind::Undefine(place), span };
        let keep = vec![(undefined, Vec::new()), (self.active(variable, element), Vec::new())];
        Stmt { kind: StmtKind::If(keep, vec![undefine]), span }
    }

    /// For each element: what is active is not undefined; of the variables whose conditions were guessed.
    fn nothing_active_was_reset(&self, locals: &mut IndexVec<LocalId, Local>) -> Option<Expr> {
        let guessed: Vec<&ElementVariable> = self.activity.variables.iter().filter(|it| it.guessed).collect();
        if guessed.is_empty() {
            return None;
        }
        let index = self.activity.index;
        let local = locals.push(self.local(index, Span::default()));
        let element = ElementLocal { local, ty: index };
        let defined = |variable: &&ElementVariable| {
            let place = self.place(self.atom(variable), element);
            let undefined = self.truth(ExprKind::IsUndefined(place));
            let active = Box::new(self.active(variable, element));
            self.truth(ExprKind::Implies(active, Box::new(self.not(undefined))))
        };
        let body = Box::new(self.truth(ExprKind::And(guessed.iter().map(defined).collect())));
        let domain = Domain::Type(index);
        Some(self.truth(ExprKind::Quantified { quantifier: Quantifier::Forall, local, domain, body }))
    }

    /// Whether a variable of an element is active.
    fn active(&self, variable: &ElementVariable, element: ElementLocal) -> Expr {
        let cubes = variable.active.0.iter().map(|cube| self.conjunction(cube, element));
        self.truth(ExprKind::Or(cubes.collect()))
    }

    fn conjunction(&self, cube: &Cube, element: ElementLocal) -> Expr {
        let atoms = self.activity.atoms.atoms.iter().zip(&cube.0);
        let tests = atoms.filter(|(atom, mask)| **mask != atom.full());
        self.truth(ExprKind::And(tests.map(|(atom, mask)| self.test(atom, *mask, element)).collect()))
    }

    /// Whether a part of the view is in one of these classes. All but one class can be tested for, so either these or the
    /// others can.
    fn test(&self, atom: &ViewAtom, mask: u64, element: ElementLocal) -> Expr {
        let others = atom.full() & !mask;
        let untold = |mask: u64| {
            atom.of_mask(mask).any(|class| matches!(class, ValueClass::Another | ValueClass::Any))
        };
        if untold(mask) || (!untold(others) && others.count_ones() < mask.count_ones()) {
            let one_of = self.one_of(atom, others, element);
            return self.not(one_of);
        }
        self.one_of(atom, mask, element)
    }

    fn one_of(&self, atom: &ViewAtom, mask: u64, element: ElementLocal) -> Expr {
        let is = |class: &ValueClass| {
            let place = self.place(atom, element);
            let value = match class {
                ValueClass::Value(value) => ExprKind::Const(value.clone()),
                ValueClass::Me => return self.equal(place, self.element(element)),
                ValueClass::Undefined | ValueClass::Another | ValueClass::Any => {
                    return self.truth(ExprKind::IsUndefined(place));
                }
            };
            self.equal(place, Expr { kind: value, ty: atom.ty, span: Span::default() })
        };
        self.truth(ExprKind::Or(atom.of_mask(mask).map(is).collect()))
    }

    fn equal(&self, place: Place, value: Expr) -> Expr {
        let peek = Expr { ty: place.ty, span: place.span, kind: ExprKind::Peek(place) };
        self.truth(ExprKind::Equal(Box::new(peek), Box::new(value)))
    }

    fn element(&self, element: ElementLocal) -> Expr {
        let ElementLocal { local, ty } = element;
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span: Span::default() };
        Expr { kind: ExprKind::Read(place), ty, span: Span::default() }
    }

    fn place(&self, atom: &ViewAtom, element: ElementLocal) -> Place {
        let mut path = Vec::new();
        if atom.own {
            path.push(Projection::Index(self.element(element)));
            path.extend(atom.fields.iter().map(|field| Projection::Field(*field)));
        }
        Place { root: Root::Var(atom.var), path, ty: atom.ty, span: Span::default() }
    }

    fn not(&self, expr: Expr) -> Expr {
        self.truth(ExprKind::Unary(UnaryOp::Not, Box::new(expr)))
    }

    fn truth(&self, kind: ExprKind) -> Expr {
        Expr { kind, ty: self.truth, span: Span::default() }
    }
}

/// The state variable that a statement writes to.
fn target(stmt: &Stmt) -> Option<(&Place, VarId)> {
    let place = match &stmt.kind {
        StmtKind::Assign(place, _)
        | StmtKind::Clear(place)
        | StmtKind::Undefine(place)
        | StmtKind::Create(place, _) => place,
        _ => return None,
    };
    match place.root {
        Root::Var(var) => Some((place, var)),
        Root::Local(_) => None,
    }
}

pub(super) fn is_local(expr: &Expr, local: LocalId) -> bool {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => {
            place.path.is_empty() && place.root == Root::Local(local)
        }
        _ => false,
    }
}
