//! The engines behind one contract.
//!
//! To add an engine: a variant of [`EngineKind`], a struct here that implements [`Engine`], a line in [`engine`], and the
//! place in `plan` where `auto` comes to it. Nothing else knows how many there are.

use shoal_explicit::Refusal;
use shoal_model::{
    Failing, Job, Logic, Model, Observer, OrInternal, Order, Outcome, PropertyId, PropertyKind,
    Representatives, SortId, SortSize, StopReason, Storage, Unsupported, Verdict,
};

use shoal_verify::ProofRejected;

use crate::{
    CheckOptions, EngineKind, Error, Loaded, Proved, beyond,
    check::time_to_confirm,
    checkpoint::{Files, about},
};

/// What every engine can do.
pub(crate) trait Engine {
    /// Whether it decides a property of a model, judged before anything is translated. Behind it stands a match over every
    /// kind of property, so that a new kind cannot be taken for one that holds.
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported>;

    /// Decides the properties of a job under its watch. [`Error::Unsupported`] refuses the whole job.
    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error>;

    /// What there is to tell beside the outcome.
    fn extras(&mut self) -> Extras {
        Extras::default()
    }
}

/// What an engine has to tell beside the outcome.
#[derive(Default)]
pub(crate) struct Extras {
    /// Why the search could not be saved, if it was to be.
    pub(crate) unsaved: Option<String>,
    /// What more is known of verdicts for any number of elements.
    pub(crate) proved: Vec<Proved>,
}

/// The engine of a kind.
pub(crate) fn engine<'o>(
    kind: EngineKind,
    loaded: &'o Loaded,
    options: &'o CheckOptions,
    symmetric: &[SortId],
) -> Box<dyn Engine + 'o> {
    match kind {
        EngineKind::Explicit => Box::new(Explicit { options, unsaved: None }),
        EngineKind::Symbolic => Box::new(Symbolic { options }),
        EngineKind::Counters => Box::new(Counters { options, symmetric: symmetric.to_vec() }),
        EngineKind::Cover => Box::new(Cover { options, proved: Vec::new() }),
        EngineKind::Timed => Box::new(Timed { options }),
        EngineKind::Views => Box::new(ViewsEngine { loaded, options, proved: Vec::new() }),
    }
}

/// Explicit search, which alone can be saved and has other orders and storages.
struct Explicit<'o> {
    options: &'o CheckOptions,
    unsaved: Option<String>,
}

impl Engine for Explicit<'_> {
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        if self.options.beyond.is_used() {
            shoal_explicit::supports_apart(model, property)?;
        }
        shoal_explicit::supports(model, property)
    }

    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        if saves(self.options) && !is_plain(self.options) {
            let construct = "saving a search that is not breadth first or does not keep whole states";
            return Err(lacking(EngineKind::Explicit, construct));
        }
        if self.options.strategy.order == Order::Backward {
            return Err(lacking(EngineKind::Explicit, "a search backwards"));
        }
        let how = self.options.strategy.representatives;
        if matches!(how, Representatives::Gasr | Representatives::Multiple) {
            return Err(lacking(EngineKind::Explicit, "representatives that are meant for diagrams"));
        }
        if self.options.beyond.is_used() {
            return beyond::check(model, job, self.options, observer, &mut self.unsaved);
        }
        let mut files = Files::new(&self.options.checkpoints, model, job)?;
        let outcome = shoal_explicit::check_and_keep(model, job, observer, &mut files);
        self.unsaved = files.problem;
        outcome.map_err(|refusal| match (refusal, &self.options.checkpoints.resume) {
            (Refusal::Unsupported(unsupported), _) => Error::Unsupported(unsupported),
            (Refusal::Saved(error), Some(folder)) => about(folder, &error),
            (Refusal::Saved(error), None) => Error::Internal(error.to_string()),
        })
    }

    fn extras(&mut self) -> Extras {
        Extras { unsaved: self.unsaved.take(), proved: Vec::new() }
    }
}

/// Sets of states.
struct Symbolic<'o> {
    options: &'o CheckOptions,
}

impl Engine for Symbolic<'_> {
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        shoal_symbolic::supports(model, property)
    }

    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        refuse(EngineKind::Symbolic, self.options)?;
        shoal_symbolic::check(model, job, observer).map_err(Error::Unsupported)
    }
}

/// Numbers of elements in each local state.
struct Counters<'o> {
    options: &'o CheckOptions,
    symmetric: Vec<SortId>,
}

impl Engine for Counters<'_> {
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        shoal_counters::supports(model, &self.symmetric, property)
    }

    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        refuse(EngineKind::Counters, self.options)?;
        // Where nobody asked for it and it takes long, another engine is the better choice.
        let thorough = self.options.counters.thorough && self.options.engine.is_some();
        let counters = shoal_counters::Options { thorough, ..self.options.counters };
        shoal_counters::check(model, job, counters, observer).map_err(Error::Unsupported)
    }
}

