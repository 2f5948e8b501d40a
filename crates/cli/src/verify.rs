//! `shoal verify`.

use std::path::PathBuf;

use shoal::LoadOptions;
use shoal_report::{grouped, read_certificate};

use crate::{
    args::VerifyArgs,
    exit::{Exit, Failure},
    output::Console,
    progress::listen,
    traces::{find_model, load_options},
};

/// Checks a certificate against its model with the separate checker. Exit code 0 if it is accepted, 1 if not.
pub(crate) fn run(console: &Console, args: &VerifyArgs) -> Result<Exit, Failure> {
    let file = &args.certificate;
    let wrong = |error: String| Failure::wrong(format_args!("{}: {error}", file.display()));
    let saved = read_certificate(&shoal::read_text(file)?).map_err(|error| wrong(error.to_string()))?;
    let path: PathBuf = match &args.file {
        Some(file) => file.clone(),
        None => find_model(file, &saved.origin.file),
    };
    let watch = args.limits.watch(&listen());
    let loaded = shoal::load(&path, &LoadOptions { watch, ..load_options(&saved.origin) })?;
    let property = shoal::select(&loaded, std::slice::from_ref(&saved.property))?[0];
    let verified = match shoal::verify(&loaded, property, &saved.proof)? {
        Ok(()) => shoal::audit(&loaded, &shoal::count(&loaded)?, property)?.transpose(),
        Err(why) => Err(why),
    };
    match verified {
        Ok(audit) => {
            let verdict = console.palette.good("✓ accepted");
            console.line(format_args!("{verdict}  {:?} holds in {}", saved.property, path.display()))?;
            if let Some(audit) = audit {
                let (some, all) = (grouped(audit.situations), grouped(audit.all));
                console.line(format_args!("  the interpreter agrees in {some} of {all} situations"))?;
            }
            Ok(Exit::Good)
        }
        Err(why) => {
            let verdict = console.palette.bad("✗ rejected");
            console.line(format_args!("{verdict}  {:?} in {}: {why}", saved.property, path.display()))?;
            Ok(Exit::Violated)
        }
    }
}
