//! What SPIN says of a model.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use shoal_peers::watch;

use super::{Claims, CorpusAnswer};

/// SPIN without reductions and without claims, on to the end whatever goes wrong.
pub(super) fn ask(file: &Path, limit: Duration) -> Result<CorpusAnswer, String> {
    let pan = match Pan::make(file, &["-DSAFETY", "-DNOREDUCE", "-DNOCLAIM"])? {
        Ok(pan) => pan,
        Err(why) => return Ok(CorpusAnswer::Refused(why)),
    };
    let output = pan.run(&["-c0"], limit)?;
    let Some(states) = stored(&output) else { return Ok(CorpusAnswer::Limit) };
    let wrong = output.lines().filter_map(|line| {
        let text = line.strip_prefix("pan:")?.split_once(": ")?.1;
        Some(match text {
            _ if text.starts_with("invalid end state") => "end state",
            _ if text.starts_with("assertion violated") || text.starts_with("block in d_step") => "assertion",
            _ => "error",
        })
    });
    Ok(CorpusAnswer::Done { states, wrong: wrong.map(String::from).collect() })
}

/// The states that a search came to; none if it did not come to its end.
fn stored(output: &str) -> Option<u64> {
    let cut = ["max search depth too small", "out of memory", "search was not completed", "Interrupted"];
    if cut.iter().any(|word| output.contains(word)) {
        return None;
    }
    let line = output.lines().find_map(|line| line.trim().strip_suffix("states, stored"))?;
    line.trim().parse::<f64>().ok().map(|states| states as u64)
}

/// A verifier that SPIN made, in a folder of its own.
struct Pan(PathBuf);

impl Pan {
    /// The verifier of a model, or why there is none.
    fn make(file: &Path, options: &[&str]) -> Result<Result<Pan, String>, String> {
        let folder = std::env::temp_dir().join(format!("shoal-corpus-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let pan = Pan(folder.clone());
        let script = "timeout 60 spin -o1 -o2 -o3 -a \"$1\" 2>&1";
        let mut translate = Command::new("sh");
        let (said, _) = watch(translate.args(["-c", script, "sh"]).arg(file).current_dir(&folder))?;
        // It goes on behind some of its errors.
        if let Some(wrong) = said.lines().find(|line| line.contains(", Error:")) {
            return Ok(Err(wrong.replace('\t', " ")));
        }
        // The verifiers of a few models are megabytes of C.
        let mut gcc = Command::new("sh");
        gcc.args(["-c", "ulimit -t 60; exec gcc \"$@\"", "sh"]);
        gcc.args(["-O1", "-w", "-DMEMLIM=2000", "-DVECTORSZ=4096", "-o", "pan", "pan.c"]).args(options);
        watch(gcc.current_dir(&folder))?;
        if folder.join("pan").exists() {
            return Ok(Ok(pan));
        }
        let why = said.lines().find(|line| line.contains("rror")).or(said.lines().next());
        Ok(Err(why.unwrap_or("pan.c does not compile, or not in 60 s").replace('\t', " ")))
    }

    /// What it prints. The limit is one of processor time, so that what else runs does not change answers.
    fn run(&self, options: &[&str], limit: Duration) -> Result<String, String> {
        let script = format!("ulimit -t {}; exec ./pan -m2000000 -n \"$@\"", limit.as_secs());
        let mut run = Command::new("sh");
        Ok(watch(run.args(["-c", &script, "sh"]).args(options).current_dir(&self.0))?.0)
    }
}

impl Drop for Pan {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// For each of the named formulas of a model: whether SPIN finds a run against it. A claim of a safety property is violated
/// by an assertion of its own, so the model must have none that fails.
pub(super) fn claims<'n>(
    file: &Path,
    names: impl Iterator<Item = &'n String>,
    limit: Duration,
) -> Result<Claims, String> {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Ok(Claims::new());
    }
    let Ok(pan) = Pan::make(file, &["-DNOREDUCE"])? else { return Ok(Claims::new()) };
    let mut claims = Claims::new();
    for name in names {
        let output = pan.run(&["-a", "-E", "-N", name], limit)?;
        let found = output.lines().any(|line| line.starts_with("pan:1:"));
        claims.insert(name.clone(), (found || stored(&output).is_some()).then_some(found));
    }
    Ok(claims)
}
