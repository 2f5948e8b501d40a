//! Any number of elements: verdicts with certificates.

use std::collections::{BTreeMap, BTreeSet};

use shoal_cover::{Config, Counted, Meter, Proof};
use shoal_model::{Job, Limits, Observer, PropertyId, Quiet, SortSize};

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

impl Proved {
    /// In a line.
    pub fn words(&self, loaded: &Loaded) -> Option<String> {
        let sort = loaded.model.sorts.iter().find(|sort| sort.size == SortSize::Any);
        match (&self.proof, self.elements, self.prover) {
            (Some(_), _, Some(prover)) => {
                let starts: Vec<&str> = loaded.model.starts.iter().map(|start| start.name.as_str()).collect();
                let from = if starts.len() == 1 { format!("{}; ", starts[0]) } else { String::new() };
                Some(format!("{from}by {prover}, certificate accepted"))
            }
            (None, Some((count, least)), _) => {
                let what = sort.map_or("token", |sort| sort.name.as_str());
                let name = if count == 1 { what.to_lowercase() } else { format!("{}s", what.to_lowercase()) };
                let least = if least { ", and no fewer" } else { "" };
                Some(format!("{count} {name}{least}"))
            }
            _ => None,
        }
    }
}

/// Decides the properties of a model with any number of elements. Every proof is checked.
pub(crate) fn check(
    loaded: &Loaded,
    plan: Plan,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let coverage = shoal_cover::check(&loaded.model, job, observer).map_err(Error::Unsupported)?;
    let mut proved = Vec::new();
    for finding in coverage.findings {
        if let Some(proof) = &finding.proof {
            let accepted = shoal_verify::check(&coverage.system, &finding.targets, proof);
            accepted.map_err(|why| {
                let name = &loaded.model.properties[finding.property].name;
                Error::Internal(format!(
                    "{name:?} is said to hold, but its certificate is not accepted: {why}"
                ))
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
    let counted = count(loaded)?;
    let targets: Vec<Config> = counted.targets(property).map_err(Error::Unsupported)?;
    Ok(shoal_verify::check(counted.system(), &targets, proof).map_err(|why| why.to_string()))
}

/// The counter system of a model: what certificates speak of.
pub fn count(loaded: &Loaded) -> Result<Counted<'_>, Error> {
    let (limits, mut quiet) = (Limits::default(), Quiet);
    let mut meter = Meter::new(&limits, &mut quiet);
    let counted = Counted::of(&loaded.model, &mut meter).map_err(Error::Unsupported)?;
    counted.map_err(|_| Error::Internal("a limit was reached though there is none".into()))
}
