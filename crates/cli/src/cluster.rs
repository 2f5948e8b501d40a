//! `shoal cluster`, and the processes of `shoal check --hosts`.

use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use clap::Parser;
use shoal::{CheckOptions, Loaded, Processes};
use shoal_cluster::{Host, Membership, digest, parse_hosts, probe};

use crate::{
    args::{Args, CheckArgs, ClusterCommand, HostArgs, StartArgs},
    check,
    exit::{CommandFailure, ExitKind},
    output::{self, Console},
};

/// How long processes wait for each other at the beginning.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(console: &Console, command: ClusterCommand) -> Result<ExitKind, CommandFailure> {
    match command {
        ClusterCommand::Run(args) => start(&args, "check"),
        ClusterCommand::Check(args) => start(&args, "probe"),
        ClusterCommand::Join => join(console),
    }
}

/// Finds the processes that a check searches with, if it is to.
pub(crate) fn find(
    args: &CheckArgs,
    loaded: &Loaded,
    options: &mut CheckOptions,
) -> Result<(), CommandFailure> {
    let Some(index) = args.hosts.process else { return Ok(()) };
    let membership = membership(&args.hosts, index, job(loaded, options, args))?;
    if let (None, Some(threads)) = (args.threads, membership.hosts.get(index).and_then(|host| host.threads)) {
        options.threads = threads as usize;
    }
    let cluster = shoal_cluster::join(&membership)
        .map_err(|error| CommandFailure::wrong(format_args!("cluster: {error}")))?;
    options.beyond.processes = Some(Processes::new(cluster));
    Ok(())
}

/// What all processes must search alike.
fn job(loaded: &Loaded, options: &CheckOptions, args: &CheckArgs) -> [u8; 32] {
    let CheckOptions { properties, engine, symmetry, trust, dead_variables, patience, strategy, .. } =
        options;
    let limits = (args.depth, args.limits.time);
    let how = format!(
        "{properties:?} {engine:?} {symmetry} {trust} {dead_variables:?} {patience:?} {strategy:?} {limits:?}"
    );
    digest(format!("{how} {:?} {:?}", loaded.asked, loaded.model).as_bytes())
}

fn membership(args: &HostArgs, index: usize, job: [u8; 32]) -> Result<Membership, CommandFailure> {
    let (hosts, secret) = match (&args.given, &args.hosts, &args.secret_file) {
        (Some((hosts, secret)), ..) => (hosts.clone(), secret.clone()),
        (None, Some(hosts), Some(secret)) => {
            let text = fs::read_to_string(hosts)
                .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", hosts.display())))?;
            (text, read_secret(secret)?)
        }
        _ => return Err(CommandFailure::wrong("--hosts needs --process and --secret-file")),
    };
    let hosts = parse_hosts(&hosts).map_err(|why| CommandFailure::wrong(format_args!("hosts: {why}")))?;
    let program = std::env::current_exe().and_then(fs::read).map_err(CommandFailure::wrong)?;
    let public = args.allow_public_network;
    Ok(Membership { hosts, index, secret, program: digest(&program), job, public, patience: PATIENCE })
}

/// Reads a secret that nobody else can.
fn read_secret(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let failed = |error: io::Error| CommandFailure::wrong(format_args!("{}: {error}", path.display()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(CommandFailure::wrong(format_args!(
                "{}: others can read it: chmod 600 it",
                path.display()
            )));
        }
    }
    fs::read(path).map_err(failed)
}

/// What a process is told on standard input: fields, each its length on a line and its bytes.
struct Orders {
    /// `check` or `probe`.
    what: String,
    index: usize,
    hosts: String,
    secret: Vec<u8>,
    /// The name and the text of the model, and the options.
    name: String,
    text: Vec<u8>,
    options: Vec<String>,
}

impl Orders {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut field = |bytes: &[u8]| {
            writeln!(out, "{}", bytes.len())?;
            out.write_all(bytes)
        };
        field(self.what.as_bytes())?;
        field(self.index.to_string().as_bytes())?;
        field(self.hosts.as_bytes())?;
        field(&self.secret)?;
        field(self.name.as_bytes())?;
        field(&self.text)?;
        self.options.iter().try_for_each(|option| field(option.as_bytes()))
    }

    fn read(input: &[u8]) -> Option<Orders> {
        let mut rest = input;
        let mut field = || {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let length: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
            let (field, behind) = rest[end + 1..].split_at_checked(length)?;
            rest = behind;
            Some(field.to_vec())
        };
        let mut text = || field().and_then(|bytes| String::from_utf8(bytes).ok());
        let (what, index, hosts) = (text()?, text()?.parse().ok()?, text()?);
        let (secret, name, model) = (field()?, field()?, field()?);
        let mut options = Vec::new();
        while let Some(option) = field() {
            options.push(String::from_utf8(option).ok()?);
        }
        Some(Orders { what, index, hosts, secret, name: String::from_utf8(name).ok()?, text: model, options })
    }
}

