//! `shoal studio`: the workbench in the browser.

use std::{io, path::Path, process::Command};

use shoal_studio::OpenOptions;

use crate::{
    args::StudioArgs,
    exit::{CommandFailure, ExitKind},
    output::{self, Console},
};

/// Serves until the process is ended.
pub(crate) fn run(console: &Console, args: &StudioArgs) -> Result<ExitKind, CommandFailure> {
    let (folder, file) = match args.path.is_dir() {
        true => (args.path.as_path(), None),
        false => (parent(&args.path), args.path.file_name().and_then(|name| name.to_str())),
    };
    if file.is_some() && !args.path.exists() {
        return Err(CommandFailure::wrong(format_args!("{}: there is no such file", args.path.display())));
    }
    if !args.bind.is_loopback() && !args.allow_remote {
        return Err(CommandFailure::wrong(format_args!(
            "{} can be reached by other machines: `--allow-remote` if that is wanted",
            args.bind
        )));
    }
    let options = OpenOptions {
        port: args.port,
        read_only: args.read_only,
        address: args.bind,
        allow_remote: args.allow_remote,
        embedded: args.embed.is_some(),
        threads: args.threads.map(|threads| threads as usize),
        memory_mb: args.memory.map(|bytes| (bytes >> 20).max(1)),
        editor: Some(args.editor.as_deref().map_or(VS_CODE.into(), editor)),
    };
    let shown = file.map(|file| format!("#/{}", screen(file))).unwrap_or_default();
    // One is enough, unless something is asked of it that the other may not do.
    if is_like_any(args)
        && let Some(address) = shoal_studio::running(folder, args.read_only)
    {
        let address = format!("{address}{shown}");
        console.line(format_args!("studio  {address}  (it runs already)"))?;
        if args.open && !open(&address) {
            output::complain("no browser could be started: open the address above");
        }
        return Ok(ExitKind::Good);
    }
    let opened = shoal_studio::open(folder, options)
        .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", folder.display())))?;
    opened.announce();
    let address = format!("{}{shown}", opened.address());
    console.line(format_args!("studio  {address}  (Ctrl-C ends it)"))?;
    if !args.bind.is_loopback() {
        output::complain(format_args!(
            "everybody who reaches {} and has seen this address can read and write {}: the connection is not encrypted",
            args.bind,
            folder.display()
        ));
    }
    if args.open && !open(&address) {
        output::complain("no browser could be started: open the address above");
    }
    opened.serve().map_err(|error| CommandFailure::wrong(format_args!("the server ended: {error}")))?;
    Ok(ExitKind::Good)
}

/// Whether nothing is said of how the server is to be.
fn is_like_any(args: &StudioArgs) -> bool {
    let StudioArgs { port, threads, memory, editor, embed, bind, .. } = args;
    *port == 0
        && bind.is_loopback()
        && threads.is_none()
        && memory.is_none()
        && editor.is_none()
        && embed.is_none()
}

/// How VS Code opens a file at a line.
const VS_CODE: &str = "vscode://file{path}:{line}";

/// The address by which an editor opens a file: of one that is known by its name, or as it is given.
fn editor(name: &str) -> String {
    match name {
        "vscode" => VS_CODE.into(),
        "vscodium" | "cursor" | "zed" | "windsurf" => format!("{name}://file{{path}}:{{line}}"),
        "idea" => "idea://open?file={path}&line={line}".into(),
        other => other.into(),
    }
}

fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Where the page shows a file: a trace, or a model.
fn screen(file: &str) -> String {
    let name: String = file.bytes().map(escaped).collect();
    match file.ends_with(".itf.json") {
        true => format!("trace?t=f%3A{name}"),
        false => format!("model?f={name}"),
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// Starts the browser of the system; whether there is one.
fn open(address: &str) -> bool {
    const OPENERS: [&str; 2] = ["xdg-open", "open"];
    let start = |program: &&str| -> io::Result<()> { Command::new(program).arg(address).spawn().map(drop) };
    OPENERS.iter().any(|program| start(program).is_ok())
}
