//! Searches on several machines.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// With whom a check searches.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct HostArgs {
    /// The processes that search together: a file with a line `HOST:PORT [threads=N]` for each
    #[arg(long, value_name = "FILE", requires = "process", requires = "secret_file")]
    pub(crate) hosts: Option<PathBuf>,

    /// Which of them this is, from 0 on; the first one shows what is found
    #[arg(long, value_name = "N", requires = "hosts")]
    pub(crate) process: Option<usize>,

    /// A file that only you can read, with at least 16 bytes that the processes know each other by
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,

    /// Use addresses that are not of a private network, too: nothing is encrypted
    #[arg(long)]
    pub(crate) allow_public_network: bool,

    /// What came on standard input instead of in files: the hosts and the secret.
    #[arg(skip)]
    pub(crate) given: Option<(String, Vec<u8>)>,
}

impl HostArgs {
    /// Whether another process shows what is found.
    pub(crate) fn follows(&self) -> bool {
        self.process.is_some_and(|process| process > 0)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Start a check on several machines over ssh, and show what is found; nothing has to be copied there but Shoal
    Run(StartArgs),
    /// See whether the machines can search together: the same program, and how fast the network is
    Check(StartArgs),
    /// Take part in a search that somebody else starts: what to do comes on standard input
    #[command(hide = true)]
    Join,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StartArgs {
    /// The machines, with commas: HOST[:PORT],... as both ssh and the machines themselves know them
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', required = true)]
    pub(crate) hosts: Vec<String>,

    /// The command that starts another one on a machine, called with the machine and the command
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    pub(crate) ssh: String,

    /// Where Shoal is on the machines
    #[arg(long, value_name = "PATH", default_value = "shoal")]
    pub(crate) shoal: String,

    /// The model, and options of `shoal check`
    #[arg(value_name = "FILE | OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) check: Vec<String>,
}
