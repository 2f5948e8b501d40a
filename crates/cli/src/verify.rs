//! `shoal verify`.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use shoal::{LoadOptions, Loaded, Watch, model::PropertyId};
use shoal_report::{
    AnyCertificate, ClaimOfInvariant, Origin, SavedCertificate, digest, grouped, read_any_certificate,
};

use crate::{
    args::{LimitArgs, VerifyArgs},
    exit::{CommandFailure, ExitKind},
    output::Console,
    progress::listen,
    traces::{find_model, load_options},
};

/// A file that is read as long as a watch allows it: certificates are of any size.
struct WatchedFile<'w> {
    input: File,
    watch: &'w Watch,
}

impl Read for WatchedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.watch.check() {
            Ok(()) => self.input.read(buffer),
            Err(reason) => Err(io::Error::other(reason.to_string())),
        }
    }
}

/// Checks a certificate against its model with the separate checker. Exit code 0 if it is accepted, 1 if not.
pub(crate) fn run(console: &Console, args: &VerifyArgs) -> Result<ExitKind, CommandFailure> {
    let file = &args.certificate;
    let wrong = |error: String| CommandFailure::wrong(format_args!("{}: {error}", file.display()));
    let open = File::open(file).map_err(|error| wrong(error.to_string()))?;
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, file);
    let mut input = BufReader::new(WatchedFile { input: open, watch: &watch });
    let saved = read_any_certificate(&mut input).map_err(|error| match watch.check() {
        Err(reason) => CommandFailure::from(shoal::Error::Stopped(reason)),
        Ok(()) => wrong(error.to_string()),
    })?;
    match saved {
        AnyCertificate::Counters(saved) => counters(console, args, &saved, &watch),
        AnyCertificate::Views(claim, invariant) => {
            let (path, loaded) = load(args, &claim.origin, &watch)?;
            let verified = match claimed(&loaded, &claim)? {
                Ok(properties) => shoal::verify_views(&loaded, &invariant, &properties, args.full, &watch)?,
                Err(why) => Err(why),
            };
            let said = verified.map(|audit| {
                let (some, all) = (grouped(audit.looked.windows as u64), grouped(audit.looked.all as u64));
                let mut said = vec![format!("no step leads out of its views: looked at {some} of {all}")];
                match audit.searched {
                    0 => {}
                    1 => said.push("the smallest instance is searched by the interpreter".into()),
                    number => {
                        said.push(format!("the smallest {number} instances are searched by the interpreter"))
                    }
                }
                said.extend(as_far_as(&loaded, &audit.rests_on));
                said
            });
            report(console, &claim.properties, &path, said)
        }
        AnyCertificate::States(claim, states) => {
            let (path, loaded) = load(args, &claim.origin, &watch)?;
            let parts = (&states.symmetric[..], &states.states[..]);
            let verified = match claimed(&loaded, &claim)? {
                Ok(properties) => shoal::verify_states(&loaded, parts, &properties, args.full, &watch)?,
                Err(why) => Err(why),
            };
            let said = verified.map(|looked| {
                let (some, all) = (grouped(looked.windows as u64), grouped(looked.all as u64));
                vec![format!("no step of the interpreter leads out of its states: looked at {some} of {all}")]
            });
            report(console, &claim.properties, &path, said)
        }
    }
}

/// The model of a certificate: the one that the user names, or the one it comes from.
fn load(args: &VerifyArgs, origin: &Origin, watch: &Watch) -> Result<(PathBuf, Loaded), CommandFailure> {
    let path = match &args.file {
        Some(file) => file.clone(),
        None => find_model(&args.certificate, &origin.file),
    };
    let options = load_options(origin)?;
    let loaded = shoal::load(&path, &LoadOptions { watch: watch.clone(), ..options })?;
    Ok((path, loaded))
}

/// The properties that a certificate claims; the inner error says why it cannot be of this model.
fn claimed(
    loaded: &Loaded,
    claim: &ClaimOfInvariant,
) -> Result<Result<Vec<PropertyId>, String>, CommandFailure> {
    if digest(&loaded.model) != claim.model {
        return Ok(Err("it is of another model, or the model has changed".into()));
    }
    if claim.properties.is_empty() {
        return Ok(Err("it claims nothing".into()));
    }
    Ok(Ok(shoal::select(loaded, &claim.properties)?))
}

/// Says what else has to hold, if anything has.
fn as_far_as(loaded: &Loaded, properties: &[PropertyId]) -> Option<String> {
    let name = |id: &PropertyId| format!("{:?}", loaded.model.properties[*id].name);
    let names: Vec<String> = properties.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("as far as no step fails: it does not show {}", names.join(" and ")))
}

fn report(
    console: &Console,
    properties: &[String],
    path: &Path,
    verified: Result<Vec<String>, String>,
) -> Result<ExitKind, CommandFailure> {
    match verified {
        Ok(said) => {
            let verdict = console.palette.good("✓ accepted");
            for property in properties {
                console.line(format_args!("{verdict}  {property:?} holds in {}", path.display()))?;
            }
            for line in said {
                console.line(format_args!("  {line}"))?;
            }
            Ok(ExitKind::Good)
        }
        Err(why) => {
            let verdict = console.palette.bad("✗ rejected");
            for property in properties {
                console.line(format_args!("{verdict}  {property:?} in {}: {why}", path.display()))?;
            }
            Ok(ExitKind::Violated)
        }
    }
}

/// The certificate of a counter system.
fn counters(
    console: &Console,
    args: &VerifyArgs,
    saved: &SavedCertificate,
    watch: &Watch,
) -> Result<ExitKind, CommandFailure> {
    let (path, loaded) = load(args, &saved.origin, watch)?;
    let property = shoal::select(&loaded, std::slice::from_ref(&saved.property))?[0];
    let counted = shoal::count(&loaded, watch)?;
    // Where building the system has left nothing to prove, the interpreter is all that stands behind it.
    let bare = saved.targets.is_empty();
    let parts = (&saved.system, &saved.targets[..], &saved.proof);
    let verified = match shoal::verify(&loaded, &counted, property, parts)? {
        Ok(()) => shoal::audit(&loaded, &counted, property, args.full || bare, watch)?.transpose(),
        Err(why) => Err(why),
    };
    let rests_on = shoal::rests_on(&loaded, &counted, property)?;
    let said = verified.map(|audit| {
        let mut said = Vec::new();
        if bare {
            said.push(
                "building the counter system has removed every violation: there is nothing to prove".into(),
            );
        }
        if let Some(audit) = audit {
            let (some, all) = (grouped(audit.situations), grouped(audit.all));
            said.push(format!("the interpreter agrees in {some} of {all} situations"));
        }
        said.extend(as_far_as(&loaded, &rests_on));
        said
    });
    report(console, std::slice::from_ref(&saved.property), &path, said)
}
