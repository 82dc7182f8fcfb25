//! The header of a plan, out of the `instant` section of a campaign file.

use common::domain::campaign::Window;
use common::domain::instant::{Algorithm, DEFAULT_CURVE, Day, Header, InstantRules, PlanProblem};
use draw::Digest;

use crate::cli::Moment;
use crate::prelude::*;

/// More than a plan can have, so that a long span is refused for its number of days.
const MAX_DAYS: usize = 800;

/// A header, and for each of its days the item of `days` in the file.
pub(crate) struct Draft {
    pub(crate) header: Header,
    sources: Vec<usize>,
}

/// What the file does not say.
pub(crate) struct Chosen {
    pub(crate) scope: Scope,
    pub(crate) secret: Digest,
    pub(crate) chain: Digest,
    pub(crate) round: NonZeroU64,
}

impl Draft {
    pub(crate) fn new(rules: &InstantRules, zone: Tz, chosen: Chosen) -> Self {
        let (sources, days) = days(rules, zone).into_iter().unzip();
        let mut curves = rules.curves.clone();
        let (default, weights) = DEFAULT_CURVE;
        if rules.days.iter().any(|days| days.curve == default) {
            let curve = curves.entry(default.to_owned());
            curve.or_insert_with(|| weights.to_vec());
        }
        let header = Header {
            algorithm: Algorithm::V1,
            campaign: chosen.scope.campaign,
            caps: rules.caps,
            chain: chosen.chain,
            curves,
            days,
            environment: chosen.scope.environment,
            prizes: rules.prizes.clone(),
            round: chosen.round,
            secret: chosen.secret,
        };
        Self { header, sources }
    }

    /// Broken rules, each once, by the field of the file's `instant` section.
    pub(crate) fn problems(&self, window: Window, now: Timestamp) -> Vec<PlanProblem> {
        let mut problems = self.header.problems();
        problems.extend(self.header.problems_within(window, now));
        for problem in &mut problems {
            problem.field = self.field_of_file(&problem.field);
        }
        let mut seen = HashSet::new();
        problems.retain(|problem| seen.insert(problem.field.clone()));
        problems
    }

    fn field_of_file(&self, field: &str) -> String {
        let of_day = || {
            let (index, rest) = field.strip_prefix("days[")?.split_once(']')?;
            let source = self.sources.get(index.parse::<usize>().ok()?)?;
            Some(format!("days[{source}]{rest}"))
        };
        of_day().unwrap_or_else(|| field.to_owned())
    }
}

/// The rules that a file alone can break.
pub(crate) fn problems_of_file(rules: &InstantRules, zone: Tz, window: Window) -> Vec<PlanProblem> {
    let Ok(campaign) = "any".parse() else {
        return Vec::new();
    };
    let nothing = Digest::from_parts(&[]);
    let chosen = Chosen {
        scope: Scope {
            campaign,
            environment: Environment::Live,
        },
        secret: nothing,
        chain: nothing,
        round: NonZeroU64::MIN,
    };
    Draft::new(rules, zone, chosen).problems(window, Timestamp::MIN)
}

/// Spans are divided at midnight.
fn days(rules: &InstantRules, zone: Tz) -> Vec<(usize, Day)> {
    let mut found = Vec::new();
    for (source, days) in rules.days.iter().enumerate() {
        let [Ok(from), Ok(to)] = [&days.from, &days.to].map(|text| text.parse::<Moment>()) else {
            continue;
        };
        let (mut from, end) = (from.begin(zone), to.end(zone));
        loop {
            let day = Moment::Day(from.in_zone(zone).date_naive());
            let to = day.end(zone).min(end);
            found.push((
                source,
                Day {
                    curve: days.curve.clone(),
                    from: from.as_seconds(),
                    prizes: days.prizes.clone(),
                    to: to.as_seconds(),
                },
            ));
            if to >= end || found.len() >= MAX_DAYS {
                break;
            }
            from = to;
        }
    }
    found
}
