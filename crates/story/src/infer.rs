//! Owners of variables and actors of rules, where nobody has said who the parts are.
//!
//! The unknowns are the actor of each rule (one of its parameters, or what is shared) and the owner of each variable that a
//! family indexes. A rule costs 3/2 if it has such a parameter and is shared; 2 for each variable it writes, 1/2 for each that
//! its guard reads, which is not its actor's; and 4 times the share of rules with the same first word in their name whose
//! actor is of the other kind: people name rules after who acts. A variable that a family indexes and that is shared costs 3/4.
//!
//! We descend from "every rule is its first parameter's, every variable its family's", one unknown at a time. The least cost of
//! all is not what one wants: there everything is shared.

use std::{cell::OnceCell, collections::BTreeMap};

use shoal_analysis::effects::{
    AbstractValue, AccessBase, AccessKind, AccessStep, Footprint, LocalRef, Source, Walker,
};
use shoal_model::{Domain, LocalId, Model, Rule, RuleId, Type, TypedId, VarId};

use crate::{
    first_word,
    lanes::{Actor, Key, VarOwner, keys_of},
};

/// Who owns what and whose each rule is.
pub(crate) struct Inferred {
    pub(crate) owners: Vec<VarOwner>,
    pub(crate) actors: Vec<Actor>,
}

/// A variable, and the parameter of the rule that it is indexed by.
pub(crate) type Use = (VarId, Option<usize>);

/// What the rules of a model write, each looked at once: bodies can be long.
pub(crate) struct RuleWrites<'m> {
    model: &'m Model,
    known: Vec<OnceCell<Vec<Use>>>,
}

impl<'m> RuleWrites<'m> {
    pub(crate) fn new(model: &'m Model) -> RuleWrites<'m> {
        RuleWrites { model, known: model.rules.iter().map(|_| OnceCell::new()).collect() }
    }

    pub(crate) fn of(&self, rule: RuleId) -> &[Use] {
        self.known[rule.index()].get_or_init(|| writes(self.model, &self.model.rules[rule]))
    }
}

struct RuleFacts {
    /// The parameters that are of a family.
    candidates: Vec<Actor>,
    writes: Vec<Use>,
    reads: Vec<Use>,
    word: usize,
}

struct Descent {
    rules: Vec<RuleFacts>,
    /// The families that index each variable.
    families: Vec<Vec<usize>>,
    /// The rules that touch each variable.
    touched: Vec<Vec<usize>>,
    words: Vec<Vec<usize>>,
    found: Inferred,
}

/// Rounds of the descent; it ends after a few.
const ROUNDS: usize = 20;

pub(crate) fn infer(model: &Model, keys: &[Key], writes: &RuleWrites<'_>) -> Inferred {
    let mut descent = Descent::new(model, keys, writes);
    for _ in 0..ROUNDS {
        if !descent.round() {
            break;
        }
    }
    descent.found
}

impl Descent {
    fn new(model: &Model, keys: &[Key], writes: &RuleWrites<'_>) -> Descent {
        let family = |key: &Key| keys.iter().position(|known| known == key);
        let families: Vec<Vec<usize>> = model
            .vars
            .iter()
            .map(|var| match model.kind(var.ty) {
                Type::Array { index, .. } => keys_of(model, *index).iter().filter_map(family).collect(),
                _ => Vec::new(),
            })
            .collect();
        let mut numbers = BTreeMap::new();
        let mut rules: Vec<RuleFacts> = Vec::new();
        for (id, rule) in model.rules.enumerate() {
            let next = numbers.len();
            let word = *numbers.entry(first_word(&rule.name)).or_insert(next);
            let mut candidates = Vec::new();
            for (at, parameter) in rule.params.iter().enumerate() {
                if let Domain::Type(ty) = &parameter.domain {
                    candidates.extend(
                        keys_of(model, *ty).iter().filter_map(family).map(|of| Actor::Parameter(at, of)),
                    );
                }
            }
            rules.push(RuleFacts {
                candidates,
                writes: writes.of(id).to_vec(),
                reads: guard_reads(model, rule),
                word,
            });
        }
        let mut touched = vec![Vec::new(); model.vars.len()];
        let mut words = vec![Vec::new(); numbers.len()];
        for (at, rule) in rules.iter().enumerate() {
            words[rule.word].push(at);
            for (var, _) in rule.writes.iter().chain(&rule.reads) {
                touched[var.index()].push(at);
            }
        }
        let owner = |of: &Vec<usize>| of.first().map_or(VarOwner::Shared, |family| VarOwner::Entry(*family));
        let found = Inferred {
            owners: families.iter().map(owner).collect(),
            actors: rules.iter().map(|rule| *rule.candidates.first().unwrap_or(&Actor::Shared)).collect(),
        };
        Descent { rules, families, touched, words, found }
    }

