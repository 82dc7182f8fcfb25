//! The fields of a campaign file: bounds, defaults, an example, and in doc comments their meaning. The JSON Schema is
//! derived from here; reader, page, template and differences follow the schema.
//!
//! A field with a `default`, or with `x-left-out`, which says the default in words, may be left out.

#![expect(dead_code, reason = "their schemas are used, never a value")]

mod instant;

use std::borrow::Cow;

use common::domain::message::{Language, TextKey};
use common::domain::partner::PartnerRules;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use self::instant::Instant;
use super::MAX_ENTRIES;
use crate::prelude::*;

/// Texts that are parsed further; longer than any of them.
#[derive(JsonSchema)]
struct Parsed(#[schemars(length(min = 1, max = 100))] String);

/// Names of campaigns, brands, products, branches.
#[derive(JsonSchema)]
struct Name(#[schemars(length(min = 1, max = 120))] String);

/// On a tile: a label, a colour.
#[derive(JsonSchema)]
struct Label(#[schemars(length(min = 1, max = 40))] String);

/// What callers send as a product's or a branch's key.
#[derive(JsonSchema)]
struct Key(
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = "^[A-Za-z0-9_-]{1,64}$"),
        extend("x-form" = "1 to 64 of letters, digits, `-` and `_`, such as `{example}`")
    )]
    String,
);

#[derive(JsonSchema)]
struct Time(
    #[schemars(
        length(min = 1, max = 100),
        regex(
            pattern = r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$"
        ),
        extend("x-time" = true)
    )]
    String,
);

/// More submissions of a phone than any campaign intends, and few enough that no sum overflows.
#[derive(JsonSchema)]
struct Submissions(#[schemars(range(min = 1, max = 1_000_000))] u32);

/// Ten years.
#[derive(JsonSchema)]
struct Days(#[schemars(range(min = 1, max = 3_650))] u32);

/// What a consumer reads before agreeing.
#[derive(JsonSchema)]
struct Agreement(#[schemars(length(min = 1, max = 2_000))] String);

/// A part of a partner's reply.
#[derive(JsonSchema)]
struct Pointer(#[schemars(length(min = 1, max = 100), regex(pattern = "^/"))] String);

#[derive(JsonSchema)]
struct Long(#[schemars(length(min = 1, max = 1_000))] String);

#[derive(JsonSchema)]
struct Match(#[schemars(length(min = 1, max = 100))] String);

#[derive(JsonSchema)]
struct Serial(
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = "^[A-Za-z0-9]{1,40}$"),
        extend("x-form" = "1 to 40 letters and digits, such as `\"03TZ343001520\"`")
    )]
    String,
);

/// A campaign file.
#[derive(JsonSchema)]
pub(super) struct File {
    /// Its name in keys, URLs and commands. It cannot be changed.
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"),
        extend(
            "x-form" = "1 to 64 of a-z, 0-9 and inner dashes, such as `{example}`",
            "x-example" = "chai-bora-2026"
        )
    )]
    slug: String,
    /// Its name for people.
    #[schemars(extend("x-example" = "Chai Bora Shinda"))]
    name: Name,
    /// The brand it belongs to.
    #[schemars(extend("x-example" = "Chai Bora"))]
    brand: Name,
    /// The IANA time zone in which days and daily limits are counted.
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = "^[A-Z][A-Za-z0-9_+/-]*$"),
        extend("x-example" = "Africa/Dar_es_Salaam")
    )]
    timezone: String,
    /// Whether the campaign is paused.
    #[schemars(extend(
        "x-left-out" = "stays as it is: `ops campaign pause` and `resume` turn it",
        "x-example" = "true"
    ))]
    paused: bool,
    /// When it takes entries.
    #[schemars(extend("default" = {}, "x-left-out" = "always open"))]
    window: Window,
    /// The codes that consumers send.
    #[schemars(extend("x-example" = "{ checked_by: service }"))]
    code: Code,
    /// Submissions of one phone that count; rejected ones do not.
    #[schemars(extend("default" = {}, "x-left-out" = "no limit"))]
    limits: Limits,
    /// Entries that an accepted submission earns, unless its receipt or the partner says otherwise.
    #[schemars(range(min = 1, max = MAX_ENTRIES), extend("default" = 1))]
    entries_per_submission: u32,
    /// Wrong codes after which a phone is refused for a while.
    #[schemars(extend(
        "default" = { "count": 10, "minutes": 60 },
        "x-left-out" = "10 within 60 minutes"
    ))]
    wrong_codes: WrongCodes,
    /// Its own texts, by message key. `ops campaign init` lists the keys with the service's words.
    #[schemars(extend("default" = {}, "x-left-out" = SERVICES_WORDS))]
    messages: Messages,
    /// Rules for receipts. Cannot be combined with codes that a partner checks.
    #[schemars(extend("x-left-out" = "it takes no receipts"))]
    receipt: Receipt,
    /// The partner that checks the codes, and how to ask it.
    #[schemars(extend(
        "x-left-out" = "no partner; required if `code.checked_by` is `partner`",
        "x-example" = "{ url: ..., body: ..., reply: ..., outcomes: ... }"
    ))]
    partner: Partner,
    /// The text that consumers agree to.
    #[schemars(extend("x-left-out" = "it has no text of its own"))]
    consent: Consent,
    /// How long personal data is kept after the campaign's end; then it is deleted.
    #[schemars(extend("x-left-out" = "kept as the deployment says"))]
    retention: Retention,
    /// Instant prizes at random moments that anyone can check. `ops instant plan` fixes them; a later change is for the next plan.
    #[schemars(extend("x-left-out" = "none"))]
    instant: Instant,
}

