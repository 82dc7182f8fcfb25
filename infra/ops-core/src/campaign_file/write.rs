use chrono::SecondsFormat;

use super::rules::tin_digits;
use super::schema::{Kind, Schema};
use super::tree::{self, Content, Node};
use crate::prelude::*;

/// `null` for missing fields.
pub(crate) fn to_json(campaign: &Campaign) -> Result<Map<String, Value>> {
    let json = serde_json::to_value(campaign);
    let Ok(Value::Object(mut fields)) = json else {
        bail!("not_shown", "the campaign cannot be shown; report this");
    };
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let window = json!({ "start": time(campaign.window.start), "end": time(campaign.window.end) });
    fields.insert("window".to_owned(), window);
    fields.insert("code".to_owned(), json!({ "checked_by": campaign.code }));
    fields.remove("archived");
    fields.remove("webhooks");
    fields.remove("instant_plan_test");
    fields.remove("instant_plan_live");
    Ok(fields)
}

pub(super) fn from_json(mut file: Value) -> Result<Campaign, serde_json::Error> {
    if let Some(Value::Object(window)) = file.get_mut("window") {
        for time in window.values_mut() {
            *time = json!(
                time.as_str()
                    .and_then(|time| time.parse::<Timestamp>().ok())
            );
        }
    }
    let branches = file
        .pointer_mut("/receipt/branches")
        .and_then(Value::as_array_mut);
    for branch in branches.into_iter().flatten() {
        if let Some(tin) = branch.get_mut("tin") {
            *tin = json!(tin.as_str().map(tin_digits));
        }
    }
    if let Value::Object(fields) = &mut file {
        let code = fields.get("code").and_then(|code| code.get("checked_by"));
        fields.insert("code".to_owned(), json!(code));
        fields.entry("paused").or_insert(Value::Bool(false));
        if fields.get("retention").is_some_and(is_nothing) {
            fields.remove("retention");
        }
    }
    serde_json::from_value(file)
}

/// Omits `paused`: applying the file keeps the pause switch.
pub fn to_yaml(campaign: &Campaign) -> Result<String> {
    let mut fields = to_json(campaign)?;
    fields.remove("paused");
    let time = |at: Option<Timestamp>| at.map(|at| with_offset(at, campaign));
    let window = json!({ "start": time(campaign.window.start), "end": time(campaign.window.end) });
    fields.insert("window".to_owned(), window);
    let mut yaml = String::new();
    push_fields(&mut yaml, 0, Schema::of_file(), &fields);
    Ok(yaml)
}

fn with_offset(at: Timestamp, campaign: &Campaign) -> String {
    let local = at
        .in_zone(campaign.timezone)
        .to_rfc3339_opts(SecondsFormat::AutoSi, false);
    // RFC 3339 cannot write the seconds of old offsets.
    if local.parse() == Ok(at) {
        local
    } else {
        at.to_string()
    }
}

fn push_fields(yaml: &mut String, indent: usize, block: &Schema, fields: &Map<String, Value>) {
    for (name, schema) in block.fields() {
        let Some(value) = fields.get(name).filter(|value| !is_nothing(value)) else {
            continue;
        };
        *yaml += &format!("{:indent$}{name}:", "");
        match (schema.kind(), value) {
            (Kind::Object, Value::Object(inner)) => {
                yaml.push('\n');
                push_fields(yaml, indent + 2, schema, inner);
            }
            (Kind::List(_, item), Value::Array(items)) if matches!(item.kind(), Kind::Object) => {
                yaml.push('\n');
                let item = |value| format!("{:indent$}  - {}\n", "", flow(value, item));
                yaml.extend(items.iter().map(item));
            }
            _ => yaml.push_str(&format!(" {}\n", flow(value, schema))),
        }
    }
}

pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(super) fn flow(value: &Value, schema: &Schema) -> String {
    match (value, schema.kind()) {
        (Value::String(text), _) => scalar(text),
        (Value::Array(items), Kind::List(_, item)) => {
            format!("[{}]", joined(items.iter().map(|value| flow(value, item))))
        }
        (Value::Object(fields), Kind::Object) => {
            let known = schema.fields().filter_map(|(name, schema)| {
                let value = fields.get(name).filter(|value| !is_nothing(value))?;
                Some(format!("{name}: {}", flow(value, schema)))
            });
            format!("{{ {} }}", joined(known))
        }
        (Value::Object(fields), Kind::Map(_, item)) => {
            let pair = |(name, value)| format!("{}: {}", json!(name), flow(value, item));
            format!("{{ {} }}", joined(fields.iter().map(pair)))
        }
        // JSON is YAML.
        _ => value.to_string(),
    }
}

