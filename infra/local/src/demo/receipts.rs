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
}

/// The time on every receipt that the simulated authority has.
const TIME: &str = "10:15:30";

impl Caller<'_> {
    /// Announces a receipt and keeps the answer in `$ANSWER`.
    fn announce(&self, body: &str) -> String {
        let quiet = post(self.base_url, "receipts", self.key).replace("-sSiw '\\n'", "-sS");
        format!("ANSWER=$({quiet} -d {body}); echo \"$ANSWER\"")
    }

    /// Announces a typed receipt.
    fn typed(&self, code: &str) -> String {
        self.announce(&format!(r#"'{{"type":"typed","code":"{code}","time":"{TIME}"}}'"#))
    }

    /// Submits the receipt of `$ANSWER`, and keeps what comes of it.
    fn submit(&self, attempt: &str, more: &str) -> String {
        let post = post(self.base_url, "submissions", self.key).replace("-sSiw '\\n'", "-sS");
        let Self { slug, .. } = self;
        let receipt = field("id");
        format!(
            "SUBMITTED=$({post} -H 'Idempotency-Key: {slug}-{attempt}' \
             -d '{{\"phone\":\"0712345678\",\"consent\":true,{more}\"receipt_id\":\"'\"{receipt}\"'\"}}'); echo \"$SUBMITTED\""
        )
    }

    /// Reads the submission again.
    fn look(&self) -> String {
        let Self { base_url, key, .. } = self;
        let id = field("id").replace("ANSWER", "SUBMITTED");
        format!("curl -sSw '\\n' \"{base_url}/api/v1/submissions/{id}\" -H 'Authorization: Bearer {key}'")
    }
}

/// A text field of the answer.
fn field(name: &str) -> String {
    format!(r#"$(echo "$ANSWER" | sed 's/.*"{name}":"\([^"]*\)".*/\1/')"#)
}

/// A campaign of receipts alone: typed, and as a photo.
pub(super) fn alone(caller: &Caller<'_>) -> Vec<(&'static str, String)> {
    let make = "cargo run -q -p receipt-photo -- --payload https://verify.tra.go.tz/GOOD010002_101530 --output receipt.jpg";
    let photo = r#"'{"type":"photo","content_type":"image/jpeg","size_bytes":'"$(wc -c < receipt.jpg)"'}'"#;
    let put = format!(
        "curl -sSi -X PUT \"{}\" -H 'Content-Type: image/jpeg' -H 'If-None-Match: *' --data-binary @receipt.jpg",
        field("url")
    );
    vec![
        ("a typed receipt", caller.typed("GOOD010001")),
        ("submit it: received, to be checked", caller.submit("typed-1", "")),
        ("look at it again: entered, with the receipt", caller.look()),
        ("make a photo of a receipt", make.to_owned()),
        ("announce it: the answer says where to put it", caller.announce(photo)),
        ("put it there; a second time, storage refuses it", put),
        ("submit it", caller.submit("photo-1", "")),
        ("look at it until it is settled", caller.look()),
    ]
}

/// A campaign of codes and receipts together.
pub(super) fn with_code(caller: &Caller<'_>, code: &str) -> Vec<(&'static str, String)> {
    let code = format!("\"code\":\"{code}\",");
    vec![
        ("a receipt of a shop that takes no part", caller.typed("SHOP010001")),
        ("submit it with a code, which is held for now", caller.submit("attempt-1", &code)),
        ("look at it again: refused, and the code is free", caller.look()),
        ("a receipt that counts", caller.typed("GOOD010001")),
        ("submit it with the same code", caller.submit("attempt-2", &code)),
        ("look at it again: entered", caller.look()),
    ]
}
