//! Runs that show something: shortest ways to a set of states, and counterexamples to formulas.

use crate::{
    ctl::{Ctl, Evaluator},
    dd::{Bdd, DdResult},
    decide::{BitRun, DecideReporter},
    sets::Sets,
    system::TransitionSystem,
};
use shoal_model::OrInternal;

/// A shortest run from a start into a set; nothing if none of it can be reached.
pub(crate) fn way(
    system: &TransitionSystem<'_>,
    to: &Bdd,
    watch: &mut DecideReporter<'_>,
) -> DdResult<Option<BitRun>> {
    way_or_beyond(system, &to.clone().into(), &system.dd.no(), watch)
}

/// A shortest run from a start into a set, or with its last step into states that assumptions drop.
pub(crate) fn way_or_beyond(
    system: &TransitionSystem<'_>,
    to: &Sets,
    beyond: &Bdd,
    watch: &mut DecideReporter<'_>,
) -> DdResult<Option<BitRun>> {
    let Some(Rings { rings, goal }) = rings(system, to, beyond, watch, &|set| Ok(set.clone()))? else {
        return Ok(None);
    };
    Ok(back(system, &rings, &goal)?.map(|states| BitRun { states, loops_to: None }))
}

/// Sets of states, each one step from the one before.
pub(crate) struct Rings {
    /// From the starts to the last.
    pub(crate) rings: Vec<Bdd>,
    /// The states of the last that were looked for.
    pub(crate) goal: Bdd,
}

/// Goes from the starts ring by ring until one meets a set, or until a step leads into states that assumptions drop.
/// `form` makes of each ring the states that stand for it.
pub(crate) fn rings(
    system: &TransitionSystem<'_>,
    to: &Sets,
    beyond: &Bdd,
    watch: &mut DecideReporter<'_>,
    form: &dyn Fn(&Bdd) -> DdResult<Bdd>,
) -> DdResult<Option<Rings>> {
    let refused = system.refused.and(beyond)?;
    if !refused.is_false() && !to.meets(&system.init)? {
        return Ok(Some(Rings { rings: vec![refused.clone()], goal: refused }));
    }
    let mut rings = vec![form(&system.init)?];
    let mut reached = rings[0].clone();
    loop {
        watch.look(&system.dd)?;
        let ring = rings[rings.len() - 1].clone();
        let goal = to.and(&system.dd, &ring)?;
        if !goal.is_false() {
            return Ok(Some(Rings { rings, goal }));
        }
        if ring.is_false() {
            return Ok(None);
        }
        let image = system.image_all(&ring)?;
        let goal = image.and(beyond)?;
        if !goal.is_false() {
            rings.push(goal.clone());
            return Ok(Some(Rings { rings, goal }));
        }
        let new = form(&image.and(&system.keep)?)?.minus(&reached)?;
        reached = reached.or(&new)?;
        rings.push(new);
    }
}

/// From the last ring back to the first.
fn back(system: &TransitionSystem<'_>, rings: &[Bdd], last: &Bdd) -> DdResult<Option<Vec<Vec<bool>>>> {
    let Some(bits) = system.pick(last) else { return Ok(None) };
    let mut states = vec![bits];
    for ring in rings[..rings.len() - 1].iter().rev() {
        let state = system.state(&states[states.len() - 1])?;
        let before = system.some_before(&state, ring)?;
        let Some(bits) = system.pick(&before) else { return Ok(None) };
        states.push(bits);
    }
    states.reverse();
    Ok(Some(states))
}

/// The run without the states in the midst of steps.
pub(crate) fn hide(system: &TransitionSystem<'_>, run: BitRun) -> DdResult<BitRun> {
    if system.midst.is_false() {
        return Ok(run);
    }
    let midst = system.midst.flat();
    let is_midst = |state: &Vec<bool>| midst.holds(|var| state[(var / 2) as usize]);
    let BitRun { mut states, mut loops_to } = run;
    // The last state of a loop is its first again. It is turned until it begins with a state of the model.
    if let Some(from) = loops_to {
        let ahead = states[from..].iter().take_while(|state| is_midst(state)).count();
        let again = states[from + 1..=from + ahead].to_vec();
        states.extend(again);
        loops_to = Some(states[..from].iter().filter(|state| !is_midst(state)).count());
    }
    states.retain(|state| !is_midst(state));
    Ok(BitRun { states, loops_to })
}

/// A run that begins in one of these states, where the formula is false, and shows why as far as one run can.
pub(crate) fn counterexample(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    formula: &Ctl,
    fails: &Bdd,
) -> DdResult<BitRun> {
    let start = system.pick(fails).or_internal("some state fails");
    let mut states = vec![start];
    let loops_to = explain(system, evaluator, formula, false, &mut states)?;
    Ok(BitRun { states, loops_to })
}

