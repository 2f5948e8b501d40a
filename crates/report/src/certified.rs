//! Certificates of the properties of a run, in the format that each kind has.

use std::io::{self, Write};

use shoal::{Certified, Evidence};
use shoal_model::PropertyId;

use crate::{
    Certificate, ClaimOfInvariant, Origin, Run, digest, write_certificate, write_states_certificate,
    write_views_certificate,
};

/// Writes why some properties of a run hold. Whether there is anything to write.
pub fn write_certified(out: &mut dyn Write, run: &Run<'_>, certified: &Certified<'_>) -> io::Result<bool> {
    let model = run.model();
    let origin = Origin::of(run.loaded, run.file);
    let name = |property: &PropertyId| model.properties[*property].name.clone();
    let claim = || ClaimOfInvariant {
        origin: origin.clone(),
        model: digest(model),
        properties: certified.properties.iter().map(name).collect(),
    };
    match &certified.evidence {
        Evidence::Counters { counted, targets, proof } => {
            let named = |shared: bool, at: u32| match shared {
                true => counted.shared_name(at),
                false => counted.place_name(at),
            };
            for property in &certified.properties {
                let certificate = Certificate {
                    origin: &origin,
                    property: &name(property),
                    system: counted.system(),
                    targets,
                    proof,
                    name: &named,
                };
                write_certificate(out, &certificate)?;
            }
        }
        Evidence::Views(views) => write_views_certificate(out, &claim(), views)?,
        Evidence::States(symmetric, states) => write_states_certificate(out, &claim(), symmetric, states)?,
        // What is not known here is too new to have a format.
        _ => return Ok(false),
    }
    Ok(true)
}
