use std::time::Duration;

/// For all campaigns: the authority tolerates two connections at a time, three seconds apart.
pub const LOOKUPS_PER_MINUTE: u64 = 40;
pub const LOOKUP_INTERVAL: Duration = Duration::from_millis(60_000 / LOOKUPS_PER_MINUTE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_lookups_take_a_minute() {
        assert_eq!(LOOKUP_INTERVAL * 40, Duration::from_secs(60));
    }
}