/// Goes on from the last state to show that the formula has this truth there. Gives where the run loops, if it does.
fn explain(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    formula: &Ctl,
    truth: bool,
    states: &mut Vec<Vec<bool>>,
) -> DdResult<Option<usize>> {
    match (formula, truth) {
        (Ctl::Not(of), truth) => explain(system, evaluator, of, !truth, states),
        // One part is to blame, and is shown.
        (Ctl::And(of), false) | (Ctl::Or(of), true) => {
            let here = last(system, states)?;
            for part in of {
                let holds = evaluator.holds(part)?;
                if here.within(&holds)? == truth {
                    return explain(system, evaluator, part, truth, states);
                }
            }
            Ok(None)
        }
        // All parts are to blame; one that goes on is shown.
        (Ctl::And(of), true) | (Ctl::Or(of), false) => match of.iter().find(|part| goes_on(part, truth)) {
            Some(part) => explain(system, evaluator, part, truth, states),
            None => Ok(None),
        },
        (Ctl::Next(of), true) => {
            let goal = evaluator.holds(of)?.and(evaluator.fair())?;
            step(system, evaluator, states, &goal)?;
            finish(system, evaluator, of, states)
        }
        (Ctl::Until(a, b), true) => {
            let through = evaluator.holds(a)?;
            let goal = evaluator.holds(b)?.and(evaluator.fair())?;
            walk(system, evaluator, states, &through, &goal)?;
            finish(system, evaluator, b, states)
        }
        (Ctl::Always(of), true) => {
            let set = evaluator.holds(of)?;
            lasso(system, evaluator, states, &set)
        }
        // That there is no such path is not shown by one.
        (Ctl::Atom(_) | Ctl::Next(_) | Ctl::Until(..) | Ctl::Always(_), _) => Ok(None),
    }
}

/// Whether showing it needs more than the state itself.
fn goes_on(formula: &Ctl, truth: bool) -> bool {
    match formula {
        Ctl::Atom(_) => false,
        Ctl::Not(of) => goes_on(of, !truth),
        Ctl::And(of) | Ctl::Or(of) => of.iter().any(|part| goes_on(part, truth)),
        Ctl::Next(_) | Ctl::Until(..) | Ctl::Always(_) => truth,
    }
}

/// Shows the formula at the last state, then goes on along any fair path, so that the run is one of those that count.
fn finish(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    formula: &Ctl,
    states: &mut Vec<Vec<bool>>,
) -> DdResult<Option<usize>> {
    if let Some(to) = explain(system, evaluator, formula, true, states)? {
        return Ok(Some(to));
    }
    let fair = evaluator.fair().clone();
    if last(system, states)?.within(&fair)? {
        return lasso(system, evaluator, states, &fair);
    }
    Ok(None)
}

fn last(system: &TransitionSystem<'_>, states: &[Vec<bool>]) -> DdResult<Bdd> {
    system.state(states.last().or_internal("a run has a state"))
}

/// One step from the last state into a set.
fn step(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    states: &mut Vec<Vec<bool>>,
    to: &Bdd,
) -> DdResult<()> {
    let here = last(system, states)?;
    let after = evaluator.after(&here)?.and(to)?;
    states.extend(system.pick(&after));
    Ok(())
}

/// A shortest way from the last state to a goal, through a set.
fn walk(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    states: &mut Vec<Vec<bool>>,
    through: &Bdd,
    goal: &Bdd,
) -> DdResult<()> {
    let here = last(system, states)?;
    // Rings around the goal, up to the one with this state.
    let mut rings = vec![goal.clone()];
    let mut known = goal.clone();
    while !here.within(&known)? {
        let new = evaluator.before(&rings[rings.len() - 1])?.and(through)?.minus(&known)?;
        if new.is_false() {
            return Ok(());
        }
        known = known.or(&new)?;
        rings.push(new);
    }
    // The state is one of those in all rings together, so it is in one of them.
    let mut at = None;
    for (number, ring) in rings.iter().enumerate() {
        if at.is_none() && here.within(ring)? {
            at = Some(number);
        }
    }
    for ring in rings[..at.or_internal("a state is in one of the rings")].iter().rev() {
        step(system, evaluator, states, ring)?;
    }
    Ok(())
}

/// A fair path from the last state that stays in a set for ever: a way from constraint to constraint, and back to the
/// first of them. If there is no way back, it begins anew where it has come to; it comes to fewer and fewer states.
fn lasso(
    system: &TransitionSystem<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    states: &mut Vec<Vec<bool>>,
    set: &Bdd,
) -> DdResult<Option<usize>> {
    let inside = evaluator.always_on_a_fair_path(set)?;
    let constraints: Vec<Bdd> = match evaluator.fairness() {
        [] => vec![inside.clone()],
        fairness => fairness.iter().map(|it| it.and(&inside)).collect::<DdResult<_>>()?,
    };
    loop {
        let from = states.len() - 1;
        let head = last(system, states)?;
        // A state from which a step leads on comes first: the loop has at least one step.
        for constraint in &constraints {
            let ways = evaluator.until(&inside, constraint)?.and(&inside)?;
            step(system, evaluator, states, &ways)?;
            walk(system, evaluator, states, &inside, constraint)?;
        }
        let here = last(system, states)?;
        let home = evaluator.until(&inside, &head)?;
        if here.within(&home)? {
            walk(system, evaluator, states, &inside, &head)?;
            return Ok(Some(close(states, from)));
        }
    }
}

/// The run comes back to the state `from`. If it has never left it, that state stays for ever.
fn close(states: &mut Vec<Vec<bool>>, from: usize) -> usize {
    // The last state is the first of the loop again.
    if states[from..].iter().all(|state| *state == states[from]) && states.len() > from + 1 {
        states.truncate(from + 1);
        states.push(states[from].clone());
    }
    from
}
