//! Lines to paste for campaigns with receipts: several steps, each of which uses what the last one gave.

use common::domain::scope::CampaignSlug;

use super::post;

/// Who calls.
pub(super) struct Caller<'a> {
    /// Where the API is.
    pub(super) base_url: &'a str,
    /// The campaign.
    pub(super) slug: &'a CampaignSlug,
    /// The key.
    pub(super) key: &'a str,
    /// Whether it is a live key: tests are answered by sentinels.
    pub(super) live: bool,
}

/// The time on every receipt that the simulated authority has.
const TIME: &str = "10:15:30";
/// Sets a number that makes this time's receipts and attempts new ones.
const RUN: &str = "RUN=$(date +%s)";

impl Caller<'_> {
    /// A request without the reply's head.
    fn post(&self, path: &str) -> String {
        post(self.base_url, path, self.key).replace("-sSiw '\\n'", "-sS")
    }

    /// Announces a receipt and keeps the answer in `$ANSWER`.
    fn announce(&self, body: &str) -> String {
        format!("ANSWER=$({} -d {body}); echo \"$ANSWER\"", self.post("receipts"))
    }

    /// Announces a typed receipt: of these letters for a live key, of this outcome for a test key.
    fn typed(&self, letters: &str, outcome: &str) -> String {
        let code = if self.live { format!("{letters}01'$RUN'") } else { format!("TEST0{outcome}") };
        let announce = self.announce(&format!(r#"'{{"type":"typed","code":"{code}","time":"{TIME}"}}'"#));
        format!("{RUN}; {announce}")
    }

    /// Submits the receipt of `$ANSWER`, and keeps what comes of it.
    fn submit(&self, more: &str) -> String {
        let (post, receipt) = (self.post("submissions"), field("ANSWER", "id"));
        format!(
            "SUBMITTED=$({post} -H \"Idempotency-Key: {}-$RUN\" \
             -d '{{\"phone\":\"0712345678\",\"consent\":true,{more}\"receipt_id\":\"'\"{receipt}\"'\"}}'); echo \"$SUBMITTED\"",
            self.slug
        )
    }

    /// Reads the submission again.
    fn look(&self) -> String {
        let Self { base_url, key, .. } = self;
        let id = field("SUBMITTED", "id");
        format!("curl -sSw '\\n' \"{base_url}/api/v1/submissions/{id}\" -H 'Authorization: Bearer {key}'")
    }
}

/// A text field of what a variable holds.
fn field(variable: &str, name: &str) -> String {
    format!(r#"$(echo "${variable}" | sed 's/.*"{name}":"\([^"]*\)".*/\1/')"#)
}

/// A campaign of receipts alone: typed, and as a photo.
pub(super) fn alone(caller: &Caller<'_>) -> Vec<(&'static str, String)> {
    let payload = if caller.live { "https://verify.tra.go.tz/GOOD02${RUN}_101530" } else { "TEST0VERIFIED" };
    let make =
        format!("{RUN}; cargo run -q -p receipt-photo -- --payload \"{payload}\" --output receipt.jpg");
    let more = if caller.live { "" } else { r#","qr_payload":"TEST0VERIFIED""# };
    let photo = format!(
        r#"'{{"type":"photo","content_type":"image/jpeg","size_bytes":'"$(wc -c < receipt.jpg)"'{more}}}'"#
    );
    let put = format!(
        "curl -sSi -X PUT \"{}\" -H 'Content-Type: image/jpeg' -H 'If-None-Match: *' --data-binary @receipt.jpg",
        field("ANSWER", "url")
    );
    vec![
        ("a typed receipt", caller.typed("GOOD", "VERIFIED")),
        ("submit it: received, to be checked", caller.submit("")),
        ("look at it again: entered", caller.look()),
        ("make a photo of a receipt", make),
        ("announce it: the answer says where to put it", caller.announce(&photo)),
        ("put it there; a second time, storage refuses it", put),
        ("submit it", caller.submit("")),
        ("look at it until it is settled", caller.look()),
    ]
}

/// A campaign of codes and receipts together.
pub(super) fn with_code(caller: &Caller<'_>, code: &str) -> Vec<(&'static str, String)> {
    let code = format!("\"code\":\"{code}\",");
    vec![
        ("a receipt of a shop that takes no part", caller.typed("SHOP", "WRONGSTORE")),
        ("submit it with a code, which is held for now", caller.submit(&code)),
        ("look at it again: refused, and the code is free", caller.look()),
        ("a receipt that counts", caller.typed("GOOD", "VERIFIED")),
        ("submit it with the same code", caller.submit(&code)),
        ("look at it again: entered", caller.look()),
    ]
}
