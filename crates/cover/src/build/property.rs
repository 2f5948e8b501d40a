//! What must not be reached, as configurations: the least ones that violate a property.

use std::collections::BTreeMap;

use shoal_certificate::{Config, Tokens};
use shoal_model::{
    BinaryOp, Condition, Domain, Expr, ExprKind, LocalId, Model, Node, Parameter, Property, PropertyKind,
    Quantifier, Root, Rule, UnaryOp, Unsupported, Value, walk_expr,
};

use super::{
    instance::{EventSink, FixedInstance, StepEvent, elements},
    shape::{CountedShape, unsupported},
    threads::Threads,
};

/// One thing that a bad state must have.
#[derive(Clone, Debug)]
enum BadAtom {
    /// A condition on the shared variables.
    Shared(Expr),
    /// So many elements satisfy a condition.
    Many(LocalId, Expr, u32),
    /// Two elements, perhaps the same, satisfy a condition.
    Two([LocalId; 2], Expr),
}

/// Atoms that must all hold.
type Clause = Vec<BadAtom>;

/// More targets than this for one property are refused.
const MOST: usize = 200_000;

/// The least configurations that violate a property.
pub(crate) fn targets(
    threads: &Threads<'_>,
    id: shoal_model::PropertyId,
) -> Result<Vec<Config>, Unsupported> {
    let property = &threads.model.properties[id];
    match &property.kind {
        PropertyKind::Invariant(condition) => invariant(threads, property, condition),
        PropertyKind::Assertion | PropertyKind::NoFaults => {
            let own = threads.faults.iter().filter(|(known, _)| *known == id);
            Ok(own.map(|(_, config)| config.clone()).collect())
        }
        kind => Err(unsupported(
            format!("the {} {:?} for any number of elements", kind.noun(), property.name),
            property.span,
        )),
    }
}

fn invariant(
    threads: &Threads<'_>,
    property: &Property,
    condition: &Condition,
) -> Result<Vec<Config>, Unsupported> {
    let refuse = |why: &str| unsupported(format!("{why} in {:?}", property.name), property.span);
    let reader = PropertyReader { model: threads.model, shape: &threads.shape };
    let clauses =
        reader.clauses(&condition.expr, false).ok_or_else(|| refuse("such a combination of quantifiers"))?;
    let mut all = Vec::new();
    for clause in clauses {
        let asked = ClauseQuestions::new(threads, condition, &clause)?;
        for shared in 0..threads.occur.len() as u32 {
            asked.targets(shared, &mut all).map_err(refuse)?;
        }
        if all.len() > MOST {
            return Err(refuse("too many ways to violate a property"));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

struct PropertyReader<'a> {
    model: &'a Model,
    shape: &'a CountedShape,
}

impl PropertyReader<'_> {
    /// The ways in which an expression has a truth value; nothing if they cannot be told.
    fn clauses(&self, expr: &Expr, want: bool) -> Option<Vec<Clause>> {
        if self.is_shared(expr) {
            return Some(vec![vec![BadAtom::Shared(self.as_wanted(expr, want))]]);
        }
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => self.clauses(of, !want),
            ExprKind::And(of) if want => self.all(of, want),
            ExprKind::Or(of) if !want => self.all(of, want),
            ExprKind::And(of) | ExprKind::Or(of) => self.some(of.iter().map(|of| (of, want))),
            ExprKind::Implies(left, right) if want => {
                self.some([(&**left, false), (&**right, true)].into_iter())
            }
            ExprKind::Implies(left, right) => {
                Some(product(self.clauses(left, true)?, self.clauses(right, false)?))
            }
            ExprKind::Quantified { quantifier, local, domain, body } if self.over_elements(domain) => {
                let fits = match quantifier {
                    Quantifier::Exists => want,
                    Quantifier::Forall => !want,
                    Quantifier::Count => false,
                };
                if fits { self.some_elements(*local, body, want) } else { None }
            }
            ExprKind::Binary(op, left, right) => {
                let (local, body, least) = self.at_least(*op, left, right, want)?;
                Some(vec![vec![BadAtom::Many(local, body.clone(), least)]])
            }
            _ => None,
        }
    }

    fn all(&self, of: &[Expr], want: bool) -> Option<Vec<Clause>> {
        of.iter().try_fold(vec![Vec::new()], |clauses, of| Some(product(clauses, self.clauses(of, want)?)))
    }

    fn some<'e>(&self, of: impl Iterator<Item = (&'e Expr, bool)>) -> Option<Vec<Clause>> {
        let mut clauses = Vec::new();
        for (of, want) in of {
            clauses.extend(self.clauses(of, want)?);
        }
        Some(clauses)
    }

    /// `exists t: p(t)` or `exists t: exists u: p(t, u)`.
    fn some_elements(&self, local: LocalId, body: &Expr, want: bool) -> Option<Vec<Clause>> {
        match &body.kind {
            ExprKind::Quantified { quantifier, local: second, domain, body: inner }
                if self.over_elements(domain) =>
            {
                let same =
                    matches!((quantifier, want), (Quantifier::Exists, true) | (Quantifier::Forall, false));
                let plain = same && !self.has_quantifier(inner);
                plain.then(|| vec![vec![BadAtom::Two([local, *second], self.as_wanted(inner, want))]])
            }
            _ if self.has_quantifier(body) => None,
            _ => Some(vec![vec![BadAtom::Many(local, self.as_wanted(body, want), 1)]]),
        }
    }

    /// `count(t: p(t)) >= n`, in any spelling.
    fn at_least<'e>(
        &self,
        op: BinaryOp,
        left: &'e Expr,
        right: &'e Expr,
        want: bool,
    ) -> Option<(LocalId, &'e Expr, u32)> {
        let count = |expr: &'e Expr| match &expr.kind {
            ExprKind::Quantified { quantifier: Quantifier::Count, local, domain, body }
                if self.over_elements(domain) && !self.has_quantifier(body) =>
            {
                Some((*local, &**body))
            }
            _ => None,
        };
        let number = |expr: &Expr| match expr.kind {
            ExprKind::Const(Value::Int(number)) => Some(number),
            _ => None,
        };
        let (op, (local, body), number) = match (count(left), count(right)) {
            (Some(count), None) => (op, count, number(right)?),
            (None, Some(count)) => (op.mirrored(), count, number(left)?),
            _ => return None,
        };
        let least = match (op, want) {
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => number,
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => number.checked_add(1)?,
            _ => return None,
        };
        Some((local, body, shoal_certificate::counted(least.max(0))?))
    }

    fn over_elements(&self, domain: &Domain) -> bool {
        matches!(domain, Domain::Type(ty) if self.shape.is_element(self.model, *ty))
    }

    fn has_quantifier(&self, expr: &Expr) -> bool {
        let mut has = false;
        walk_expr(expr, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Quantified { domain, .. }, .. }) = node {
                has |= self.over_elements(domain);
            }
        });
        has
    }

    /// Whether an expression is about shared variables only.
    fn is_shared(&self, expr: &Expr) -> bool {
        let mut shared = !self.has_quantifier(expr);
        walk_expr(expr, &mut |node| {
            if let Node::Place(place) = node {
                shared &= !matches!(place.root, Root::Var(var) if self.shape.locals.contains(&var));
            }
        });
        shared
    }

    fn as_wanted(&self, expr: &Expr, want: bool) -> Expr {
        match want {
            true => expr.clone(),
            false => Expr {
                kind: ExprKind::Unary(UnaryOp::Not, Box::new(expr.clone())),
                ty: expr.ty,
                span: expr.span,
            },
        }
    }
}