#[derive(JsonSchema)]
struct Window {
    /// The start of the campaign.
    #[schemars(extend("x-left-out" = "from now on", "x-example" = "2026-01-01T00:00:00+03:00"))]
    start: Time,
    /// The end of the campaign: the first moment at which it takes no more entries.
    #[schemars(extend("x-left-out" = "for ever", "x-example" = "2026-04-01T00:00:00+03:00"))]
    end: Time,
}

#[derive(JsonSchema)]
struct Code {
    /// `service`: codes that are minted or imported here. `partner`: the partner below judges them. `none`: there are no
    /// codes; then require receipts, or anyone can enter.
    #[schemars(extend("enum" = ["service", "partner", "none"], "x-example" = "service"))]
    checked_by: String,
}

#[derive(JsonSchema)]
struct Limits {
    /// In a day of the campaign's time zone.
    #[schemars(extend("x-left-out" = "no limit", "x-example" = "3"))]
    phone_daily: Submissions,
    /// Over the whole campaign.
    #[schemars(extend("x-left-out" = "no limit", "x-example" = "20"))]
    phone_total: Submissions,
}

#[derive(JsonSchema)]
struct WrongCodes {
    /// Wrong codes of one phone.
    // Each wrong code that counts is kept with its phone, so there must not be many.
    #[schemars(range(min = 1, max = 100), extend("default" = 10))]
    count: u32,
    /// Within so many minutes.
    #[schemars(range(min = 1, max = 24 * 60), extend("default" = 60))]
    minutes: u32,
}

#[derive(JsonSchema)]
struct Messages {
    /// English.
    #[schemars(extend("x-left-out" = SERVICES_WORDS))]
    en: Texts<false>,
    /// Swahili.
    #[schemars(extend("x-left-out" = SERVICES_WORDS))]
    sw: Texts<true>,
}

const SERVICES_WORDS: &str = "the service's words";
/// Two SMS at most.
const MAX_TEXT_CHARS: usize = 320;

/// A text for each message key, with the service's own as the example.
struct Texts<const SWAHILI: bool>;

impl<const SWAHILI: bool> JsonSchema for Texts<SWAHILI> {
    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let language = if SWAHILI { Language::Sw } else { Language::En };
        let text = |key: TextKey| {
            let example = Value::from(key.text(language)).to_string();
            let schema = json!({
                "type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS, "x-left-out": SERVICES_WORDS,
                "x-example": example,
            });
            (key.as_str().to_owned(), schema)
        };
        let names: Vec<_> = TextKey::all().map(TextKey::as_str).collect();
        json_schema!({
            "type": "object",
            "properties": TextKey::all().map(text).collect::<Map<_, _>>(),
            "required": names,
            "x-holds": format!("message keys, {} of them, each with 1 to {MAX_TEXT_CHARS} characters", names.len()),
        })
    }
}

#[derive(JsonSchema)]
struct Consent {
    /// Identifies this text. A changed text needs a new version.
    #[schemars(extend("x-example" = "\"2026-01\""))]
    version: Label,
    /// In English.
    #[schemars(extend("x-example" = "\"I agree to ...\""))]
    en: Agreement,
    /// In Swahili.
    #[schemars(extend("x-example" = "\"Nakubali ...\""))]
    sw: Agreement,
}

