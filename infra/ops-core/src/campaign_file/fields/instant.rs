//! Prizes of winning moments in a campaign file.

use schemars::JsonSchema;

use super::{Key, Submissions};
use crate::prelude::*;

/// A prize in words.
#[derive(JsonSchema)]
struct Prize(#[schemars(length(min = 1, max = 120))] String);

/// A weight of a part of a day.
#[derive(JsonSchema)]
struct Weight(#[schemars(range(min = 0, max = 1_000_000))] u32);

/// A number of prizes on a day.
#[derive(JsonSchema)]
struct PrizeCount(#[schemars(range(min = 0, max = 20_000))] u32);

#[derive(JsonSchema)]
struct Weights(#[schemars(length(max = 1_440))] Vec<Weight>);

/// A day, or a time.
#[derive(JsonSchema)]
struct DayOrTime(
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = r"^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}.*)?$"),
        extend(
            "x-form" = "a day or a time, such as `{example}` or `2026-12-24T08:00`"
        )
    )]
    String,
);

#[derive(JsonSchema)]
pub(super) struct Instant {
    /// The prizes, in words.
    #[schemars(length(max = 20), extend("x-example" = "[\"Airtime 1,000\"]"))]
    prizes: Vec<Prize>,
    /// The most prizes of one phone.
    #[schemars(extend("x-example" = "{ total: 2, day: 1 }"))]
    caps: Caps,
    /// How prizes spread over a day: weights of equal parts of it, by name. Follow your entries, or those at night have far
    /// better odds.
    #[schemars(extend(
        "maxProperties" = 20,
        "default" = {},
        "x-left-out" = "only `default`: 24 parts, few prizes at night, most in the evening",
        "x-example" = "{ morning: [0, 3, 1, 1] }"
    ))]
    curves: BTreeMap<String, Weights>,
    /// The days. They follow each other without a gap.
    #[schemars(length(max = 731), extend(
        "x-example" = "[{ from: 2026-12-24, to: 2026-12-31, prizes: [5] }]"
    ))]
    days: Vec<InstantDays>,
}

#[derive(JsonSchema)]
struct Caps {
    /// Over the whole plan.
    #[schemars(extend("x-example" = "2"))]
    total: Submissions,
    /// On a day of the plan.
    #[schemars(extend("x-example" = "1"))]
    day: Submissions,
}

#[derive(JsonSchema)]
struct InstantDays {
    /// The first day, or a time, in the campaign's zone. A span over midnight is several days.
    #[schemars(extend("x-example" = "2026-12-24"))]
    from: DayOrTime,
    /// The last day, or the time that it ends before.
    #[schemars(extend("x-example" = "2026-12-31"))]
    to: DayOrTime,
    /// The name of a curve.
    #[schemars(extend("default" = "default", "x-example" = "morning"))]
    curve: Key,
    /// How many there are of each prize on each of these days, in the order of `prizes`.
    #[schemars(length(max = 20), extend("x-example" = "[5]"))]
    prizes: Vec<PrizeCount>,
}
