//! From a formula to an automaton of the runs that violate it.
//!
//! The tableau of Gerth, Peled, Vardi and Wolper, in the form of Couvreur (1999): a state is a set of formulas that must
//! be true from here on; a transition reads one state of the run and says what must be true from the next; acceptance is
//! on transitions. For each `until` there is a set of transitions: those that do not put its second operand off. A run is
//! accepted if it takes a transition of each set again and again. So nothing has to be degeneralised, and fairness
//! constraints are just further sets.

use std::collections::{BTreeSet, HashMap};

use shoal_model::{Condition, Expr, ExprKind, Formula, OrInternal, Value};

/// More states than this, and the formula is refused.
const MOST_STATES: usize = 2_000;
/// More ways than this to satisfy a set of formulas, and the formula is refused.
const MOST_WAYS: usize = 20_000;

/// An automaton with acceptance on transitions. Its first state is the initial one.
#[derive(Clone, Debug)]
pub(crate) struct BuchiAutomaton {
    /// The transitions of each state.
    pub(crate) states: Vec<Vec<BuchiTransition>>,
    /// How many acceptance sets come from the formula. Those of fairness come after.
    pub(crate) sets: u32,
    /// How many conditions the formula has. Those of fairness come after.
    pub(crate) atoms: usize,
}

/// A transition: may be taken where all of `holds` hold and none of `fails`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuchiTransition {
    pub(crate) holds: u64,
    pub(crate) fails: u64,
    pub(crate) to: u32,
    /// The acceptance sets it belongs to.
    pub(crate) sets: u64,
}

impl BuchiTransition {
    /// Whether it may be taken where these conditions hold.
    #[inline]
    pub(crate) fn reads(&self, label: u64) -> bool {
        label & self.holds == self.holds && label & self.fails == 0
    }
}

impl BuchiAutomaton {
    /// The automaton of the runs of which a formula is false, and the conditions it reads; nothing if it is too
    /// large. Room is left for a number of further acceptance sets and conditions.
    pub(crate) fn of_violations(
        formula: &Formula,
        others: usize,
    ) -> Option<(Vec<Condition>, BuchiAutomaton)> {
        if let Formula::Never(observer) = formula {
            return BuchiAutomaton::of_observer(observer, others);
        }
        let mut terms = FormulaTerms::default();
        let violation = terms.term(formula, false);
        if terms.atoms.len() + others > 64 || terms.untils.len() + others > 64 {
            return None;
        }
        let automaton = terms.automaton(violation)?;
        Some((terms.atoms, automaton))
    }
}

impl BuchiAutomaton {
    /// An observer is such an automaton already, but for where it says what is accepted.
    fn of_observer(
        observer: &shoal_model::Automaton,
        others: usize,
    ) -> Option<(Vec<Condition>, BuchiAutomaton)> {
        let mut atoms: Vec<Condition> = Vec::new();
        let mut states = Vec::new();
        for state in &observer.states {
            let mut transitions = Vec::new();
            for (condition, to) in &state.steps {
                let known = atoms.iter().position(|atom| atom == condition);
                let atom = known.unwrap_or_else(|| {
                    atoms.push(condition.clone());
                    atoms.len() - 1
                });
                if atom + others >= 64 {
                    return None;
                }
                let to = u32::try_from(*to).ok()?;
                transitions.push(BuchiTransition {
                    holds: 1 << atom,
                    fails: 0,
                    to,
                    sets: u64::from(state.accepting),
                });
            }
            states.push(transitions);
        }
        let automaton = BuchiAutomaton { states, sets: 1, atoms: atoms.len() };
        Some((atoms, automaton))
    }
}

type TermId = u32;

/// A formula in negation normal form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FormulaTerm {
    Constant(bool),
    Literal(u32, bool),
    And(Vec<TermId>),
    Or(Vec<TermId>),
    Next(TermId),
    Until(TermId, TermId),
    Release(TermId, TermId),
}

/// All terms, each once.
#[derive(Default)]
struct FormulaTerms {
    terms: Vec<FormulaTerm>,
    ids: HashMap<FormulaTerm, TermId>,
    atoms: Vec<Condition>,
    untils: Vec<TermId>,
}

