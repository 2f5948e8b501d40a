//! What SPIN said before.

use std::{collections::HashMap, fs, path::PathBuf};

use super::{Claims, CorpusAnswer};
use crate::tidy::root;

/// Kept in `target/spin-corpus.tsv`.
pub(super) struct KnownSearches {
    path: PathBuf,
    lines: HashMap<String, String>,
}

impl KnownSearches {
    pub(super) fn read() -> KnownSearches {
        let path = root().join("target/spin-corpus.tsv");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let lines = lines.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        KnownSearches { path, lines }
    }

    fn keep(&mut self, key: &str, value: String) -> Result<(), String> {
        use std::io::Write;
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let written = file.and_then(|mut file| writeln!(file, "{key}\t{value}"));
        self.lines.insert(key.into(), value);
        written.map_err(|error| error.to_string())
    }

    pub(super) fn or_ask(
        &mut self,
        name: &str,
        ask: impl FnOnce() -> Result<CorpusAnswer, String>,
    ) -> Result<CorpusAnswer, String> {
        if let Some(line) = self.lines.get(name) {
            let mut words = line.split('\t');
            return Ok(match (words.next(), words.next()) {
                (Some("refused"), why) => CorpusAnswer::Refused(why.unwrap_or_default().into()),
                (Some(states), Some(wrong)) if states != "limit" => CorpusAnswer::Done {
                    states: states.parse().unwrap_or(0),
                    wrong: wrong.split(',').filter(|word| !word.is_empty()).map(String::from).collect(),
                },
                _ => CorpusAnswer::Limit,
            });
        }
        let answer = ask()?;
        let line = match &answer {
            CorpusAnswer::Refused(why) => format!("refused\t{}", why.replace('\n', " ")),
            CorpusAnswer::Limit => "limit\t".to_string(),
            CorpusAnswer::Done { states, wrong } => {
                let wrong: Vec<&str> = wrong.iter().map(|word| word.as_str()).collect();
                format!("{states}\t{}", wrong.join(","))
            }
        };
        self.keep(name, line)?;
        Ok(answer)
    }

    pub(super) fn or_ask_claims(
        &mut self,
        name: &str,
        ask: impl FnOnce() -> Result<Claims, String>,
    ) -> Result<Claims, String> {
        let key = format!("claims of {name}");
        if let Some(line) = self.lines.get(&key) {
            let claims = line.split('\t').filter_map(|part| part.rsplit_once('='));
            return Ok(claims.map(|(name, wrong)| (name.to_string(), wrong.parse().ok())).collect());
        }
        let claims = ask()?;
        let parts = claims.iter().map(|(name, wrong)| match wrong {
            Some(wrong) => format!("{name}={wrong}"),
            None => format!("{name}=limit"),
        });
        self.keep(&key, parts.collect::<Vec<_>>().join("\t"))?;
        Ok(claims)
    }
}
