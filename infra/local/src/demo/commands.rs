//! Commands to paste: single calls, and receipts, whose steps use what the step before them gave.

use common::domain::scope::CampaignSlug;

use super::printed::Command;
use crate::tax_portal::cases::TIME;

/// Who calls.
#[derive(Clone, Copy)]
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

/// Sets a number that makes a receipt and its attempt new ones. Not the time: a block pasted in one go has several in a second.
const RUN: &str = r"RUN=$(od -An -N4 -tu4 /dev/urandom | tr -d ' \n')";

impl Caller<'_> {
    /// The campaign itself.
    pub(super) fn campaign(&self) -> String {
        let Self { base_url, key, .. } = self;
        format!("curl -sSw '\\n' '{base_url}/api/v1/campaign' -H 'Authorization: Bearer {key}'")
    }

    /// Enters a consumer with a code.
    pub(super) fn enter(&self, attempt: &str, phone: &str, code: &str) -> String {
        let body = format!(r#"{{"phone":"{phone}","code":"{code}","consent":true}}"#);
        let (post, slug) = (self.post("submissions"), self.slug);
        format!("{post} -iw '\\n' -H 'Idempotency-Key: {slug}-{attempt}' -d '{body}'")
    }

    /// The submissions of a phone.
    pub(super) fn look_up(&self, phone: &str) -> String {
        format!("{} -w '\\n' -d '{{\"phone\":\"{phone}\"}}'", self.post("submissions/lookup"))
    }

    /// Pre-checks a code.
    pub(super) fn check(&self, code: &str) -> String {
        format!("{} -w '\\n' -d '{{\"code\":\"{code}\"}}'", self.post("codes/check"))
    }

    /// A campaign of receipts alone: typed, and as a photo.
    pub(super) fn receipt_alone(&self) -> Vec<Command> {
        let payload =
            if self.live { "https://verify.tra.go.tz/GOOD02${RUN}_101530" } else { "TEST0VERIFIED" };
        let make = format!(
            "{RUN}; cargo run -q --bin receipt-photo -- --payload \"{payload}\" --output receipt.jpg"
        );
        let more = if self.live { "" } else { r#","qr_payload":"TEST0VERIFIED""# };
        let photo = format!(
            r#"'{{"type":"photo","content_type":"image/jpeg","size_bytes":'"$(wc -c < receipt.jpg)"'{more}}}'"#
        );
        let put = format!(
            "curl -sSi -X PUT \"{}\" -H 'Content-Type: image/jpeg' -H 'If-None-Match: *' --data-binary @receipt.jpg",
            field("ANSWER", "url")
        );
        vec![
            ("a typed receipt", self.typed("GOOD", "VERIFIED")),
            ("submit it: received, to be checked", self.submit("")),
            ("look at it until it is settled: entered", self.look()),
            ("make a photo of a receipt, in the folder of this repository", make),
            ("announce it: the answer says where to put it", self.announce(&photo)),
            ("put it there; a second time, storage refuses it", put),
            ("submit it", self.submit("")),
            ("look at it until it is settled: entered", self.look()),
        ]
    }

    /// A campaign of codes and receipts together.
    pub(super) fn receipt_and_code(&self, code: &str) -> Vec<Command> {
        let code = format!("\"code\":\"{code}\",");
        vec![
            ("a receipt of a shop that takes no part", self.typed("SHOP", "WRONGSTORE")),
            ("submit it with a code, which is held for now", self.submit(&code)),
            ("look at it until it is settled: refused, and the code is free", self.look()),
            ("a receipt that counts", self.typed("GOOD", "VERIFIED")),
            ("submit it with the same code", self.submit(&code)),
            ("look at it until it is settled: entered", self.look()),
        ]
    }

    /// A request; the reply has no line end of its own.
    fn post(&self, path: &str) -> String {
        let Self { base_url, key, .. } = self;
        format!(
            "curl -sS '{base_url}/api/v1/{path}' -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json'"
        )
    }

    /// Announces a receipt and keeps the answer in `$ANSWER`.
    fn announce(&self, body: &str) -> String {
        format!("ANSWER=$({} -d {body}); {}", self.post("receipts"), show("ANSWER"))
    }

    /// Announces a typed receipt: of these letters for a live key, of this outcome for a test key.
    fn typed(&self, letters: &str, outcome: &str) -> String {
        let code = if self.live { format!("{letters}01'$RUN'") } else { format!("TEST0{outcome}") };
        let announce = self.announce(&format!(r#"'{{"type":"typed","code":"{code}","time":"{TIME}"}}'"#));
        format!("{RUN}; {announce}")
    }

    /// Submits the receipt of `$ANSWER`, and keeps what comes of it in `$SUBMITTED`.
    fn submit(&self, more: &str) -> String {
        let (post, receipt) = (self.post("submissions"), field("ANSWER", "id"));
        format!(
            "SUBMITTED=$({post} -H \"Idempotency-Key: {}-receipt-$RUN\" \
             -d '{{\"phone\":\"0712345678\",\"consent\":true,{more}\"receipt_id\":\"'\"{receipt}\"'\"}}'); {}",
            self.slug,
            show("SUBMITTED")
        )
    }

    /// Reads the submission of `$SUBMITTED` until it is settled, for 20 seconds at most.
    fn look(&self) -> String {
        let Self { base_url, key, .. } = self;
        let id = field("SUBMITTED", "id");
        format!(
            "for attempt in 1 2 3 4 5 6 7 8 9 10; do \
             LOOK=$(curl -sS \"{base_url}/api/v1/submissions/{id}\" -H 'Authorization: Bearer {key}'); \
             case \"$LOOK\" in *'\"terminal\":false'*) sleep 2 ;; *) break ;; esac; done; {}",
            show("LOOK")
        )
    }
}

/// Prints what a variable holds. `echo` of zsh would read its backslashes.
fn show(variable: &str) -> String {
    format!(r#"printf '%s\n' "${variable}""#)
}

/// A text field of what a variable holds.
fn field(variable: &str, name: &str) -> String {
    format!(r#"$(printf '%s' "${variable}" | sed 's/.*"{name}":"\([^"]*\)".*/\1/')"#)
}
