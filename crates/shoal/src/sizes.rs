//! Models with any number of like processes: the smallest number that violates a property, if there is one to be found.

use shoal_model::{Job, Quiet, SortSize, Verdict};

use crate::{CheckOptions, Error, Loaded, engines::has_clocks};

/// Numbers of processes up to this are tried one by one.
const TRIED: u32 = 6;

/// For a model with clocks in which one sort may have any number of elements: that sort and the smallest number, up to a
/// few, with which a property is violated.
pub fn violating_size(loaded: &Loaded, options: &CheckOptions) -> Result<Option<(String, u32)>, Error> {
    let mut any = loaded.model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any);
    let (Some((id, sort)), None) = (any.next(), any.next()) else { return Ok(None) };
    if !has_clocks(&loaded.model) {
        return Ok(None);
    }
    let plan = crate::plan(loaded, options);
    for size in 1..=TRIED {
        let mut model = loaded.model.clone();
        model.sorts[id].size = SortSize::Fixed(size);
        let job = Job {
            symmetric: plan.symmetric.clone(),
            watch: options.watch.clone(),
            patience: Some(0),
            strategy: options.strategy,
            ..Job::new(crate::select(loaded, &options.properties)?)
        };
        let outcome = shoal_timed::check(&model, &job, &mut Quiet).map_err(Error::Unsupported)?;
        if outcome.results.iter().any(|result| matches!(result.verdict, Verdict::Violated(_))) {
            return Ok(Some((sort.name.clone(), size)));
        }
    }
    Ok(None)
}
