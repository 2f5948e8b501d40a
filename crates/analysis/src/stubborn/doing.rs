//! What an instance of a rule does with spots, and what its guard asks of them.

use std::collections::BTreeMap;

use shoal_model::{BitSet, Expr, ExprKind, LocalId, Model, Place, Root, Rule, UnaryOp, Value};

use super::spots::{Reach, Spots};
use crate::effects::{Access, Action, Event, Footprint, Source, Sym, Walker, Written, of_rule};

/// What the instances of a rule have in common.
pub(super) struct Sketch<'a> {
    rule: &'a Rule,
    /// What it does in all.
    whole: Footprint<'a>,
    /// What happens before the guard is evaluated, and then for each conjunct.
    before: Footprint<'a>,
    conjuncts: Vec<(&'a Expr, Footprint<'a>)>,
}

impl<'a> Sketch<'a> {
    pub(super) fn new(model: &'a Model, rule: &'a Rule) -> Self {
        let walker = Walker::new(model, Source::rule(rule));
        let before = walker.clone().finish();
        let of_conjunct = |conjunct: &'a Expr| {
            let mut walker = walker.clone();
            walker.condition(conjunct);
            let mut footprint = walker.finish();
            footprint.accesses.drain(..before.accesses.len());
            (conjunct, footprint)
        };
        let conjuncts = rule.guard.iter().flat_map(Expr::conjuncts).map(of_conjunct).collect();
        Sketch { rule, whole: of_rule(model, rule), before, conjuncts }
    }

    /// What the instances with these values of the first parameters do.
    pub(super) fn doing(&self, spots: &Spots<'_>, args: &[Value]) -> Doing {
        let unknown = |event: &Event| {
            matches!(event, Event::Recursion(_) | Event::TooLarge | Event::Create | Event::Delete)
        };
        let params: BTreeMap<LocalId, &Value> =
            self.rule.params.iter().map(|param| param.local).zip(args).collect();
        let view = View { spots, params };
        let known = !self.whole.events.iter().any(|(event, _)| unknown(event));
        known.then(|| self.known_doing(&view)).flatten().unwrap_or_else(|| Doing::anything(spots.count))
    }

    fn known_doing(&self, view: &View<'_, '_>) -> Option<Doing> {
        let mut doing = Doing::nothing(view.spots.count);
        doing.plain = self.rule.bindings.is_empty() && self.rule.params.len() == view.params.len();
        for access in &self.whole.accesses {
            let spots = view.reach(access)?.spots;
            doing.touched.extend(spots.iter().copied());
            if let Action::Write(written) = &access.action {
                let value = match written {
                    Written::Value(sym) => view.value(sym),
                    _ => None,
                };
                spots.into_iter().for_each(|spot| doing.leave(spot, value.clone()));
            }
        }
        for access in &self.before.accesses {
            doing.before.extend(view.reach(access)?.spots);
        }
        for (conjunct, footprint) in &self.conjuncts {
            doing.conjuncts.push(view.conjunct(conjunct, footprint)?);
        }
        Some(doing)
    }
}

/// An instance as it sees spots.
struct View<'s, 'm> {
    spots: &'s Spots<'m>,
    params: BTreeMap<LocalId, &'s Value>,
}

impl View<'_, '_> {
    fn value(&self, sym: &Sym) -> Option<Value> {
        match sym {
            Sym::Const(value) => Some(value.clone()),
            Sym::Fixed(local) if local.activation == 0 => {
                self.params.get(&local.local).map(|value| (*value).clone())
            }
            _ => None,
        }
    }

    fn reach(&self, access: &Access<'_>) -> Option<Reach> {
        self.spots.of(&access.location, &|sym| self.value(sym))
    }

    fn conjunct(&self, expr: &Expr, footprint: &Footprint<'_>) -> Option<Conjunct> {
        let mut reads = BitSet::new(self.spots.count);
        for access in &footprint.accesses {
            reads.extend(self.reach(access)?.spots);
        }
        let test = self.test(expr, footprint);
        // Where the place is there in any case, only what is undefined can fault.
        let safe = test.as_ref().is_some_and(|test| self.spots.defined.contains(test.spot));
        Some(Conjunct { reads, test, safe })
    }

