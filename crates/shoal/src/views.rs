//! Any number of elements, by views: instances are searched by the explicit engine, everything else is proved or left open.

use std::collections::BTreeMap;

use shoal_model::{
    Job, Model, Observer, Outcome, PropertyId, PropertyResult, SortId, SortSize, Statistics, StopReason,
    Verdict, Watch,
};
use shoal_views::{Climb, Finding, Instances, Searched};

use crate::{Error, LoadOptions, Loaded, Proved, load::load_again};

/// Decides the properties of a model with any number of elements.
pub(crate) fn check(
    loaded: &Loaded,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Vec<Proved>), Error> {
    let model = &loaded.model;
    let mut instances = Reloaded { loaded, job, observer, models: BTreeMap::new() };
    let climb = shoal_views::climb(model, &job.properties, broken(loaded), &mut instances, &job.watch);
    let models = instances.models;
    let (mut results, mut proved) = (Vec::new(), Vec::new());
    for property in &job.properties {
        let Some(finding) = climb.findings.get(property) else {
            return Err(Error::Internal("a property was asked and not answered".into()));
        };
        let mut note = Proved::nothing(*property);
        let verdict = match finding {
            Finding::Proved { proof, searched } => {
                let (config, invariant) =
                    climb.proofs.get(*proof).ok_or_else(|| Error::Internal("a proof is missing".into()))?;
                let views = invariant.views.len();
                let counted = if views == 1 { "1 view".into() } else { format!("{views} views") };
                let below = match searched {
                    0 => String::new(),
                    1 => format!("; {} = 1 searched", parameters(&loaded.options)),
                    n => format!("; {} = 1..{n} searched", parameters(&loaded.options)),
                };
                note.note = Some(format!("{} ({counted}){below}", config.words(model)));
                Verdict::Holds
            }
            Finding::Covered(number) => {
                note.note = Some(format!("reached with {} = {number}", parameters(&loaded.options)));
                Verdict::Holds
            }
            Finding::Violated(number, violation) => {
                note.note = Some(format!("{} = {number}, and no smaller", parameters(&loaded.options)));
                note.number = Some(*number);
                note.elements = Some((u64::from(*number), true));
                note.instance = models.get(number).cloned().map(Box::new);
                Verdict::Violated(violation.clone())
            }
            Finding::Unknown(up_to, why) => {
                Verdict::Unknown(unknown(&loaded.options, *up_to, why, &job.watch))
            }
        };
        results.push(PropertyResult { property: *property, verdict });
        proved.push(note);
    }
    let outcome = Outcome { results, statistics: statistics(&climb, job) };
    Ok((outcome, proved))
}

fn unknown(options: &LoadOptions, up_to: u32, why: &str, watch: &Watch) -> StopReason {
    if let Err(stopped) = watch.check() {
        return stopped;
    }
    let names = parameters(options);
    let so_far = match up_to {
        0 => String::new(),
        1 => format!("holds for {names} = 1; "),
        n => format!("holds for {names} = 1..{n}; "),
    };
    StopReason::AnyNumber(format!("{so_far}not proved beyond: {why}"))
}

fn parameters(options: &LoadOptions) -> String {
    options.any.join(", ")
}

fn statistics(climb: &Climb, job: &Job) -> Statistics {
    Statistics {
        engine: "views",
        states: climb.views as u64,
        transitions: climb.runs,
        time: job.watch.elapsed(),
        threads: 1,
        ..Statistics::default()
    }
}

/// Why the elements of a sort with any number cannot be interchanged, if that is so.
fn broken(loaded: &Loaded) -> Option<String> {
    let model = &loaded.model;
    let symmetry = shoal_analysis::symmetry(model);
    for (id, sort) in model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any) {
        let found = &symmetry.sorts[id];
        if let Some(first) = found.breaks.first() {
            let (name, place) = (&sort.name, loaded.sources.locate(first.span));
            return Some(format!(
                "the elements of `{name}` cannot be interchanged: {} ({place})",
                first.reason
            ));
        }
        if !found.pinned.is_empty() {
            return Some(format!("the model names an element of `{}`", sort.name));
        }
    }
    None
}

/// The instances of a model, made by reading its source again.
struct Reloaded<'a> {
    loaded: &'a Loaded,
    job: &'a Job,
    observer: &'a mut dyn Observer,
    models: BTreeMap<u32, Model>,
}

impl Instances for Reloaded<'_> {
    fn search(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<Searched> {
        let model = load_again(self.loaded, number)?;
        let symmetry = shoal_analysis::symmetry(&model);
        let symmetric: Vec<SortId> =
            model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
        let job = Job {
            properties: asked.to_vec(),
            symmetric,
            watch: self.job.watch.with_states(Some(states)),
            patience: None,
            // The smallest are searched faster than machine code is made.
            jit: self.job.jit && number > 2,
            ..self.job.clone()
        };
        let sizes = model.sorts.iter().map(|sort| sort.fixed_size().unwrap_or(0)).collect();
        let results = match shoal_explicit::check(&model, &job, self.observer) {
            Ok(outcome) => outcome.results,
            // Nothing is known of it.
            Err(_) => {
                let unknown = |property: &PropertyId| PropertyResult {
                    property: *property,
                    verdict: Verdict::Unknown(StopReason::States(0)),
                };
                asked.iter().map(unknown).collect()
            }
        };
        self.models.insert(number, model);
        Some(Searched { results, sizes })
    }

    fn is_one_number(&self) -> bool {
        let open = |id: &SortId| {
            let model = &self.loaded.model;
            model.sorts[*id].size == SortSize::Any && !shoal_views::is_data(model, *id)
        };
        self.loaded.options.any.len() == 1 || self.loaded.model.sorts.ids().filter(open).count() == 0
    }
}

impl Proved {
    /// Nothing is known of a property but its verdict.
    pub(crate) fn nothing(property: PropertyId) -> Proved {
        Proved {
            property,
            prover: None,
            proof: None,
            targets: 0,
            elements: None,
            note: None,
            number: None,
            instance: None,
        }
    }
}