/// Starts processes on machines, and waits for them.
fn start(args: &StartArgs, what: &str) -> Result<ExitKind, CommandFailure> {
    let hosts: Vec<Host> = args
        .hosts
        .iter()
        .map(|host| Host::parse(host))
        .collect::<Result<_, _>>()
        .map_err(CommandFailure::wrong)?;
    let (name, text, options) = if what == "check" { model(&args.check)? } else { Default::default() };
    let mut secret = vec![0; 32];
    getrandom::fill(&mut secret).map_err(CommandFailure::wrong)?;
    let places: Vec<String> = hosts.iter().map(Host::place).collect();
    let mut children: Vec<(String, Child)> = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let failed =
            |error: io::Error| CommandFailure::wrong(format_args!("{} {}: {error}", args.ssh, host.name));
        let mut child = Command::new(&args.ssh)
            .arg(&host.name)
            .args([&args.shoal, "cluster", "join"])
            .stdin(Stdio::piped())
            .stdout(if index == 0 { Stdio::inherit() } else { Stdio::null() })
            .spawn()
            .map_err(failed)?;
        let orders = Orders {
            what: what.into(),
            index,
            hosts: places.join("\n"),
            secret: secret.clone(),
            name: name.clone(),
            text: text.clone(),
            options: options.clone(),
        };
        if let Some(mut input) = child.stdin.take() {
            orders.write(&mut input).map_err(failed)?;
        }
        children.push((host.name.clone(), child));
    }
    let mut exit = ExitKind::Inconclusive;
    for (index, (host, mut child)) in children.into_iter().enumerate() {
        let code = child.wait().map_err(CommandFailure::wrong)?.code();
        if index == 0 {
            exit = code.and_then(ExitKind::of_code).unwrap_or(ExitKind::Inconclusive);
        } else if code != Some(i32::from(exit.code())) {
            output::complain(format_args!("process {index} on {host} ended with {code:?}"));
        }
    }
    Ok(exit)
}

/// The model among the arguments of a check: its name, its text, and the options.
fn model(typed: &[String]) -> Result<(String, Vec<u8>, Vec<String>), CommandFailure> {
    let line = ["shoal", "check"].into_iter().map(String::from).chain(typed.iter().cloned());
    let args = Args::try_parse_from(line).map_err(CommandFailure::wrong)?;
    let crate::args::Command::Check(check) = args.command else {
        return Err(CommandFailure::wrong("this is no check"));
    };
    let [file] = &check.files[..] else { return Err(CommandFailure::wrong("one model at a time")) };
    let text =
        fs::read(file).map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", file.display())))?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let typed_as = file.display().to_string();
    let options = typed.iter().filter(|word| **word != typed_as).cloned().collect();
    Ok((name, text, options))
}

/// Does what comes on standard input.
fn join(console: &Console) -> Result<ExitKind, CommandFailure> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).map_err(CommandFailure::wrong)?;
    let orders =
        Orders::read(&input).ok_or_else(|| CommandFailure::wrong("what is to be done is not understood"))?;
    let hosts = HostArgs {
        process: Some(orders.index),
        given: Some((orders.hosts, orders.secret)),
        ..HostArgs::default()
    };
    if orders.what == "probe" {
        return measure(console, &hosts, orders.index);
    }
    // The name of a file and nothing else: nothing is written elsewhere.
    let name =
        Path::new(&orders.name).file_name().ok_or_else(|| CommandFailure::wrong("a model without a name"))?;
    let folder = std::env::temp_dir().join(format!("shoal-join-{}", std::process::id()));
    fs::create_dir(&folder).map_err(CommandFailure::wrong)?;
    let file = folder.join(name);
    let checked = fs::write(&file, &orders.text).map_err(CommandFailure::wrong).and_then(|()| {
        let line = ["shoal", "check"].into_iter().map(String::from).chain(orders.options);
        let args =
            Args::try_parse_from(line.chain([file.display().to_string()])).map_err(CommandFailure::wrong)?;
        let crate::args::Command::Check(mut check) = args.command else {
            return Err(CommandFailure::wrong("this is no check"));
        };
        let public = check.hosts.allow_public_network;
        check.hosts = HostArgs { allow_public_network: public, ..hosts };
        check::run(console, &check)
    });
    let _ = fs::remove_dir_all(&folder);
    checked
}

/// Measures what is between the processes.
fn measure(console: &Console, hosts: &HostArgs, index: usize) -> Result<ExitKind, CommandFailure> {
    let membership = membership(hosts, index, digest(b"probe"))?;
    let mut cluster = shoal_cluster::join(&membership)
        .map_err(|error| CommandFailure::wrong(format_args!("cluster: {error}")))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let memory = shoal::default_memory_limit().unwrap_or(0);
    let found = probe(&mut cluster, [threads, memory]).map_err(|lost| CommandFailure::wrong(lost.0))?;
    if index == 0 {
        console.write(|out| {
            writeln!(
                out,
                "{} processes of the same program; a round of all takes {} us",
                found.said.len(),
                found.round
            )?;
            for ((host, rate), [threads, memory]) in
                membership.hosts.iter().zip(&found.rates).zip(&found.said)
            {
                let rate = if found.said.len() == 1 {
                    "nobody to send to".into()
                } else {
                    format!("sends {} MB/s at least", rate / 1_000_000)
                };
                writeln!(
                    out,
                    "{}: {threads} threads, {} MB of memory, {rate}",
                    host.place(),
                    memory / 1_000_000
                )?;
            }
            Ok(())
        })?;
    }
    Ok(ExitKind::Good)
}
