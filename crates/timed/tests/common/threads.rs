//! Searches on several threads find the same as on one.

use shoal_model::{Job, Model, Outcome, Quiet, Statistics};

/// All that is found out of single states but the time that it takes, the same on one, two and three threads; and on how many
/// threads the last of them was searched.
pub(crate) fn on_threads(model: &Model, job: &Job, about: &str) -> (Outcome, usize) {
    let mut job = job.clone();
    job.properties.retain(|id| !shoal_timed::is_temporal(&model.properties[*id].kind));
    let check = |threads: usize| {
        let job = Job { threads, ..job.clone() };
        shoal_timed::check(model, &job, &mut Quiet).unwrap_or_else(|error| panic!("{error}\n{about}"))
    };
    let told = |outcome: &Outcome| {
        let statistics =
            Statistics { time: std::time::Duration::ZERO, threads: 0, ..outcome.statistics.clone() };
        format!("{:?}\n{:?}\n{statistics:?}", outcome.results, outcome.failing)
    };
    let one = check(1);
    let others = [2, 3].map(check);
    for other in &others {
        assert_eq!(told(&one), told(other), "{about}");
    }
    assert_eq!(one.statistics.threads, 1, "{about}");
    let threads = others[1].statistics.threads;
    (one, threads)
}