    /// What a conjunct asks, if it compares a single spot with a value.
    fn test(&self, expr: &Expr, footprint: &Footprint<'_>) -> Option<Test> {
        let [access] = &footprint.accesses[..] else { return None };
        let Reach { spots, exact: true } = self.reach(access)? else { return None };
        let [spot] = spots[..] else { return None };
        let (equal, place, value) = self.comparison(expr)?;
        std::ptr::eq(place, access.place).then_some(Test { spot, value, equal })
    }

    fn comparison<'e>(&self, expr: &'e Expr) -> Option<(bool, &'e Place, Value)> {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => {
                self.comparison(of).map(|(equal, place, value)| (!equal, place, value))
            }
            ExprKind::Read(place) => Some((true, place, Value::Bool(true))),
            ExprKind::Equal(left, right) => match (&left.kind, &right.kind) {
                (ExprKind::Read(place) | ExprKind::Peek(place), _) if self.constant(left).is_none() => {
                    Some((true, place, self.constant(right)?))
                }
                (_, ExprKind::Read(place) | ExprKind::Peek(place)) => {
                    Some((true, place, self.constant(left)?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(&self, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Const(value) => Some(value.clone()),
            ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => {
                self.params.get(local).map(|value| (*value).clone())
            }
            _ => None,
        }
    }
}

/// What an instance does.
pub(super) struct Doing {
    /// Spots that it may read or write.
    pub(super) touched: BitSet,
    /// Spots that it may write.
    pub(super) written: BitSet,
    /// The values that it may leave there, if only these.
    pub(super) leaves: BTreeMap<usize, Option<Vec<Value>>>,
    /// Spots that are read before the guard is evaluated: by bindings and domains.
    pub(super) before: BitSet,
    pub(super) conjuncts: Vec<Conjunct>,
    /// Whether nothing is done before the guard is evaluated.
    pub(super) plain: bool,
}

/// A conjunct of a guard.
pub(super) struct Conjunct {
    pub(super) reads: BitSet,
    pub(super) test: Option<Test>,
    /// Whether it cannot fault.
    pub(super) safe: bool,
}

/// A comparison of a spot with a value.
pub(super) struct Test {
    pub(super) spot: usize,
    pub(super) value: Value,
    /// Whether it asks that they are equal, or that they are not.
    pub(super) equal: bool,
}

impl Test {
    /// Whether two tests never hold in the same state.
    pub(super) fn excludes(&self, other: &Test) -> bool {
        self.spot == other.spot
            && match (self.equal, other.equal) {
                (true, true) => self.value != other.value,
                (false, false) => false,
                _ => self.value == other.value,
            }
    }
}

impl Doing {
    fn nothing(spots: usize) -> Self {
        let none = BitSet::new(spots);
        Doing {
            touched: none.clone(),
            written: none.clone(),
            leaves: BTreeMap::new(),
            before: none,
            conjuncts: Vec::new(),
            plain: false,
        }
    }

    fn anything(spots: usize) -> Self {
        let mut doing = Doing::nothing(spots);
        for spot in 0..spots {
            doing.touched.insert(spot);
            doing.before.insert(spot);
            doing.leave(spot, None);
        }
        doing
    }

    fn leave(&mut self, spot: usize, value: Option<Value>) {
        self.written.insert(spot);
        let values = self.leaves.entry(spot).or_insert_with(|| Some(Vec::new()));
        match value {
            Some(value) => values.iter_mut().for_each(|values| values.push(value.clone())),
            None => *values = None,
        }
    }

    /// Whether a step of it may change what is read of spots.
    pub(super) fn disturbs(&self, reads: &BitSet) -> bool {
        self.written.meets(reads)
    }

    /// Whether a step of it may make a conjunct true that is false, or make it fault.
    pub(super) fn may_satisfy(&self, conjunct: &Conjunct) -> bool {
        let Some(test) = &conjunct.test else { return self.disturbs(&conjunct.reads) };
        match self.leaves.get(&test.spot) {
            None => false,
            Some(None) => true,
            Some(Some(values)) => values.iter().any(|value| (*value == test.value) == test.equal),
        }
    }

    /// The value that a spot has where the guard holds, if the guard says so.
    pub(super) fn finds(&self, spot: usize) -> Option<&Value> {
        let tests = self.conjuncts.iter().filter_map(|conjunct| conjunct.test.as_ref());
        tests.into_iter().find(|test| test.spot == spot && test.equal).map(|test| &test.value)
    }
}
