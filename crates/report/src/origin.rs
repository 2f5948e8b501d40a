//! Where a trace or a certificate comes from.

use shoal::Loaded;
use shoal_model::{Model, PropertyId, Verdict};

use crate::{Run, write_trace};

/// Where a trace comes from: what is needed to load the same model again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file of the model as the user named it.
    pub file: String,
    /// Values given to constants.
    pub set: Vec<(String, i64)>,
    /// Options of the front end that change the meaning, by name.
    pub options: Vec<(String, String)>,
}

impl Origin {
    /// A model as it was loaded, under the name that the user has for it.
    pub fn of(loaded: &Loaded, file: &str) -> Origin {
        let options = &loaded.options;
        Origin { file: file.to_string(), options: options.saved(), set: options.set.clone() }
    }

    /// A run has so many elements, even if the model may have any number of them.
    fn fix_sizes(&mut self, model: &Model, sized: &Model) {
        let any = self.options.iter().position(|(name, _)| name == "any");
        let names: Option<String> = any.map(|at| self.options.remove(at).1);
        for (id, sort) in model.sorts.enumerate() {
            let Some(size) = sized.sorts[id].fixed_size().filter(|_| sort.fixed_size().is_none()) else {
                continue;
            };
            let names = names.clone().unwrap_or_else(|| sort.name.clone());
            self.set.extend(names.split(',').map(|name| (name.to_string(), i64::from(size))));
        }
    }

    /// A run of the instance with a number is a run of the model with that number.
    fn fix_number(&mut self, number: u32) {
        if let Some(at) = self.options.iter().position(|(name, _)| name == "any") {
            let names = self.options.remove(at).1;
            self.set.extend(names.split(',').map(|name| (name.to_string(), i64::from(number))));
        }
    }
}

/// The trace of a violation as ITF, with all that is needed to run it again. Nothing if the property is not violated, or
/// without a trace.
pub fn violation_trace(run: &Run<'_>, property: PropertyId) -> Option<String> {
    let model = run.model();
    let result = run.outcome().results.iter().find(|result| result.property == property)?;
    let Verdict::Violated(violation) = &result.verdict else { return None };
    let trace = violation.trace.as_ref()?;
    let mut origin = Origin::of(run.loaded, run.file);
    let number = run.report.proved.iter().find(|it| it.property == property).and_then(|it| it.number);
    match number {
        Some(number) => origin.fix_number(number),
        // It is a run of the model with any number, and how many elements it has is seen in its states.
        None if run.loaded.is_numbered_otherwise() => {}
        None => origin.fix_sizes(model, &model.sized_as(&trace.state)),
    }
    let name = &model.properties[property].name;
    Some(write_trace(model, run.sources(), &origin, trace, Some((name, violation))))
}
