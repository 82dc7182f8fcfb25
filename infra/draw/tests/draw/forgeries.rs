//! Forged draws: one change each, with the difference that verifiers name.

#[path = "forged_logs.rs"]
mod logs;

use draw::Digest;
use serde_json::{Value, json};

use crate::sample::Sample;

pub(crate) struct Forgery {
    pub(crate) what: &'static str,
    change: Change,
    pub(crate) expected: &'static [&'static str],
}

enum Change {
    /// A text of the header; commitment, result and log follow from it.
    Header(&'static str, &'static str),
    HeaderAndLog(&'static str, &'static str, fn(&mut Value)),
    /// The same alone.
    HeaderAlone(&'static str, &'static str),
    Entries(fn(&mut Vec<String>)),
    Commitment(fn(&str) -> String),
    Result(&'static str, &'static str),
    ResultData(fn(&mut Value)),
    Log(&'static str, &'static str),
    LogData(fn(&mut Value)),
}
use Change::{
    Commitment, Entries, Header, HeaderAlone, HeaderAndLog, Log, LogData, Result, ResultData,
};

impl Forgery {
    pub(crate) fn applied_to(&self, good: &Sample) -> Sample {
        let mut forged = good.clone();
        match &self.change {
            Header(from, to) => follow(&mut forged, good, from, to),
            HeaderAndLog(from, to, change) => {
                follow(&mut forged, good, from, to);
                edit(forged.log.as_mut().expect("a log"), *change);
            }
            HeaderAlone(from, to) => replace(&mut forged.header, from, to),
            Entries(change) => {
                let mut lines: Vec<_> = good
                    .entries
                    .split_inclusive('\n')
                    .map(str::to_owned)
                    .collect();
                change(&mut lines);
                forged.entries = lines.concat();
            }
            Commitment(change) => forged.commitment = change(&good.commitment),
            Result(from, to) => replace(&mut forged.result, from, to),
            ResultData(change) => edit(&mut forged.result, *change),
            Log(from, to) => replace(forged.log.as_mut().expect("a log"), from, to),
            LogData(change) => edit(forged.log.as_mut().expect("a log"), *change),
        }
        assert!(forged != *good, "{} changes nothing", self.what);
        forged
    }
}

/// Commits to a changed header, and draws.
fn follow(forged: &mut Sample, good: &Sample, from: &str, to: &str) {
    replace(&mut forged.header, from, to);
    let root = good.read().expect("whole").root();
    forged.commitment = draw::commitment(forged.header.as_bytes(), root).to_string();
    if forged.read().is_ok() {
        forged.draw_again();
    }
}

fn replace(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from} is not there");
    *text = text.replacen(from, to, 1);
}

fn edit(text: &mut String, change: fn(&mut Value)) {
    let mut value = serde_json::from_str(text).expect("JSON");
    change(&mut value);
    *text = value.to_string();
}

/// Changes a hash's last digit, which keeps lines in order.
fn change_hash(line: &mut String) {
    let digit = if &line[63..64] == "0" { "1" } else { "0" };
    line.replace_range(63..64, digit);
}

/// `what: change => texts of the difference;`.
macro_rules! forgeries {
    ($($what:literal: $change:expr => $($expected:literal),+;)*) => {
        &[$(Forgery { what: $what, change: $change, expected: &[$($expected),+] }),*]
    };
}
use forgeries;