fn product(left: Vec<Clause>, right: Vec<Clause>) -> Vec<Clause> {
    let both =
        |one: &Clause| right.iter().map(|other| [one.clone(), other.clone()].concat()).collect::<Vec<_>>();
    left.iter().flat_map(both).collect()
}

/// A clause as questions that can be asked of local states: rules whose guards are its atoms.
struct ClauseQuestions<'a, 'm> {
    threads: &'a Threads<'m>,
    clause: &'a Clause,
    none: FixedInstance,
    one: FixedInstance,
    two: FixedInstance,
    element_params: BTreeMap<usize, Vec<usize>>,
}

impl<'a, 'm> ClauseQuestions<'a, 'm> {
    fn new(
        threads: &'a Threads<'m>,
        condition: &Condition,
        clause: &'a Clause,
    ) -> Result<ClauseQuestions<'a, 'm>, Unsupported> {
        let (model, shape) = (threads.model, &threads.shape);
        let ask = |locals: &[LocalId], guard: &Expr| {
            let domain = |local: &LocalId| Domain::Type(condition.locals[*local].ty);
            let params =
                locals.iter().map(|local| Parameter { local: *local, domain: domain(local) }).collect();
            Rule {
                name: String::new(),
                params,
                bindings: Vec::new(),
                guard: Some(guard.clone()),
                code: shoal_model::Code { locals: condition.locals.clone(), body: Vec::new() },
                priority: 0,
                urgent: false,
                span: guard.span,
            }
        };
        let never =
            |guard: &Expr| Expr { kind: ExprKind::Const(Value::Bool(false)), ty: guard.ty, span: guard.span };
        let rules = |elements: usize| -> Vec<Rule> {
            let rule = |atom: &BadAtom| match (atom, elements) {
                (BadAtom::Shared(guard), 0) => ask(&[], guard),
                (BadAtom::Many(local, guard, _), 1) => ask(&[*local], guard),
                (BadAtom::Two(locals, guard), 1 | 2) => ask(locals, guard),
                (BadAtom::Shared(guard) | BadAtom::Many(_, guard, _) | BadAtom::Two(_, guard), _) => {
                    ask(&[], &never(guard))
                }
            };
            clause.iter().map(rule).collect()
        };
        let element_params = clause.iter().enumerate().map(|(at, atom)| {
            let count = match atom {
                BadAtom::Shared(_) => 0,
                BadAtom::Many(..) => 1,
                BadAtom::Two(..) => 2,
            };
            (at, (0..count).collect())
        });
        Ok(ClauseQuestions {
            threads,
            clause,
            none: FixedInstance::asking(model, shape, 0, rules(0))?,
            one: FixedInstance::asking(model, shape, 1, rules(1))?,
            two: FixedInstance::asking(model, shape, 2, rules(2))?,
            element_params: element_params.collect(),
        })
    }