/// One way to satisfy a set of terms.
#[derive(Clone, Default, PartialEq, Eq)]
struct TermWay {
    holds: u64,
    fails: u64,
    next: BTreeSet<TermId>,
    /// The acceptance sets that it puts off.
    postponed: u64,
}

impl FormulaTerms {
    fn intern(&mut self, term: FormulaTerm) -> TermId {
        if let Some(id) = self.ids.get(&term) {
            return *id;
        }
        let id = self.terms.len() as TermId;
        if matches!(term, FormulaTerm::Until(..)) {
            self.untils.push(id);
        }
        self.terms.push(term.clone());
        self.ids.insert(term, id);
        id
    }

    /// The term of a formula, or of its negation.
    fn term(&mut self, formula: &Formula, positive: bool) -> TermId {
        match formula {
            Formula::Atom(Condition {
                expr: Expr { kind: ExprKind::Const(Value::Bool(truth)), .. }, ..
            }) => self.intern(FormulaTerm::Constant(*truth == positive)),
            Formula::Atom(condition) => {
                let known = self.atoms.iter().position(|atom| atom == condition);
                let atom = known.unwrap_or_else(|| {
                    self.atoms.push(condition.clone());
                    self.atoms.len() - 1
                });
                self.intern(FormulaTerm::Literal(atom as u32, positive))
            }
            Formula::Not(of) => self.term(of, !positive),
            // An observer within a formula is refused before.
            Formula::Never(_) => self.intern(FormulaTerm::Constant(positive)),
            Formula::And(of) => self.junction(of, positive, positive),
            Formula::Or(of) => self.junction(of, positive, !positive),
            // Of one run there is only one path.
            Formula::AllPaths(of) | Formula::SomePath(of) => self.term(of, positive),
            Formula::Next(of) => {
                let of = self.term(of, positive);
                self.intern(FormulaTerm::Next(of))
            }
            Formula::Always(_, of) => {
                let of = self.term(of, positive);
                self.unfold(!positive, None, of)
            }
            Formula::Eventually(_, of) => {
                let of = self.term(of, positive);
                self.unfold(positive, None, of)
            }
            Formula::Until(_, a, b) => {
                let (a, b) = (self.term(a, positive), self.term(b, positive));
                self.unfold(positive, Some(a), b)
            }
            Formula::Release(_, a, b) => {
                let (a, b) = (self.term(a, positive), self.term(b, positive));
                self.unfold(!positive, Some(a), b)
            }
        }
    }

    /// `a until b`, or `a release b`. Without `a`, it is whatever makes no difference.
    fn unfold(&mut self, until: bool, a: Option<TermId>, b: TermId) -> TermId {
        let a = a.unwrap_or_else(|| self.intern(FormulaTerm::Constant(until)));
        match (&self.terms[b as usize], until) {
            (FormulaTerm::Constant(_), _) => b,
            // Eventually eventually, always always.
            (FormulaTerm::Until(..), true) | (FormulaTerm::Release(..), false)
                if self.is_constant(a, until) =>
            {
                let (FormulaTerm::Until(c, _) | FormulaTerm::Release(c, _)) = self.terms[b as usize] else {
                    return b;
                };
                if self.is_constant(c, until) { b } else { self.intern_unfold(until, a, b) }
            }
            _ => self.intern_unfold(until, a, b),
        }
    }

    fn intern_unfold(&mut self, until: bool, a: TermId, b: TermId) -> TermId {
        self.intern(if until { FormulaTerm::Until(a, b) } else { FormulaTerm::Release(a, b) })
    }

    fn is_constant(&self, term: TermId, value: bool) -> bool {
        self.terms[term as usize] == FormulaTerm::Constant(value)
    }

