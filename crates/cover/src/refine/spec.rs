//! The specification: a thread as a machine of shared and local states, and what others like it may do meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use shoal_certificate::{System, Views, ones};
use shoal_model::{Model, Type, Unsupported, Value};
use shoal_syntax::Span;

use crate::{
    build::{EarlyEnd, Threads, unsupported},
    index::TransitionIndex,
    meter::Meter,
    views,
};

/// A set of local states, as bits.
pub(super) type LocalSet = Vec<u64>;

/// A thread transition system without spawns and broadcasts: the local/global machine of Ball, Chaki and Rajamani.
pub(super) struct Spec {
    system: System,
    leaving: TransitionIndex,
    views: Views,
    /// What the source calls each shared and each local state.
    shared: Vec<i64>,
    locals: Vec<i64>,
    numbers: BTreeMap<i64, u32>,
    /// Where it begins.
    pub(super) initial: (u32, LocalSet),
}

impl Spec {
    pub(super) fn new(model: &Model, meter: &mut Meter<'_>) -> Result<Spec, EarlyEnd> {
        let threads = Threads::new(model, meter)?;
        let (shared_var, local_var) = match (&threads.shape.globals[..], &threads.shape.locals[..]) {
            ([shared], [local]) if matches!(model.kind(model.vars[*shared].ty), Type::Int { .. }) => {
                (*shared, *local)
            }
            _ => {
                let construct = "a specification that is no thread transition system";
                return Err(unsupported(construct, Span::default()).into());
            }
        };
        let whole = |value: &Value| match value {
            Value::Int(value) => *value,
            _ => -1,
        };
        let blank = vec![0; threads.shared.cells(0).len()];
        let shared = (0..threads.shared.len()).map(|at| {
            let instance = &threads.kinds.none;
            whole(instance.decode(&instance.compose(threads.shared.cells(at), &[])).value(shared_var))
        });
        let locals = (0..threads.locals.len()).map(|at| {
            let instance = &threads.kinds.one;
            match instance.decode(&instance.compose(&blank, &[threads.locals.cells(at)])).value(local_var) {
                Value::Array(entries) => entries.first().map_or(-1, whole),
                _ => -1,
            }
        });
        let (shared, locals): (Vec<i64>, Vec<i64>) = (shared.collect(), locals.collect());
        if let Some(rule) =
            threads.shape.rules.iter().find(|rule| rule.elements.len() != 1 || rule.broadcasts)
        {
            let span = model.rules[rule.rule].span;
            return Err(unsupported("a specification with `+>` or `~>`", span).into());
        }
        let views = views::of(&threads.system, meter)?;
        let initial = initial(&threads.system, &locals)?;
        Ok(Spec {
            leaving: TransitionIndex::leaving(&threads.system),
            numbers: shared.iter().enumerate().map(|(at, value)| (*value, at as u32)).collect(),
            system: threads.system,
            views,
            shared,
            locals,
            initial,
        })
    }

    /// What the source calls a shared state.
    pub(super) fn value(&self, shared: u32) -> i64 {
        self.shared[shared as usize]
    }

    /// The shared states that can occur, as the source calls them.
    pub(super) fn values(&self) -> impl Iterator<Item = i64> + '_ {
        self.shared.iter().copied()
    }

    /// The shared state that the source calls so, if it can occur.
    pub(super) fn find(&self, value: i64) -> Option<u32> {
        self.numbers.get(&value).copied()
    }

    /// The local states of a set, as the source calls them.
    pub(super) fn names(&self, set: &[u64]) -> Vec<i64> {
        let mut names: Vec<i64> = ones(set).map(|place| self.locals[place as usize]).collect();
        names.sort_unstable();
        names
    }

    /// Where steps lead from a set of local states, from one shared state to another; closed under steps that share nothing.
    pub(super) fn step(&self, from: u32, set: &[u64], to: u32) -> LocalSet {
        let mut next = vec![0; set.len()];
        for (_, after) in self.edges(from, to).filter(|edge| has(set, edge.0)) {
            put(&mut next, after);
        }
        self.closed(to, next)
    }

    /// A set of local states with all that steps lead to that leave the shared state as it is.
    pub(super) fn closed(&self, shared: u32, mut set: LocalSet) -> LocalSet {
        loop {
            let before = set.clone();
            for (from, to) in self.edges(shared, shared) {
                if has(&set, from) {
                    put(&mut set, to);
                }
            }
            if set == before {
                return set;
            }
        }
    }

    fn edges(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let transitions = self.leaving.of(from).iter().map(|id| &self.system.transitions[*id as usize]);
        transitions.filter(move |edge| edge.to == to).map(|edge| (edge.take[0].0, edge.give[0].0))
    }

    /// The shared states that another thread may lead to while one thread may be in any of these local states. Whatever
    /// several threads have done, each may be in any of its own local states, whichever the others are in: so one that acts
    /// can be with all of these, as far as pairs tell.
    pub(super) fn others(&self, shared: u32, set: &[u64]) -> BTreeSet<u32> {
        let transitions = self.leaving.of(shared).iter().map(|id| &self.system.transitions[*id as usize]);
        let beside = |place: u32| {
            let row = self.views.row(shared, place);
            set.iter().zip(row).all(|(set, row)| set & !row == 0)
        };
        transitions.filter(|edge| edge.to != shared && beside(edge.take[0].0)).map(|edge| edge.to).collect()
    }
}

/// The one shared state and the one local state that threads begin in.
fn initial(system: &System, locals: &[i64]) -> Result<(u32, LocalSet), Unsupported> {
    let several = || unsupported("a specification whose threads begin in several states", Span::default());
    let [initial] = &system.initial[..] else { return Err(several()) };
    // A thread that has not begun has a negative number.
    let mut begun = initial.tokens.iter().filter(|token| locals[token.0 as usize] >= 0);
    let (Some((place, _)), None) = (begun.next(), begun.next()) else { return Err(several()) };
    let mut set = vec![0; (system.places as usize).div_ceil(64).max(1)];
    put(&mut set, *place);
    Ok((initial.shared, set))
}

fn has(set: &[u64], place: u32) -> bool {
    shoal_certificate::get(set, place)
}

fn put(set: &mut [u64], place: u32) {
    set[place as usize / 64] |= 1 << (place % 64);
}
