//! An erased number, in files and output of the program.

use super::*;

/// Spellings of a number in data: 0…, 255…, +255…, its last nine digits, with spaces, and their
/// base64 at any place of a longer text.
fn spellings(nine_digits: &str) -> Vec<String> {
    let (network, rest) = nine_digits.split_at(3);
    let (first, last) = rest.split_at(3);
    let mut plain = vec![nine_digits.to_owned(), format!("{network} {first} {last}")];
    plain.extend(["0", "255", "+255"].map(|prefix| format!("{prefix}{nine_digits}")));
    let encoded = plain.iter().flat_map(|spelling| {
        (0..3).map(move |before| {
            let bytes = [&vec![0; before], spelling.as_bytes()].concat();
            let encoded = STANDARD_NO_PAD.encode(&bytes);
            // Symbols at the ends also encode neighbouring bytes.
            let (begin, end) = ((before * 4).div_ceil(3), bytes.len() * 4 / 3);
            encoded[begin..end].to_owned()
        })
    });
    encoded.chain(plain.clone()).collect()
}

/// All files below a folder, with content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![(path.clone(), std::fs::read(&path).unwrap())],
    };
    entries.flat_map(read).collect()
}

/// Places of a number in files and texts.
fn places(number: &str, data: &Path, printed: &[&str]) -> Vec<String> {
    let mut contents = files(data);
    contents.extend(
        printed
            .iter()
            .map(|text| (PathBuf::from("printed"), text.as_bytes().to_vec())),
    );
    let has = |content: &[u8], wanted: &str| {
        content
            .windows(wanted.len())
            .any(|part| part == wanted.as_bytes())
    };
    let found = contents.iter().flat_map(|(path, content)| {
        spellings(number)
            .into_iter()
            .filter(|spelling| has(content, spelling))
            .map(|spelling| format!("{spelling} in {}", path.display()))
    });
    found.collect()
}

#[test]
fn a_number_is_found_in_every_spelling() {
    let found = |text: &str| {
        spellings("712345678")
            .iter()
            .any(|spelling| text.contains(spelling.as_str()))
    };
    for text in [
        "0712345678",
        "tel:+255712345678",
        "255712345678",
        "712 345 678",
    ] {
        assert!(found(text), "{text}");
        for before in ["", "x", "xy"] {
            let encoded = STANDARD_NO_PAD.encode(format!("{before}{text}yz"));
            assert!(found(&encoded), "{before}{text}: {encoded}");
        }
    }
    assert!(!found("0712345679"));
}

/// Runs `ops` against a ready file's stack.
fn ops(ready: &str, args: &str) -> (u8, String) {
    let args = format!("ops --env-file {ready} {args}");
    let args: Vec<_> = args.split(' ').map(OsString::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = ops_core::Terminal::without_input(&mut out, &mut err);
    let no_console: ops_core::ServeConsole = |_, _| async { Ok("not here".to_owned()) }.boxed();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (env, clock) = (Env::from_process(), Clock::system());
    let code = runtime.block_on(ops_core::run(args, env, &clock, &mut terminal, no_console));
    out.extend(err);
    (code, String::from_utf8(out).unwrap())
}

/// Requests with every kind of answer, with the number wherever callers can put it.
fn use_number(running: &Running, key: &str, code: &str) {
    const NUMBER: &str = "0754 918 263";
    let body = |number: &str, code: &str| {
        format!(r#"{{"phone":"{number}","code":"{code}","consent":true}}"#)
    };
    let entered = running.submit(key, "attempt-0000000001", NUMBER, code);
    assert!(entered.contains(r#""message_key":"entered""#), "{entered}");
    running.submit(key, "attempt-0000000001", NUMBER, code);
    running.submit(key, "attempt-0000000009", "+255754918263", code);
    running.submit(key, "attempt-0000000002", "255754918263", "AAAA-BBBB-CCCC");
    let named = body(NUMBER, code).replace("\"consent\"", "\"0754918263\"");
    for (request, body) in [
        (
            "POST /api/v1/submissions/lookup",
            r#"{"phone":"0754918263"}"#,
        ),
        ("POST /api/v1/submissions", &named),
        ("POST /api/v1/submissions", r#"{"phone":"0754918263""#),
        ("POST /api/v1/codes/check", r#"{"code":"0754918263"}"#),
        (
            "GET /api/v1/submissions/0754918263?phone=%2B255754918263",
            "",
        ),
        ("GET /api/v1/0754918263", ""),
        ("DELETE /api/v1/submissions?phone=0754918263", ""),
    ] {
        let more = "Idempotency-Key: attempt-0000000003\r\nX-Request-Id: 255754918263\r\nUser-Agent: 0754918263\r\n";
        let reply = running.send(request, key, more, body);
        assert!(reply.starts_with("HTTP/1.1 "), "{request}: {reply}");
    }
}

#[test]
fn erased_number_is_nowhere_in_what_the_stack_keeps_or_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (data, ready) = (folder.path().join("data"), folder.path().join("ready.json"));
    let (data, ready) = (data.to_str().unwrap(), ready.to_str().unwrap());
    let running = Running::start(&format!("--data {data} --show demo --ready-file {ready}"));
    let [key, code] = ["live key", "live codes"].map(|name| running.after(name).to_owned());
    use_number(&running, &key, &code);
    let find = "person find --phone 0754918263";
    let (found, text) = ops(ready, find);
    assert_eq!(found, ops_core::EXIT_OK, "{text}");
    assert!(text.contains("chai-bora-2026"), "{text}");
    let (erased, text) = ops(ready, "person erase --phone 0754918263 --why letter --yes");
    assert_eq!(erased, ops_core::EXIT_OK, "{text}");
    // Only what was counted.
    let (_, left) = ops(ready, find);
    let row = left.lines().find(|line| line.starts_with("chai-bora-2026"));
    let cells: Vec<_> = row.unwrap().split_whitespace().collect();
    assert_eq!(cells.join(" "), "chai-bora-2026 live 0 0 0 0 0 no 1");

    let before = running.printed.clone();
    let (status, printed, log) = running.interrupt();
    assert!(status.success());
    assert!(log.lines().count() >= 11, "a line for each request: {log}");
    let mut kept = files(Path::new(data)).into_iter();
    assert!(kept.any(|(_, content)| !content.is_empty()));
    let printed = [&*before, &printed, &log, &text];
    let kept = places("754918263", Path::new(data), &printed);
    assert!(kept.is_empty(), "{kept:#?}\n{log}");
}
