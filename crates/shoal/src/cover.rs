//! Any number of elements: verdicts with certificates.

use std::collections::{BTreeMap, BTreeSet};

use shoal_cover::{Config, Counted, Meter, Proof};
use shoal_model::{Job, Limits, Observer, PropertyId, Quiet};

use crate::{Error, Loaded, Plan, Report, check::confirm_all};

/// What is known of a property besides its verdict.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The property.
    pub property: PropertyId,
    /// What found the answer, in words.
    pub prover: Option<&'static str>,
    /// Why it holds: accepted by the checker.
    pub proof: Option<Proof>,
    /// For a violation, how many elements its run begins with, and whether no run needs fewer.
    pub elements: Option<(u64, bool)>,
}

/// Decides the properties of a model with any number of elements. Every proof is checked.
pub(crate) fn check(loaded: &Loaded, plan: Plan, job: &Job, observer: &mut dyn Observer) -> Result<Report, Error> {
    let coverage = shoal_cover::check(&loaded.model, job, observer).map_err(Error::Unsupported)?;
    let mut proved = Vec::new();
    for finding in coverage.findings {
        if let Some(proof) = &finding.proof {
            let accepted = shoal_verify::check(&coverage.system, &finding.targets, proof);
            accepted.map_err(|why| {
                let name = &loaded.model.properties[finding.property].name;
                Error::Internal(format!("{name:?} is said to hold, but its certificate is not accepted: {why}"))
            })?;
        }
        proved.push(Proved {
            property: finding.property,
            prover: finding.prover.map(shoal_cover::Prover::name),
            proof: finding.proof,
            elements: finding.elements,
        });
    }
    let (causes, unsettled) = (BTreeMap::new(), BTreeSet::new());
    let mut report = Report { plan, outcome: coverage.outcome, causes, unsettled, unsaved: None, proved };
    confirm_all(loaded, &mut report)?;
    Ok(report)
}

/// Checks a proof that a property of a model holds. The inner error says why it is not accepted.
pub fn verify(loaded: &Loaded, property: PropertyId, proof: &Proof) -> Result<Result<(), String>, Error> {
    let (limits, mut quiet) = (Limits::default(), Quiet);
    let mut meter = Meter::new(&limits, &mut quiet);
    let counted = Counted::of(&loaded.model, &mut meter).map_err(Error::Unsupported)?;
    let counted = counted.map_err(|_| Error::Internal("a limit was reached though there is none".into()))?;
    let targets: Vec<Config> = counted.targets(property).map_err(Error::Unsupported)?;
    Ok(shoal_verify::check(counted.system(), &targets, proof).map_err(|why| why.to_string()))
}
