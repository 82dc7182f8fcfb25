//! Commands to paste: single calls, and receipts, whose steps use the results of earlier steps.

use common::domain::scope::CampaignSlug;

use super::printed::Command;
use crate::tax_portal::cases::TIME;

/// The campaign, key and API address that commands use.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) base_url: &'a str,
    pub(super) slug: &'a CampaignSlug,
    pub(super) key: &'a str,
    /// True for a live key; with a test key, only sentinels get an answer.
    pub(super) live: bool,
}

/// Sets a random number that makes each receipt and attempt unique. The time would not do: a block pasted in one go
/// runs several times within a second.
const RUN: &str = r"RUN=$(od -An -N4 -tu4 /dev/urandom | tr -d ' \n')";

impl Caller<'_> {
    /// Reads the campaign.
    pub(super) fn campaign(&self) -> String {
        let Self { base_url, key, .. } = self;
        format!("curl -sSw '\\n' '{base_url}/api/v1/campaign' -H 'Authorization: Bearer {key}'")
    }

    pub(super) fn enter(&self, attempt: &str, phone: &str, code: &str) -> String {
        let body = format!(r#"{{"phone":"{phone}","code":"{code}","consent":true}}"#);
        let (post, slug) = (self.post("submissions"), self.slug);
        format!("{post} -iw '\\n' -H 'Idempotency-Key: {slug}-{attempt}' -d '{body}'")
    }

    pub(super) fn lookup(&self, phone: &str) -> String {
        format!(
            "{} -w '\\n' -d '{{\"phone\":\"{phone}\"}}'",
            self.post("submissions/lookup")
        )
    }

    pub(super) fn check(&self, code: &str) -> String {
        format!(
            "{} -w '\\n' -d '{{\"code\":\"{code}\"}}'",
            self.post("codes/check")
        )
    }

    /// Commands for a campaign of receipts alone: typed, and as a photo.
    pub(super) fn receipt_alone(&self) -> Vec<Command> {
        let payload = if self.live {
            "https://verify.tra.go.tz/GOOD02${RUN}_101530"
        } else {
            "TEST0VERIFIED"
        };
        let make = format!(
            "{RUN}; cargo run -q --bin receipt-photo -- --payload \"{payload}\" --output receipt.jpg"
        );
        let more = if self.live {
            ""
        } else {
            r#","qr_payload":"TEST0VERIFIED""#
        };
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
            (
                "make a photo of a receipt, in the folder of this repository",
                make,
            ),
            (
                "start the receipt: the answer says where to put the photo",
                self.create_receipt(&photo),
            ),
            ("put it there; a second time, storage refuses it", put),
            ("submit it", self.submit("")),
            ("look at it until it is settled: entered", self.look()),
        ]
    }

    /// Commands for a campaign with both codes and receipts.
    pub(super) fn receipt_and_code(&self, code: &str) -> Vec<Command> {
        let code = format!("\"code\":\"{code}\",");
        vec![
            (
                "a receipt of a shop that takes no part",
                self.typed("SHOP", "WRONGSTORE"),
            ),
            (
                "submit it with a code, which is held for now",
                self.submit(&code),
            ),
            (
                "look at it until it is settled: refused, and the code is free",
                self.look(),
            ),
            ("a receipt that counts", self.typed("GOOD", "VERIFIED")),
            ("submit it with the same code", self.submit(&code)),
            ("look at it until it is settled: entered", self.look()),
        ]
    }

    /// A POST request; its reply does not end with a newline.
    fn post(&self, path: &str) -> String {
        let Self { base_url, key, .. } = self;
        format!(
            "curl -sS '{base_url}/api/v1/{path}' -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json'"
        )
    }

    /// Creates a receipt and keeps the reply in `$ANSWER`.
    fn create_receipt(&self, body: &str) -> String {
        format!(
            "ANSWER=$({} -d {body}); {}",
            self.post("receipts"),
            show("ANSWER")
        )
    }

    /// Creates a typed receipt: with this code prefix for a live key, with this sentinel for a test key.
    fn typed(&self, letters: &str, outcome: &str) -> String {
        let code = if self.live {
            format!("{letters}01'$RUN'")
        } else {
            format!("TEST0{outcome}")
        };
        let create_receipt = self.create_receipt(&format!(
            r#"'{{"type":"typed","code":"{code}","time":"{TIME}"}}'"#
        ));
        format!("{RUN}; {create_receipt}")
    }

    /// Submits the receipt in `$ANSWER` and keeps the reply in `$SUBMITTED`.
    fn submit(&self, more: &str) -> String {
        let (post, receipt) = (self.post("submissions"), field("ANSWER", "id"));
        format!(
            "SUBMITTED=$({post} -H \"Idempotency-Key: {}-receipt-$RUN\" \
             -d '{{\"phone\":\"0712345678\",\"consent\":true,{more}\"receipt_id\":\"'\"{receipt}\"'\"}}'); {}",
            self.slug,
            show("SUBMITTED")
        )
    }

    /// Polls the submission in `$SUBMITTED` until it is settled, for at most 20 seconds.
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

/// Prints a variable's value with printf, because zsh's `echo` would interpret backslashes.
fn show(variable: &str) -> String {
    format!(r#"printf '%s\n' "${variable}""#)
}

/// A string field of the JSON in a variable.
fn field(variable: &str, name: &str) -> String {
    format!(r#"$(printf '%s' "${variable}" | sed 's/.*"{name}":"\([^"]*\)".*/\1/')"#)
}
