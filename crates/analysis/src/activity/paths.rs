//! Code seen from one element: on which views it reads the element's variables, and what it makes of the view.
//!
//! The code is run once with the element in the place of each parameter and once with the element as a bystander. All
//! that is not followed makes more views possible, never fewer.

mod values;

use std::collections::BTreeMap;

use shoal_model::{
    Argument, CheckKind, Condition, Domain, Expr, LocalId, Model, Node, Place, Projection, Root, Rule, Stmt,
    StmtKind, walk_block, walk_domain,
};

use super::{
    atoms::{Atoms, ValueClass, ViewAtom},
    cube::CubeUnion,
};

/// What becomes of a part of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartEffect {
    /// It stays.
    Same,
    /// It gets what another part was before.
    Copy(usize),
    /// It gets something of these classes.
    Set(u64),
    /// It gets something that was not followed: what a chain of references leads to, the result of a computation.
    Followed,
}

/// One way through a rule.
#[derive(Clone, Debug)]
pub(crate) struct ViewPath {
    /// Whether the element is a parameter of the rule.
    pub(crate) acting: bool,
    /// The views before it on which it may be taken.
    pub(crate) under: CubeUnion,
    /// What becomes of each part.
    pub(crate) effects: Vec<PartEffect>,
    /// The parts that are written whatever else happens.
    pub(crate) written: Vec<bool>,
    locals: BTreeMap<LocalId, Abstract>,
    left: bool,
}

/// What is known of a value.
#[derive(Clone, Debug)]
enum Abstract {
    /// What a part of the view was before the step.
    Before(usize),
    /// One of these.
    Classes(Vec<ValueClass>),
    Unknown,
}

/// Whether a local is the element whose view it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Me,
    Another,
}

/// More ways through a rule than this are taken for any.
const MOST_PATHS: usize = 128;

/// Runs code on views.
pub(crate) struct ViewWalk<'a> {
    model: &'a Model,
    atoms: &'a Atoms,
    who: BTreeMap<LocalId, Who>,
    /// For each part, the views on which it is read.
    pub(crate) reads: Vec<CubeUnion>,
    /// All ways through all rules.
    pub(crate) paths: Vec<ViewPath>,
}