    /// Betters each unknown by itself; whether any was.
    fn round(&mut self) -> bool {
        let mut better = false;
        for rule in 0..self.rules.len() {
            let mut options = self.rules[rule].candidates.clone();
            options.push(Actor::Shared);
            let word = self.rules[rule].word;
            better |= self.choose(
                options,
                |it, actor| it.found.actors[rule] = actor,
                |it| it.found.actors[rule],
                |it| it.cost(rule) + it.discord(word),
            );
        }
        for var in 0..self.families.len() {
            if self.families[var].is_empty() {
                continue;
            }
            let mut options: Vec<VarOwner> =
                self.families[var].iter().map(|family| VarOwner::Entry(*family)).collect();
            options.push(VarOwner::Shared);
            better |= self.choose(
                options,
                |it, owner| it.found.owners[var] = owner,
                |it| it.found.owners[var],
                |it| {
                    let unowned = if it.found.owners[var] == VarOwner::Shared { 0.75 } else { 0.0 };
                    unowned + it.touched[var].iter().map(|rule| it.cost(*rule)).sum::<f64>()
                },
            );
        }
        better
    }

    /// Takes the first option that costs least; whether that is another than now.
    fn choose<T: Copy>(
        &mut self,
        options: Vec<T>,
        set: impl Fn(&mut Self, T),
        get: impl Fn(&Self) -> T,
        cost: impl Fn(&Self) -> f64,
    ) -> bool {
        let now = get(self);
        let (mut least, mut best) = (cost(self), None);
        for option in options {
            set(self, option);
            let costs = cost(self);
            // Sums of quarters and shares: what is not less by far is the same.
            if costs < least - 1e-9 {
                (least, best) = (costs, Some(option));
            }
        }
        set(self, best.unwrap_or(now));
        best.is_some()
    }

    fn cost(&self, rule: usize) -> f64 {
        let actor = self.found.actors[rule];
        let RuleFacts { candidates, writes, reads, .. } = &self.rules[rule];
        let idle = if actor == Actor::Shared && !candidates.is_empty() { 1.5 } else { 0.0 };
        let foreign = |uses: &[Use]| uses.iter().filter(|one| !self.is_own(actor, **one)).count() as f64;
        idle + 2.0 * foreign(writes) + 0.5 * foreign(reads)
    }

    fn is_own(&self, actor: Actor, (var, parameter): Use) -> bool {
        match (self.found.owners[var.index()], actor) {
            (VarOwner::Shared, actor) => actor == Actor::Shared,
            (VarOwner::Entry(family), Actor::Parameter(at, of)) => family == of && parameter == Some(at),
            _ => false,
        }
    }

    /// How much rules with one first word disagree on who acts.
    fn discord(&self, word: usize) -> f64 {
        let all = self.words[word].len();
        let shared =
            self.words[word].iter().filter(|rule| self.found.actors[**rule] == Actor::Shared).count();
        if all < 2 { 0.0 } else { 8.0 * (shared * (all - shared)) as f64 / (all - 1) as f64 }
    }
}

/// What a rule writes.
fn writes(model: &Model, rule: &Rule) -> Vec<Use> {
    let mut walker = Walker::new(model, Source::rule(rule));
    walker.block(&rule.code.body);
    uses(rule, &walker.finish(), |action| matches!(action, AccessKind::Write(_)))
}

fn guard_reads(model: &Model, rule: &Rule) -> Vec<Use> {
    let mut walker = Walker::new(model, Source::rule(rule));
    if let Some(guard) = &rule.guard {
        walker.condition(guard);
    }
    uses(rule, &walker.finish(), |action| *action == AccessKind::Read)
}

fn uses(rule: &Rule, footprint: &Footprint<'_>, wanted: impl Fn(&AccessKind) -> bool) -> Vec<Use> {
    let parameter = |local: LocalId| rule.params.iter().position(|parameter| parameter.local == local);
    let mut found: Vec<Use> = Vec::new();
    for access in footprint.accesses.iter().filter(|access| wanted(&access.action)) {
        let AccessBase::Var(var) = access.location.base else { continue };
        let by = match access.location.path.first() {
            Some(AccessStep::Index(AbstractValue::Fixed(LocalRef { activation: 0, local }))) => {
                parameter(*local)
            }
            _ => None,
        };
        if !found.contains(&(var, by)) {
            found.push((var, by));
        }
    }
    found
}
