//! Commands to paste: single calls, and receipts in steps.

use super::Access;
use crate::tax_portal::cases::TIME;

pub(super) type Command = (&'static str, String);

#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) base_url: &'a str,
    pub(super) slug: &'a str,
    pub(super) access: &'a Access,
    /// True for a live key; a test key gets answers to sentinels only.
    pub(super) live: bool,
}

/// A random number for each receipt and attempt. A block runs several times a second, so the time
/// would not do.
const RUN: &str = r"RUN=$(od -An -N4 -tu4 /dev/urandom | tr -d ' \n')";

impl Caller<'_> {
    pub(super) fn code(&self, index: usize) -> &str {
        self.access.codes.get(index).map_or("", String::as_str)
    }

    pub(super) fn campaign(&self) -> String {
        let (base_url, key) = (self.base_url, &self.access.key);
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

    /// A POST request whose reply ends without a newline.
    fn post(&self, path: &str) -> String {
        let (base_url, key) = (self.base_url, &self.access.key);
        format!(
            "curl -sS '{base_url}/api/v1/{path}' -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json'"
        )
    }

    /// Keeps the reply in `$ANSWER`.
    fn create_receipt(&self, body: &str) -> String {
        format!(
            "ANSWER=$({} -d {body}); {}",
            self.post("receipts"),
            show("ANSWER")
        )
    }

    /// A live key uses the code prefix, a test key the sentinel.
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

    /// Keeps the reply in `$SUBMITTED`.
    fn submit(&self, more: &str) -> String {
        let (post, receipt) = (self.post("submissions"), field("ANSWER", "id"));
        format!(
            "SUBMITTED=$({post} -H \"Idempotency-Key: {}-receipt-$RUN\" \
             -d '{{\"phone\":\"0712345678\",\"consent\":true,{more}\"receipt_id\":\"'\"{receipt}\"'\"}}'); {}",
            self.slug,
            show("SUBMITTED")
        )
    }

    /// Polls `$SUBMITTED` for at most 20 seconds.
    fn look(&self) -> String {
        let (base_url, key) = (self.base_url, &self.access.key);
        let id = field("SUBMITTED", "id");
        format!(
            "for attempt in 1 2 3 4 5 6 7 8 9 10; do \
             LOOK=$(curl -sS \"{base_url}/api/v1/submissions/{id}\" -H 'Authorization: Bearer {key}'); \
             case \"$LOOK\" in *'\"terminal\":false'*) sleep 2 ;; *) break ;; esac; done; {}",
            show("LOOK")
        )
    }
}

/// The quickstart's entries count towards the daily limit, so phones differ from its.
pub(super) fn codes(caller: &Caller<'_>) -> Vec<Command> {
    let enter = |attempt, phone, index| caller.enter(attempt, phone, caller.code(index));
    vec![
        ("the campaign", caller.campaign()),
        (
            "enter a consumer; sent again, it is the same entry",
            enter("attempt-1", "0715000333", 0),
        ),
        (
            "the same code from another phone: already used",
            enter("attempt-2", "0754000111", 0),
        ),
        (
            "an invalid code",
            caller.enter("attempt-3", "0754000111", "AAAA-BBBB-CCCC"),
        ),
        (
            "a second code of the first phone",
            enter("attempt-4", "0715000333", 1),
        ),
        ("its third code", enter("attempt-5", "0715000333", 2)),
        (
            "its fourth code: over the daily limit",
            enter("attempt-6", "0715000333", 3),
        ),
        (
            "the entries of the first phone",
            caller.lookup("0715000333"),
        ),
        (
            "pre-check a code that is free",
            caller.check(caller.code(4)),
        ),
        (
            "any outcome: TEST-0- and its message key",
            caller.enter("sentinel-1", "0754000222", "TEST-0-CODE-HELD"),
        ),
    ]
}

pub(super) fn receipt_alone(caller: &Caller<'_>) -> Vec<Command> {
    let (payload, more) = match caller.live {
        true => ("https://verify.tra.go.tz/GOOD02${RUN}_101530", ""),
        false => ("TEST0VERIFIED", r#","qr_payload":"TEST0VERIFIED""#),
    };
    let make = format!(
        "{RUN}; cargo run -q --bin receipt-photo -- --payload \"{payload}\" --output receipt.jpg"
    );
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
        ("look at it until it is settled: entered", caller.look()),
        (
            "make a photo of a receipt, in the folder of this repository",
            make,
        ),
        (
            "start the receipt: the answer says where to put the photo",
            caller.create_receipt(&photo),
        ),
        ("put it there; a second time, storage refuses it", put),
        ("submit it", caller.submit("")),
        ("look at it until it is settled: entered", caller.look()),
    ]
}

pub(super) fn receipt_and_code(caller: &Caller<'_>) -> Vec<Command> {
    let code = format!("\"code\":\"{}\",", caller.code(0));
    vec![
        (
            "a receipt of a shop that takes no part",
            caller.typed("SHOP", "WRONGSTORE"),
        ),
        (
            "submit it with a code, which is held for now",
            caller.submit(&code),
        ),
        (
            "look at it until it is settled: refused, and the code is free",
            caller.look(),
        ),
        ("a receipt that counts", caller.typed("GOOD", "VERIFIED")),
        ("submit it with the same code", caller.submit(&code)),
        ("look at it until it is settled: entered", caller.look()),
    ]
}

pub(super) fn partner(caller: &Caller<'_>) -> Vec<Command> {
    let enter = |attempt, code| caller.enter(attempt, "0712345678", code);
    if !caller.live {
        return vec![
            (
                "tests never reach a partner",
                enter("test-1", "TEST-0-VALID"),
            ),
            (
                "unknown at first, entered seconds later",
                enter("test-2", "TEST-0-SLOW"),
            ),
        ];
    }
    vec![
        ("the partner accepts", enter("okay", "OKAY-0001")),
        ("the partner gives a prize", enter("wins", "WINS-0001")),
        ("the partner has seen it before", enter("used", "USED-0001")),
        (
            "the partner is down: unknown, and the service asks again; paste it again later to see it settled",
            enter("down", "DOWN-0001"),
        ),
    ]
}

pub(super) fn prize(caller: &Caller<'_>) -> Vec<Command> {
    let code = caller.access.prize_codes.first();
    let code = code.map_or("", String::as_str);
    let enter = caller.enter("attempt-1", "0712345678", code);
    vec![("win an instant prize", enter)]
}

pub(super) fn ended(caller: &Caller<'_>) -> Vec<Command> {
    let enter = caller.enter("attempt-1", "0712345678", caller.code(0));
    vec![("it has ended", enter)]
}

/// Prints a variable. zsh's `echo` would interpret backslashes.
fn show(variable: &str) -> String {
    format!(r#"printf '%s\n' "${variable}""#)
}

fn field(variable: &str, name: &str) -> String {
    format!(r#"$(printf '%s' "${variable}" | sed 's/.*"{name}":"\([^"]*\)".*/\1/')"#)
}