/// Without quotes if it reads as the same text everywhere.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/'))
        && matches!(tree::parse(text), Ok(Some(Node { content: Content::Text(read), .. })) if read == text);
    if is_plain {
        text.to_owned()
    } else {
        json!(text).to_string()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::campaign_file::read;

    /// Every field, with values that need care.
    pub(in super::super) const WHOLE: &str = r##"
slug: demo
name: "true"
brand: "A: b, c # d"
timezone: Africa/Dar_es_Salaam
window: { start: 2026-01-01T00:00:00+03:00, end: 2026-04-01T00:00:00.5+03:00 }
code: { checked_by: none }
limits: { phone_daily: 3 }
entries_per_submission: 2
wrong_codes: { count: 5, minutes: 30 }
messages: { en: { entered: "Line one\nline \"two\" \\ tab" }, sw: { entered: "Hongera é 茶" } }
receipt:
  required: false
  typed: true
  on_no_match: decline
  max_entries: 7
  ranges: [{ name: Classic, tag: "For every day" }, { name: "7" }]
  products:
    - { key: a, range: Classic, label: "null", name: A, color: "#c0392b", image: /a.png, match: ["A, B", "[C]"], entries: 3 }
  branches:
    - { key: kko, name: Kariakoo, city: Dar es Salaam, merchant: Duka Kuu, tin: "100147181", serials: ["03TZ343001520"] }
  draw_period: weekly
consent: { version: "2026", en: "I agree: yes", sw: "Nakubali\n\nsana" }
retention: { phones_days: 365, photos_days: 3650 }
instant:
  prizes: ["Airtime: 1,000", "7"]
  caps: { total: 2, day: 1 }
  curves: { evening: [0, 3, 1] }
  days:
    - { from: 2026-01-02, to: 2026-01-04, curve: evening, prizes: [5, 0] }
    - { from: 2026-01-05T00:00, to: 2026-01-05T12:00:00+03:00, prizes: [0, 1] }
"##;
    pub(in super::super) const PARTNER: &str = r#"
slug: demo
name: Demo
brand: Demo
timezone: UTC
code: { checked_by: partner }
partner:
  url: https://partner.example/redeem?a=b
  method: PUT
  headers: { X-Client: "a: b", X-Other: "7" }
  secret: { header: Authorization, name: partners/chai-bora }
  timeout_seconds: 5
  max_in_flight: 20
  code: exact
  body: { reference: "{{reference}}", list: ["{{code}}", 7, -1.5, true, null, "7", {}], "a b": {"c": "d\ne"} }
  reply: { code: /status, prize: /a~1b/0 }
  outcomes: { 0: entered, "a\"b": invalid }
"#;

    #[test]
    fn a_campaign_reads_as_it_was_written() {
        for text in [WHOLE, PARTNER, crate::campaign_file::tests::MINIMAL] {
            let campaign = read("a.yaml", text).expect(text).campaign;
            let yaml = to_yaml(&campaign).expect("YAML");
            let again = read("b.yaml", &yaml).expect(&yaml);
            assert_eq!(again.campaign, campaign, "{yaml}");
            assert!(!again.says_paused, "applying it keeps a pause");
            let json = Value::Object(to_json(&campaign).expect("JSON")).to_string();
            assert_eq!(read("c.json", &json).expect(&json).campaign, campaign);
        }
    }

    #[test]
    fn it_is_written_as_a_person_would() {
        let campaign = read("a.yaml", WHOLE).expect("a campaign").campaign;
        let yaml = to_yaml(&campaign).expect("YAML");
        for lines in [
            "window:\n  start: \"2026-01-01T00:00:00+03:00\"\n",
            "code:\n  checked_by: none\n",
            "    - { name: Classic, tag: For every day }\n    - { name: \"7\" }\n",
            "serials: [\"03TZ343001520\"] }\n",
        ] {
            assert!(yaml.contains(lines), "{lines}{yaml}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_as_it_was_written(text in "\\PC{1,40}") {
            let node = tree::parse(&format!("a: {}", scalar(&text))).expect("YAML").expect("a field");
            let Content::Block(entries) = node.content else { panic!("a block") };
            let value = entries.first().map(|entry| &entry.value.content);
            prop_assert!(matches!(value, Some(Content::Text(read)) if *read == text), "{:?}", value);
        }
    }
}
