//! The `partner` block of a campaign file.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use common::domain::code::CodeForm;
use common::domain::message::MessageKey;
use common::domain::partner::pointer::{Pointer, ReplyPointers};
use common::domain::partner::reply::MAX_CODE_CHARS;
use common::domain::partner::template::{Placeholder, Template};
use common::domain::partner::{Method, PartnerRules, PartnerSecret};
use common::upstream::partner::endpoint::{Endpoint, header_name, header_value};

use super::fields::{Field, Fields, closest, listed};

const FIELDS: [&str; 10] = [
    "url",
    "method",
    "headers",
    "secret",
    "timeout_seconds",
    "max_in_flight",
    "code",
    "body",
    "reply",
    "outcomes",
];
const REPLY_FIELDS: [&str; 4] = ["code", "message", "entries", "prize"];

const URL_CHARS: RangeInclusive<usize> = 1..=1_000;
/// Characters of a header's value.
const VALUE_CHARS: RangeInclusive<usize> = 1..=1_000;
/// Characters of a secret's name.
const SECRET_NAME_CHARS: usize = 120;
/// More than a partner needs to identify a caller.
const MAX_HEADERS: usize = 20;
/// More outcome codes than any partner has.
const MAX_OUTCOMES: usize = 200;

/// Reads the block; `None` if a required part is missing or wrong.
pub(super) fn read(field: &Field<'_>) -> Option<PartnerRules> {
    let fields = field.block(&FIELDS)?;
    let url = fields.required("url", "https://partner.example/redeem").and_then(|field| url(&field));
    let method = fields.get("method").and_then(|field| method(&field)).unwrap_or_default();
    let headers = fields.get("headers").map(|field| headers(&field)).unwrap_or_default();
    let secret = fields.get("secret").and_then(|field| secret(&field, &headers));
    let most = PartnerRules::MAX_TIMEOUT_SECONDS;
    let timeout_seconds = fields.get("timeout_seconds").and_then(|field| field.count(most)).unwrap_or(most);
    let max_in_flight =
        fields.get("max_in_flight").and_then(|field| field.count(PartnerRules::MAX_IN_FLIGHT));
    let code = fields.get("code").and_then(|field| code_form(&field)).unwrap_or_default();
    let such_as = "{ reference: \"{{reference}}\", code: \"{{code}}\", phone: \"{{phone}}\" }";
    let body = fields.required("body", such_as).and_then(|field| body(&field));
    let reply = fields.required("reply", "{ code: /status }").and_then(|field| reply(&field));
    let outcomes = fields.required("outcomes", "{ \"0\": entered, \"20\": invalid }");
    let outcomes = outcomes.and_then(|field| outcomes_of(&field));
    Some(PartnerRules {
        url: url?,
        method,
        headers,
        secret,
        timeout_seconds,
        max_in_flight: max_in_flight.unwrap_or(PartnerRules::DEFAULT_MAX_IN_FLIGHT),
        code,
        body: Some(body?),
        reply: reply?,
        outcomes: outcomes?,
    })
}

fn url(field: &Field<'_>) -> Option<String> {
    let url = field.text(URL_CHARS)?;
    let problem = if url.contains("{{") {
        "must not hold placeholders; put them into `body`".to_owned()
    } else {
        match Endpoint::parse(url) {
            Ok(endpoint) if endpoint.is_loopback() => return Some(url.to_owned()),
            Ok(endpoint) if !endpoint.is_https() => {
                "must begin with `https://`; only a partner on this machine can be asked over http".to_owned()
            }
            Ok(endpoint) if endpoint.is_forbidden() => {
                "has an address that is not public; the service would refuse to go there".to_owned()
            }
            Ok(_) => return Some(url.to_owned()),
            Err(error) => error.to_string(),
        }
    };
    field.problem(problem);
    None
}

fn method(field: &Field<'_>) -> Option<Method> {
    field.parsed(|text| match text {
        "POST" => Ok(Method::Post),
        "PUT" => Ok(Method::Put),
        "GET" => Ok(Method::Get),
        _ => Err("must be `POST`, `PUT` or `GET`".to_owned()),
    })
}

fn code_form(field: &Field<'_>) -> Option<CodeForm> {
    field.parsed(|text| match text {
        "folded" => Ok(CodeForm::Folded),
        "exact" => Ok(CodeForm::Exact),
        _ => Err("must be `folded` (upper case, without spaces and dashes) or `exact` (as typed)".to_owned()),
    })
}

fn headers(field: &Field<'_>) -> BTreeMap<String, String> {
    let entries = field.entries(MAX_HEADERS, "{ X-Client: chai-bora }").unwrap_or_default();
    let mut spellings = HashMap::new();
    let mut headers = BTreeMap::new();
    for (name, field) in entries {
        if let Err(error) = header_name(name) {
            field.problem(error.to_string());
        }
        let spelling = *spellings.entry(name.to_ascii_lowercase()).or_insert(name);
        if spelling != name {
            field.problem(format!("is `{spelling}` again; capital letters make no other header"));
        }
        let Some(value) = field.text(VALUE_CHARS) else { continue };
        if let Err(error) = header_value(value) {
            field.problem(error.to_string());
        }
        headers.insert(name.to_owned(), value.to_owned());
    }
    headers
}

