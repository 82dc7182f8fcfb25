use clap::ArgGroup;
use common::domain::webhook::{EndpointId, EventId, EventType, SignatureKind};

use super::{Moment, ScopeArgs};
use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum WebhookCommand {
    /// Add an endpoint, print its secret, and send it a test event, after whose success it gets events
    Add {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Where events are sent: https, a public host, port 443 or 8443, no user and no fragment; with -, type it when
        /// asked, so that it stays out of your shell's history
        // Not parsed by clap, whose error messages would repeat it.
        #[arg(long, value_name = "URL")]
        url: String,
        #[command(flatten)]
        types: TypesArgs,
        /// Signatures: v1, which every library verifies, or v1a, whose key can only verify
        #[arg(long, value_name = "VERSION", default_value = "v1")]
        signature: SignatureKind,
    },
    /// List the endpoints of a campaign's environment: host, status, last success, waiting events
    List {
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Send a test event; an endpoint that has never answered gets events after its success
    Test(EndpointArgs),
    /// List deliveries that did not succeed at once, newest first
    Deliveries {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Id of the endpoint, as `webhook list` shows it [default: all endpoints]
        #[arg(long, value_name = "ENDPOINT-ID")]
        endpoint: Option<EndpointId>,
        /// Only those that have not arrived yet
        #[arg(long)]
        failed: bool,
        /// Maximum number of deliveries of each endpoint
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Send events again: one by its id, or the submissions of a period as they are now
    ///
    /// A period is that of the last change, without what replies to requests told, unless --types asks for it; it takes
    /// about a minute for ten million submissions, and asks first.
    Replay {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Id of the endpoint, as `webhook list` shows it [default: all endpoints]
        #[arg(long, value_name = "ENDPOINT-ID")]
        endpoint: Option<EndpointId>,
        #[command(flatten)]
        what: ReplayArgs,
    },
    /// Replace an endpoint's secret: print a new one, and sign with both for 24 hours
    Rotate(EndpointArgs),
    /// Send an endpoint nothing; what happens meanwhile can be replayed
    Stop(EndpointArgs),
    /// Send an endpoint events again
    Start(EndpointArgs),
    /// Remove an endpoint, with its secret and its waiting events
    Remove(EndpointArgs),
}

#[derive(Args)]
pub(crate) struct EndpointArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Id of the endpoint, as `webhook list` shows it
    #[arg(value_name = "ENDPOINT-ID")]
    pub(crate) endpoint: EndpointId,
}

#[derive(Args)]
pub(crate) struct TypesArgs {
    /// Types of events, with commas between, such as submission.accepted,prize.won [default: all but
    /// submission.created]
    #[arg(long, value_name = "TYPE", value_delimiter = ',', num_args = 1..)]
    pub(crate) types: Vec<EventType>,
}

#[derive(Args)]
#[command(group = ArgGroup::new("what").args(["event", "from"]).required(true))]
pub(crate) struct ReplayArgs {
    /// Id of an event whose delivery did not succeed at once, as `webhook deliveries` shows it
    #[arg(long, value_name = "EVENT-ID", conflicts_with_all = ["from", "to", "types"])]
    pub(crate) event: Option<EventId>,
    /// First day or time of the period, such as 2026-11-22 or 2026-11-22T08:00, in the campaign's zone unless an offset
    /// such as +03:00 follows
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Moment>,
    /// End of the period: to the end of this day, or up to before this time [default: now]
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(crate) to: Option<Moment>,
    #[command(flatten)]
    pub(crate) types: TypesArgs,
}
