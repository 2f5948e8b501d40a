//! What an instance of a rule does with spots, and what its guard asks of them.

use std::collections::BTreeMap;

use shoal_model::{BitSet, Expr, ExprKind, LocalId, Model, Place, Root, Rule, UnaryOp, Value};

use super::spots::{SpotReach, Spots};
use crate::effects::{AbstractValue, Access, AccessKind, CodeEffect, Footprint, Source, Walker, Written};

/// What the instances of a rule with these values of the first parameters do.
pub(super) fn doing(model: &Model, spots: &Spots<'_>, rule: &Rule, args: &[Value]) -> InstanceEffects {
    let walker = Walker::of_instance(model, Source::rule(rule), args);
    let mut whole = walker.clone();
    rule.guard.iter().for_each(|guard| whole.condition(guard));
    whole.block(&rule.code.body);
    let whole = whole.finish();
    let unknown = |event: &CodeEffect| {
        matches!(
            event,
            CodeEffect::Recursion(_) | CodeEffect::TooLarge | CodeEffect::Create | CodeEffect::Delete
        )
    };
    let params = rule.params.iter().map(|param| param.local).zip(args).collect();
    let view = SpotView { spots, params };
    let known = !whole.events.iter().any(|(event, _)| unknown(event));
    let doing = known.then(|| view.doing(rule, &walker, &whole)).flatten();
    doing.unwrap_or_else(|| InstanceEffects::anything(spots.count))
}

/// An instance as it sees spots.
struct SpotView<'s, 'm> {
    spots: &'s Spots<'m>,
    params: BTreeMap<LocalId, &'s Value>,
}

impl SpotView<'_, '_> {
    /// What is done: `before` has walked what stands before the guard, `whole` is all.
    fn doing<'a>(
        &self,
        rule: &'a Rule,
        before: &Walker<'a>,
        whole: &Footprint<'a>,
    ) -> Option<InstanceEffects> {
        let mut doing = InstanceEffects::nothing(self.spots.count);
        doing.plain = rule.bindings.is_empty() && rule.params.len() == self.params.len();
        for access in &whole.accesses {
            let spots = self.spots.of(&access.location)?.spots;
            doing.touched.extend(spots.iter().copied());
            if let AccessKind::Write(written) = &access.action {
                let value = match written {
                    Written::Value(AbstractValue::Const(value)) => Some(value),
                    _ => None,
                };
                spots.into_iter().for_each(|spot| doing.leave(spot, value));
            }
        }
        let first = before.clone().finish().accesses;
        for access in &first {
            doing.before.extend(self.spots.of(&access.location)?.spots);
        }
        for conjunct in rule.guard.iter().flat_map(Expr::conjuncts) {
            let mut walker = before.clone();
            walker.condition(conjunct);
            doing.conjuncts.push(self.conjunct(conjunct, &walker.finish().accesses[first.len()..])?);
        }
        Some(doing)
    }

    fn conjunct(&self, expr: &Expr, accesses: &[Access<'_>]) -> Option<Conjunct> {
        let mut reads = BitSet::new(self.spots.count);
        for access in accesses {
            reads.extend(self.spots.of(&access.location)?.spots);
        }
        let tests = self.tests(expr, accesses).filter(|tests| tests.len() == accesses.len());
        // Where the places are there in any case, only what is undefined can fault.
        let defined = |tests: &Vec<SpotTest>| tests.iter().all(|test| self.spots.defined.contains(test.spot));
        let safe = tests.as_ref().is_some_and(defined);
        Some(Conjunct { reads, tests, safe })
    }

    /// Comparisons of single spots with values of which a conjunct asks that one holds.
    fn tests(&self, expr: &Expr, accesses: &[Access<'_>]) -> Option<Vec<SpotTest>> {
        if let ExprKind::Or(operands) = &expr.kind {
            let tests = operands.iter().map(|operand| self.tests(operand, accesses));
            return Some(tests.collect::<Option<Vec<_>>>()?.concat());
        }
        let (equal, place, value) = self.comparison(expr)?;
        let access = accesses.iter().find(|access| std::ptr::eq(place, access.place))?;
        let SpotReach { spots, exact: true } = self.spots.of(&access.location)? else { return None };
        let spot = *spots.first()?;
        // What is undefined differs from all values for some comparisons, and others fault.
        (equal || self.spots.defined.contains(spot)).then(|| vec![SpotTest { spot, value, equal }])
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
pub(super) struct InstanceEffects {
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
    /// Comparisons of which it asks that one holds, if that is all it asks.
    pub(super) tests: Option<Vec<SpotTest>>,
    /// Whether it cannot fault.
    pub(super) safe: bool,
}

/// A comparison of a spot with a value.
#[derive(Clone)]
pub(super) struct SpotTest {
    pub(super) spot: usize,
    pub(super) value: Value,
    /// Whether it asks that they are equal, or that they are not.
    pub(super) equal: bool,
}

impl SpotTest {
    /// Whether two tests never hold in the same state.
    pub(super) fn excludes(&self, other: &SpotTest) -> bool {
        self.spot == other.spot
            && match (self.equal, other.equal) {
                (true, true) => self.value != other.value,
                (false, false) => false,
                _ => self.value == other.value,
            }
    }
}

impl InstanceEffects {
    fn nothing(spots: usize) -> Self {
        let none = BitSet::new(spots);
        InstanceEffects {
            touched: none.clone(),
            written: none.clone(),
            leaves: BTreeMap::new(),
            before: none,
            conjuncts: Vec::new(),
            plain: false,
        }
    }

    fn anything(spots: usize) -> Self {
        let mut doing = InstanceEffects::nothing(spots);
        for spot in 0..spots {
            doing.touched.insert(spot);
            doing.before.insert(spot);
            doing.leave(spot, None);
        }
        doing
    }

    fn leave(&mut self, spot: usize, value: Option<&Value>) {
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
        let Some(tests) = &conjunct.tests else { return self.disturbs(&conjunct.reads) };
        tests.iter().any(|test| match self.leaves.get(&test.spot) {
            None => false,
            Some(None) => true,
            Some(Some(values)) => values.iter().any(|value| (*value == test.value) == test.equal),
        })
    }

    /// Comparisons that hold where the guard does.
    pub(super) fn facts(&self) -> impl Iterator<Item = &SpotTest> {
        self.conjuncts.iter().filter_map(|conjunct| match conjunct.tests.as_deref() {
            Some([test]) => Some(test),
            _ => None,
        })
    }

    /// The value that a spot has where the guard holds, if the guard says so.
    pub(super) fn finds(&self, spot: usize) -> Option<&Value> {
        self.facts().find(|test| test.spot == spot && test.equal).map(|test| &test.value)
    }
}
