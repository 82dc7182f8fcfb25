use futures_util::Stream;

use super::{During, KEY, Submissions, read};
use crate::domain::{EntrantId, MessageKey, Scope, State, Submission, Timestamp};
use crate::store::record_version::FIRST;
use crate::store::table_pages::TablePage;
use crate::store::{StoreResult, number, read_text, text};

/// A filter may misjudge records that this build cannot read.
const UNJUDGED: &str = "record_version > :version OR NOT attribute_type(created_at, :number) \
    OR NOT attribute_type(standing.#state, :text)";

#[derive(Clone, Debug)]
pub struct Selection {
    pub scope: Scope,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub states: Vec<State>,
    /// Only accepted submissions with an instant prize.
    pub winners: bool,
    pub message_key: Option<MessageKey>,
    /// `YYYY-MM-DD` in the campaign's time zone.
    pub from_day: Option<String>,
    pub to_day: Option<String>,
    pub batch: Option<String>,
    pub region: Option<String>,
}

impl Selection {
    pub fn all(scope: Scope) -> Self {
        Self {
            scope,
            from: None,
            to: None,
            states: Vec::new(),
            winners: false,
            message_key: None,
            from_day: None,
            to_day: None,
            batch: None,
            region: None,
        }
    }
}

impl Submissions {
    pub fn select(
        &self,
        selection: &Selection,
    ) -> impl Stream<Item = StoreResult<TablePage<Submission>>> + use<> {
        let Selection {
            scope,
            from,
            to,
            states,
            winners,
            message_key,
            from_day,
            to_day,
            batch,
            region,
        } = selection;
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (name, sign, bound) in [(":from", ">=", from), (":to", "<", to)] {
            if let Some(bound) = bound {
                conditions.push(format!("created_at {sign} {name}"));
                values.push((name.to_owned(), number(bound.as_millis())));
            }
        }
        if !states.is_empty() {
            let names: Vec<_> = (0..states.len())
                .map(|index| format!(":state{index}"))
                .collect();
            conditions.push(format!("standing.#state IN ({})", names.join(", ")));
            let states = states.iter().map(|state| text(state.as_str()));
            values.extend(names.into_iter().zip(states));
        }
        let key = message_key.map(MessageKey::as_str);
        let comparisons = [
            ("standing.message_key", "=", ":message_key", key),
            ("#day", ">=", ":from_day", from_day.as_deref()),
            ("#day", "<=", ":to_day", to_day.as_deref()),
            ("#batch", "=", ":batch", batch.as_deref()),
            ("#region", "=", ":region", region.as_deref()),
        ];
        for (attribute, sign, name, wanted) in comparisons {
            if let Some(wanted) = wanted {
                conditions.push(format!("{attribute} {sign} {name}"));
                values.push((name.to_owned(), text(wanted)));
            }
        }
        if *winners {
            // Without a prize, the value is null.
            conditions.push("attribute_type(standing.instant_win, :text)".to_owned());
        }
        let mut scan = self.table.scan_scope(scope, None);
        if !conditions.is_empty() {
            let filter = format!("{UNJUDGED} OR ({})", conditions.join(" AND "));
            scan = self
                .table
                .scan_scope(scope, Some(filter))
                .expression_attribute_names("#state", "state")
                .expression_attribute_values(":version", FIRST.attribute())
                .expression_attribute_values(":number", text("N"))
                .expression_attribute_values(":text", text("S"));
            // Reserved words; a name that the expression does not use is refused.
            let day = from_day.as_ref().or(to_day.as_ref());
            let (batch, region) = (batch.as_ref(), region.as_ref());
            let reserved = [("#day", day), ("#batch", batch), ("#region", region)];
            for (name, wanted) in reserved {
                if wanted.is_some() {
                    scan = scan.expression_attribute_names(name, name.trim_start_matches('#'));
                }
            }
            for (name, value) in values {
                scan = scan.expression_attribute_values(name, value);
            }
        }
        self.table
            .read_all(scan, "reading the table of submissions", read)
    }

    pub async fn latest(
        &self,
        scope: &Scope,
        entrant: &EntrantId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> StoreResult<Option<Submission>> {
        const ACTION: &str = "looking a phone's latest submission up";
        let from = from.unwrap_or(Timestamp::from_millis(0)).as_millis();
        // BETWEEN includes its end.
        let last = to.unwrap_or(Timestamp::MAX).as_millis().saturating_sub(1);
        if last < from {
            return Ok(None);
        }
        let condition = "#entrant = :entrant AND created_at BETWEEN :from AND :last";
        let reply = self
            .by_entrant(scope, entrant)
            .key_condition_expression(condition)
            .expression_attribute_values(":from", number(from))
            .expression_attribute_values(":last", number(last))
            .limit(1)
            .send()
            .await
            .during(ACTION)?;
        match reply
            .items
            .unwrap_or_default()
            .first()
            .and_then(|item| read_text(item, KEY))
        {
            Some(key) => self.get_by_key(key.to_owned()).await,
            None => Ok(None),
        }
    }
}
