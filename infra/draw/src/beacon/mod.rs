//! Public randomness for draws: rounds of a [drand](https://drand.love) chain.
//!
//! A round's signature is unknown until its time, and anyone can verify it: relays need no trust.
//!
//! - [`Chain`]: constants, times, and [`Chain::verify`], the only way to a [`VerifiedRound`];
//! - [`Chain::verify_reply`]: a reply from anywhere; [`Relays`]: over HTTP;
//! - [`SimulatedChain`]: rounds without a network.
//!
//! ```
//! use draw::beacon::Chain;
//!
//! let chain = Chain::quicknet();
//! let at = "2023-09-15T11:00:03Z".parse()?;
//! let round = chain.first_round_from(at).ok_or("before the chain's end")?;
//! assert_eq!(round.get(), 657_413);
//! let reply = br#"{"round": 657413, "signature":
//!     "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b"}"#;
//! let verified = chain.verify_reply(round, reply)?;
//! assert!(verified.signature().to_string().starts_with("b713718a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod relays;
#[cfg(test)]
mod relays_tests;
mod simulated;

pub use chain::{Chain, InvalidChain, InvalidRound, VerifiedRound};
pub use relays::{PUBLIC_RELAYS, RelayFailure, Relays, Unavailable};
pub use simulated::SimulatedChain;
