//! What the fields of a person's data are called on the page, in Swahili and in English.

/// The labels of a field; `None` if it has none, which a test does not let happen.
pub(super) fn find(field: &str) -> Option<[&'static str; 2]> {
    LABELS.iter().find(|(name, _)| *name == field).map(|(_, labels)| *labels)
}

/// By the names of `person.json`, in the order of its parts.
const LABELS: [(&str, [&str; 2]); 89] = [
    ("phone", ["Namba ya simu", "Phone number"]),
    ("exported_at", ["Ilitolewa", "Exported at"]),
    ("campaigns", ["Kampeni", "Campaigns"]),
    // A campaign.
    ("campaign", ["Kampeni", "Campaign"]),
    ("environment", ["Mazingira", "Environment"]),
    ("limits", ["Hesabu na vikomo", "Counts and limits"]),
    ("submissions", ["Ushiriki", "Submissions"]),
    ("submissions_today", ["Ushiriki wa leo", "Submissions today"]),
    ("entries", ["Nafasi za kushinda", "Entries"]),
    ("wrong_codes_at", ["Namba zisizo sahihi ziliandikwa", "Wrong codes were typed at"]),
    ("throttled_until", ["Imesitishwa hadi", "Paused until"]),
    ("blocked", ["Imezuiwa", "Blocked"]),
    ("erased_at", ["Ilifutwa", "Erased at"]),
    ("draws", ["Droo", "Draws"]),
    // A submission.
    ("id", ["Kitambulisho", "Id"]),
    ("ref", ["Namba ya kumbukumbu", "Reference"]),
    ("state", ["Hali", "State"]),
    ("review_status", ["Ukaguzi wa risiti", "Review of the receipt"]),
    ("display_status", ["Hali inayoonyeshwa", "Status that is shown"]),
    ("message_key", ["Ujumbe", "Message"]),
    ("reasons", ["Sababu", "Reasons"]),
    ("instant_win", ["Zawadi ya papo hapo", "Instant prize"]),
    ("region", ["Mkoa", "Region"]),
    ("claimed", ["Ununuzi ulioelezwa", "Purchase as described"]),
    ("items", ["Bidhaa", "Products"]),
    ("key", ["Bidhaa", "Product"]),
    ("qty", ["Idadi", "Quantity"]),
    ("branch", ["Tawi", "Branch"]),
    ("consent", ["Ridhaa", "Consent"]),
    ("version", ["Toleo", "Version"]),
    ("language", ["Lugha", "Language"]),
    ("receipt_id", ["Kitambulisho cha risiti", "Id of the receipt"]),
    ("receipt", ["Risiti", "Receipt"]),
    ("date", ["Tarehe", "Date"]),
    ("items_summary", ["Muhtasari wa bidhaa", "Summary of the products"]),
    ("counted_entries", ["Nafasi zilizohesabiwa", "Entries that were counted"]),
    ("purchase_known", ["Ununuzi unajulikana", "Purchase is known"]),
    ("partner_said", ["Jibu la mshirika", "Partner's answer"]),
    ("code", ["Namba", "Code"]),
    ("message", ["Ujumbe", "Message"]),
    ("day", ["Siku", "Day"]),
    ("created_at", ["Ilitumwa", "Sent at"]),
    ("updated_at", ["Ilibadilishwa mwisho", "Last changed at"]),
    // What it waits for.
    ("settling", ["Kinachosubiriwa", "What it waits for"]),
    ("partner", ["Mshirika", "Partner"]),
    ("attempts", ["Majaribio", "Attempts"]),
    ("may_have_redeemed", ["Huenda namba imeshatumika", "Code may have been used"]),
    ("unanswered_since", ["Bila jibu tangu", "Without an answer since"]),
    ("assignee", ["Anayeshughulikia", "Who acts next"]),
    ("next_step_at", ["Hatua inayofuata", "Next step at"]),
    ("waiting_since", ["Inasubiri tangu", "Waiting since"]),
    ("under_way", ["Inaendelea", "Under way"]),
    ("lookup_failures", ["Kutafuta kulikoshindikana", "Failed look-ups"]),
    ("missing", ["Haikupatikana", "Not found"]),
    ("throttled", ["Iliahirishwa", "Put off"]),
    ("trouble", ["Hitilafu", "Trouble"]),
    ("prize", ["Zawadi", "Prize"]),
    ("anomaly", ["Jibu lisilotarajiwa", "Unexpected answer"]),
    // What people decided.
    ("decision", ["Uamuzi", "Decision"]),
    ("by", ["Jina la aliyeamua", "Decided by"]),
    ("identity", ["Utambulisho wa aliyeamua", "Identity of who decided"]),
    ("at", ["Wakati", "Time"]),
    ("why", ["Kwa nini", "Why"]),
    ("confirmed", ["Ilithibitishwa na mwingine", "Confirmed by another person"]),
    ("proposal", ["Uamuzi unaosubiri uthibitisho", "Decision that waits to be confirmed"]),
    ("correction", ["Marekebisho", "Correction"]),
    ("change", ["Badiliko", "Change"]),
    ("free_code", ["Namba inaweza kutumika tena", "Code can be used again"]),
    ("second_look", ["Ukaguzi wa pili", "Second look"]),
    ("rejects", ["Sababu ya kukataa", "Reason to reject"]),
    ("agrees", ["Inakubaliana na uamuzi", "Agrees with the decision"]),
    // The receipt as it was sent.
    ("receipt_source", ["Risiti kama ilivyotumwa", "Receipt as it was sent"]),
    ("type", ["Aina", "Type"]),
    ("time", ["Saa", "Time of day"]),
    ("content_type", ["Aina ya faili", "Type of the file"]),
    ("size_bytes", ["Ukubwa kwa baiti", "Size in bytes"]),
    ("qr_payload", ["Maneno ya msimbo wa QR", "Text of the QR code"]),
    // Earlier states.
    ("history", ["Hali zilizopita", "Earlier states"]),
    ("standing", ["Hali", "State"]),
    ("is_under_way", ["Ilikuwa ikiendelea", "Was under way"]),
    ("surprise", ["Jibu lisilotarajiwa", "Unexpected answer"]),
    // Where the person was drawn.
    ("draw", ["Droo", "Draw"]),
    ("place", ["Nafasi katika droo", "Place in the draw"]),
    ("masked_phone", ["Namba ya simu iliyofichwa", "Masked phone number"]),
    ("steps", ["Hatua", "Steps"]),
    ("event", ["Tukio", "Event"]),
    ("is", ["Kilichotokea", "What happened"]),
    ("reason", ["Sababu", "Reason"]),
    ("inspector", ["Mkaguzi", "Inspector"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_field_has_one_label_in_each_language() {
        let names: BTreeSet<_> = LABELS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), LABELS.len());
        assert!(LABELS.iter().all(|(_, [swahili, english])| !swahili.is_empty() && !english.is_empty()));
    }
}
