//! The arguments of the commands about the configuration file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `bindery config`.
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What is done with a configuration file.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a configuration file with every key, its purpose and its default.
    Init(ConfigInitArgs),
}

/// Arguments of `bindery config init`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The file sets nothing but defaults: with it, the webhook, the controller, check and scan do what they do without a \
configuration.\n\n\
Examples:\n  \
bindery config init\n  \
bindery config init - | less\n  \
bindery check -f manifests/ -R --config bindery.yaml")]
pub struct ConfigInitArgs {
    /// File to write, or `-` for standard output. A file that exists is not overwritten.
    #[arg(value_name = "FILE", default_value = "bindery.yaml")]
    pub file: PathBuf,
    /// Overwrite a file that exists.
    #[arg(long)]
    pub force: bool,
}
