//! The RateLimit headers of draft-ietf-httpapi-ratelimit-headers.

use super::reply::whole_seconds;
use crate::domain::RateLimitStatus;

/// `"key";q=600;w=60`.
const POLICY: &str = "ratelimit-policy";
/// `"key";r=599;t=42`.
const STATUS: &str = "ratelimit";

/// A limit of unknown status is in the policy only.
pub(super) fn headers(limits: &[RateLimitStatus]) -> Vec<(&'static str, String)> {
    let policy = limits.iter().map(|limit| {
        format!(
            "\"{}\";q={};w={}",
            limit.name,
            limit.quota,
            limit.window.as_secs()
        )
    });
    let status = limits.iter().filter_map(|limit| {
        let left = limit.left?;
        Some(format!(
            "\"{}\";r={};t={}",
            limit.name,
            left.requests,
            whole_seconds(left.until)
        ))
    });
    let headers = [(POLICY, list(policy)), (STATUS, list(status))];
    headers
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::rate_limit_status::Remaining;

    #[test]
    fn a_limit_is_named_with_what_is_left_of_it_where_that_is_known() {
        let key = RateLimitStatus {
            name: "key",
            quota: 600,
            window: Duration::from_secs(60),
            left: Some(Remaining {
                requests: 599,
                until: Duration::from_millis(41_001),
            }),
        };
        let phone = RateLimitStatus {
            name: "phone",
            quota: 5,
            window: Duration::from_secs(600),
            left: None,
        };
        assert_eq!(
            headers(&[key, phone]),
            [
                (POLICY, r#""key";q=600;w=60, "phone";q=5;w=600"#.to_owned()),
                (STATUS, r#""key";r=599;t=42"#.to_owned()),
            ]
        );
        assert_eq!(headers(&[]), []);
    }
}
