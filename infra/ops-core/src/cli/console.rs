//! The arguments of `ops console`.

use clap::Args;

#[derive(Args)]
pub(crate) struct ConsoleArgs {
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Only print the link, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}
