//! Any number of elements: verdicts with certificates.

use std::sync::Arc;

use shoal_certificate::{Config, OMEGA, OpenInvariant, Proof, System};
use shoal_cover::{CountedModel, CoverFinding, Meter, MeterStop, covering_set};
use shoal_model::{Model, Observer, PropertyId, Quiet, SortSize, StopReason, Watch};

use crate::{Error, Loaded};

/// What is known of a property besides its verdict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proved {
    /// The property.
    pub property: PropertyId,
    /// What found the answer, in words.
    pub prover: Option<&'static str>,
    /// Why it holds: accepted by the checker.
    pub proof: Option<Proof>,
    /// How many configurations violate it, in the counter system: none if they were left out when it was built.
    pub targets: usize,
    /// For a violation, how many elements its run begins with, and whether no run needs fewer.
    pub elements: Option<(u64, bool)>,
    /// What else there is to say, in a line.
    pub note: Option<String>,
    /// For a violation: the number that stands for any.
    pub number: Option<u32>,
    /// For a violation: the model with that number.
    pub instance: Option<Box<Model>>,
    /// Why it holds, where views prove it.
    pub views: Option<Arc<OpenInvariant>>,
}

impl Proved {
    /// Nothing but a line about a property.
    pub(crate) fn noted(property: PropertyId, words: String) -> Proved {
        Proved {
            property,
            prover: None,
            proof: None,
            targets: 0,
            elements: None,
            note: Some(words),
            number: None,
            instance: None,
            views: None,
        }
    }

    /// In a line.
    pub fn words(&self, loaded: &Loaded) -> Option<String> {
        if self.note.is_some() {
            return self.note.clone();
        }
        let sort = loaded.model.sorts.iter().find(|sort| sort.size == SortSize::Any);
        match (&self.proof, self.elements, self.prover) {
            (Some(_), _, Some(prover)) => {
                let starts: Vec<&str> = loaded.model.starts.iter().map(|start| start.name.as_str()).collect();
                let from = if starts.len() == 1 { format!("{}; ", starts[0]) } else { String::new() };
                Some(match self.targets {
                    0 => format!(
                        "{from}no violation is left in the counter system, so there is nothing to prove"
                    ),
                    _ => format!("{from}by {prover}, certificate accepted"),
                })
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

impl From<CoverFinding> for Proved {
    fn from(finding: CoverFinding) -> Proved {
        Proved {
            prover: finding.prover.map(shoal_cover::Prover::name),
            proof: finding.proof,
            targets: finding.targets.len(),
            elements: finding.elements,
            ..Proved::nothing(finding.property)
        }
    }
}

/// Checks a proof that a property of a model holds: it must be accepted by the checker, and the system and the targets that
/// it speaks of must be those of the model. The inner error says why not.
pub fn verify(
    loaded: &Loaded,
    counted: &CountedModel<'_>,
    property: PropertyId,
    (system, targets, proof): (&System, &[Config], &Proof),
) -> Result<Result<(), String>, Error> {
    let own = counted.system();
    let parts = [
        ("number of shared states", system.shared == own.shared),
        ("number of places", system.places == own.places),
        ("beginning", system.initial == own.initial),
        ("transitions", system.transitions == own.transitions),
        ("targets", targets == counted.targets(property).map_err(Error::Unsupported)?),
    ];
    if let Some((part, _)) = parts.into_iter().find(|(_, same)| !same) {
        let name = &loaded.model.name;
        return Ok(Err(format!("the {part} of its counter system is not that of {name}")));
    }
    Ok(shoal_verify::check(system, targets, proof).map_err(|why| why.to_string()))
}

/// The properties that say which steps of a model may fail, by the counter system, other than one: a proof that this one holds is
/// one only as far as they do.
pub fn rests_on(
    loaded: &Loaded,
    counted: &CountedModel<'_>,
    property: PropertyId,
) -> Result<Vec<PropertyId>, Error> {
    let mut found = Vec::new();
    for (id, other) in loaded.model.properties.enumerate() {
        if id != property
            && other.kind.says_what_fails()
            && !counted.targets(id).map_err(Error::Unsupported)?.is_empty()
        {
            found.push(id);
        }
    }
    Ok(found)
}

/// Everything that can be covered: what is reachable lies below one of these, and all that lies below can be covered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoverSet {
    /// The greatest elements, by shared state.
    pub elements: Vec<GreatestElement>,
}

/// A greatest element, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GreatestElement {
    /// The shared state.
    pub shared: String,
    /// How many tokens lie in which places; without a number, as many as anybody wants.
    pub tokens: Vec<(String, Option<u32>)>,
}

/// The minimal coverability set of a model with any number of elements. The checker confirms that no step leads out of it.
/// The inner error is the limit that was reached.
pub fn cover_set(
    loaded: &Loaded,
    watch: &Watch,
    observer: &mut dyn Observer,
) -> Result<Result<CoverSet, StopReason>, Error> {
    let mut meter = Meter::new(watch, observer);
    let reason = |stop| match stop {
        MeterStop::Limit(reason) => reason,
        MeterStop::Overflow => StopReason::Overflow,
    };
    let counted = match CountedModel::of(&loaded.model, &mut meter).map_err(Error::Unsupported)? {
        Ok(counted) => counted,
        Err(stop) => return Ok(Err(reason(stop))),
    };
    let mut elements = match covering_set(counted.system(), &mut meter) {
        Ok(elements) => elements,
        Err(stop) => return Ok(Err(reason(stop))),
    };
    elements.sort();
    shoal_verify::check(counted.system(), &[], &Proof::Covering(elements.clone()))
        .map_err(|why| Error::Internal(format!("the covering set is not closed: {why}")))?;
    let count = |count: u32| (count != OMEGA).then_some(count);
    let element = |config: &Config| GreatestElement {
        shared: counted.shared_name(config.shared),
        tokens: config.tokens.iter().map(|token| (counted.place_name(token.0), count(token.1))).collect(),
    };
    Ok(Ok(CoverSet { elements: elements.iter().map(element).collect() }))
}

/// The counter system of a model: what certificates speak of.
pub fn count<'m>(loaded: &'m Loaded, watch: &Watch) -> Result<CountedModel<'m>, Error> {
    let mut quiet = Quiet;
    let mut meter = Meter::new(watch, &mut quiet);
    let counted = CountedModel::of(&loaded.model, &mut meter).map_err(Error::Unsupported)?;
    counted.map_err(|stop| match stop {
        MeterStop::Limit(reason) => Error::Stopped(reason),
        MeterStop::Overflow => Error::Stopped(StopReason::Overflow),
    })
}
