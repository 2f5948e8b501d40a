//! `shoal verify`.

use std::{fs::File, io::BufReader, path::PathBuf};

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
    let open = File::open(file).map_err(|error| wrong(error.to_string()))?;
    let saved = read_certificate(&mut BufReader::new(open)).map_err(|error| wrong(error.to_string()))?;
    let path: PathBuf = match &args.file {
        Some(file) => file.clone(),
        None => find_model(file, &saved.origin.file),
    };
    let watch = args.limits.watch(&listen());
    let options = load_options(&saved.origin)?;
    let loaded = shoal::load(&path, &LoadOptions { watch: watch.clone(), ..options })?;
    let property = shoal::select(&loaded, std::slice::from_ref(&saved.property))?[0];
    let counted = shoal::count(&loaded, &watch)?;
    // Where building the system has left nothing to prove, the interpreter is all that stands behind it.
    let bare = saved.targets.is_empty();
    let parts = (&saved.system, &saved.targets[..], &saved.proof);
    let verified = match shoal::verify(&loaded, &counted, property, parts)? {
        Ok(()) => shoal::audit(&loaded, &counted, property, args.full || bare, &watch)?.transpose(),
        Err(why) => Err(why),
    };
    match verified {
        Ok(audit) => {
            let verdict = console.palette.good("✓ accepted");
            console.line(format_args!("{verdict}  {:?} holds in {}", saved.property, path.display()))?;
            if bare {
                console.line(format_args!(
                    "  building the counter system has removed every violation: there is nothing to prove"
                ))?;
            }
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
