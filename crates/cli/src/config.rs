//! `shoal.toml`: options that a folder has by default.
//!
//! It stands in the folder where the command is called, or in one above it. Each table is for the command of its name, and each
//! setting is an option: `[check]` with `time = 60` is `shoal check --time 60`. What is typed counts more.

use std::{env, ffi::OsString, fs, path::PathBuf};

use clap::{Command, CommandFactory};
use toml_edit::{DocumentMut, Item, Value};

use crate::{args::Args, exit::CommandFailure};

/// The name of the file.
const NAME: &str = "shoal.toml";

/// What is typed, with what the folder has by default put before it.
pub(crate) fn with_defaults(typed: Vec<OsString>) -> Result<Vec<OsString>, CommandFailure> {
    let shoal = Args::command();
    let is_command = |word: &&OsString| shoal.get_subcommands().any(|it| it.get_name() == word.as_os_str());
    let Some(at) = typed.iter().skip(1).position(|word| is_command(&word)) else { return Ok(typed) };
    let at = at + 1;
    if typed.iter().any(|word| word == "--no-config") {
        return Ok(typed);
    }
    let Some(path) = found() else { return Ok(typed) };
    let name = typed[at].to_string_lossy().into_owned();
    let Some(command) = shoal.find_subcommand(&name) else { return Ok(typed) };
    let wrong = |error: String| CommandFailure::wrong(format_args!("{}: {error}", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    // A check that is repeated is a check.
    let table = if name == "watch" { "check" } else { name.as_str() };
    let options = options_of(&text, table, command, &shoal).map_err(wrong)?;
    let mut all = typed;
    all.splice(at + 1..at + 1, options.into_iter().map(OsString::from));
    Ok(all)
}

/// The file of this folder, or of the nearest one above it that has one.
fn found() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

/// The options that a table stands for.
fn options_of(text: &str, table: &str, command: &Command, shoal: &Command) -> Result<Vec<String>, String> {
    let document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    for (name, _) in document.iter() {
        if shoal.find_subcommand(name).is_none() {
            return Err(format!("there is no command `{name}`"));
        }
    }
    let Some(item) = document.get(table) else { return Ok(Vec::new()) };
    let Some(settings) = item.as_table_like() else { return Err(format!("`{table}` is to be a table")) };
    let mut options = Vec::new();
    for (key, item) in settings.iter() {
        if !command.get_arguments().any(|it| it.get_long() == Some(key)) {
            return Err(format!("`{table}` has no option `{key}`"));
        }
        add(&mut options, key, item)
            .ok_or_else(|| format!("the value of `{table}.{key}` is not understood"))?;
    }
    Ok(options)
}

/// An option with its value: none for a flag, several for a list or for names with values.
fn add(options: &mut Vec<String>, key: &str, item: &Item) -> Option<()> {
    if let Some(table) = item.as_table_like() {
        for (name, value) in table.iter() {
            options.push(format!("--{key}={name}={}", word(value.as_value()?)?));
        }
        return Some(());
    }
    match item.as_value()? {
        Value::Boolean(truth) => options.extend(truth.value().then(|| format!("--{key}"))),
        Value::Array(list) => {
            for value in list {
                options.push(format!("--{key}={}", word(value)?));
            }
        }
        value => options.push(format!("--{key}={}", word(value)?)),
    }
    Some(())
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_options_and_what_is_not_known_is_named() {
        let shoal = Args::command();
        let check = shoal.find_subcommand("check").unwrap();
        let of = |text: &str| options_of(text, "check", check, &shoal);
        let text = "[check]\ntime = 60\nmemory = \"2GB\"\nquiet = true\nfirst = false\nset = { N = 3, M = \"any\" }\nproperty = [\"a\", \"b\"]\n[sim]\nseed = 1\n";
        assert_eq!(
            of(text).unwrap(),
            [
                "--time=60",
                "--memory=2GB",
                "--quiet",
                "--set=N=3",
                "--set=M=any",
                "--property=a",
                "--property=b"
            ]
        );
        assert!(of("[chekc]\n").unwrap_err().contains("no command `chekc`"));
        assert!(of("[check]\ntme = 1\n").unwrap_err().contains("no option `tme`"));
        assert!(of("[check]\ntime = 2020-01-01\n").unwrap_err().contains("not understood"));
        assert!(of("[check").is_err());
    }
}
