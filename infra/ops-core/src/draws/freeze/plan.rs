//! The plan of a freeze, and its checks against the clock.

use common::domain::retry::RetrySpeedup;
use draw::{Period, Prize};

use crate::draws::header;
use crate::draws::prelude::*;

/// Time to read the commitment out, before the round.
pub(crate) const MIN_NOTICE: Duration = Duration::from_secs(10 * 60);
/// All entries are written by then after a period's end: far more than a settling step takes.
pub const MAX_WRITE_DELAY: Duration = Duration::from_secs(5 * 60);

#[derive(Clone, Debug)]
pub struct FreezePlan {
    pub scope: Scope,
    pub name: DrawName,
    pub from: Timestamp,
    pub to: Timestamp,
    pub prizes: Vec<Prize>,
    pub one_prize_per_entrant: bool,
    pub at: Timestamp,
    pub zone: Tz,
    pub output: PathBuf,
}

impl FreezePlan {
    pub fn recorded(scope: &Scope, draw: &Draw, zone: Tz, output: PathBuf) -> Result<Self> {
        let header = header(draw)?;
        Ok(Self {
            scope: scope.clone(),
            name: draw.name.clone(),
            from: header.period.from.to_utc().into(),
            to: header.period.to.to_utc().into(),
            prizes: header.prizes,
            one_prize_per_entrant: header.one_prize_per_row,
            at: draw.round_at,
            zone,
            output,
        })
    }

    pub(super) fn period(&self) -> Period {
        let [from, to] = [self.from, self.to].map(|time| time.in_zone(self.zone).fixed_offset());
        Period { from, to }
    }

    /// True if a draw was frozen with these arguments.
    pub(super) fn is_of(&self, header: &Header, chain: &Chain) -> bool {
        header.period == self.period()
            && header.prizes == self.prizes
            && header.one_prize_per_row == self.one_prize_per_entrant
            && chain.first_round_from(self.at.into()) == Some(header.round)
    }

    pub(super) fn check(&self, now: Timestamp, speedup: RetrySpeedup) -> Result<()> {
        if self.from >= self.to {
            bail!(
                "period_empty",
                "the period has no time in it: let it end at a later day or time than it begins"
            );
        }
        self.check_over(now, speedup)?;
        let earliest = now.after(speedup.apply(MIN_NOTICE));
        if self.at < earliest {
            bail!(
                "round_too_near",
                "the round would be at {}: the commitment has to be public before it can be known; give {} or later",
                zoned_time(self.at, self.zone),
                zoned_time(earliest, self.zone)
            );
        }
        Ok(())
    }

    /// Later entries of the period would be in no draw.
    pub(super) fn check_over(&self, now: Timestamp, speedup: RetrySpeedup) -> Result<()> {
        let all_in = self.to.after(speedup.apply(MAX_WRITE_DELAY));
        if now >= all_in {
            return Ok(());
        }
        bail!(
            "period_open",
            "it is {}, the period ends at {}, and its last entries are written by {}: freeze it then, or let the period end \
             earlier; if it is later by this machine's clock, set that right",
            zoned_time(now, self.zone),
            zoned_time(self.to, self.zone),
            zoned_time(all_in, self.zone)
        )
    }
}

/// Entrants whose phone is deleted would be missing.
pub(super) fn refuse_without_phones(campaign: &Campaign, now: Timestamp) -> Result<()> {
    let Some(until) = campaign
        .keeps_until(PersonalData::Phones)
        .filter(|until| *until <= now)
    else {
        return Ok(());
    };
    let Campaign { slug, timezone, .. } = campaign;
    bail!(
        "phones_deleted",
        "{slug} keeps phones until {}, so entrants would be missing from the draw; `ops campaign show {slug}` says whether \
         any are deleted: if none are, raise retention.phones_days in its file, apply it, and run this again",
        zoned_time(until, *timezone)
    )
}
