//! `cargo xtask dist`: a package that runs on a bare Linux, built from the crates as they would be published.
//!
//! The crates are packed, unpacked beside each other and installed from there, so that what is missing in a crate is noticed. The
//! binary holds its own C library: nothing but the kernel is needed to run it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{cargo, succeed, tidy};

const USAGE: &str = "usage: cargo xtask dist [--check | --vscode]";
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn dist(args: &[String]) -> Result<(), String> {
    let check = match args {
        [] => false,
        [check] if check == "--check" => true,
        [vscode] if vscode == "--vscode" => return extension(),
        _ => return Err(USAGE.into()),
    };
    let folder = tidy::root().join("target/dist");
    let metadata = tidy::metadata_with(&[])?;
    let version = version_of(&metadata, "shoal-cli")?;
    let package = folder.join(format!("shoal-{version}-x86_64-linux"));
    fresh(&package)?;
    install(&folder, &package)?;
    documents(&package)?;
    write(&package.join("share/doc/shoal/THIRD-PARTY"), &third_parties(&metadata))?;
    pack(&folder, &package)?;
    match Command::new("npm").arg("--version").output() {
        Ok(_) => extension()?,
        Err(_) => println!("the extension for VS Code is not packed: there is no npm"),
    }
    if check { run_in_a_bare_system(&folder, &package) } else { Ok(()) }
}

/// Packs the extension for VS Code, with what it needs of npm.
fn extension() -> Result<(), String> {
    let folder = tidy::root().join("target/dist/vscode");
    fresh(&folder)?;
    succeed(Command::new("cp").arg("-r").arg(tidy::root().join("editors/vscode/.")).arg(&folder))?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&tidy::root().join(name), &folder.join(name))?;
    }
    let npm = |args: &[&str]| succeed(Command::new("npm").args(args).current_dir(&folder));
    npm(&["install", "--omit=dev", "--no-audit", "--no-fund", "--silent"])?;
    npm(&["exec", "--yes", "--package=@vscode/vsce", "--", "vsce", "package", "--out", "../shoal.vsix"])?;
    println!("{}", tidy::root().join("target/dist/shoal.vsix").display());
    Ok(())
}

/// Packs every crate that is to be published, without building it.
pub(crate) fn pack_crates() -> Result<(), String> {
    cargo(&["package", "--workspace", "--exclude", "xtask", "--no-verify", "--allow-dirty", "--quiet"])
}

/// Installs the command from the packed crates.
fn install(folder: &Path, package: &Path) -> Result<(), String> {
    pack_crates()?;
    let source = folder.join("source");
    fresh(&source)?;
    let mut patches =
        String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*-*.*.*\"]\n\n[patch.crates-io]\n");
    for packed in tidy::entries(&tidy::root().join("target/package")) {
        if packed.extension().is_none_or(|ending| ending != "crate") {
            continue;
        }
        succeed(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(&source))?;
        let stem = packed.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, _) = stem.rsplit_once('-').ok_or_else(|| format!("{stem} has no version"))?;
        patches.push_str(&format!("{name} = {{ path = \"{stem}\" }}\n"));
    }
    write(&source.join("Cargo.toml"), &patches)?;
    // The same versions of everybody else's crates as in the tests.
    copy(&tidy::root().join("Cargo.lock"), &source.join("Cargo.lock"))?;
    let command = tidy::entries(&source)
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("shoal-cli-")));
    let command = command.ok_or("the command is not among the packed crates")?;
    let mut install = Command::new(env!("CARGO"));
    // For a named target the flags are the product's alone, not those of macros that run while building.
    install.args(["install", "--target", TARGET, "--no-track", "--force", "--path"]).arg(&command);
    install.arg("--root").arg(package).env("RUSTFLAGS", "-C target-feature=+crt-static");
    install.env("CARGO_TARGET_DIR", folder.join("build")).current_dir(&source);
    succeed(&mut install)?;
    fs::remove_dir_all(&source).map_err(|error| error.to_string())
}

