//! The engine: from a model and a job to verdicts.

use shoal_certificate::{Config, Proof, System};
use shoal_model::{
    DeadlockKind, Failing, Job, Logic, Model, Observer, Outcome, PropertyId, PropertyKind, PropertyResult,
    Reason, State, Statistics, StopReason, Unsupported, Verdict, Violation,
};

use crate::{
    build::{CounterNet, ENGINE, EarlyEnd, Threads, is_net},
    meter::{Meter, MeterStop},
    portfolio::{self, Prover, ProverChoice, TargetAnswer},
    run::CoveringRun,
};

/// A model as a counter system.
pub struct CountedModel<'m>(CountedKind<'m>);

enum CountedKind<'m> {
    Threads(Box<Threads<'m>>),
    Net(Box<CounterNet<'m>>),
}

/// What was found out about one property, besides the verdict.
#[derive(Clone, Debug)]
pub struct CoverFinding {
    /// The property.
    pub property: PropertyId,
    /// What must not be covered.
    pub targets: Vec<Config>,
    /// Which prover found the answer; none if none was needed or none did.
    pub prover: Option<Prover>,
    /// Why the property holds.
    pub proof: Option<Proof>,
    /// For a violation, how many elements its run begins with, and whether no run needs fewer.
    pub elements: Option<(u64, bool)>,
}

/// What was found out about a job.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The verdicts.
    pub outcome: Outcome,
    /// More about each of them, in the same order.
    pub findings: Vec<CoverFinding>,
    /// The system that they speak of.
    pub system: System,
}

impl Default for Coverage {
    fn default() -> Coverage {
        let statistics = Statistics { engine: ENGINE, ..Statistics::default() };
        Coverage {
            outcome: Outcome { results: Vec::new(), failing: Failing::Nothing, statistics },
            findings: Vec::new(),
            system: System::default(),
        }
    }
}

