//! Decides the questions about a system: reachable states, what is wrong in them, ways that show it.

use std::time::{Duration, Instant};

use num_bigint::BigUint;
use shoal_model::{
    Failing, Job, Observer, Progress, PropertyId, PropertyResult, Reason, Reduction, Statistics, StopReason,
    Verdict, Violation, Watch,
};

use crate::{
    ctl::{Ctl, Evaluator},
    dd::{Bdd, Dd, DdHalt, DdResult},
    encode::Trouble,
    question::{Failures, PropertyQuestion, QuestionKind},
    symmetry::RepresentativeChoice,
    system::TransitionSystem,
    witness,
};

/// Looks at the clock and at the user while diagrams are worked on.
pub struct DecideReporter<'w> {
    watch: Watch,
    began: Instant,
    told: Instant,
    observer: &'w mut dyn Observer,
    progress: Progress,
}

impl<'w> DecideReporter<'w> {
    /// Begins to look.
    pub fn new(job: &Job, observer: &'w mut dyn Observer) -> DecideReporter<'w> {
        let now = Instant::now();
        DecideReporter {
            watch: job.watch.clone(),
            began: now,
            told: now,
            observer,
            progress: Progress::default(),
        }
    }

    /// Ends the work if it is time. To be called often.
    pub fn look(&mut self, dd: &Dd) -> DdResult<()> {
        dd.tidy();
        self.watch.check().map_err(DdHalt::Stop)?;
        if self.told.elapsed() > Duration::from_millis(300) {
            self.told = Instant::now();
            self.progress.elapsed = self.began.elapsed();
            self.progress.memory_bytes = dd.allocated() * crate::dd::NODE_BYTES;
            self.observer.progress(&self.progress);
        }
        Ok(())
    }

    /// Tells the user of a violation.
    pub(crate) fn tell(&mut self, property: PropertyId, violation: &Violation) {
        self.observer.violation(property, violation);
    }

    fn found(&mut self, states: &BigUint, depth: u64) {
        self.progress.states = saturated(states);
        self.progress.depth = depth;
    }

    /// What the work has to obey.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Since when it looks.
    pub fn began(&self) -> Instant {
        self.began
    }
}

/// A run of states, as bits, and where it goes on after the last.
pub struct BitRun {
    /// The states.
    pub states: Vec<Vec<bool>>,
    /// The state that follows the last, by number; the last itself if it stays for ever.
    pub loops_to: Option<usize>,
}

/// Turns runs of bits into violations on states of the model.
pub trait Lift {
    /// The violation that a run shows. A fault of a condition of the property itself is `Why::Condition`.
    fn violation(&mut self, property: PropertyId, run: &BitRun, why: Why) -> DdResult<Violation>;
}

/// What a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What the property forbids happens in its last state.
    Bad,
    /// A condition of the property faults in its last state.
    Faults,
    /// From its last state the goal cannot be reached.
    NotPossible,
    /// The formula is false of it.
    Formula,
}

/// What was found out.
pub struct QuestionAnswer {
    /// A verdict for each question.
    pub results: Vec<PropertyResult>,
    /// The states reached.
    pub reached: Bdd,
    /// Whether these are all.
    pub complete: bool,
    /// Whether a step fails, where these are all.
    pub failing: Failing,
    /// How many steps the last of them is away, where that is known.
    pub depth: Option<u64>,
}

/// Answers questions about a system.
pub struct QuestionDecider<'s, 'w> {
    pub(crate) system: &'s TransitionSystem<'s>,
    /// How to find representatives, where those are enough.
    pub(crate) symmetry: Option<&'s RepresentativeChoice>,
    /// Where nothing can happen.
    stuck: Bdd,
    /// The fairness constraints.
    fairness: Vec<Bdd>,
    pub(crate) failures: &'s Failures,
    job: &'s Job,
    pub(crate) watch: DecideReporter<'w>,
    /// Makes violations.
    pub(crate) lift: &'s mut dyn Lift,
}