    /// Which atoms hold, for the elements in order.
    fn holds(
        &self,
        instance: &FixedInstance,
        shared: u32,
        locals: &[u32],
    ) -> Result<Vec<bool>, &'static str> {
        let threads = self.threads;
        let cells: Vec<&[i64]> = locals.iter().map(|local| threads.locals.cells(*local)).collect();
        let state = instance.compose(threads.shared.cells(shared), &cells);
        let mut collect = EventSink { only_moves: false, ..EventSink::new(instance) };
        let _ = instance.stepper().expand(&state, &mut collect);
        let mut holds = vec![false; self.clause.len()];
        for event in collect.events {
            match event {
                StepEvent::Fired { rule, args, .. } => {
                    let named = elements(&args, &self.element_params[&rule]);
                    let in_order = named.iter().copied().eq(0..named.len() as u32);
                    // With one element, two parameters name it twice.
                    holds[rule] |= in_order || locals.len() == 1;
                }
                StepEvent::Body { .. } | StepEvent::Guard { .. } => return Err("a condition that can fail"),
            }
        }
        Ok(holds)
    }

    fn targets(&self, shared: u32, all: &mut Vec<Config>) -> Result<(), &'static str> {
        let shared_holds = self.holds(&self.none, shared, &[])?;
        let possible =
            |(at, atom): (usize, &BadAtom)| !matches!(atom, BadAtom::Shared(_)) || shared_holds[at];
        if !self.clause.iter().enumerate().all(possible) {
            return Ok(());
        }
        let occur = &self.threads.occur[shared as usize];
        let mut alone = Vec::new();
        if self.clause.iter().any(|atom| !matches!(atom, BadAtom::Shared(_))) {
            for local in occur {
                alone.push((*local, self.holds(&self.one, shared, &[*local])?));
            }
        }
        let mut found: Vec<Tokens> = vec![Tokens::new()];
        for (at, atom) in self.clause.iter().enumerate() {
            let here = alone.iter().filter(|(_, holds)| holds[at]).map(|(local, _)| *local);
            let here: Vec<u32> = here.collect();
            let ways: Vec<Tokens> = match atom {
                BadAtom::Shared(_) => continue,
                BadAtom::Many(_, _, least) => choose(&here, *least),
                BadAtom::Two(..) => {
                    let mut ways: Vec<Tokens> =
                        here.iter().map(|local| choose(&[*local], 1)[0].clone()).collect();
                    for one in occur {
                        for other in occur {
                            if self.holds(&self.two, shared, &[*one, *other])?[at] {
                                ways.push(Config::new(shared, [(*one, 1), (*other, 1)]).tokens);
                            }
                        }
                    }
                    ways
                }
            };
            found = found.iter().flat_map(|known| ways.iter().map(move |way| most(known, way))).collect();
            found.sort();
            found.dedup();
            if found.len() > MOST {
                return Err("too many ways to violate a property");
            }
        }
        all.extend(found.into_iter().map(|tokens| Config { shared, tokens }));
        Ok(())
    }
}

/// All ways to take so many of some places.
fn choose(places: &[u32], count: u32) -> Vec<Tokens> {
    match (count, places) {
        (0, _) => vec![Tokens::new()],
        (_, []) => Vec::new(),
        (_, [only]) => vec![Tokens::from_slice(&[(*only, count)])],
        (_, [first, rest @ ..]) => {
            let mut ways = Vec::new();
            for here in 0..=count {
                for mut way in choose(rest, count - here) {
                    if here > 0 {
                        way.push((*first, here));
                        way.sort_unstable();
                    }
                    ways.push(way);
                }
                if ways.len() > MOST {
                    break;
                }
            }
            ways
        }
    }
}

/// What has at least as much as both.
fn most(left: &Tokens, right: &Tokens) -> Tokens {
    let mut most = Config { shared: 0, tokens: left.clone() };
    for (place, count) in right {
        let count = (*count).max(most.count(*place));
        most.set(*place, count);
    }
    most.tokens
}