impl<'m> CountedModel<'m> {
    /// The counter system of a model. The outer error is a construct that does not fit.
    pub fn of(
        model: &'m Model,
        meter: &mut Meter<'_>,
    ) -> Result<Result<CountedModel<'m>, MeterStop>, Unsupported> {
        if !model.open_bounds.is_empty() {
            let construct = "ranges that grow with the number of elements".into();
            return Err(Unsupported { engine: "cover", construct, span: None });
        }
        if !model.range_sorts.is_empty() {
            let construct = "ranges taken for scalarsets".into();
            return Err(Unsupported { engine: "cover", construct, span: None });
        }
        if is_net(model) {
            let net = CounterNet::new(model, meter)?;
            return Ok(net.map(|net| CountedModel(CountedKind::Net(Box::new(net)))));
        }
        match Threads::new(model, meter) {
            Ok(threads) => Ok(Ok(CountedModel(CountedKind::Threads(Box::new(threads))))),
            Err(EarlyEnd::Unsupported(unsupported)) => Err(unsupported),
            Err(EarlyEnd::Stop(stop)) => Ok(Err(stop)),
        }
    }

    /// The system.
    pub fn system(&self) -> &System {
        match &self.0 {
            CountedKind::Threads(threads) => &threads.system,
            CountedKind::Net(net) => &net.system,
        }
    }

    fn model(&self) -> &Model {
        match &self.0 {
            CountedKind::Threads(threads) => threads.model,
            CountedKind::Net(net) => net.model,
        }
    }

    fn into_system(self) -> System {
        match self.0 {
            CountedKind::Threads(threads) => threads.system,
            CountedKind::Net(net) => net.system,
        }
    }

    /// The least configurations that violate a property.
    pub fn targets(&self, property: PropertyId) -> Result<Vec<Config>, Unsupported> {
        match &self.0 {
            CountedKind::Threads(threads) => threads.targets(property),
            CountedKind::Net(net) => net.targets(property),
        }
    }

    /// The violation that a run ends in, and with how many elements or tokens it begins.
    fn violation(
        &self,
        property: PropertyId,
        targets: &[Config],
        run: &CoveringRun,
    ) -> Option<(Violation, u64)> {
        let last = run.steps.last().map_or(&run.start, |step| &step.1);
        let target = targets.iter().find(|target| target.is_below(last))?;
        match &self.0 {
            CountedKind::Threads(threads) => threads.violation(property, target, run),
            CountedKind::Net(net) => net.violation(run).ok(),
        }
    }

    /// The places that may be marked in each shared state, as far as the system was made; nothing for nets.
    pub fn occurring(&self) -> Option<&[Vec<u32>]> {
        match &self.0 {
            CountedKind::Threads(threads) => Some(&threads.occur),
            CountedKind::Net(_) => None,
        }
    }

    /// How many elements a rule may touch, at most: those it names, and one of those it goes through.
    pub fn touched(&self) -> u32 {
        match &self.0 {
            CountedKind::Threads(threads) => {
                let rules = threads.shape.rules.iter();
                rules.map(|rule| rule.elements.len() as u32 + u32::from(rule.broadcasts)).max().unwrap_or(0)
            }
            CountedKind::Net(_) => 0,
        }
    }

    /// The state of a shared state with elements in these places: none, one or two.
    pub fn state(&self, shared: u32, places: &[u32]) -> Option<State> {
        let CountedKind::Threads(threads) = &self.0 else { return None };
        let instance = match places.len() {
            0 => &threads.kinds.none,
            1 => &threads.kinds.one,
            2 => &threads.kinds.two,
            _ => return None,
        };
        let locals: Vec<&[i64]> = places.iter().map(|place| threads.locals.cells(*place)).collect();
        Some(instance.decode(&instance.compose(threads.shared.cells(shared), &locals)))
    }

    /// What a shared state is, in words; empty where there is only one.
    pub fn shared_name(&self, shared: u32) -> String {
        match &self.0 {
            CountedKind::Threads(threads) => threads.shared_name(shared),
            CountedKind::Net(_) => String::new(),
        }
    }

    /// What a place is, in words.
    pub fn place_name(&self, place: u32) -> String {
        match &self.0 {
            CountedKind::Threads(threads) => threads.local_name(place),
            CountedKind::Net(net) => net.place_name(place),
        }
    }
}

/// Whether the engine decides a property of a model, as far as that can be seen without making its counter system.
pub fn supports(model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[id];
    let lacks = |construct: String| Err(Unsupported { engine: ENGINE, construct, span: Some(property.span) });
    let of_any =
        || lacks(format!("the {} {:?} for any number of elements", property.kind.noun(), property.name));
    if model.has_clocks() {
        return lacks("clocks".into());
    }
    match &property.kind {
        PropertyKind::Invariant(_) => Ok(()),
        PropertyKind::Cover(Some(_)) if is_net(model) => Ok(()),
        PropertyKind::Assertion | PropertyKind::NoFaults if !is_net(model) => Ok(()),
        PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck
            | DeadlockKind::Stuttering
            | DeadlockKind::StuckUnless(_)
            | DeadlockKind::Timelock,
        )
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(Logic::Ltl | Logic::Ctl | Logic::Tctl, _) => of_any(),
        PropertyKind::Extreme(_) => lacks(property.kind.asks().words().to_string()),
        PropertyKind::Unclear(why) => lacks(why.clone()),
    }
}

/// Whether a property of a net is one of coverability, and the net has nothing that coverability cannot do.
pub fn counts(model: &Model, id: PropertyId) -> bool {
    CounterNet::fits(model, id)
}

