//! Digest of a day, logged when it ends, so that its wins and stops cannot change until the reveal.

use std::fmt::Display;
use std::ops::Range;

use super::plan::Header;
use crate::domain::Timestamp;
use crate::domain::digest::Digest;

impl Header {
    /// SHA-256 of a day's sorted lines: its wins, with digests of references and entrants and
    /// indices of prizes, and its stops and starts. `None` if there is no such day.
    pub fn day_digest<D: Display>(
        &self,
        day: usize,
        wins: impl IntoIterator<Item = (Timestamp, D, D, usize)>,
        stops: &[Range<Timestamp>],
    ) -> Option<Digest> {
        let (first, day) = (self.days.first()?.start(), self.days.get(day)?);
        let span = day.start()..day.end();
        let digits = |at: Timestamp| format!("{:013}", at.as_millis());
        let wins = wins.into_iter().filter(|(at, ..)| span.contains(at));
        let mut lines: Vec<_> = wins
            .map(|(at, reference, entrant, prize)| {
                format!("{},{reference},{entrant},{prize}\n", digits(at))
            })
            .collect();
        // A plan that is not open when its first day begins was not stopped then.
        let begins = stops.iter().map(|stop| ("stop", stop.start));
        let begins = begins.filter(|(_, at)| *at > first);
        let turns = begins.chain(stops.iter().map(|stop| ("start", stop.end)));
        let turns = turns.filter(|(_, at)| span.contains(at));
        lines.extend(turns.map(|(turn, at)| format!("{turn},{}\n", digits(at))));
        lines.sort_unstable();
        Some(Digest::from_parts(&[lines.concat().as_bytes()]))
    }
}