fn secret(field: &Field<'_>, headers: &BTreeMap<String, String>) -> Option<PartnerSecret> {
    let fields = field.block(&["header", "name"])?;
    let header = fields.required("header", "Authorization");
    let header = header.and_then(|field| {
        let name = field.parsed(|name| match header_name(name) {
            Ok(_) => Ok(name.to_owned()),
            Err(error) => Err(error.to_string()),
        })?;
        if headers.keys().any(|header| header.eq_ignore_ascii_case(&name)) {
            field.problem("is in `headers` too; keep one of them");
        }
        Some(name)
    });
    let name = fields.required("name", "partners/chai-bora").and_then(|field| secret_name(&field));
    Some(PartnerSecret { header: header?, name: name? })
}

fn secret_name(field: &Field<'_>) -> Option<String> {
    let name = field.text(1..=SECRET_NAME_CHARS)?;
    // Secrets Manager allows these characters, and the functions' roles allow this prefix.
    if name.starts_with("partners/")
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "/_+=.@-".contains(c))
    {
        return Some(name.to_owned());
    }
    field.problem(
        "must be the name of a secret that begins with `partners/`, of letters, digits and `/_+=.@-`, such as \
         `partners/chai-bora`; never the secret itself",
    );
    None
}

fn body(field: &Field<'_>) -> Option<Template> {
    let template = match Template::try_from(field.json()?) {
        Ok(template) => template,
        Err(error) => {
            field.problem(error.to_string());
            return None;
        }
    };
    for needed in [Placeholder::Code, Placeholder::Reference] {
        if !template.holds(needed) {
            let why = match needed {
                Placeholder::Reference => "; without it, asking twice could redeem twice",
                Placeholder::Code | Placeholder::Phone | Placeholder::Campaign | Placeholder::Livemode => "",
            };
            field.problem(format!("must hold the placeholder `{}`{why}", needed.as_str()));
        }
    }
    Some(template)
}

fn reply(field: &Field<'_>) -> Option<ReplyPointers> {
    let fields = field.block(&REPLY_FIELDS)?;
    let pointer = |field: &Field<'_>| {
        field.parsed(|text| Pointer::try_from(text.to_owned()).map_err(|error| error.to_string()))
    };
    let code = fields.required("code", "/status").and_then(|field| pointer(&field));
    let part = |name| fields.get(name).and_then(|field| pointer(&field));
    let (message, entries, prize) = (part("message"), part("entries"), part("prize"));
    Some(ReplyPointers { code: code?, message, entries, prize })
}

fn outcomes_of(field: &Field<'_>) -> Option<BTreeMap<String, MessageKey>> {
    let such_as = "{ \"0\": entered, \"20\": invalid }";
    let entries = field.entries(MAX_OUTCOMES, such_as)?;
    let mut has_problem = false;
    let mut outcomes = BTreeMap::new();
    for (code, field) in entries {
        if code.is_empty() || code.chars().count() > MAX_CODE_CHARS {
            field.problem(format!("must be for a partner's code of 1 to {MAX_CODE_CHARS} characters"));
        }
        match field.parsed(outcome) {
            Some(outcome) => {
                outcomes.insert(code.to_owned(), outcome);
            }
            None => has_problem = true,
        }
    }
    if !has_problem && !outcomes.values().any(|key| PartnerRules::accepts(*key)) {
        field.problem("must hold a code that means `entered` or `instant_win`; without it nobody can enter");
    }
    Some(outcomes)
}

fn outcome(text: &str) -> Result<MessageKey, String> {
    let all = MessageKey::ALL.iter().copied();
    let names: Vec<&str> = all.filter(|key| PartnerRules::can_mean(*key)).map(|key| key.as_str()).collect();
    match text.parse::<MessageKey>() {
        Ok(key) if PartnerRules::can_mean(key) => Ok(key),
        Ok(_) => Err(format!("cannot be what a partner decides; it can be {}", listed(&names))),
        Err(_) => Err(match closest(text, &names) {
            Some(closest) => format!("is not a message key; did you mean `{closest}`?"),
            None => format!("is not a message key; it can be {}", listed(&names)),
        }),
    }
}

/// Reads the block, which is required if the partner checks codes and a problem if not.
pub(super) fn read_for(checks_codes: bool, file: &Fields<'_>) -> Option<PartnerRules> {
    let field = match checks_codes {
        true => file.required("partner", "{ url: ..., body: ..., reply: ..., outcomes: ... }"),
        false => file.get("partner").inspect(|field| {
            field.problem("is here, but code.checked_by is not `partner`; make it so, or remove this");
        }),
    };
    field.and_then(|field| read(&field))
}