/// Decides the properties of a job for any number of elements.
pub fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Coverage, Unsupported> {
    let mut meter = Meter::new(&job.watch, observer);
    if job.properties.is_empty() {
        // Nothing to decide, and what there is may be large.
        return Ok(Coverage::default());
    }
    let counted = CountedModel::of(model, &mut meter)?;
    let mut coverage = Coverage::default();
    for property in &job.properties {
        let (verdict, finding) = match &counted {
            Ok(counted) => decide(counted, *property, &mut meter)?,
            Err(stop) => (Verdict::Unknown(reason(stop)), CoverFinding::none(*property, Vec::new())),
        };
        coverage.add(verdict, finding);
    }
    if let Ok(counted) = &counted {
        coverage.notice(counted, job, &mut meter);
    }
    coverage.outcome.failing = Failing::among(model, &coverage.outcome.results);
    if let Ok(counted) = counted {
        coverage.system = counted.into_system();
    }
    let statistics = &mut coverage.outcome.statistics;
    statistics.exhaustive = false;
    statistics.states = meter.stored;
    statistics.transitions = meter.steps;
    statistics.time = meter.elapsed();
    statistics.memory_bytes = meter.bytes;
    statistics.threads = 1;
    Ok(coverage)
}

impl Coverage {
    fn add(&mut self, verdict: Verdict, finding: CoverFinding) {
        self.outcome.results.push(PropertyResult { property: finding.property, verdict });
        self.findings.push(finding);
    }

    /// What holds of all runs does so only if no step fails. That is asked where it matters, and not after it is known not to be so.
    fn notice(&mut self, counted: &CountedModel<'_>, job: &Job, meter: &mut Meter<'_>) {
        let model = counted.model();
        for property in &job.noticed {
            let says_something = |result: &PropertyResult| !matches!(result.verdict, Verdict::Unknown(_));
            let matters = self.outcome.results.iter().any(says_something);
            if !matters || Failing::among(model, &self.outcome.results) != Failing::Nothing {
                return;
            }
            let (verdict, finding) = decide(counted, *property, meter).unwrap_or_else(|unsupported| {
                let reason = StopReason::Unsupported(unsupported.to_string());
                (Verdict::Unknown(reason), CoverFinding::none(*property, Vec::new()))
            });
            self.add(verdict, finding);
        }
    }
}

impl CoverFinding {
    fn none(property: PropertyId, targets: Vec<Config>) -> CoverFinding {
        CoverFinding { property, targets, prover: None, proof: None, elements: None }
    }
}

fn decide(
    counted: &CountedModel<'_>,
    property: PropertyId,
    meter: &mut Meter<'_>,
) -> Result<(Verdict, CoverFinding), Unsupported> {
    let targets = counted.targets(property)?;
    let answer = portfolio::decide(counted.system(), &targets, ProverChoice::ALL, meter);
    let mut finding = CoverFinding::none(property, targets);
    let covers = matches!(counted.model().properties[property].kind, PropertyKind::Cover(_));
    let verdict = match answer {
        Ok((TargetAnswer::Unreachable(_), prover)) if covers => {
            finding.prover = Some(prover);
            Verdict::Violated(Box::new(Violation { reason: Reason::NeverCovered, trace: None }))
        }
        Ok((TargetAnswer::Reachable(run, _), prover)) if covers => {
            finding.prover = Some(prover);
            // A run that cannot be told may be none.
            match counted.violation(property, &finding.targets, &run) {
                Some(_) => Verdict::Holds,
                None => Verdict::Unknown(StopReason::Overflow),
            }
        }
        Ok((TargetAnswer::Unreachable(proof), prover)) => {
            finding.prover = Some(prover);
            finding.proof = Some(proof);
            Verdict::Holds
        }
        Ok((TargetAnswer::Reachable(run, least), prover)) => {
            match counted.violation(property, &finding.targets, &run) {
                Some((violation, shown)) => {
                    finding.prover = Some(prover);
                    // Where no element is needed the run is shown with one all the same.
                    finding.elements = Some((shown, least && shown == run.start.size()));
                    Verdict::Violated(Box::new(violation))
                }
                None => Verdict::Unknown(StopReason::Overflow),
            }
        }
        Err(stop) => Verdict::Unknown(reason(&stop)),
    };
    Ok((verdict, finding))
}

fn reason(stop: &MeterStop) -> StopReason {
    match stop {
        MeterStop::Limit(reason) => reason.clone(),
        MeterStop::Overflow => StopReason::Overflow,
    }
}
