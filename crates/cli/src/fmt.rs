//! `shoal fmt`: lays out the text of a model.

use std::{fs, path::Path};

use crate::{
    args::FmtArgs,
    exit::{CommandFailure, ExitKind},
    output::{self, Console},
};

pub(crate) fn run(console: &Console, args: &FmtArgs) -> Result<ExitKind, CommandFailure> {
    let mut exit = ExitKind::Good;
    for file in &args.files {
        let text = shoal::read_text(file)?;
        let name = file.display();
        let Some(laid_out) = shoal::formatted(&name.to_string(), &text, args.language.as_deref()) else {
            return Err(CommandFailure::wrong(format_args!(
                "{name}: the layout of this language is not supported: Murphi (.m) and VPL (.vpl) are"
            )));
        };
        match (laid_out == text, args.check, args.stdout) {
            (_, _, true) => console.write(|out| out.write_all(laid_out.as_bytes()))?,
            (true, ..) => {}
            (false, true, _) => {
                output::complain(format_args!("{name}: would be laid out otherwise"));
                exit = ExitKind::Violated;
            }
            (false, false, _) => {
                save(file, &laid_out)
                    .map_err(|error| CommandFailure::wrong(format_args!("{name}: {error}")))?;
                console.line(format_args!("{name}: laid out"))?;
            }
        }
    }
    Ok(exit)
}

/// Writes beside the file and then takes its place, so that the text is never half there.
fn save(file: &Path, text: &str) -> std::io::Result<()> {
    let about = fs::symlink_metadata(file)?;
    if about.is_symlink() {
        return Err(std::io::Error::other("this is a symbolic link, and links are not followed"));
    }
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let beside = file.with_file_name(name);
    fs::write(&beside, text)?;
    fs::set_permissions(&beside, about.permissions())?;
    fs::rename(&beside, file)
}