/// What is known of a question while states are still being found.
struct OpenQuestion<'q> {
    question: &'q PropertyQuestion,
    violated: bool,
    verdict: Option<Verdict>,
}

impl<'s, 'w> QuestionDecider<'s, 'w> {
    /// For a system with what is asked and what was noted of it.
    pub fn new(
        system: &'s TransitionSystem<'s>,
        questions: &[PropertyQuestion],
        (trouble, failures): (&Trouble, &'s Failures),
        fairness: Vec<Bdd>,
        job: &'s Job,
        watch: DecideReporter<'w>,
        lift: &'s mut dyn Lift,
    ) -> DdResult<Self> {
        // Only formulas ask where nothing can happen.
        let stuck = match questions.iter().any(|question| matches!(question.ask, QuestionKind::Formula(..))) {
            true => system.progress.taken_from(&system.keep)?.minus(&trouble.guards)?.minus(&system.midst)?,
            false => system.dd.no(),
        };
        let fairness = fairness.iter().map(|it| it.minus(&system.midst)).collect::<DdResult<_>>()?;
        Ok(QuestionDecider { system, symmetry: None, stuck, fairness, failures, job, watch, lift })
    }

    /// Decides all questions.
    pub fn decide(&mut self, questions: &[PropertyQuestion]) -> QuestionAnswer {
        let mut open: Vec<OpenQuestion<'_>> = questions
            .iter()
            .map(|question| OpenQuestion { question, violated: false, verdict: None })
            .collect();
        let mut search =
            match ReachableSearch::new(self.system, self.symmetry, self.job.limits().depth.is_some()) {
                Ok(search) => search,
                Err(halt) => return self.nothing(questions, &halt),
            };
        let mut reason = self.reach(&mut search, &mut open).err();
        let failing = if search.complete { self.failing(&search.reached) } else { Failing::Nothing };
        if reason.is_none() && search.complete {
            reason = self.judge(&search.reached, &mut open).err();
        }
        if reason.is_none()
            || matches!(reason, Some(DdHalt::Stop(StopReason::OtherViolation | StopReason::Depth(_))))
        {
            let shown = self.show(&mut open);
            reason = reason.or(shown.err());
        }
        let results = open.into_iter().map(|open| {
            let verdict = match (open.verdict, &open.question.ask) {
                (Some(verdict), _) => verdict,
                (None, QuestionKind::Given) => Verdict::Holds,
                (None, _) if search.complete && !open.violated && reason.is_none() => Verdict::Holds,
                (None, QuestionKind::Never(..)) if search.complete && !open.violated => Verdict::Holds,
                (None, _) => Verdict::Unknown(self.why(reason.as_ref())),
            };
            PropertyResult { property: open.question.property, verdict }
        });
        let results = results.collect();
        let (complete, depth) = (search.complete, search.depth());
        QuestionAnswer { results, complete, failing, depth, reached: search.reached }
    }

    /// Whether a step fails in some of these states, which are all.
    fn failing(&self, reached: &Bdd) -> Failing {
        match self.failures.meet(reached, self.system) {
            Ok(true) => Failing::Step,
            Ok(false) => Failing::Nothing,
            Err(halt) => Failing::Open(None, self.why(Some(&halt))),
        }
    }

    /// What is found out where not even the starts could be looked at.
    fn nothing(&self, questions: &[PropertyQuestion], halt: &DdHalt) -> QuestionAnswer {
        let result = |question: &PropertyQuestion| {
            let verdict = Verdict::Unknown(self.why(Some(halt)));
            PropertyResult { property: question.property, verdict }
        };
        let (reached, results) = (self.system.dd.no(), questions.iter().map(result).collect());
        QuestionAnswer { results, reached, complete: false, failing: Failing::Nothing, depth: None }
    }

    pub(crate) fn why(&self, halt: Option<&DdHalt>) -> StopReason {
        match halt {
            Some(DdHalt::Stop(reason)) => reason.clone(),
            Some(DdHalt::Memory) => StopReason::Memory(self.job.limits().memory.unwrap_or(0)),
            // Only while a model is turned into diagrams, which is over by now.
            Some(DdHalt::Lacks { .. }) | None => StopReason::OtherViolation,
        }
    }

    /// Finds the states that can be reached, until everything asked is known.
    fn reach(&mut self, search: &mut ReachableSearch<'s>, open: &mut [OpenQuestion<'_>]) -> DdResult<()> {
        let mut give_up_at: Option<BigUint> = None;
        loop {
            let states = search.reached.minus(&self.system.midst)?.count(&self.system.dd, self.system.bits);
            self.watch.found(&states, search.rounds);
            let found = self.look_for_trouble(&search.reached, open)?;
            if let (true, None, Some(patience)) = (found, &give_up_at, self.job.patience) {
                give_up_at = Some(&states + patience);
            }
            let wanted =
                |open: &OpenQuestion<'_>| !matches!(open.question.ask, QuestionKind::Given) && !open.violated;
            if found && !open.iter().any(wanted) {
                return Ok(());
            }
            if search.complete {
                return Ok(());
            }
            if give_up_at.as_ref().is_some_and(|limit| states > *limit) {
                return Err(DdHalt::Stop(StopReason::OtherViolation));
            }
            if let Some(limit) = self.job.limits().depth
                && search.rounds >= limit
            {
                return Err(DdHalt::Stop(StopReason::Depth(limit)));
            }
            search.round(&mut self.watch)?;
        }
    }