impl<'a> ViewWalk<'a> {
    /// Runs all rules and conditions of a model.
    pub(crate) fn of_model(model: &'a Model, atoms: &'a Atoms) -> ViewWalk<'a> {
        let reads = vec![CubeUnion::default(); atoms.atoms.len()];
        let mut walk = ViewWalk { model, atoms, who: BTreeMap::new(), reads, paths: Vec::new() };
        model.rules.iter().for_each(|rule| walk.rule(rule));
        let conditions = model.properties.iter().flat_map(|property| property.kind.conditions());
        conditions.chain(&model.fairness).for_each(|condition| walk.condition(condition));
        walk
    }

    fn condition(&mut self, condition: &'a Condition) {
        self.who.clear();
        let path = self.start();
        self.truth(&path, &condition.expr, self.atoms.always());
    }

    fn rule(&mut self, rule: &'a Rule) {
        let of_sort = |local: &LocalId| self.atoms.refers(self.model, rule.code.locals[*local].ty);
        let params: Vec<LocalId> = rule.params.iter().map(|param| param.local).filter(of_sort).collect();
        for me in params.iter().map(Some).chain([None]) {
            self.who.clear();
            match me {
                // The other parameters may be the same element.
                Some(me) => {
                    self.who.insert(*me, Who::Me);
                }
                None => self.who.extend(params.iter().map(|param| (*param, Who::Another))),
            }
            self.instance(rule);
        }
    }

    fn instance(&mut self, rule: &'a Rule) {
        let mut path = self.start();
        rule.params.iter().for_each(|param| self.domain(&param.domain, &path.under.clone()));
        for binding in &rule.bindings {
            self.argument(&path, &binding.to);
        }
        if let Some(guard) = &rule.guard {
            path.under = self.truth(&path, guard, path.under.clone()).0;
        }
        let paths = self.block(&rule.code.body, vec![path]);
        if paths.len() > MOST_PATHS {
            let mut any = self.start();
            walk_block(&rule.code.body, &mut |node| self.mention(node, &self.atoms.always()));
            any.effects = vec![PartEffect::Followed; self.atoms.atoms.len()];
            self.paths.push(any);
        } else {
            self.paths.extend(paths.into_iter().filter(|path| !path.under.is_false()));
        }
    }

    fn start(&self) -> ViewPath {
        let parts = self.atoms.atoms.len();
        ViewPath {
            acting: self.who.values().any(|who| *who == Who::Me),
            under: self.atoms.always(),
            effects: vec![PartEffect::Same; parts],
            written: vec![false; parts],
            locals: BTreeMap::new(),
            left: false,
        }
    }

    fn block(&mut self, block: &'a [Stmt], paths: Vec<ViewPath>) -> Vec<ViewPath> {
        let mut paths = paths;
        for stmt in block {
            if paths.len() > MOST_PATHS {
                return paths;
            }
            let step = |path: ViewPath| if path.left { vec![path] } else { self.stmt(stmt, path) };
            paths = paths.into_iter().filter(|path| !path.under.is_false()).flat_map(step).collect();
        }
        paths
    }

    fn stmt(&mut self, stmt: &'a Stmt, mut path: ViewPath) -> Vec<ViewPath> {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let value = self.value(&path, value, &path.under.clone());
                self.write(path, place, &value)
            }
            StmtKind::Clear(place) => {
                let least = self.model.least(place.ty);
                let value = self.constant(&least);
                self.write(path, place, &value)
            }
            StmtKind::Undefine(place) => {
                self.write(path, place, &Abstract::Classes(vec![ValueClass::Undefined]))
            }
            StmtKind::If(arms, other) => self.branch(arms, other, path),
            StmtKind::Check { kind, condition, .. } => {
                if let Some(condition) = condition {
                    let (holds, _) = self.truth(&path, condition, path.under.clone());
                    if *kind != CheckKind::Cover {
                        path.under = holds;
                    }
                } else if *kind != CheckKind::Cover {
                    path.under = CubeUnion::default();
                }
                vec![path]
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|value| drop(self.value(&path, value, &path.under.clone())));
                path.left = true;
                vec![path]
            }
            StmtKind::Choose { domain, .. } => {
                self.domain(domain, &path.under.clone());
                vec![path]
            }
            StmtKind::Call(_, arguments) => {
                arguments.iter().for_each(|argument| self.argument(&path, argument));
                vec![path]
            }
            StmtKind::Bind(bindings) => {
                for binding in bindings {
                    self.argument(&path, &binding.to);
                    path.locals.remove(&binding.local);
                }
                vec![path]
            }
            _ => vec![self.unfollowed(stmt, path)],
        }
    }

    fn branch(&mut self, arms: &'a [(Expr, Vec<Stmt>)], other: &'a [Stmt], path: ViewPath) -> Vec<ViewPath> {
        let mut out = Vec::new();
        let mut rest = path;
        for (condition, block) in arms {
            let (holds, fails) = self.truth(&rest, condition, rest.under.clone());
            out.extend(self.block(block, vec![ViewPath { under: holds, ..rest.clone() }]));
            rest.under = fails;
        }
        out.extend(self.block(other, vec![rest]));
        out
    }

    /// A statement that is not followed: it may read all that it mentions and leave anything there.
    fn unfollowed(&mut self, stmt: &'a Stmt, mut path: ViewPath) -> ViewPath {
        let mut visit = |node: Node<'_>| {
            self.mention(node, &path.under);
            match node {
                Node::Place(Place { root: Root::Var(var), .. }) => {
                    self.atoms.of_var(*var).for_each(|at| path.effects[at] = PartEffect::Followed);
                }
                Node::Place(Place { root: Root::Local(local), .. }) => {
                    path.locals.remove(local);
                }
                _ => {}
            }
        };
        walk_block(std::slice::from_ref(stmt), &mut visit);
        path
    }

    /// A part of code that may be read by anybody.
    fn mention(&mut self, node: Node<'_>, under: &CubeUnion) {
        if let Node::Place(Place { root: Root::Var(var), .. }) = node {
            for at in self.atoms.of_var(*var) {
                let known = std::mem::take(&mut self.reads[at]);
                self.reads[at] = known.or(under.clone());
            }
        }
    }

    /// Writes a value: to the element's own variable, to another's, or both where that is not known.
    fn write(&mut self, mut path: ViewPath, place: &'a Place, value: &Abstract) -> Vec<ViewPath> {
        if let Root::Local(local) = place.root {
            self.ways(&path, place);
            match place.path.is_empty() {
                true => path.locals.insert(local, value.clone()),
                false => path.locals.remove(&local),
            };
            return vec![path];
        }
        if let Some(at) = self.atoms.global(place) {
            path.set(self.atoms, at, value);
            return vec![path];
        }
        let Some((at, index)) = self.atoms.own(place) else {
            self.ways(&path, place);
            return vec![path];
        };
        let (me, another) = self.split(&path, index);
        let mut mine = ViewPath { under: me, ..path.clone() };
        mine.set(self.atoms, at, value);
        path.under = another;
        vec![mine, path].into_iter().filter(|path| !path.under.is_false()).collect()
    }

    /// Evaluates the indices on the way into a place.
    fn ways(&mut self, path: &ViewPath, place: &'a Place) {
        for projection in &place.path {
            if let Projection::Index(at) | Projection::Slot(at) | Projection::Item(at) = projection {
                self.value(path, at, &path.under.clone());
            }
        }
    }

    fn argument(&mut self, path: &ViewPath, argument: &'a Argument) {
        match argument {
            Argument::Place(place) => self.ways(path, place),
            Argument::Value(value) => drop(self.value(path, value, &path.under.clone())),
        }
    }

    fn domain(&mut self, domain: &'a Domain, under: &CubeUnion) {
        walk_domain(domain, &mut |node| self.mention(node, under));
    }
}

impl ViewPath {
    fn set(&mut self, atoms: &Atoms, at: usize, value: &Abstract) {
        let atom = &atoms.atoms[at];
        self.written[at] = true;
        self.effects[at] = match value {
            Abstract::Before(from) if *from == at => PartEffect::Same,
            Abstract::Before(from) if atoms.atoms[*from].classes == atom.classes => PartEffect::Copy(*from),
            Abstract::Classes(classes) => match atom.mask(|class| classes.contains(class)) {
                // Out of range: nobody will see what comes of it.
                0 => PartEffect::Followed,
                mask => PartEffect::Set(mask),
            },
            Abstract::Before(_) | Abstract::Unknown => PartEffect::Followed,
        };
    }

    fn now(&self, atoms: &Atoms, at: usize) -> Abstract {
        match &self.effects[at] {
            PartEffect::Same => Abstract::Before(at),
            PartEffect::Copy(from) => Abstract::Before(*from),
            PartEffect::Set(mask) => Abstract::Classes(atoms.atoms[at].of_mask(*mask).cloned().collect()),
            PartEffect::Followed => Abstract::Unknown,
        }
    }
}

impl ViewAtom {
    /// The mask of an element being the one whose view it is.
    pub(crate) fn me(&self) -> u64 {
        self.mask(|class| *class == ValueClass::Me)
    }
}