#[derive(JsonSchema)]
struct Retention {
    /// Days for phone numbers.
    #[schemars(extend("x-left-out" = "kept", "x-example" = "365"))]
    phones_days: Days,
    /// Days for photos.
    #[schemars(extend("x-left-out" = "the deployment's `PhotoRetentionDays`", "x-example" = "90"))]
    photos_days: Days,
}

// Judging a receipt goes through all of these lists, so none may be long.
#[derive(JsonSchema)]
struct Receipt {
    /// Whether every submission must carry a receipt.
    #[schemars(extend("default" = true))]
    required: bool,
    /// Whether a receipt's code and time may be typed in.
    #[schemars(extend("default" = false, "x-example" = "true"))]
    typed: bool,
    /// What happens to a receipt that names no participating product: an operator reviews it, or it is declined. Tills
    /// often print only a sum.
    #[schemars(extend("enum" = ["review", "decline"], "default" = "review"))]
    on_no_match: String,
    /// The most entries of one receipt; one that would earn more goes to an operator.
    // A partner's code earns no more either.
    #[schemars(range(min = 1, max = MAX_ENTRIES), extend("default" = 100))]
    max_entries: u32,
    /// Product ranges, for grouping.
    #[schemars(length(max = 50), extend(
        "default" = [], "x-left-out" = "none", "x-example" = "[{ name: Classic, tag: \"For every day\" }]"
    ))]
    ranges: Vec<ProductRange>,
    /// Participating products.
    #[schemars(length(max = 200), extend(
        "default" = [],
        "x-left-out" = "any purchase counts",
        "x-example" = "[{ key: chai-250, range: Classic, label: 250 g, name: Chai Bora 250 g, \
                       match: [\"CHAI BORA 250\"], entries: 1 }]"
    ))]
    products: Vec<Product>,
    /// Participating branches.
    #[schemars(length(max = 500), extend(
        "default" = [],
        "x-left-out" = "any shop counts",
        "x-example" = "[{ key: kko, name: Kariakoo, city: Dar es Salaam, merchant: Duka Kuu, tin: \"100147181\", \
                       serials: [\"03TZ343001520\"] }]"
    ))]
    branches: Vec<Branch>,
    /// How often the draw takes place, in words.
    #[schemars(extend("x-left-out" = "none", "x-example" = "weekly"))]
    draw_period: Name,
}

#[derive(JsonSchema)]
struct ProductRange {
    /// Its name, which products refer to.
    #[schemars(extend("x-example" = "Classic"))]
    name: Name,
    /// A short tag line.
    #[schemars(extend("x-left-out" = "none", "x-example" = "\"For every day\""))]
    tag: Name,
}

#[derive(JsonSchema)]
struct Product {
    /// What callers send as `claimed.items[].key`.
    #[schemars(extend("x-example" = "chai-250"))]
    key: Key,
    /// The name of its range.
    #[schemars(extend("x-example" = "Classic"))]
    range: Name,
    /// A short label for its tile.
    #[schemars(extend("x-example" = "250 g"))]
    label: Label,
    /// Its full name.
    #[schemars(extend("x-example" = "Chai Bora 250 g"))]
    name: Name,
    /// The colour of its tile.
    #[schemars(extend("x-left-out" = "none", "x-example" = "\"#c0392b\""))]
    color: Label,
    /// The path of its image.
    #[schemars(
        length(min = 1, max = 500),
        extend("x-left-out" = "none", "x-example" = "/images/chai-250.png")
    )]
    image: String,
    /// Texts that tills print for it. An item counts if its description has one of them, in upper or lower case and as
    /// whole words and numbers: `CHAI 25` is in `CHAI 25G`, but not in `CHAI 250`. If texts of several products fit, the
    /// longest decides.
    #[schemars(length(max = 20), extend("x-example" = "[\"CHAI BORA 250\"]"))]
    r#match: Vec<Match>,
    /// Entries for each one bought.
    #[schemars(range(min = 1, max = 1_000), extend("default" = 1))]
    entries: u32,
}

