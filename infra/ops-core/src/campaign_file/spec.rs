//! The fields of a campaign file: what each holds, its default, and what it means. The reader
//! takes names and bounds from here; the JSON Schema, the page and the template are made from it.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use common::domain::message::TextKey;
use common::domain::partner::PartnerRules;

use self::Kind::{Block, Choice, Count, Form, Json, List, Map, Messages, Outcome, Switch, Text};

/// One field.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The default, in words; `None` for a required field.
    pub(super) default: Option<&'static str>,
    /// A value, as written in a file.
    pub(super) example: &'static str,
    /// What it means.
    pub(super) text: &'static str,
}

/// What a field holds.
pub(super) enum Kind {
    /// Text, with its length in characters.
    Text(RangeInclusive<usize>),
    /// Text, with its length in characters and its form: a regular expression of JSON Schema.
    Form(RangeInclusive<usize>, &'static str),
    /// `true` or `false`.
    Switch,
    /// A whole number from 1 to this.
    Count(u32),
    /// One of these words, each with its meaning, or an empty text if the word says it.
    Choice(&'static [(&'static str, &'static str)]),
    /// Fields.
    Block(&'static [Spec]),
    /// A list: its maximum length, and the kind of its items.
    List(usize, &'static Kind),
    /// Fields of any name: their maximum number, and their kind.
    Map(usize, &'static Kind),
    /// Message keys, each with a text.
    Messages,
    /// A message key that a partner's code can mean.
    Outcome,
    /// Anything.
    Json,
}

impl Kind {
    /// The fields of a block.
    pub(super) fn fields(&self) -> &'static [Spec] {
        /// One for each message key.
        static COPY: LazyLock<Vec<Spec>> = LazyLock::new(|| {
            let copy =
                |key: TextKey| optional(key.as_str(), COPY_KIND, "the service's words", "", "");
            TextKey::all().map(copy).collect()
        });
        match self {
            Block(fields) => fields,
            Messages => &COPY,
            Text(_) | Form(..) | Switch | Count(_) | Choice(_) | List(..) | Map(..) | Outcome
            | Json => &[],
        }
    }

    /// The length of a text, in characters.
    pub(super) fn chars(&self) -> RangeInclusive<usize> {
        match self {
            Text(chars) | Form(chars, _) => chars.clone(),
            Json => 0..=1_000,
            Switch | Count(_) | Choice(_) | Block(_) | List(..) | Map(..) | Messages | Outcome => {
                PARSED
            }
        }
    }

    /// The maximum of a number, or of the items of a list or map.
    pub(super) fn most(&self) -> usize {
        match self {
            Count(most) => usize::try_from(*most).unwrap_or(usize::MAX),
            List(most, _) | Map(most, _) => *most,
            Json => 100,
            Text(_) | Form(..) | Switch | Choice(_) | Block(_) | Messages | Outcome => usize::MAX,
        }
    }

    /// The length of a message's text, in characters.
    pub(super) fn item_chars(&self) -> RangeInclusive<usize> {
        self.fields()
            .first()
            .map_or(PARSED, |field| field.kind.chars())
    }

    /// The kind of what a list or map holds.
    pub(super) fn item(&'static self) -> &'static Kind {
        match self {
            List(_, item) | Map(_, item) => item,
            Text(_) | Form(..) | Switch | Count(_) | Choice(_) | Block(_) | Messages | Outcome
            | Json => self,
        }
    }
}

const fn required(
    name: &'static str,
    kind: Kind,
    example: &'static str,
    text: &'static str,
) -> Spec {
    Spec {
        name,
        kind,
        default: None,
        example,
        text,
    }
}

const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    text: &'static str,
) -> Spec {
    Spec {
        name,
        kind,
        default: Some(default),
        example,
        text,
    }
}

/// Longer than anything that is parsed further.
const PARSED: RangeInclusive<usize> = 1..=100;
/// Names of campaigns, brands, products, branches.
const NAME: Kind = Text(1..=120);
/// Two SMS at most.
const COPY_KIND: Kind = Text(1..=320);
/// Shown on a tile: a label, a colour.
const LABEL: Kind = Text(1..=40);
/// What callers send as a product's or a branch's key.
const KEY: Kind = Form(PARSED, "^[A-Za-z0-9_-]{1,64}$");
const TIME: Kind = Form(
    PARSED,
    r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$",
);
/// More submissions of a phone than any campaign intends, and few enough that no sum overflows.
const SUBMISSIONS: Kind = Count(1_000_000);
/// Ten years.
const DAYS: Kind = Count(3_650);
/// A part of a partner's reply.
const POINTER: Kind = Form(PARSED, "^/");
/// What a consumer reads before agreeing.
const CONSENT: Kind = Text(1..=2_000);

/// The whole file.
pub(super) static FILE: Kind = Block(FIELDS);

const FIELDS: &[Spec] = &[
    required(
        "slug",
        Form(PARSED, "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"),
        "chai-bora-2026",
        "Its name in keys, URLs and commands. It cannot be changed.",
    ),
    required("name", NAME, "Chai Bora Shinda", "Its name for people."),
    required("brand", NAME, "Chai Bora", "The brand it belongs to."),
    required(
        "timezone",
        Form(PARSED, "^[A-Z][A-Za-z0-9_+/-]*$"),
        "Africa/Dar_es_Salaam",
        "The IANA time zone in which days and daily limits are counted.",
    ),
    optional(
        "paused",
        Switch,
        "stays as it is: `ops campaign pause` and `resume` turn it",
        "true",
        "Whether the campaign is paused.",
    ),
    optional(
        "window",
        Block(WINDOW),
        "always open",
        "{ start: 2026-01-01T00:00:00+03:00, end: null }",
        "When it takes entries.",
    ),
    required(
        "code",
        Block(CODE),
        "{ checked_by: service }",
        "The codes that consumers send.",
    ),
    optional(
        "limits",
        Block(LIMITS),
        "no limit",
        "{ phone_daily: 3, phone_total: 20 }",
        "Submissions of one phone that count; rejected ones do not.",
    ),
    optional(
        "entries_per_submission",
        Count(super::MAX_ENTRIES),
        "1",
        "1",
        "Entries that an accepted submission earns, unless its receipt or the partner says otherwise.",
    ),
    optional(
        "wrong_codes",
        Block(WRONG_CODES),
        "10 within 60 minutes",
        "{ count: 10, minutes: 60 }",
        "Wrong codes after which a phone is refused for a while.",
    ),
    optional(
        "messages",
        Block(MESSAGES),
        "the service's words",
        "{ en: { entered: \"You are in!\" }, sw: { entered: \"Umeingia!\" } }",
        "Its own texts, by message key. `ops campaign init` lists the keys with the service's words.",
    ),
    optional(
        "receipt",
        Block(RECEIPT),
        "it takes no receipts",
        "{ required: true, typed: true }",
        "Rules for receipts. Cannot be combined with codes that a partner checks.",
    ),
    optional(
        "partner",
        Block(PARTNER),
        "no partner; required if `code.checked_by` is `partner`",
        "{ url: ..., body: ..., reply: ..., outcomes: ... }",
        "The partner that checks the codes, and how to ask it.",
    ),
    optional(
        "consent",
        Block(CONSENT_FIELDS),
        "it has no text of its own",
        "{ version: \"2026-01\", en: \"I agree to ...\", sw: \"Nakubali ...\" }",
        "The text that consumers agree to.",
    ),
    optional(
        "retention",
        Block(RETENTION),
        "kept as the deployment says",
        "{ phones_days: 365, photos_days: 90 }",
        "How long personal data is kept after the campaign's end; then it is deleted.",
    ),
];

const WINDOW: &[Spec] = &[
    optional(
        "start",
        TIME,
        "from now on",
        "2026-01-01T00:00:00+03:00",
        "The start of the campaign, with the offset from UTC.",
    ),
    optional(
        "end",
        TIME,
        "for ever",
        "2026-04-01T00:00:00+03:00",
        "The end of the campaign: the first moment at which it takes no more entries.",
    ),
];

const CODE: &[Spec] = &[required(
    "checked_by",
    Choice(&[("service", ""), ("partner", ""), ("none", "")]),
    "service",
    "`service`: codes that are minted or imported here. `partner`: the partner below judges them. `none`: there are no \
     codes; then require receipts, or anyone can enter.",
)];

const LIMITS: &[Spec] = &[
    optional(
        "phone_daily",
        SUBMISSIONS,
        "no limit",
        "3",
        "In a day of the campaign's time zone.",
    ),
    optional(
        "phone_total",
        SUBMISSIONS,
        "no limit",
        "20",
        "Over the whole campaign.",
    ),
];

const WRONG_CODES: &[Spec] = &[
    // Each wrong code that counts is kept with its phone, so there must not be many.
    optional("count", Count(100), "10", "10", "Wrong codes of one phone."),
    optional(
        "minutes",
        Count(24 * 60),
        "60",
        "60",
        "Within so many minutes.",
    ),
];

const MESSAGES: &[Spec] = &[
    optional(
        "en",
        Messages,
        "the service's words",
        "{ entered: \"You are in!\" }",
        "English.",
    ),
    optional(
        "sw",
        Messages,
        "the service's words",
        "{ entered: \"Umeingia!\" }",
        "Swahili.",
    ),
];

const CONSENT_FIELDS: &[Spec] = &[
    required(
        "version",
        Text(1..=40),
        "\"2026-01\"",
        "Identifies this text. A changed text needs a new version.",
    ),
    required("en", CONSENT, "\"I agree to ...\"", "In English."),
    required("sw", CONSENT, "\"Nakubali ...\"", "In Swahili."),
];

const RETENTION: &[Spec] = &[
    optional(
        "phones_days",
        DAYS,
        "kept",
        "365",
        "Days for phone numbers.",
    ),
    optional(
        "photos_days",
        DAYS,
        "the deployment's `PhotoRetentionDays`",
        "90",
        "Days for photos.",
    ),
];

// Judging a receipt goes through all of these lists, so none may be long.
const RECEIPT: &[Spec] = &[
    optional(
        "required",
        Switch,
        "true",
        "true",
        "Whether every submission must carry a receipt.",
    ),
    optional(
        "typed",
        Switch,
        "false",
        "true",
        "Whether a receipt's code and time may be typed in.",
    ),
    optional(
        "on_no_match",
        Choice(&[("review", ""), ("decline", "")]),
        "review",
        "review",
        "What happens to a receipt that names no participating product: an operator reviews it, or it is declined. Tills \
         often print only a sum.",
    ),
    // A partner's code earns no more either.
    optional(
        "max_entries",
        Count(super::MAX_ENTRIES),
        "100",
        "100",
        "The most entries of one receipt; one that would earn more goes to an operator.",
    ),
    optional(
        "ranges",
        List(50, &Block(RANGE)),
        "none",
        "[{ name: Classic, tag: \"For every day\" }]",
        "Product ranges, for grouping.",
    ),
    optional(
        "products",
        List(200, &Block(PRODUCT)),
        "any purchase counts",
        "[{ key: chai-250, range: Classic, label: 250 g, name: Chai Bora 250 g, match: [\"CHAI BORA 250\"], entries: 1 }]",
        "Participating products.",
    ),
    optional(
        "branches",
        List(500, &Block(BRANCH)),
        "any shop counts",
        "[{ key: kko, name: Kariakoo, city: Dar es Salaam, merchant: Duka Kuu, tin: \"100147181\", serials: [\"03TZ343001520\"] }]",
        "Participating branches.",
    ),
    optional(
        "draw_period",
        NAME,
        "none",
        "weekly",
        "How often the draw takes place, in words.",
    ),
];

const RANGE: &[Spec] = &[
    required(
        "name",
        NAME,
        "Classic",
        "Its name, which products refer to.",
    ),
    optional(
        "tag",
        NAME,
        "none",
        "\"For every day\"",
        "A short tag line.",
    ),
];

const PRODUCT: &[Spec] = &[
    required(
        "key",
        KEY,
        "chai-250",
        "What callers send as `claimed.items[].key`.",
    ),
    required("range", NAME, "Classic", "The name of its range."),
    required("label", LABEL, "250 g", "A short label for its tile."),
    required("name", NAME, "Chai Bora 250 g", "Its full name."),
    optional(
        "color",
        LABEL,
        "none",
        "\"#c0392b\"",
        "The colour of its tile.",
    ),
    optional(
        "image",
        Text(1..=500),
        "none",
        "/images/chai-250.png",
        "The path of its image.",
    ),
    required(
        "match",
        List(20, &Text(1..=100)),
        "[\"CHAI BORA 250\"]",
        "Texts that tills print for it. An item counts if its description has one of them, in upper or lower case and as \
         whole words and numbers: `CHAI 25` is in `CHAI 25G`, but not in `CHAI 250`. If texts of several products fit, \
         the longest decides.",
    ),
    optional(
        "entries",
        Count(1_000),
        "1",
        "1",
        "Entries for each one bought.",
    ),
];

const BRANCH: &[Spec] = &[
    required("key", KEY, "kko", "Its key."),
    required("name", NAME, "Kariakoo", "Its name."),
    required("city", NAME, "Dar es Salaam", "Its city."),
    required("merchant", NAME, "Duka Kuu", "The merchant it belongs to."),
    required(
        "tin",
        Form(PARSED, "^(-*[0-9]){9}-*$"),
        "\"100147181\"",
        "The merchant's taxpayer number: 9 digits, in quotes.",
    ),
    optional(
        "serials",
        List(50, &Form(PARSED, "^[A-Za-z0-9]{1,40}$")),
        "every device of the merchant",
        "[\"03TZ343001520\"]",
        "The serial numbers of its fiscal devices, by which a receipt's branch is known.",
    ),
];

const PARTNER: &[Spec] = &[
    required(
        "url",
        Text(1..=1_000),
        "https://partner.example/redeem",
        "The partner's URL: `https://`, at a public address.",
    ),
    optional(
        "method",
        Choice(&[("POST", ""), ("PUT", ""), ("GET", "")]),
        "POST",
        "POST",
        "The method of the request.",
    ),
    optional(
        "headers",
        Map(20, &Text(1..=1_000)),
        "none",
        "{ X-Client: chai-bora }",
        "Headers that are not secret.",
    ),
    optional(
        "secret",
        Block(SECRET),
        "none",
        "{ header: Authorization, name: partners/chai-bora }",
        "The header that authenticates the service. Its value is in Secrets Manager, never here.",
    ),
    optional(
        "timeout_seconds",
        Count(PartnerRules::MAX_TIMEOUT_SECONDS),
        "8",
        "8",
        "How long to wait for an answer.",
    ),
    optional(
        "max_in_flight",
        Count(PartnerRules::MAX_IN_FLIGHT),
        "50",
        "50",
        "The most requests in flight at a time; the queue asks about the rest.",
    ),
    optional(
        "code",
        Choice(&[
            ("folded", "upper case, without spaces and dashes"),
            ("exact", "as typed"),
        ]),
        "folded",
        "folded",
        "The form in which codes are compared and sent.",
    ),
    required(
        "body",
        Json,
        "{ reference: \"{{reference}}\", code: \"{{code}}\", phone: \"{{phone}}\" }",
        "The JSON that is sent. Placeholders: `{{reference}}` (the submission's id) and `{{code}}`, both \
         required; `{{phone}}`, `{{campaign}}`, `{{livemode}}`.",
    ),
    required(
        "reply",
        Block(REPLY),
        "{ code: /status }",
        "JSON Pointers to the parts of the reply.",
    ),
    required(
        "outcomes",
        Map(200, &Outcome),
        "{ \"0\": entered, \"20\": invalid }",
        "What each of the partner's codes means: a message key. A code that is not here is not an answer.",
    ),
];

const SECRET: &[Spec] = &[
    required("header", Text(PARSED), "Authorization", "The header."),
    required(
        "name",
        Form(1..=120, "^partners/[A-Za-z0-9/_+=.@-]+$"),
        "partners/chai-bora",
        "The secret's name, without the stack's name in front.",
    ),
];

const REPLY: &[Spec] = &[
    required("code", POINTER, "/status", "The partner's code."),
    optional(
        "message",
        POINTER,
        "none",
        "/text",
        "The partner's own words.",
    ),
    optional(
        "entries",
        POINTER,
        "`entries_per_submission`",
        "/entries",
        "Entries that the code earns.",
    ),
    optional("prize", POINTER, "none", "/prize", "An instant prize."),
];
