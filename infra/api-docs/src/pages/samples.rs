//! Calls from an endpoint's first example, and whole programs.

use common::http::routes::Route;
use serde_json::Value;

use super::markdown::{choice, sample};
use super::{Source, at, text_of, texts};
use crate::ordered;

macro_rules! files {
    ($($tag:literal $name:literal $run:literal,)*) => {
        [$(($tag, $name, $run, include_str!(concat!("../../samples/", $name)))),*]
    };
}

/// Language, name, text, and the command that runs it.
type File = (&'static str, &'static str, &'static str, &'static str);

const ENTER: [File; 4] = files![
    "sh" "enter.sh" "",
    "js" "enter.mjs" "node enter.mjs",
    "php" "enter.php" "php enter.php",
    "py" "enter.py" "python3 enter.py",
];
const FORMS: [File; 2] = files![
    "js" "form.mjs" "node form.mjs",
    "php" "form.php" "php -S 127.0.0.1:8000 form.php",
];
const RECEIVERS: [File; 3] = files![
    "php" "webhook.php" "php -S 127.0.0.1:8001 webhook.php",
    "js" "webhook.mjs" "node webhook.mjs",
    "py" "webhook.py" "python3 webhook.py",
];

pub(super) fn enter() -> String {
    files(&ENTER)
}

pub(super) fn forms() -> String {
    files(&FORMS)
}

pub(super) fn receivers() -> String {
    files(&RECEIVERS)
}

fn files(files: &[File]) -> String {
    let one = |(tag, name, run, text): &File| {
        let run = match *run {
            "" => String::new(),
            run => format!(": run `{run}`"),
        };
        sample(tag, &format!("`{name}`{run}"), text.trim_end())
    };
    choice(&files.iter().map(one).collect::<String>())
}

/// Clients' methods are named like operations.
pub(super) fn call(
    source: &Source<'_>,
    route: &Route,
    operation: &str,
    body: Option<&Value>,
    schema: &Value,
) -> String {
    let body = body.map(|body| ordered::value(source.0, body, schema));
    let call = SampleCall {
        route,
        operation,
        body: body.as_deref(),
        has_id: route.path.contains("{id}"),
        keyed: operation == "createSubmission",
    };
    let samples = [
        ("sh", call.curl()),
        ("js", call.javascript()),
        ("php", call.php()),
        ("py", call.python()),
    ];
    choice(&samples.map(|(tag, text)| sample(tag, "", &text)).concat())
}

struct SampleCall<'a> {
    route: &'a Route,
    operation: &'a str,
    body: Option<&'a str>,
    has_id: bool,
    keyed: bool,
}

impl SampleCall<'_> {
    fn curl(&self) -> String {
        let path = self.route.path.replace("{id}", "$ID");
        let method = if self.route.method == "POST" && self.body.is_none() {
            " -X POST"
        } else {
            ""
        };
        let mut command =
            format!("curl{method} \"$BASE{path}\" \\\n  -H \"Authorization: Bearer $KEY\"");
        if self.keyed {
            command.push_str(" \\\n  -H \"Idempotency-Key: attempt-$(date +%s)-$RANDOM\"");
        }
        if let Some(body) = self.body {
            let body = body.replace('\n', "\n  ");
            command.push_str(&format!(
                " \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"
            ));
        }
        command
    }

    fn javascript(&self) -> String {
        let import = if self.keyed { ", newAttempt" } else { "" };
        format!(
            "import {{ Client{import} }} from \"./client.mjs\";\n\n\
             const client = new Client({{ baseUrl: process.env.BASE, key: process.env.KEY }});\n\
             console.log(await client.{}({}));",
            self.operation,
            self.arguments("process.env.ID", str::to_owned, "newAttempt()"),
        )
    }

    fn php(&self) -> String {
        format!(
            "<?php\nrequire __DIR__ . '/client.php';\n\n\
             $client = new CampaignEntry\\Client(getenv('BASE'), getenv('KEY'));\n\
             print_r($client->{}({}));",
            self.operation,
            self.arguments("getenv('ID')", php_array, "$client::newAttempt()"),
        )
    }

    fn python(&self) -> String {
        let import = if self.keyed { ", new_attempt" } else { "" };
        let method = self.operation.chars().fold(String::new(), |name, letter| {
            let underscore = if letter.is_uppercase() { "_" } else { "" };
            name + underscore + &letter.to_lowercase().to_string()
        });
        let literal = |body: &str| {
            body.replace(": true", ": True")
                .replace(": false", ": False")
                .replace(": null", ": None")
        };
        format!(
            "import os\n\nfrom campaign_entry import Client{import}\n\n\
             client = Client(os.environ[\"BASE\"], os.environ[\"KEY\"])\n\
             print(client.{method}({}))",
            self.arguments("os.environ[\"ID\"]", literal, "new_attempt()"),
        )
    }

    fn arguments(&self, id: &str, body: impl Fn(&str) -> String, attempt: &str) -> String {
        let id = self.has_id.then(|| id.to_owned());
        let attempt = self.keyed.then(|| attempt.to_owned());
        let all = [id, self.body.map(body), attempt];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Names and strings have no quote, and no colon before a space.
fn php_array(json: &str) -> String {
    json.replace(['{', '['], "[")
        .replace(['}', ']'], "]")
        .replace("\": ", "\" => ")
        .replace('"', "'")
}

pub(super) fn source_of_id(route: &Route) -> Option<&'static str> {
    match route.path {
        path if !path.contains("{id}") => None,
        path if path.starts_with("/api/v1/receipts/") => {
            Some("`ID` is the `id` of a receipt: `export ID=…`.\n\n")
        }
        _ => Some("`ID` is the `id` of a submission: `export ID=…`.\n\n"),
    }
}

pub(super) fn examples(media: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    texts(at(media, &["x-order"])).map(|name| {
        let example = at(media, &["examples", name]);
        (name, text_of(example, "summary"), example)
    })
}