/// Manual pages, completions, licences and models.
fn documents(package: &Path) -> Result<(), String> {
    let shoal = package.join("bin/shoal");
    let manual = package.join("share/man/man1");
    fresh(&manual)?;
    succeed(Command::new(&shoal).arg("manual").arg(&manual))?;
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/shoal"),
        ("zsh", "share/zsh/site-functions/_shoal"),
        ("fish", "share/fish/vendor_completions.d/shoal.fish"),
    ] {
        let output = Command::new(&shoal).args(["completions", shell]).output();
        let output = output.map_err(|error| format!("{}: {error}", shoal.display()))?;
        write(&package.join(path), &String::from_utf8_lossy(&output.stdout))?;
    }
    let about = package.join("share/doc/shoal");
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        copy(&tidy::root().join(name), &about.join(name))?;
    }
    succeed(Command::new("cp").arg("-r").arg(tidy::root().join("models")).arg(&about))
}

/// The crates that are linked into the binary, with their licences.
fn third_parties(metadata: &Value) -> String {
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or("(not said)").to_string();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let foreign = packages.iter().filter(|package| !package["source"].is_null());
    let mut lines: Vec<String> = foreign
        .map(|package| {
            let [name, version, license] = ["name", "version", "license"].map(|key| text(package, key));
            format!("{name} {version}: {license}\n")
        })
        .collect();
    lines.sort();
    lines.concat()
}

fn pack(folder: &Path, package: &Path) -> Result<(), String> {
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let archive = format!("{name}.tar.gz");
    // Sorted, without owners and times: the same files make the same archive.
    let options = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-czf"];
    let mut tar = Command::new("tar");
    succeed(tar.args(options).arg(&archive).arg(&name).env("GZIP", "-n").current_dir(folder))?;
    let sum = Command::new("sha256sum").arg(&archive).current_dir(folder).output();
    let sum = sum.map_err(|error| format!("sha256sum: {error}"))?;
    write(&folder.join("SHA256SUMS"), &String::from_utf8_lossy(&sum.stdout))?;
    println!("{}", folder.join(archive).display());
    Ok(())
}

/// Unpacks the archive in a Debian that has nothing else, and checks a model there.
fn run_in_a_bare_system(folder: &Path, package: &Path) -> Result<(), String> {
    let system = folder.join("debian");
    if !system.join("bin/sh").exists() {
        fresh(&system)?;
        succeed(Command::new("debootstrap").args(["--variant=minbase", "stable"]).arg(&system))?;
    }
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let archive = folder.join(format!("{name}.tar.gz"));
    succeed(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(system.join("opt")))?;
    let inside = format!("/opt/{name}");
    let model = format!("{inside}/share/doc/shoal/models/murphi/german.m");
    let mut check = Command::new("chroot");
    check.arg(&system).arg(format!("{inside}/bin/shoal")).args(["check", "--trace", "none", &model]);
    succeed(&mut check)?;
    let any = ["check", "--trace", "none", "--set", "N=any", &model];
    succeed(Command::new("chroot").arg(&system).arg(format!("{inside}/bin/shoal")).args(any))
}

fn version_of(metadata: &Value, name: &str) -> Result<String, String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = packages.iter().find(|package| package["name"] == name);
    let version = package.and_then(|package| package["version"].as_str());
    version.map(str::to_string).ok_or_else(|| format!("cargo knows no version of {name}"))
}

/// An empty folder.
fn fresh(folder: &Path) -> Result<(), String> {
    let made = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    made.map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    make_room(path)?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    make_room(to)?;
    fs::copy(from, to).map(|_| ()).map_err(|error| format!("{}: {error}", from.display()))
}

/// The folder that a file is to stand in.
fn make_room(path: &Path) -> Result<(), String> {
    let folder: PathBuf = path.parent().map(Path::to_path_buf).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}