    /// Marks what is violated by the states found so far; says whether anything is.
    fn look_for_trouble(&mut self, reached: &Bdd, open: &mut [OpenQuestion<'_>]) -> DdResult<bool> {
        let mut beyond = None;
        for open in open.iter_mut().filter(|open| !open.violated) {
            open.violated = match &open.question.ask {
                QuestionKind::Never(bad, dropped) => {
                    let mut met = bad.meets(reached)?;
                    if !met && !dropped.is_false() {
                        let beyond = match &beyond {
                            Some(beyond) => beyond,
                            None => beyond.insert(self.system.image_all(reached)?.or(&self.system.refused)?),
                        };
                        met = dropped.meets(beyond)?;
                    }
                    met
                }
                QuestionKind::Formula(_, faults) | QuestionKind::Possible(_, faults) => {
                    faults.meets(reached)?
                }
                QuestionKind::Reached(_) | QuestionKind::Given => false,
            };
        }
        Ok(open.iter().any(|open| open.violated))
    }

    /// Decides what only all states can decide.
    fn judge(&mut self, reached: &Bdd, open: &mut [OpenQuestion<'_>]) -> DdResult<()> {
        for open in open.iter_mut().filter(|open| !open.violated) {
            match &open.question.ask {
                QuestionKind::Reached(goal) => {
                    if !goal.meets(reached)? {
                        let violation = Violation { reason: Reason::NeverCovered, trace: None };
                        open.verdict = Some(Verdict::Violated(Box::new(violation)));
                    }
                }
                QuestionKind::Possible(goal, _) => {
                    let hopeless = self.hopeless(reached, goal)?;
                    if !hopeless.is_false() {
                        let run = witness::way(self.system, &hopeless, &mut self.watch)?;
                        self.violated(open, run, Why::NotPossible)?;
                    }
                }
                QuestionKind::Formula(formula, _) => self.formula(reached, open, &formula.clone())?,
                QuestionKind::Never(..) | QuestionKind::Given => {}
            }
        }
        Ok(())
    }

    /// The states from which the goal cannot be reached.
    fn hopeless(&mut self, reached: &Bdd, goal: &Bdd) -> DdResult<Bdd> {
        let (system, watch) = (self.system, &mut self.watch);
        let found = system.backwards(&goal.and(reached)?, reached, true, &mut || watch.look(&system.dd))?;
        reached.minus(&found)?.minus(&system.midst)
    }

    fn formula(&mut self, reached: &Bdd, open: &mut OpenQuestion<'_>, formula: &Ctl) -> DdResult<()> {
        let (stuck, fairness) = (self.stuck.clone(), self.fairness.clone());
        let mut evaluator = Evaluator::new(self.system, reached, &stuck, &fairness, &mut self.watch)?;
        let holds = evaluator.holds(formula)?;
        let fails = self.system.init.minus(&holds)?;
        if fails.is_false() {
            return Ok(());
        }
        let run = witness::counterexample(self.system, &mut evaluator, formula, &fails)?;
        let run = witness::hide(self.system, run)?;
        self.violated(open, Some(run), Why::Formula)
    }

    /// Shortest ways to what was found to be wrong.
    fn show(&mut self, open: &mut [OpenQuestion<'_>]) -> DdResult<()> {
        for open in open.iter_mut().filter(|open| open.violated && open.verdict.is_none()) {
            let (bad, dropped, why) = match &open.question.ask {
                QuestionKind::Never(bad, dropped) => (bad.clone(), dropped.clone(), Why::Bad),
                QuestionKind::Formula(_, faults) | QuestionKind::Possible(_, faults) => {
                    (faults.clone().into(), self.system.dd.no(), Why::Faults)
                }
                QuestionKind::Reached(_) | QuestionKind::Given => continue,
            };
            let run = match self.symmetry {
                Some(symmetry) => symmetry.way(self.system, &bad, &dropped, &mut self.watch)?,
                None => witness::way_or_beyond(self.system, &bad, &dropped, &mut self.watch)?,
            };
            self.violated(open, run, why)?;
        }
        Ok(())
    }

    fn violated(&mut self, open: &mut OpenQuestion<'_>, run: Option<BitRun>, why: Why) -> DdResult<()> {
        let violation = match run {
            Some(run) => self.lift.violation(open.question.property, &run, why)?,
            // A mistake: what was reached can be reached. Without a trace nobody will confirm it, and it will be reported.
            None => Violation { reason: Reason::ConditionFalse, trace: None },
        };
        self.watch.tell(open.question.property, &violation);
        open.verdict = Some(Verdict::Violated(Box::new(violation)));
        Ok(())
    }

    /// How many states were reached, and how often each rule fires in them.
    fn count(
        &self,
        decided: &QuestionAnswer,
        fires: &[(usize, Bdd)],
        rules: usize,
    ) -> DdResult<(BigUint, Vec<BigUint>)> {
        let dd = &self.system.dd;
        let reached = match self.symmetry {
            Some(symmetry) => symmetry.fewest(&decided.reached)?,
            None => decided.reached.minus(&self.system.midst)?,
        };
        let mut fired = vec![BigUint::ZERO; rules];
        for (rule, place) in fires {
            fired[*rule] += place.and(&reached)?.count(dd, self.system.bits);
        }
        Ok((reached.count(dd, self.system.bits), fired))
    }

    /// What the work took.
    pub fn statistics(&self, decided: &QuestionAnswer, fires: &[(usize, Bdd)], rules: usize) -> Statistics {
        let dd = &self.system.dd;
        // Of all states the numbers are exact if there is time; else they are worth a moment.
        let left = self.job.watch.time_left().filter(|_| decided.complete);
        dd.grant(left.unwrap_or_default().max(Duration::from_secs(1)));
        let counted = self.count(decided, fires, rules);
        let exact = counted.is_ok();
        let is_depth = self.symmetry.is_none_or(|it| it.is_one_of_each(&decided.reached) == Ok(true));
        // Where there is no room to count, what was found so far was counted on the way.
        let (states, fired) = counted.unwrap_or((self.watch.progress.states.into(), Vec::new()));
        let all: BigUint = fired.iter().sum();
        let notes =
            if exact { Vec::new() } else { vec!["there was no room to count states and steps".into()] };
        Statistics {
            exhaustive: decided.complete && exact,
            reductions: self.symmetry.map(|it| Reduction::Symmetry(it.sorts.clone())).into_iter().collect(),
            states: saturated(&states),
            states_exact: exact.then(|| states.to_string()),
            transitions: saturated(&all),
            transitions_exact: exact.then(|| all.to_string()),
            depth: decided.depth.filter(|_| is_depth),
            fired: fired.iter().map(saturated).collect(),
            fresh: vec![0; if exact { rules } else { 0 }],
            notes,
            time: self.watch.began.elapsed(),
            memory_bytes: dd.allocated() * crate::dd::NODE_BYTES,
            state_bits: u64::from(self.system.bits),
            nodes_peak: Some(dd.peak()),
            nodes_transition: Some(self.system.relation_nodes()),
            threads: 1,
            ..Statistics::default()
        }
    }
}

fn saturated(number: &BigUint) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A set of so few nodes is taken whole: what is new in it is hardly smaller, and to know that takes nodes as well.
const SMALL: usize = 5_000;

/// Finds reachable states in rounds: breadth first, or relation by relation until nothing new comes.
struct ReachableSearch<'s> {
    system: &'s TransitionSystem<'s>,
    symmetry: Option<&'s RepresentativeChoice>,
    reached: Bdd,
    /// The states found last, where the search is breadth first.
    frontier: Option<Bdd>,
    /// What each relation has been applied to, for [`ReachableSearch::sweep_new`].
    done: Vec<Bdd>,
    rounds: u64,
    complete: bool,
}

impl<'s> ReachableSearch<'s> {
    fn new(
        system: &'s TransitionSystem<'s>,
        symmetry: Option<&'s RepresentativeChoice>,
        breadth_first: bool,
    ) -> DdResult<ReachableSearch<'s>> {
        let reached = match symmetry {
            Some(symmetry) => symmetry.representatives(&system.init)?,
            None => system.init.clone(),
        };
        let frontier = (breadth_first || symmetry.is_some()).then(|| reached.clone());
        let (complete, done) = (reached.is_false(), Vec::new());
        Ok(ReachableSearch { system, symmetry, complete, reached, frontier, done, rounds: 0 })
    }

    fn depth(&self) -> Option<u64> {
        self.frontier.as_ref().map(|_| self.rounds)
    }

    /// As [`TransitionSystem::sweep`], but each relation is applied only to what it has not been applied to.
    fn sweep_new(&mut self, watch: &mut DecideReporter<'_>) -> DdResult<()> {
        let ways = self.system.ways()?;
        self.done.resize_with(ways.len(), || self.system.dd.no());
        for (relation, done) in ways.iter().zip(&mut self.done) {
            watch.look(&self.system.dd)?;
            let new = self.reached.minus(done)?;
            *done = self.reached.clone();
            self.reached = self.reached.or(&relation.image(&new)?.and(&self.system.keep)?)?;
        }
        Ok(())
    }

    fn round(&mut self, watch: &mut DecideReporter<'_>) -> DdResult<()> {
        watch.look(&self.system.dd)?;
        match &self.frontier {
            Some(frontier) => {
                let image = self.system.image(frontier)?;
                let new = match self.symmetry {
                    Some(symmetry) => symmetry.representatives(&image)?.minus(&self.reached)?,
                    None => image.minus(&self.reached)?,
                };
                self.complete = new.is_false();
                self.rounds += u64::from(!self.complete);
                self.reached = self.reached.or(&new)?.or(&self.system.midst_of(frontier)?)?;
                self.frontier = Some(new);
            }
            None => {
                let before = self.reached.clone();
                if before.nodes() <= SMALL {
                    self.reached = self.system.sweep(&before, &mut || watch.look(&self.system.dd))?;
                } else {
                    self.sweep_new(watch)?;
                }
                self.complete = self.reached == before;
                self.rounds += 1;
            }
        }
        Ok(())
    }
}
