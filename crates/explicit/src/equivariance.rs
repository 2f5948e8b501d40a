//! Whether rules and properties treat elements alike in the states that are found, where the text does not show it.
//!
//! A rule is equivariant if firing it in a state with the elements permuted is the same as firing it and permuting
//! afterwards. Firing in the permuted state *is* firing in the state itself with the loops over the elements taken in
//! another order. So each new representative is permuted in all ways; the rules that are under suspicion are fired in the
//! image, and what comes of it is compared, up to the permutation, with what came of it in the representative. If that
//! agrees in every representative, rules and properties are equivariant on all states of the orbits that were reached,
//! which is all that the reduction needs. The sorts that are proved come for free: if `a` permutes a sort that is checked and
//! `b` one that is proved, then what a rule `r` does in `abs = bas` is `b r(as) = ba r(s)`.
//!
//! What is compared is exact: the set of states that a rule leads to, the kinds of its faults with the assertion that
//! fails, and what it covers; of a property, whether it holds or how it faults.

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
};

use shoal_code::{Halt, Layout, Machine, Pc, Program, Stepper, Visitor, normalise};
use shoal_model::{
    Asymmetry, Fault, Model, PropertyId, PropertyKind, RuleId, SortId, TypedId, Unsupported, Value,
};

use crate::{
    canon::{StateStructure, TooManyElements},
    support::unsupported,
};

/// What is to be checked, and in which orders.
pub(crate) struct Suspicion {
    structure: StateStructure,
    rules: Vec<usize>,
    conditions: Vec<(PropertyId, Pc)>,
    /// All permutations but the identity, those of one sort first, with a sort that they permute.
    permutations: Vec<(SortId, Vec<u32>)>,
}

/// In more orders than these nothing is checked.
pub(crate) const MOST_ORDERS: usize = 5040;

impl Suspicion {
    /// What may tell the elements of some sorts apart.
    pub(crate) fn new(
        model: &Model,
        layout: &Layout,
        program: &Program,
        sorts: &[SortId],
    ) -> Result<Suspicion, Unsupported> {
        let suspects = shoal_analysis::symmetry_of_steps(model).suspects(model, sorts);
        let given = |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Assume(_));
        if suspects.others || suspects.properties.iter().any(given) {
            return Err(unsupported("checking symmetry that assumptions or fairness may break", None));
        }
        let too_many = || unsupported("checking symmetry in so many orders of elements", None);
        let structure = StateStructure::new(model, layout, sorts).map_err(|TooManyElements| too_many())?;
        let rules = suspects.rules.iter().map(|rule| rule.index()).collect();
        let condition = |id: &PropertyId| program.condition(*id).map(|pc| (*id, pc));
        let conditions = suspects.properties.iter().filter_map(condition).collect();
        let permutations = permutations(&structure).ok_or_else(too_many)?;
        // The structure leaves out sorts in which nothing can be permuted.
        let moved = |(sort, permutation): (usize, Vec<u32>)| (structure.sorts[sort].id, permutation);
        let permutations = permutations.into_iter().map(moved).collect();
        Ok(Suspicion { structure, rules, conditions, permutations })
    }
}

/// All permutations of the free elements but the identity, each with the position of a sort that it permutes. Nothing if
/// there are too many.
fn permutations(structure: &StateStructure) -> Option<Vec<(usize, Vec<u32>)>> {
    let mut all: Vec<(Option<usize>, usize, Vec<u32>)> =
        vec![(None, 0, (0..structure.elements as u32).collect())];
    for (at, sort) in structure.sorts.iter().enumerate() {
        let own = orders(&sort.free, MOST_ORDERS)?;
        if own.len().checked_mul(all.len())? > MOST_ORDERS {
            return None;
        }
        let mut more = Vec::with_capacity(own.len() * all.len());
        for (blamed, moved, permutation) in &all {
            for order in &own {
                let mut permutation = permutation.clone();
                for (element, image) in sort.free.iter().zip(order) {
                    permutation[*element as usize] = *image;
                }
                let moves = *order != sort.free;
                more.push((blamed.or(moves.then_some(at)), moved + usize::from(moves), permutation));
            }
        }
        all = more;
    }
    all.sort_by_key(|(_, moved, _)| *moved);
    Some(all.into_iter().filter_map(|(sort, _, permutation)| sort.map(|sort| (sort, permutation))).collect())
}