#[derive(JsonSchema)]
struct Branch {
    /// Its key.
    #[schemars(extend("x-example" = "kko"))]
    key: Key,
    /// Its name.
    #[schemars(extend("x-example" = "Kariakoo"))]
    name: Name,
    /// Its city.
    #[schemars(extend("x-example" = "Dar es Salaam"))]
    city: Name,
    /// The merchant it belongs to.
    #[schemars(extend("x-example" = "Duka Kuu"))]
    merchant: Name,
    /// The merchant's taxpayer number: 9 digits, in quotes.
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = "^(-*[0-9]){9}-*$"),
        extend(
            "x-form" = "a taxpayer number of 9 digits, in quotes, such as `{example}`",
            "x-example" = "\"100147181\""
        )
    )]
    tin: String,
    /// The serial numbers of its fiscal devices, by which a receipt's branch is known.
    #[schemars(length(max = 50), extend(
        "default" = [],
        "x-left-out" = "every device of the merchant",
        "x-example" = "[\"03TZ343001520\"]"
    ))]
    serials: Vec<Serial>,
}

#[derive(JsonSchema)]
struct Partner {
    /// The partner's URL: `https://`, at a public address.
    #[schemars(extend("x-example" = "https://partner.example/redeem"))]
    url: Long,
    /// The method of the request.
    #[schemars(extend("enum" = ["POST", "PUT", "GET"], "default" = "POST"))]
    method: String,
    /// Headers that are not secret.
    #[schemars(extend(
        "maxProperties" = 20,
        "x-left-out" = "none",
        "x-example" = "{ X-Client: chai-bora }"
    ))]
    headers: BTreeMap<String, Long>,
    /// The header that authenticates the service. Its value is in Secrets Manager, never here.
    #[schemars(extend("x-left-out" = "none"))]
    secret: Secret,
    /// How long to wait for an answer.
    #[schemars(range(min = 1, max = PartnerRules::MAX_TIMEOUT_SECONDS), extend("default" = 8))]
    timeout_seconds: u32,
    /// The most requests in flight at a time; the queue asks about the rest.
    #[schemars(range(min = 1, max = PartnerRules::MAX_IN_FLIGHT), extend("default" = 50))]
    max_in_flight: u32,
    /// The form in which codes are compared and sent.
    #[schemars(extend(
        "enum" = ["folded", "exact"],
        "x-enumDescriptions" = { "folded": "upper case, without spaces and dashes", "exact": "as typed" },
        "default" = "folded"
    ))]
    code: String,
    /// The JSON that is sent. Placeholders: `{{reference}}` (the submission's id) and `{{code}}`, both required;
    /// `{{phone}}`, `{{campaign}}`, `{{livemode}}`.
    #[schemars(extend(
        "x-example" = "{ reference: \"{{reference}}\", code: \"{{code}}\", phone: \"{{phone}}\" }"
    ))]
    body: Value,
    /// JSON Pointers to the parts of the reply.
    #[schemars(extend("x-example" = "{ code: /status }"))]
    reply: Reply,
    /// What each of the partner's codes means: a message key. A code that is not here is not an answer.
    #[schemars(extend("maxProperties" = 200, "x-example" = "{ \"0\": entered, \"20\": invalid }"))]
    outcomes: BTreeMap<String, Outcome>,
}

#[derive(JsonSchema)]
struct Outcome(#[schemars(extend("enum" = outcomes(), "x-rule" = true))] String);

/// The message keys that a partner's code can mean.
pub(super) fn outcomes() -> Vec<&'static str> {
    let keys = MessageKey::ALL.iter().copied();
    keys.filter(|key| PartnerRules::can_mean(*key))
        .map(MessageKey::as_str)
        .collect()
}

#[derive(JsonSchema)]
struct Secret {
    /// The header.
    #[schemars(extend("x-example" = "Authorization"))]
    header: Parsed,
    /// The secret's name, without the stack's name in front.
    #[schemars(
        length(min = 1, max = 120),
        regex(pattern = "^partners/[A-Za-z0-9/_+=.@-]+$"),
        extend(
            "x-form" = "the name of a secret that begins with `partners/`, of letters, digits and `/_+=.@-`, \
                        such as `{example}`; never the secret itself",
            "x-example" = "partners/chai-bora"
        )
    )]
    name: String,
}

#[derive(JsonSchema)]
struct Reply {
    /// The partner's code.
    #[schemars(extend("x-example" = "/status"))]
    code: Pointer,
    /// The partner's own words.
    #[schemars(extend("x-left-out" = "none", "x-example" = "/text"))]
    message: Pointer,
    /// Entries that the code earns.
    #[schemars(extend("x-left-out" = "`entries_per_submission`", "x-example" = "/entries"))]
    entries: Pointer,
    /// An instant prize.
    #[schemars(extend("x-left-out" = "none", "x-example" = "/prize"))]
    prize: Pointer,
}
