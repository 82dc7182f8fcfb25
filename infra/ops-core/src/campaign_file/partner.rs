//! The `partner` block of a campaign file.

use std::collections::{BTreeMap, HashMap};

use common::domain::message::MessageKey;
use common::domain::partner::pointer::{Pointer, ReplyPointers};
use common::domain::partner::reply::MAX_CODE_CHARS;
use common::domain::partner::template::{Placeholder, Template};
use common::domain::partner::{PartnerRules, PartnerSecret};
use common::upstream::partner::partner_url::{PartnerUrl, header_name, header_value};

use super::fields::{Field, Fields, closest, listed};

/// Reads the block; `None` if a required part is missing or wrong.
pub(super) fn read(field: &Field<'_>) -> Option<PartnerRules> {
    let fields = field.block()?;
    let url = fields.required("url").and_then(|field| url(&field));
    let method = fields
        .get("method")
        .and_then(|field| field.choice())
        .unwrap_or_default();
    let headers = fields
        .get("headers")
        .map(|field| headers(&field))
        .unwrap_or_default();
    let secret = fields
        .get("secret")
        .and_then(|field| secret(&field, &headers));
    let timeout_seconds = fields
        .count("timeout_seconds")
        .unwrap_or(PartnerRules::MAX_TIMEOUT_SECONDS);
    let max_in_flight = fields.count("max_in_flight");
    let code = fields
        .get("code")
        .and_then(|field| field.choice())
        .unwrap_or_default();
    let body = fields.required("body").and_then(|field| body(&field));
    let reply = fields.required("reply").and_then(|field| reply(&field));
    let outcomes = fields
        .required("outcomes")
        .and_then(|field| outcomes_of(&field));
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
    let url = field.text()?;
    let problem = if url.contains("{{") {
        "must not hold placeholders; put them into `body`".to_owned()
    } else {
        match PartnerUrl::parse(url) {
            Ok(endpoint) if endpoint.is_loopback() => return Some(url.to_owned()),
            Ok(endpoint) if !endpoint.is_https() => {
                "must begin with `https://`; only a partner on this machine can be asked over http"
                    .to_owned()
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

fn headers(field: &Field<'_>) -> BTreeMap<String, String> {
    let entries = field.entries().unwrap_or_default();
    let mut spellings = HashMap::new();
    let mut headers = BTreeMap::new();
    for (name, field) in entries {
        if let Err(error) = header_name(name) {
            field.problem(error.to_string());
        }
        let spelling = *spellings.entry(name.to_ascii_lowercase()).or_insert(name);
        if spelling != name {
            field.problem(format!(
                "is `{spelling}` again; capital letters make no other header"
            ));
        }
        let Some(value) = field.text() else { continue };
        if let Err(error) = header_value(value) {
            field.problem(error.to_string());
        }
        headers.insert(name.to_owned(), value.to_owned());
    }
    headers
}

fn secret(field: &Field<'_>, headers: &BTreeMap<String, String>) -> Option<PartnerSecret> {
    let fields = field.block()?;
    let header = fields.required("header");
    let header = header.and_then(|field| {
        let name = field.parsed(|name| match header_name(name) {
            Ok(_) => Ok(name.to_owned()),
            Err(error) => Err(error.to_string()),
        })?;
        if headers
            .keys()
            .any(|header| header.eq_ignore_ascii_case(&name))
        {
            field.problem("is in `headers` too; keep one of them");
        }
        Some(name)
    });
    let name = fields
        .required("name")
        .and_then(|field| secret_name(&field));
    Some(PartnerSecret {
        header: header?,
        name: name?,
    })
}

fn secret_name(field: &Field<'_>) -> Option<String> {
    let name = field.text()?;
    // Secrets Manager allows these characters, and the functions' roles allow this prefix.
    if name.starts_with("partners/")
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/_+=.@-".contains(c))
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
                Placeholder::Code
                | Placeholder::Phone
                | Placeholder::Campaign
                | Placeholder::Livemode => "",
            };
            field.problem(format!(
                "must hold the placeholder `{}`{why}",
                needed.as_str()
            ));
        }
    }
    Some(template)
}

fn reply(field: &Field<'_>) -> Option<ReplyPointers> {
    let fields = field.block()?;
    let pointer = |field: &Field<'_>| {
        field.parsed(|text| Pointer::try_from(text.to_owned()).map_err(|error| error.to_string()))
    };
    let code = fields.required("code").and_then(|field| pointer(&field));
    let part = |name| fields.get(name).and_then(|field| pointer(&field));
    let (message, entries, prize) = (part("message"), part("entries"), part("prize"));
    Some(ReplyPointers {
        code: code?,
        message,
        entries,
        prize,
    })
}

fn outcomes_of(field: &Field<'_>) -> Option<BTreeMap<String, MessageKey>> {
    let entries = field.entries()?;
    let mut has_problem = false;
    let mut outcomes = BTreeMap::new();
    for (code, field) in entries {
        if code.is_empty() || code.chars().count() > MAX_CODE_CHARS {
            field.problem(format!(
                "must be for a partner's code of 1 to {MAX_CODE_CHARS} characters"
            ));
        }
        match field.parsed(outcome) {
            Some(outcome) => {
                outcomes.insert(code.to_owned(), outcome);
            }
            None => has_problem = true,
        }
    }
    if !has_problem && !outcomes.values().any(|key| PartnerRules::accepts(*key)) {
        field.problem(
            "must hold a code that means `entered` or `instant_win`; without it nobody can enter",
        );
    }
    Some(outcomes)
}

fn outcome(text: &str) -> Result<MessageKey, String> {
    let all = MessageKey::ALL.iter().copied();
    let names: Vec<&str> = all
        .filter(|key| PartnerRules::can_mean(*key))
        .map(|key| key.as_str())
        .collect();
    match text.parse::<MessageKey>() {
        Ok(key) if PartnerRules::can_mean(key) => Ok(key),
        Ok(_) => Err(format!(
            "cannot be what a partner decides; it can be {}",
            listed(&names)
        )),
        Err(_) => Err(match closest(text, &names) {
            Some(closest) => format!("is not a message key; did you mean `{closest}`?"),
            None => format!("is not a message key; it can be {}", listed(&names)),
        }),
    }
}

/// Reads the block, which is required if the partner checks codes and a problem if not.
pub(super) fn read_for(checks_codes: bool, file: &Fields<'_>) -> Option<PartnerRules> {
    let field = match checks_codes {
        true => file.required("partner"),
        false => file.get("partner").inspect(|field| {
            field.problem(
                "is here, but code.checked_by is not `partner`; make it so, or remove this",
            );
        }),
    };
    field.and_then(|field| read(&field))
}