/// All orders of some elements, the given one first; nothing if there are too many.
fn orders(elements: &[u32], most: usize) -> Option<Vec<Vec<u32>>> {
    let Some((last, others)) = elements.split_last() else { return Some(vec![Vec::new()]) };
    let mut all = Vec::new();
    for order in orders(others, most)? {
        for at in (0..=order.len()).rev() {
            let mut order = order.clone();
            order.insert(at, *last);
            all.push(order);
        }
        if all.len() > most {
            return None;
        }
    }
    Some(all)
}

/// What comes of a rule in a state.
#[derive(Clone, Default, PartialEq, Eq)]
struct Effect {
    /// Packed states.
    leads_to: BTreeSet<Vec<u64>>,
    /// Faults and what is covered.
    shows: BTreeSet<String>,
}

/// What comes of all that is under suspicion.
#[derive(Clone, PartialEq, Eq)]
struct SuspectEffects {
    rules: Vec<Effect>,
    conditions: Vec<Result<bool, String>>,
}

/// Checks states. Has buffers, so one for each thread.
pub(crate) struct EquivarianceChecker<'m> {
    model: &'m Model,
    layout: &'m Layout,
    suspicion: &'m Suspicion,
    stepper: Stepper<'m>,
    judge: Machine<'m>,
    image: Vec<i64>,
}

impl<'m> EquivarianceChecker<'m> {
    pub(crate) fn new(
        model: &'m Model,
        layout: &'m Layout,
        program: &'m Program,
        suspicion: &'m Suspicion,
    ) -> EquivarianceChecker<'m> {
        EquivarianceChecker {
            model,
            layout,
            suspicion,
            stepper: Stepper::new(model, layout, program),
            judge: Machine::new(program),
            image: vec![0; layout.cells()],
        }
    }

    /// Whether rules and properties tell elements apart in some state of the orbit of a packed state.
    pub(crate) fn check(&mut self, state: &[u64]) -> Option<Box<Asymmetry>> {
        let mut cells = vec![0; self.layout.cells()];
        self.layout.unpack(state, &mut cells);
        let here = self.effects(&cells);
        let mut known: HashMap<Vec<u64>, SuspectEffects> = HashMap::from([(state.to_vec(), here.clone())]);
        let suspicion = self.suspicion;
        for (sort, permutation) in &suspicion.permutations {
            let image = self.permuted(&cells, permutation);
            let packed = self.packed(&image);
            if !known.contains_key(&packed) {
                let effects = self.effects(&image);
                known.insert(packed.clone(), effects);
            }
            let Some(there) = known.get(&packed) else { continue };
            if !self.agree(&here, permutation, there) {
                return Some(Box::new(self.witness(*sort, permutation, &cells, &here, there)));
            }
        }
        None
    }

    /// Whether what comes of a state is, permuted, what comes of its image.
    fn agree(&mut self, here: &SuspectEffects, permutation: &[u32], there: &SuspectEffects) -> bool {
        here.conditions == there.conditions
            && here.rules.iter().zip(&there.rules).all(|(here, there)| {
                here.shows == there.shows
                    && here.leads_to.len() == there.leads_to.len()
                    && here.leads_to.iter().all(|to| there.leads_to.contains(&self.image_of(to, permutation)))
            })
    }

    fn image_of(&mut self, packed: &[u64], permutation: &[u32]) -> Vec<u64> {
        let mut cells = vec![0; self.layout.cells()];
        self.layout.unpack(packed, &mut cells);
        let image = self.permuted(&cells, permutation);
        self.packed(&image)
    }

    fn permuted(&mut self, cells: &[i64], permutation: &[u32]) -> Vec<i64> {
        let structure = &self.suspicion.structure;
        structure.apply(cells, permutation, &mut self.image);
        normalise(&structure.bags, &mut self.image);
        self.image.clone()
    }

    fn packed(&self, cells: &[i64]) -> Vec<u64> {
        let mut words = vec![0; self.layout.words()];
        self.layout.pack(cells, &mut words);
        words
    }

    fn effects(&mut self, cells: &[i64]) -> SuspectEffects {
        let suspicion = self.suspicion;
        let rules = &suspicion.rules;
        let mut collect = Collect { rules, effects: vec![Effect::default(); rules.len()] };
        // The visitor never breaks off.
        let _ = self.stepper.expand_some(cells, rules, &mut collect);
        let mut condition = |(_, pc): &(PropertyId, Pc)| {
            self.judge.state_mut().copy_from_slice(cells);
            self.judge.holds(*pc).map_err(|halt| match halt {
                Halt::Fault(fault) => format!("{:?}", fault.kind),
                Halt::Stopped => "stopped".into(),
            })
        };
        let conditions = suspicion.conditions.iter().map(&mut condition).collect();
        SuspectEffects { rules: collect.effects, conditions }
    }

    /// The difference, for people.
    fn witness(
        &mut self,
        sort: SortId,
        permutation: &[u32],
        cells: &[i64],
        here: &SuspectEffects,
        there: &SuspectEffects,
    ) -> Asymmetry {
        let mut inverse = permutation.to_vec();
        permutation.iter().enumerate().for_each(|(from, to)| inverse[*to as usize] = from as u32);
        let back = SuspectEffects {
            rules: there.rules.iter().map(|it| self.effect_of(it, &inverse)).collect(),
            ..there.clone()
        };
        let state = self.layout.decode(self.model, cells);
        let at = here.rules.iter().zip(&back.rules).position(|(here, back)| here != back);
        let (rule, property, results) = match at {
            Some(at) => {
                let results = self.tell_apart(&here.rules[at], &back.rules[at]);
                (Some(RuleId::from_index(self.suspicion.rules[at])), None, results)
            }
            None => {
                let at = here.conditions.iter().zip(&back.conditions).position(|(here, back)| here != back);
                let say = |of: &SuspectEffects| at.map_or(String::new(), |at| truth(&of.conditions[at]));
                let property = at.map(|at| self.suspicion.conditions[at].0);
                (None, property, [say(here), say(&back)])
            }
        };
        let orders = self.suspicion.structure.sorts.iter().map(|of| {
            let elements = (of.first..of.first + of.size).map(|place| inverse[place as usize] - of.first);
            (of.id, elements.collect())
        });
        Asymmetry { sort, rule, property, state, orders: orders.collect(), results }
    }

    fn effect_of(&mut self, effect: &Effect, permutation: &[u32]) -> Effect {
        let leads_to = effect.leads_to.iter().map(|to| self.image_of(to, permutation)).collect();
        Effect { leads_to, shows: effect.shows.clone() }
    }

    /// What comes of a rule in the two orders, as far as it differs.
    fn tell_apart(&self, here: &Effect, there: &Effect) -> [String; 2] {
        let ways = [(here, there), (there, here)];
        let only = ways.map(|(one, other)| one.leads_to.difference(&other.leads_to).next());
        let states = only.map(|words| {
            let mut cells = vec![0; self.layout.cells()];
            self.layout.unpack(words?, &mut cells);
            Some(self.layout.decode(self.model, &cells))
        });
        if let [Some(one), Some(other)] = &states {
            let differ: Vec<usize> =
                (0..one.values.len()).filter(|var| one.values[*var] != other.values[*var]).collect();
            return [one, other].map(|state| {
                let show = |var: &usize| {
                    let (id, value) = (shoal_model::VarId::from_index(*var), &state.values[*var]);
                    format!("{} = {}", self.model.vars[id].name, self.model.show(value))
                };
                differ.iter().map(show).collect::<Vec<_>>().join(", ")
            });
        }
        [0, 1].map(|at| {
            let (one, other) = ways[at];
            match one.shows.difference(&other.shows).next() {
                Some(shows) => shows.clone(),
                None if only[at].is_some() => "a state that the other does not lead to".into(),
                None => "nothing else".into(),
            }
        })
    }
}

