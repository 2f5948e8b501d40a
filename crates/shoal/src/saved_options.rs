//! How a source was read, as names and values: what is saved with a trace or a certificate, so that the same model is made
//! again.
//!
//! Both directions take the options apart field by field. An option that is added and not saved does not compile, and one that is
//! not known when it is read is refused: the model could mean something else without it.

use crate::{Deadlock, Dialect, LoadOptions, PromelaOptions};

impl LoadOptions {
    /// The options that change what a model means, by name, but for values of constants ([`LoadOptions::set`]), which have names
    /// of their own.
    pub fn saved(&self) -> Vec<(String, String)> {
        let LoadOptions {
            dialect,
            set: _,
            while_limit,
            promela,
            deadlock,
            any,
            language,
            divergent,
            init,
            target,
            // A limit of this run, not of the model.
            watch: _,
        } = self;
        let dialect = match dialect {
            _ if promela.dynamic => "dspin",
            Dialect::Cmurphi => "cmurphi",
            Dialect::Rumur => "rumur",
        };
        let deadlock =
            DEADLOCKS.iter().find(|(_, known)| known == deadlock).map_or("auto", |(name, _)| *name);
        let mut saved = vec![
            ("dialect", dialect.to_string()),
            ("deadlock", deadlock.to_string()),
            ("while_limit", while_limit.to_string()),
        ];
        saved.extend(saved_promela(promela));
        saved.extend(divergent.then(|| ("divergent", "true".to_string())));
        saved.extend(language.clone().map(|language| ("language", language)));
        saved.extend((!any.is_empty()).then(|| ("any", any.join(","))));
        saved.extend(init.clone().map(|init| ("init", init)));
        saved.extend(target.clone().map(|target| ("target", target)));
        saved.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// The options that were saved. An error names the first that is not known.
    pub fn restored(set: Vec<(String, i64)>, saved: &[(String, String)]) -> Result<LoadOptions, String> {
        let mut options = LoadOptions { set, ..LoadOptions::default() };
        for (name, value) in saved {
            let known = options.restore(name, value);
            known.ok_or_else(|| {
                format!("option {name} = {value:?}, with which this was made, is not known")
            })?;
        }
        Ok(options)
    }

    fn restore(&mut self, name: &str, value: &str) -> Option<()> {
        let promela = &mut self.promela;
        match (name, value) {
            ("dialect", "cmurphi") => self.dialect = Dialect::Cmurphi,
            ("dialect", "rumur") => self.dialect = Dialect::Rumur,
            ("dialect", "dspin") => promela.dynamic = true,
            ("deadlock", _) => self.deadlock = DEADLOCKS.iter().find(|(known, _)| *known == value)?.1,
            ("while_limit", _) => self.while_limit = value.parse().ok()?,
            ("divergent", _) => self.divergent = value.parse().ok()?,
            ("any", names) => self.any = names.split(',').map(String::from).collect(),
            ("language", language) => self.language = Some(language.into()),
            ("init", init) => self.init = Some(init.into()),
            ("target", target) => self.target = Some(target.into()),
            ("processes", _) => promela.processes = value.parse().ok()?,
            ("heap", _) => promela.heap = Some(value.parse().ok()?),
            ("leaks", _) => promela.leaks = value.parse().ok()?,
            ("reuse", _) => promela.reuse = value.parse().ok()?,
            ("process_symmetry", _) => promela.symmetric_processes = value.parse().ok()?,
            ("progress", _) => promela.progress = value.parse().ok()?,
            ("acceptance", _) => promela.acceptance = value.parse().ok()?,
            ("fairness", "weak") => promela.weak_fairness = true,
            ("merge", _) => promela.merge = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}

const DEADLOCKS: [(&str, Deadlock); 4] = [
    ("auto", Deadlock::Auto),
    ("off", Deadlock::Off),
    ("stuck", Deadlock::Stuck),
    ("stuttering", Deadlock::Stuttering),
];

fn saved_promela(promela: &PromelaOptions) -> Vec<(&'static str, String)> {
    let PromelaOptions {
        // What is set for all languages, and what the façade finds out by itself; objects are a dialect.
        set: _,
        any: _,
        while_limit: _,
        watch: _,
        ordered: _,
        dynamic: _,
        processes,
        heap,
        leaks,
        reuse,
        symmetric_processes,
        progress,
        acceptance,
        weak_fairness,
        merge,
    } = promela;
    let mut saved = vec![
        ("processes", processes.to_string()),
        ("leaks", leaks.to_string()),
        ("reuse", reuse.to_string()),
        ("process_symmetry", symmetric_processes.to_string()),
        ("progress", progress.to_string()),
        ("acceptance", acceptance.to_string()),
        ("merge", merge.to_string()),
    ];
    saved.extend(weak_fairness.then(|| ("fairness", "weak".to_string())));
    saved.extend(heap.map(|count| ("heap", count.to_string())));
    saved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_restored() {
        let all = LoadOptions {
            dialect: Dialect::Rumur,
            set: vec![("N".into(), 3)],
            while_limit: 7,
            promela: PromelaOptions {
                processes: 9,
                heap: Some(4),
                leaks: true,
                reuse: true,
                symmetric_processes: true,
                progress: true,
                acceptance: true,
                weak_fairness: true,
                merge: true,
                ..PromelaOptions::default()
            },
            deadlock: Deadlock::Stuttering,
            any: vec!["A".into(), "B".into()],
            language: Some("m".into()),
            divergent: true,
            init: Some("0/0".into()),
            target: Some("4|5".into()),
            ..LoadOptions::default()
        };
        for options in [all, LoadOptions::default()] {
            assert_eq!(LoadOptions::restored(options.set.clone(), &options.saved()).unwrap(), options);
        }
        let unknown = [("gravity".to_string(), "off".to_string())];
        assert!(LoadOptions::restored(Vec::new(), &unknown).unwrap_err().contains("gravity"));
    }
}
