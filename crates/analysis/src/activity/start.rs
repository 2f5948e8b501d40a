//! Starts that choose what nobody will read.
//!
//! Where variables may begin with any value, there are as many starts as combinations of values: far too many where every
//! element has pointers. A variable of elements that is inactive after the start, whatever it is, need not be tried with
//! all its values. The choice stays, and only one value of it is taken, so that runs have the same choices as before.

use std::collections::BTreeMap;

use shoal_model::{
    CheckKind, Domain, Expr, ExprKind, Model, Node, Place, Property, PropertyId, PropertyKind, Root, Rule,
    Stmt, StmtKind, TypeId, Value, VarId, walk_block,
};
use shoal_syntax::Span;

use super::{
    Activity, ObservedRuns, activity,
    atoms::Atoms,
    cube::Cube,
    reset::{is_local, truth},
};

/// A model with fewer starts that begins all the same, but for the values of inactive variables; nothing if there are no
/// fewer.
pub fn narrowed(model: &Model) -> Option<Model> {
    let chooses = |rule: &Rule| {
        let mut found = false;
        walk_block(&rule.code.body, &mut |node| {
            found |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Choose { .. }, .. }));
        });
        found
    };
    if !model.starts.iter().any(chooses) {
        return None;
    }
    let mut narrowed = model.clone();
    let truth = truth(&mut narrowed);
    let kind = PropertyKind::Assume(None);
    let name = "$what is inactive may begin with one value".into();
    let property = narrowed.properties.push(Property { name, kind, span: Span::default() });
    let mut fewer = false;
    for activity in activity(model, &ObservedRuns::default()) {
        for start in narrowed.starts.iter_mut() {
            let unread = unread(model, &activity, start);
            let mut narrow = Narrow { model, atoms: &activity.atoms, unread, truth, property, fewer: false };
            narrow.block(&mut start.code.body);
            fewer |= narrow.fewer;
        }
    }
    fewer.then(|| narrowed.made_by("narrowing its starts"))
}

/// The variables of elements that are inactive after a start, and that it only writes once.
fn unread(model: &Model, activity: &Activity, start: &Rule) -> Vec<usize> {
    let after = after(model, &activity.atoms, start);
    let inactive = activity.variables.iter().filter(|variable| !variable.active.has(&after));
    let once = |atom: &usize| mentions(start, Root::Var(activity.atoms.atoms[*atom].var)) == 1;
    inactive.map(|variable| variable.atom).filter(once).collect()
}

fn mentions(start: &Rule, root: Root) -> usize {
    let mut count = 0;
    walk_block(&start.code.body, &mut |node| {
        count += usize::from(matches!(node, Node::Place(place) if place.root == root));
    });
    count
}

/// What elements look like after a start, as far as it gives all of them constants.
fn after(model: &Model, atoms: &Atoms, start: &Rule) -> Cube {
    let mut view = atoms.all();
    for (at, atom) in atoms.atoms.iter().enumerate().filter(|(_, atom)| atom.own && atom.fields.is_empty()) {
        let mut written = BTreeMap::new();
        if !constants(&start.code.body, None, atom.var, &mut written) {
            continue;
        }
        let covered: Option<u64> = written.keys().map(|of| model.cardinality(*of)).sum();
        let class = |value: &Value| atoms.class(at, value, &Value::Undefined).map(|class| 1 << class);
        let masks: Option<Vec<u64>> = written.values().flatten().map(class).collect();
        if covered == Some(atoms.elements.len() as u64)
            && let Some(masks) = masks
        {
            view.0[at] = masks.into_iter().fold(0, |all, mask| all | mask);
        }
    }
    view
}

/// The constants that a block gives to the entries of an array, by what it loops over. False if there are others.
fn constants(
    block: &[Stmt],
    over: Option<TypeId>,
    var: VarId,
    written: &mut BTreeMap<TypeId, Vec<Value>>,
) -> bool {
    block.iter().all(|stmt| match (&stmt.kind, over) {
        (StmtKind::Assign(place, value), Some(over)) if place.root == Root::Var(var) => match &value.kind {
            ExprKind::Const(value) => {
                written.entry(over).or_default().push(value.clone());
                true
            }
            _ => false,
        },
        (StmtKind::For { domain: Domain::Type(over), body, .. }, None) => {
            constants(body, Some(*over), var, written)
        }
        _ => {
            let mut mentioned = false;
            walk_block(std::slice::from_ref(stmt), &mut |node| {
                mentioned |= matches!(node, Node::Place(place) if place.root == Root::Var(var));
            });
            !mentioned
        }
    })
}

struct Narrow<'a> {
    model: &'a Model,
    atoms: &'a Atoms,
    unread: Vec<usize>,
    truth: TypeId,
    property: PropertyId,
    fewer: bool,
}

impl Narrow<'_> {
    fn block(&mut self, block: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < block.len() {
            if let StmtKind::For { body, .. } = &mut block[at].kind {
                self.block(body);
            }
            if let Some(only) = self.only(&block[at..]) {
                block.insert(at + 1, only);
                self.fewer = true;
            }
            at += 1;
        }
    }

    /// Where a block begins with a choice and gives what was chosen to a variable that nobody will read: that one value of
    /// it is enough. No element, for that would name it.
    fn only(&self, block: &[Stmt]) -> Option<Stmt> {
        let [Stmt { kind: StmtKind::Choose { local, domain: Domain::Type(ty) }, span }, next, ..] = block
        else {
            return None;
        };
        let StmtKind::Assign(place, value) = &next.kind else { return None };
        let (atom, _) = self.atoms.own(place)?;
        if !self.unread.contains(&atom) || !is_local(value, *local) {
            return None;
        }
        let value = self.model.values(*ty).find(|value| !matches!(value, Value::Elem(..)))?;
        let constant = Expr { kind: ExprKind::Const(value), ty: *ty, span: *span };
        let place = Place { root: Root::Local(*local), path: Vec::new(), ty: *ty, span: *span };
        let chosen = Expr { kind: ExprKind::Read(place), ty: *ty, span: *span };
        let kind = ExprKind::Equal(Box::new(chosen), Box::new(constant));
        let condition = Some(Expr { kind, ty: self.truth, span: *span });
        let kind = StmtKind::Check { kind: CheckKind::Assume, condition, property: self.property };
        Some(Stmt { kind, span: *span })
    }
}
