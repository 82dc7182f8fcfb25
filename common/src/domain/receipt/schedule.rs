//! The pace of look-ups at the tax authority.

use std::time::Duration;

/// Look-ups a minute, of all campaigns and environments together: the authority bears two connections at a time from one
/// address, three seconds apart.
pub const LOOK_UPS_PER_MINUTE: u64 = 40;
/// The time from the beginning of a look-up to the beginning of the next.
pub const LOOK_UP_INTERVAL: Duration = Duration::from_millis(60_000 / LOOK_UPS_PER_MINUTE);