    /// All or one of some formulas.
    fn junction(&mut self, of: &[Formula], positive: bool, all: bool) -> TermId {
        let mut parts = Vec::new();
        for formula in of {
            let part = self.term(formula, positive);
            match &self.terms[part as usize] {
                FormulaTerm::Constant(value) if *value == all => {}
                FormulaTerm::Constant(_) => return part,
                FormulaTerm::And(inner) if all => parts.extend(inner.clone()),
                FormulaTerm::Or(inner) if !all => parts.extend(inner.clone()),
                _ => parts.push(part),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        match parts.as_slice() {
            [] => self.intern(FormulaTerm::Constant(all)),
            [only] => *only,
            _ => self.intern(if all { FormulaTerm::And(parts) } else { FormulaTerm::Or(parts) }),
        }
    }

    fn automaton(&self, first: TermId) -> Option<BuchiAutomaton> {
        let sets = self.untils.len() as u32;
        let every = mask(sets);
        let mut numbers: HashMap<BTreeSet<TermId>, u32> = HashMap::from([(BTreeSet::from([first]), 0)]);
        let mut queue = vec![BTreeSet::from([first])];
        let mut states = Vec::new();
        while let Some(set) = queue.get(states.len()).cloned() {
            let mut transitions = Vec::new();
            for way in self.ways(&set)? {
                let count = numbers.len() as u32;
                let to = *numbers.entry(way.next.clone()).or_insert_with(|| {
                    queue.push(way.next.clone());
                    count
                });
                let sets = every & !way.postponed;
                transitions.push(BuchiTransition { holds: way.holds, fails: way.fails, to, sets });
            }
            states.push(transitions);
            if queue.len() > MOST_STATES {
                return None;
            }
        }
        Some(BuchiAutomaton { states, sets, atoms: self.atoms.len() })
    }

    /// The ways to satisfy a set of terms, without those that another makes needless.
    fn ways(&self, set: &BTreeSet<TermId>) -> Option<Vec<TermWay>> {
        let mut found: Vec<TermWay> = Vec::new();
        let mut open = vec![(TermWay::default(), set.iter().copied().collect::<Vec<_>>(), BTreeSet::new())];
        let mut steps = 0;
        while let Some((way, mut todo, mut done)) = open.pop() {
            steps += 1;
            if steps > MOST_WAYS {
                return None;
            }
            let Some(term) = todo.pop() else {
                if !found.iter().any(|known| known.covers(&way)) {
                    found.retain(|known| !way.covers(known));
                    found.push(way);
                }
                continue;
            };
            if !done.insert(term) {
                open.push((way, todo, done));
                continue;
            }
            self.expand(term, way, todo, &done, &mut open);
        }
        Some(found)
    }

    fn expand(
        &self,
        term: TermId,
        mut way: TermWay,
        mut todo: Vec<TermId>,
        done: &BTreeSet<TermId>,
        open: &mut Vec<(TermWay, Vec<TermId>, BTreeSet<TermId>)>,
    ) {
        let with = |todo: &[TermId], more: &[TermId]| [todo, more].concat();
        match &self.terms[term as usize] {
            FormulaTerm::Constant(false) => {}
            FormulaTerm::Constant(true) => open.push((way, todo, done.clone())),
            FormulaTerm::Literal(atom, positive) => {
                let bit = 1u64 << atom;
                let (wanted, other) =
                    if *positive { (&mut way.holds, way.fails) } else { (&mut way.fails, way.holds) };
                if other & bit == 0 {
                    *wanted |= bit;
                    open.push((way, todo, done.clone()));
                }
            }
            FormulaTerm::And(of) => {
                todo.extend(of);
                open.push((way, todo, done.clone()));
            }
            FormulaTerm::Or(of) => {
                for part in of {
                    open.push((way.clone(), with(&todo, &[*part]), done.clone()));
                }
            }
            FormulaTerm::Next(of) => {
                way.next.insert(*of);
                open.push((way, todo, done.clone()));
            }
            FormulaTerm::Until(a, b) => {
                let set = self.untils.iter().position(|until| *until == term);
                let set = set.or_internal("every until has a set of its own");
                open.push((way.clone(), with(&todo, &[*b]), done.clone()));
                way.next.insert(term);
                way.postponed |= 1 << set;
                open.push((way, with(&todo, &[*a]), done.clone()));
            }
            FormulaTerm::Release(a, b) => {
                open.push((way.clone(), with(&todo, &[*a, *b]), done.clone()));
                way.next.insert(term);
                open.push((way, with(&todo, &[*b]), done.clone()));
            }
        }
    }
}

impl TermWay {
    /// Whether it asks for no more than another, now and later.
    fn covers(&self, other: &TermWay) -> bool {
        self.holds & !other.holds == 0
            && self.fails & !other.fails == 0
            && self.postponed & !other.postponed == 0
            && self.next.is_subset(&other.next)
    }
}

/// The first so many bits.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
