//! The page about the fields of campaign files, `infra/campaign-file.md`, and the template that `ops campaign init` writes.

use common::domain::message::MessageKey;
use common::domain::partner::PartnerRules;

use super::spec::{FILE, Kind, Spec};

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Campaign files\n\nMade by `cargo ops campaign schema --markdown > infra/campaign-file.md`; a test compares it.\n\n\
         A campaign file is YAML. `ops campaign init` writes one with every field explained, `ops campaign apply FILE` shows \
         what it changes and asks before it does. A field that is `null` counts as left out; an unknown one is refused.\n\n\
         For checks while you type, write the schema once (`ops campaign schema > campaign.schema.json`) and begin the file \
         with `# yaml-language-server: $schema=campaign.schema.json`.\n",
    );
    push_section(&mut page, "", &FILE);
    page
}

fn push_section(page: &mut String, path: &str, kind: &'static Kind) {
    let title = if path.is_empty() { "The file".to_owned() } else { format!("`{path}`") };
    page.push_str(&format!(
        "\n## {title}\n\n| field | holds | left out | meaning |\n| --- | --- | --- | --- |\n"
    ));
    for Spec { name, kind, default, example, text } in kind.fields() {
        let default = default.unwrap_or("it is required");
        page.push_str(&format!("| `{name}` | {} | {default} | {text} |\n", in_words(kind, example)));
    }
    for Spec { name, kind, .. } in kind.fields() {
        let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
        match kind {
            Kind::Block(_) => push_section(page, &path, kind),
            Kind::List(_, item @ Kind::Block(_)) => push_section(page, &format!("{path}[]"), item),
            Kind::Text(_)
            | Kind::Form(..)
            | Kind::Switch
            | Kind::Count(_)
            | Kind::Choice(_)
            | Kind::List(..)
            | Kind::Map(..)
            | Kind::Messages
            | Kind::Outcome
            | Kind::Json => {}
        }
    }
}

fn in_words(kind: &Kind, example: &str) -> String {
    let chars =
        |range: &std::ops::RangeInclusive<usize>| format!("{} to {} characters", range.start(), range.end());
    match kind {
        Kind::Text(range) => chars(range),
        Kind::Form(..) if example.is_empty() => "text".to_owned(),
        Kind::Form(..) => format!("such as `{example}`"),
        Kind::Switch => "`true` or `false`".to_owned(),
        Kind::Count(most) => format!("1 to {most}"),
        Kind::Choice(words) => {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::Block(_) => "fields, below".to_owned(),
        Kind::List(most, Kind::Block(_)) => format!("a list of at most {most}, below"),
        Kind::List(most, item) => format!("a list of at most {most}: {}", in_words(item, "")),
        Kind::Map(most, item) => format!("at most {most} fields of any name: {}", in_words(item, "")),
        Kind::Messages => {
            format!(
                "message keys, {} of them, each with {}",
                MessageKey::ALL.len(),
                chars(&kind.item_chars())
            )
        }
        Kind::Outcome => {
            let keys = MessageKey::ALL.iter().filter(|key| PartnerRules::can_mean(**key));
            keys.map(|key| format!("`{}`", key.as_str())).collect::<Vec<_>>().join(", ")
        }
        Kind::Json => "JSON".to_owned(),
    }
}

/// A file with every field: the required ones empty, all others behind a `#`.
pub fn template() -> String {
    let mut template = String::from(
        "# A campaign. Fill in what is empty, and remove the `# ` before what else you need.\n\
         # Then look at it with `ops campaign apply THIS-FILE --dry-run`.\n",
    );
    for Spec { name, kind, default, example, text } in FILE.fields() {
        template.push('\n');
        push_comment(&mut template, text);
        match default {
            None if kind.fields().is_empty() => {
                template.push_str(&format!("{name}:   # such as {example}\n"))
            }
            None => {
                template.push_str(&format!("{name}:\n"));
                push_block(&mut template, "  ", kind.fields(), false);
            }
            Some(default) => {
                push_comment(&mut template, &format!("Left out: {default}."));
                push_field(&mut template, "# ", name, kind, example);
            }
        }
    }
    template
}

/// A field as an example, with all fields of a block.
fn push_field(template: &mut String, margin: &str, name: &str, kind: &'static Kind, example: &str) {
    if let Kind::Block(fields) = kind {
        template.push_str(&format!("{margin}{name}:\n"));
        push_block(template, &format!("{margin}  "), fields, true);
    } else {
        template.push_str(&format!("{margin}{name}: {example}\n"));
    }
}

fn push_block(template: &mut String, margin: &str, specs: &'static [Spec], filled: bool) {
    for Spec { name, kind, default, example, text } in specs {
        let left_out = default.map(|default| format!(" Left out: {default}.")).unwrap_or_default();
        template.push_str(&format!("{margin}# {text}{left_out}\n"));
        match filled {
            true => push_field(template, margin, name, kind, example),
            false => template.push_str(&format!("{margin}{name}:   # such as {example}\n")),
        }
    }
}

fn push_comment(template: &mut String, text: &str) {
    template.push_str(&format!("# {text}\n"));
}
