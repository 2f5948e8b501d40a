//! The workbench in a real browser, each budget beside what was measured: the command that users have is the server.

use super::build_shoal;

pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    // A command that is there already may be named.
    let command = match args.first() {
        Some(path) => std::path::absolute(path).map_err(|error| error.to_string())?,
        None => build_shoal()?,
    };
    let test = "budgets::everything_is_quick_enough";
    // The whole workspace: the tests of one package alone would be built with other features, and with them everything below.
    let status = std::process::Command::new("cargo")
        .args(["test", "--quiet", "--workspace", "--test", "main", test, "--", "--exact", "--nocapture"])
        .env("SHOAL_STUDIO", command)
        .env("SHOAL_BROWSER", "required")
        .current_dir(crate::tidy::root())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("something is over its budget, or could not be measured".into()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}