/// Headers that programs could read differently.
const STRICT_HEADER: &[Forgery] = forgeries! {
    "two lists of prizes":
        Header(r#""prizes":["#, r#""prizes":[{"name":"car","number":1}],"prizes":["#)
        => "header.json", "the key prizes occurs twice";
    "two rules": Header(
        r#""one_prize_per_row":true"#,
        r#""one_prize_per_row":false,"one_prize_per_row":true"#,
    )
        => "header.json", "the key one_prize_per_row occurs twice";
    "two rounds": Header(r#""round":657413"#, r#""round":1,"round":657413"#)
        => "header.json", "the key round occurs twice";
    "a day twice": Header(r#""2023-09-04":100"#, r#""2023-09-04":1,"2023-09-04":100"#)
        => "header.json", "the key 2023-09-04 occurs twice";
    "a key twice, escaped":
        Header(r#""name":"grand-prize""#, r#""\u006eame":"car","name":"grand-prize""#)
        => "header.json", "the key name occurs twice";
    "an unknown key": Header(r#""round":657413"#, r#""round":657413,"note":"x""#)
        => "header.json", "note";
    "an unknown key of a prize":
        Header(r#""name":"grand-prize""#, r#""name":"grand-prize","note":1"#)
        => "header.json", "note";
    "another algorithm": Header("svc-draw-v1", "svc-draw-v2") => "header.json", "svc-draw-v2";
    "no algorithm": Header(r#""algorithm":"svc-draw-v1","#, "") => "header.json", "algorithm";
    "no period": Header(
        r#""period":{"from":"2023-09-04T00:00:00+03:00","to":"2023-09-11T00:00:00+03:00"},"#,
        "",
    )
        => "header.json", "period";
    "a period as a list": Header(
        r#"{"from":"2023-09-04T00:00:00+03:00","to":"2023-09-11T00:00:00+03:00"}"#,
        r#"["2023-09-04T00:00:00+03:00","2023-09-11T00:00:00+03:00"]"#,
    )
        => "header.json", "period";
    "a reversed period": Header("2023-09-04T", "2023-09-12T")
        => "header.json: the period ends before it begins";
    "an empty period": Header("2023-09-04T", "2023-09-11T")
        => "header.json: the period ends before it begins";
    "a time without an offset": Header("2023-09-04T00:00:00+03:00", "2023-09-04T00:00:00")
        => "header.json";
    "a time in another form": Header("2023-09-04T00", "2023-09-04 00")
        => "header.json", "period", "from";
    "a time on no day": Header("2023-09-04T", "2023-02-30T") => "header.json";
    "a time of long ago": Header("2023-09-04T", "0923-09-04T") => "header.json";
    "two prizes of one name": Header("<b>muda wa maongezi</b>", "grand-prize")
        => "header.json: two prizes have the same name";
    "no prize of a kind": Header(r#""number":1"#, r#""number":0"#) => "header.json", "0";
    "a number as a fraction": Header(r#""number":1"#, r#""number":1.0"#)
        => "header.json", "1.0 is not an integer";
    "a number with an exponent": Header(r#""number":1"#, r#""number":1e0"#)
        => "header.json", "is not an integer";
    "true as a number": Header(r#""number":1"#, r#""number":true"#) => "header.json", "true";
    "a negative number": Header(r#""number":1"#, r#""number":-1"#)
        => "header.json", "-1 is not an integer";
    "a text as a number": Header(r#""number":1"#, r#""number":"1""#) => "header.json", r#""1""#;
    "a number above 2^53": Header(r#""number":1"#, r#""number":9007199254740992"#)
        => "header.json", "9007199254740992 is not an integer";
    "prizes above 2^53": Header(r#""number":1"#, r#""number":9007199254740991"#)
        => "header.json", "2^53 - 1";
    "no prizes": Header(
        r#"[{"name":"grand-prize","number":1},{"name":"<b>muda wa maongezi</b>","number":5}]"#,
        "[]",
    )
        => "header.json: there is no prize";
    "a day that is none": Header(r#""2023-09-04":100"#, r#""2023-09-31":100"#)
        => "header.json", "day";
    "a day in other digits": Header(r#""2023-09-04":100"#, r#""2023-9-4":100"#)
        => "header.json", "day";
    "-5 entries on a day": Header(r#""2023-09-04":100"#, r#""2023-09-04":105,"2023-09-05":-5"#)
        => "header.json", "-5 is not an integer";
    "entries of a day as a fraction": Header(r#""2023-09-04":100"#, r#""2023-09-04":100.0"#)
        => "header.json", "100.0 is not an integer";
    "one more entry of a day": Header(r#""2023-09-04":100"#, r#""2023-09-04":101"#)
        => "header.json: the entries of the days do not add up to the total";
    "rows as a fraction": Header(r#""rows":60"#, r#""rows":60.0"#)
        => "header.json", "60.0 is not an integer";
    "one more row": Header(r#""rows":60"#, r#""rows":61"#)
        => "entries.csv has 60 lines, but header.json says 61 rows";
    "a byte order mark": Header("{\"algorithm", "\u{feff}{\"algorithm") => "header.json";
    "no number": Header(r#""round":657413"#, r#""round":NaN"#) => "header.json";
    "round 0": Header(r#""round":657413"#, r#""round":0"#) => "header.json", "0";
    "a control character in a name": Header("grand-prize", r"grand\u0001prize")
        => "header.json", "name";
    "a line feed in the JSON": Header("grand-prize", "grand\nprize") => "header.json";
    "a name that runs backwards": Header("grand-prize", "grand\u{202e}prize")
        => "header.json", "name";
    "a soft hyphen in a name": Header("grand-prize", "grand\u{ad}-prize")
        => "header.json", "name";
    "an Arabic mark in a name": Header("grand-prize", "grand-prize\u{61c}")
        => "header.json", "name";
    "a tag in a name": Header("grand-prize", "grand-prize\u{e0020}") => "header.json", "name";
    "a format character of Unicode 15 in a name": Header("grand-prize", "grand-prize\u{13439}")
        => "header.json", "name";
    "a name that ends with a space": Header("grand-prize", "grand-prize ")
        => "header.json", "name";
    "a name that begins with a wide space": Header("grand-prize", "\u{3000}grand-prize")
        => "header.json", "name";
    "a name of a space": Header(r#""grand-prize""#, r#"" ""#) => "header.json", "name";
    "a name of 65 characters":
        Header("grand-prize", "ggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg")
        => "header.json", "name";
    "an empty name": Header(r#""grand-prize""#, r#""""#) => "header.json", "name";
    "half a character in a name": Header("grand-prize", r"grand\ud800prize") => "header.json";
    "something after the JSON": Header(r#""round":657413}"#, r#""round":657413}}"#)
        => "header.json";
    "a chain in capitals": Header("52db9ba7", "52DB9BA7") => "header.json";
    "a day left out that is no date": Header(r#""blocked":{}"#, r#""blocked":{"2023-02-30":1}"#)
        => "header.json";
    "fewer entries left out than none":
        Header(r#""without_phone":{}"#, r#""without_phone":{"2023-09-10":-1}"#)
        => "header.json";
    "no word of what is left out": Header(r#""left_out":{"blocked":{},"without_phone":{}},"#, "")
        => "header.json", "left_out";
    "an earlier draw without its commitment":
        Header(r#""overlapping":[]"#, r#""overlapping":[{"draw":"week-36"}]"#)
        => "header.json", "commitment";
};

/// Contradictions between files, or with the round's time.
const PROOF: &[Forgery] = forgeries! {
    "a round before the period's end":
        Header("2023-09-11T00:00:00+03:00", "2023-09-16T00:00:00+03:00")
        => "round 657413 was given at 2023-09-15", "but the period ends at 2023-09-16";
    "a round at the period's end": Header("2023-09-11T00:00:00+03:00", "2023-09-15T14:00:03+03:00")
        => "round 657413 was given at 2023-09-15";
    "a round without a time": Header(r#""round":657413"#, r#""round":9007199254740991"#)
        => "has no time before the year 3000";
    "a changed prize": HeaderAlone("grand-prize", "Grand-prize")
        => "but header.json and entries.csv lead to";
    "a header that was only formatted": HeaderAlone(",", ", ")
        => "but header.json and entries.csv lead to";
    "a changed digit of a hash": Entries(|lines| change_hash(&mut lines[7]))
        => "but header.json and entries.csv lead to";
    "a changed count": Entries(|lines| lines[7] = lines[7].replace('\n', "0\n"))
        => "entries.csv, line 9 starts at";
    "swapped lines": Entries(|lines| lines.swap(7, 8)) => "entries.csv, line 8 starts at";
    "swapped hashes": Entries(|lines| {
        let (one, next) = (lines[7][..64].to_owned(), lines[8][..64].to_owned());
        lines[7].replace_range(..64, &next);
        lines[8].replace_range(..64, &one);
    }) => "entries.csv, line 9 has a hash that is not above the one of the line before";
    "a missing line": Entries(|lines| drop(lines.remove(7))) => "entries.csv, line 8 starts at";
    "a missing last line": Entries(|lines| drop(lines.pop()))
        => "entries.csv has 59 lines, but header.json says 60 rows";
    "a missing line feed": Entries(|lines| lines[59] = lines[59].trim_end().to_owned())
        => "entries.csv, line 60 is not a hash, a start and a count";
    "an empty line": Entries(|lines| lines.push("\n".into()))
        => "entries.csv, line 61 is not a hash, a start and a count";
    "line ends of another system": Entries(|lines| lines[7] = lines[7].replace('\n', "\r\n"))
        => "entries.csv, line 8 is not a hash, a start and a count";
    "a line of something else": Entries(|lines| lines[0].insert(0, '\u{e9}'))
        => "entries.csv, line 1 is not a hash, a start and a count";
    "a byte order mark of the list": Entries(|lines| lines[0].insert(0, '\u{feff}'))
        => "entries.csv, line 1 is not a hash, a start and a count";
    "a start in other digits": Entries(|lines| lines[0] = lines[0].replace(",0,", ",00,"))
        => "entries.csv, line 1 is not a hash, a start and a count";
    "another commitment": Commitment(|_| Digest::from_parts(&[]).to_string())
        => "but header.json and entries.csv lead to";
    "a commitment in capitals": Commitment(str::to_uppercase)
        => "commitment.txt is not 64 lower-case";
    "a commitment in groups": Commitment(|digits| format!("{} {}", &digits[..4], &digits[4..]))
        => "commitment.txt is not 64 lower-case";
    "two line feeds": Commitment(|digits| format!("{digits}\n"))
        => "commitment.txt is not 64 lower-case";
    "a line end of another system": Commitment(|digits| digits.replace('\n', "\r\n"))
        => "commitment.txt is not 64 lower-case";
    "a byte order mark of the commitment": Commitment(|digits| format!("\u{feff}{digits}"))
        => "commitment.txt is not 64 lower-case";
    "no commitment": Commitment(|_| String::new()) => "commitment.txt is not 64 lower-case";
};

const RESULTS: &[Forgery] = forgeries! {
    "another round": Result(r#""round":657413"#, r#""round":657414"#)
        => "result.json is of round 657414, but header.json names round 657413";
    "a round as a fraction": Result(r#""round":657413"#, r#""round":657413.0"#)
        => "result.json", "657413.0 is not an integer";
    "another randomness": Result(r#""randomness":"f"#, r#""randomness":"e"#)
        => "result.json has the randomness e";
    "another signature": Result(r#""signature":"b"#, r#""signature":"a"#)
        => "result.json has the randomness f";
    "a byte before the signature": Result(r#""signature":"b"#, r#""signature":"00b"#)
        => "result.json";
    "a signature in capitals": Result(r#""signature":"b"#, r#""signature":"B"#) => "result.json";
    "an unknown key of the result": Result(r#""round":657413"#, r#""round":657413,"note":1"#)
        => "result.json", "note";
    "two results in one": Result(r#""tiers":["#, r#""tiers":[],"tiers":["#)
        => "result.json", "the key tiers occurs twice";
    "a row as a fraction": Result(r#","ticket""#, r#".0,"ticket""#)
        => "result.json", ".0 is not an integer";
    "a place as a list": ResultData(|result| result["tiers"][0]["order"][0] = json!([0, 0]))
        => "result.json";
    "true as a number of prizes": Result(r#""prizes":1"#, r#""prizes":true"#)
        => "result.json", "true";
    "one more prize": Result(r#""prizes":5"#, r#""prizes":6"#)
        => "result.json does not have the prizes of header.json";
    "prizes in another order":
        ResultData(|result| result["tiers"].as_array_mut().expect("tiers").swap(0, 1))
        => "result.json does not have the prizes of header.json";
    "a prize that was not drawn":
        ResultData(|result| drop(result["tiers"].as_array_mut().expect("tiers").pop()))
        => "result.json does not have the prizes of header.json";
    "another winner": ResultData(|result| {
        result["tiers"][0]["order"]
            .as_array_mut()
            .expect("places")
            .swap(0, 3)
    }) => "result.json, place 1 of grand-prize is row";
    "another ticket": ResultData(|result| result["tiers"][0]["order"][2]["ticket"] = 0.into())
        => "result.json, place 3 of grand-prize is row";
    "an order without alternates": ResultData(|result| {
        result["tiers"][1]["order"]
            .as_array_mut()
            .expect("places")
            .truncate(24)
    }) => "result.json has 24 places for";
    "more places than rows": ResultData(|result| {
        let place = result["tiers"][0]["order"][0].clone();
        result["tiers"][0]["order"]
            .as_array_mut()
            .expect("places")
            .extend(vec![place; 60]);
    }) => "result.json has 81 places for grand-prize";
};

pub(crate) fn all() -> impl Iterator<Item = &'static Forgery> {
    [STRICT_HEADER, PROOF, RESULTS, logs::LOGS]
        .into_iter()
        .flatten()
}
