use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// `key`, `address` or `phone`.
    pub name: &'static str,
    pub quota: u32,
    pub window: Duration,
    pub left: Option<Remaining>,
}

impl RateLimitStatus {
    pub fn is_reached(&self) -> bool {
        self.left.is_some_and(|left| left.requests == 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    pub requests: u32,
    /// Time until the window ends or, if nothing is left, until there is room.
    pub until: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_once_nothing_is_known_to_be_left() {
        let status = |left: Option<u32>| {
            let left = left.map(|requests| Remaining {
                requests,
                until: Duration::from_secs(60),
            });
            RateLimitStatus {
                name: "key",
                quota: 2,
                window: Duration::from_secs(60),
                left,
            }
        };
        let reached = [None, Some(1), Some(0)].map(|left| status(left).is_reached());
        assert_eq!(reached, [false, false, true]);
    }
}