fn truth(result: &Result<bool, String>) -> String {
    match result {
        Ok(holds) => holds.to_string(),
        Err(fault) => fault.clone(),
    }
}

/// Collects what comes of some rules.
struct Collect<'s> {
    rules: &'s [usize],
    effects: Vec<Effect>,
}

impl Collect<'_> {
    fn of(&mut self, rule: usize) -> Option<&mut Effect> {
        let at = self.rules.iter().position(|it| *it == rule);
        debug_assert!(at.is_some(), "only these rules are fired");
        self.effects.get_mut(at?)
    }
}

impl Visitor for Collect<'_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        let words = machine.words().to_vec();
        if let Some(effect) = self.of(rule) {
            effect.leads_to.insert(words);
        }
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, rule: usize, _machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        if let Some(effect) = self.of(rule) {
            effect.shows.insert(format!("{:?} in the body", fault.kind));
        }
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, rule: usize, _args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        if let Some(effect) = self.of(rule) {
            effect.shows.insert(format!("{:?} in the guard", fault.kind));
        }
        ControlFlow::Continue(())
    }

    fn covered(&mut self, property: PropertyId) {
        // Which rule it was in does not matter: the union is the same if that of each rule is.
        if let Some(effect) = self.effects.last_mut() {
            effect.shows.insert(format!("{property:?} is covered"));
        }
    }
}