/// Any number of elements, with certificates that the checker accepts.
struct Cover<'o> {
    options: &'o CheckOptions,
    proved: Vec<Proved>,
}

impl Engine for Cover<'_> {
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        shoal_cover::supports(model, property)
    }

    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        refuse(EngineKind::Cover, self.options)?;
        let coverage = shoal_cover::check(model, job, observer).map_err(Error::Unsupported)?;
        let mut outcome = coverage.outcome;
        let watch = time_to_confirm(&job.watch);
        for finding in coverage.findings {
            let accepted = match &finding.proof {
                Some(proof) => {
                    let go_on = || watch.check().is_ok();
                    shoal_verify::check_while(&coverage.system, &finding.targets, proof, &go_on)
                }
                None => Ok(()),
            };
            match accepted {
                Ok(()) => self.proved.push(Proved::from(finding)),
                Err(ProofRejected::Stopped) => {
                    let reason = watch.check().err().or_internal("the watch has ended the check");
                    let own = outcome.results.iter_mut().filter(|it| it.property == finding.property);
                    own.for_each(|it| it.verdict = Verdict::Unknown(reason.clone()));
                }
                Err(why) => {
                    let why = format!("it is said to hold, but its certificate is not accepted: {why}");
                    let own = outcome.results.iter_mut().filter(|it| it.property == finding.property);
                    own.for_each(|it| it.verdict = Verdict::Unknown(StopReason::Internal(why.clone())));
                }
            }
        }
        outcome.failing = Failing::among(model, &outcome.results);
        Ok(outcome)
    }

    fn extras(&mut self) -> Extras {
        Extras { unsaved: None, proved: std::mem::take(&mut self.proved) }
    }
}

/// Any number of elements that refer to each other.
struct ViewsEngine<'o> {
    loaded: &'o Loaded,
    options: &'o CheckOptions,
    proved: Vec<Proved>,
}

impl Engine for ViewsEngine<'_> {
    /// What it takes of the rest it finds out as it goes, property by property, and says so.
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        let property = &model.properties[property];
        let lacks = |construct: &str| {
            let engine = EngineKind::Views.name();
            Err(Unsupported { engine, construct: construct.into(), span: Some(property.span) })
        };
        if !model.sorts.iter().any(|sort| sort.size == SortSize::Any) {
            return lacks("models in which nothing is any number");
        }
        match &property.kind {
            PropertyKind::Invariant(_)
            | PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Deadlock(_)
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(_)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Temporal(Logic::Ltl | Logic::Ctl | Logic::Tctl, _) => Ok(()),
            PropertyKind::Extreme(_) => lacks(property.kind.asks().words()),
            PropertyKind::Unclear(why) => lacks(why),
        }
    }

    fn check(&mut self, _: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        refuse(EngineKind::Views, self.options)?;
        let (outcome, proved) = crate::views::check(self.loaded, job, observer)?;
        self.proved = proved;
        Ok(outcome)
    }

    fn extras(&mut self) -> Extras {
        Extras { unsaved: None, proved: std::mem::take(&mut self.proved) }
    }
}

/// Zones.
struct Timed<'o> {
    options: &'o CheckOptions,
}

impl Engine for Timed<'_> {
    fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
        shoal_timed::supports(model, property)
    }

    fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        refuse(EngineKind::Timed, self.options)?;
        shoal_timed::check(model, job, observer).map_err(Error::Unsupported)
    }
}

/// What only the explicit engine can do; backwards goes only the symbolic one.
fn refuse(engine: EngineKind, options: &CheckOptions) -> Result<(), Error> {
    if saves(options) {
        return Err(lacking(engine, "saving a search and going on with it"));
    }
    if options.beyond.is_used() {
        return Err(lacking(engine, "a search on disk or by several processes"));
    }
    let backward = (Order::Backward, Storage::Exact);
    let strategy = (options.strategy.order, options.strategy.storage);
    match is_plain(options) || engine == EngineKind::Symbolic && strategy == backward {
        true => Ok(()),
        false => Err(lacking(engine, "another order of the search, or another storage")),
    }
}

/// Whether the search is saved, or goes on where a saved one ended.
pub(crate) fn saves(options: &CheckOptions) -> bool {
    options.checkpoints.save.is_some() || options.checkpoints.resume.is_some()
}

/// Whether the search is breadth first and keeps whole states.
pub(crate) fn is_plain(options: &CheckOptions) -> bool {
    (options.strategy.order, options.strategy.storage) == (Order::BreadthFirst, Storage::Exact)
}

/// The options of the call do not fit the engine.
fn lacking(engine: EngineKind, construct: &str) -> Error {
    Error::Call(Unsupported { engine: engine.name(), construct: construct.into(), span: None })
}
