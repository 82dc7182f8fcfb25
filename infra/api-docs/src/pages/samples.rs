//! Code samples in each language: calls, made from an endpoint's first example, and the client that they share.

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

/// Language, name and text of a file, and the command that runs it.
type File = (&'static str, &'static str, &'static str, &'static str);

const CLIENTS: [File; 3] = files![
    "js" "client.mjs" "",
    "php" "client.php" "",
    "py" "client.py" "",
];
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

pub(super) fn clients() -> String {
    files(&CLIENTS)
}

pub(super) fn enter() -> String {
    files(&ENTER)
}

pub(super) fn forms() -> String {
    files(&FORMS)
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

/// A call with its body, in each language.
pub(super) fn call(
    source: &Source<'_>,
    route: &Route,
    body: Option<&Value>,
    schema: &Value,
) -> String {
    let body = body.map(|body| ordered::value(source.0, body, schema));
    let call = SampleCall {
        route,
        body: body.as_deref(),
        keyed: route.path == "/api/v1/submissions",
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
    body: Option<&'a str>,
    /// True if the call needs an Idempotency-Key.
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
        let path = match self.route.path.split_once("{id}") {
            Some((before, after)) => format!("`{before}${{process.env.ID}}{after}`"),
            None => format!("\"{}\"", self.route.path),
        };
        let (import, key) = match self.keyed {
            true => (
                "import { randomUUID } from \"node:crypto\";\n",
                ", { \"Idempotency-Key\": randomUUID() }",
            ),
            false => ("", ""),
        };
        let body = self
            .body
            .map(|body| format!(", {body}"))
            .unwrap_or_default();
        format!(
            "{import}import {{ call }} from \"./client.mjs\";\n\nconsole.log(await call(\"{}\", {path}{body}{key}));",
            self.route.method
        )
    }

    fn php(&self) -> String {
        let path = match self.route.path.split_once("{id}") {
            Some((before, after)) => {
                format!("'{before}' . getenv('ID') . '{after}'").replace(" . ''", "")
            }
            None => format!("'{}'", self.route.path),
        };
        let key = if self.keyed {
            ", ['Idempotency-Key' => bin2hex(random_bytes(16))]"
        } else {
            ""
        };
        let body = self
            .body
            .map(|body| format!(", {}", php_array(body)))
            .unwrap_or_default();
        format!(
            "<?php\nrequire __DIR__ . '/client.php';\n\nprint_r(call('{}', {path}{body}{key}));",
            self.route.method
        )
    }

    fn python(&self) -> String {
        let path = match self.route.path.split_once("{id}") {
            Some((before, after)) => format!("f\"{before}{{os.environ['ID']}}{after}\""),
            None => format!("\"{}\"", self.route.path),
        };
        let import = match (self.route.path.contains("{id}"), self.keyed) {
            (true, _) => "import os\n\n",
            (false, true) => "import uuid\n\n",
            (false, false) => "",
        };
        let key = if self.keyed {
            ", {\"Idempotency-Key\": str(uuid.uuid4())}"
        } else {
            ""
        };
        let literal = |body: &str| {
            body.replace(": true", ": True")
                .replace(": false", ": False")
                .replace(": null", ": None")
        };
        let body = self
            .body
            .map(|body| format!(", {}", literal(body)))
            .unwrap_or_default();
        format!(
            "{import}from client import call\n\nprint(call(\"{}\", {path}{body}{key}))",
            self.route.method
        )
    }
}

/// JSON as a PHP array. The examples have no quote and no colon before a space inside a name or string.
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

/// The examples of a body, in order: name, summary and the whole example.
pub(super) fn examples(media: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    texts(at(media, &["x-order"])).map(|name| {
        let example = at(media, &["examples", name]);
        (name, text_of(example, "summary"), example)
    })
}
