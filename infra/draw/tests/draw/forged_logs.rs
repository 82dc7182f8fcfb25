//! Forged logs of calls.

use serde_json::{Value, json};

use super::Change::{HeaderAndLog, Log, LogData};
use super::{Forgery, forgeries};

/// Places 0 and 1 are the grand prize's, 2 is erased, and another is skipped.
fn places(log: &mut Value) -> &mut Vec<Value> {
    log["places"].as_array_mut().expect("places")
}

fn passed_over(log: &mut Value) -> usize {
    let is_passed_over = |place: &Value| place["steps"][1]["reason"] == "has_prize";
    places(log)
        .iter()
        .position(is_passed_over)
        .expect("one is passed over")
}

fn steps(log: &mut Value, place: usize) -> &mut Vec<Value> {
    places(log)[place]["steps"].as_array_mut().expect("steps")
}

/// Drawn, not called.
fn last(log: &mut Value) -> &mut Value {
    places(log).last_mut().expect("a place")
}

fn skip_last(log: &mut Value, reason: Value, inspector: Value) {
    let place = last(log);
    let at = place["steps"][0]["at"].clone();
    let skip = json!({ "at": at, "is": "skipped", "reason": reason, "inspector": inspector });
    place["steps"].as_array_mut().expect("steps").push(skip);
}

pub(super) const LOGS: &[Forgery] = forgeries! {
    "two prizes for one entrant": LogData(|log| {
        let passed_over = passed_over(log);
        drop(places(log).pop());
        drop(steps(log, passed_over).pop());
    }) => "log.json", "header.json gives one to each entrant";
    "has_prize without another prize":
        LogData(|log| skip_last(log, "has_prize".into(), Value::Null))
        => "log.json", "but it had none";
    "has_prize where several prizes are allowed":
        HeaderAndLog(
            r#""one_prize_per_row":true"#,
            r#""one_prize_per_row":false"#,
            |log| skip_last(log, "has_prize".into(), Value::Null),
        )
        => "log.json", "but it had none";
    "has_prize of two places for each other": LogData(|log| {
        let passed_over = passed_over(log);
        let steps = places(log)[passed_over]["steps"].clone();
        places(log)[1]["steps"] = steps;
    }) => "log.json", "but it had none";
    "a prize that was lost before":
        LogData(|log| places(log)[1]["steps"] = places(log)[0]["steps"].clone())
        => "log.json", "but it had none";
    "calls a second apart":
        LogData(|log| places(log)[0]["steps"][2]["at"] = "2023-09-15T14:01:10+03:00".into())
        => "log.json", "calls that are not a minute apart";
    "an answer right after a call":
        LogData(|log| places(log)[1]["steps"][2]["at"] = "2023-09-15T14:08:08.999+03:00".into())
        => "log.json", "calls that are not a minute apart";
    "calls in another order": LogData(|log| steps(log, 0).swap(1, 2))
        => "log.json", "calls that are not a minute apart";
    "a reason in words": LogData(|log| skip_last(log, "has another prize".into(), Value::Null))
        => "log.json", "a skip without a known reason";
    "no reason": LogData(|log| skip_last(log, Value::Null, "A. Inspector".into()))
        => "log.json", "a skip without a known reason";
    "a reason without a skip": LogData(|log| last(log)["steps"][0]["reason"] = "declined".into())
        => "log.json", "a reason or an inspector without a skip";
    "no answer without three calls": LogData(|log| drop(steps(log, 0).remove(2)))
        => "log.json", "does not follow from the calls";
    "a rule after a call": LogData(|log| places(log)[0]["steps"][4]["reason"] = "has_prize".into())
        => "log.json", "does not follow from the calls";
    "declined without an answer":
        LogData(|log| places(log)[0]["steps"][4]["reason"] = "declined".into())
        => "log.json", "does not follow from the calls";
    "a wrong number that was not called":
        LogData(|log| skip_last(log, "wrong_number".into(), "A. Inspector".into()))
        => "log.json", "does not follow from the calls";
    "under age by an identity card that was good": LogData(|log| {
        let step = &mut places(log)[1]["steps"][4];
        step["is"] = "skipped".into();
        step["reason"] = "under_age".into();
        step["inspector"] = "A. Inspector".into();
    }) => "log.json", "does not follow from the calls";
    "a skip without an inspector":
        LogData(|log| places(log)[0]["steps"][4]["inspector"] = Value::Null)
        => "log.json", "without an inspector";
    "an inspector without a name":
        LogData(|log| places(log)[0]["steps"][4]["inspector"] = "".into())
        => "log.json", "inspector";
    "an inspector who cannot be seen":
        LogData(|log| places(log)[0]["steps"][4]["inspector"] = "\u{200b}".into())
        => "log.json", "inspector";
    "a region that runs backwards": LogData(|log| last(log)["region"] = "Do\u{202e}doma".into())
        => "log.json", "region";
    "a region with a space at its end": LogData(|log| last(log)["region"] = "Dodoma ".into())
        => "log.json", "region";
    "a rule before an inspector":
        LogData(|log| skip_last(log, "has_prize".into(), "A. Inspector".into()))
        => "log.json", "one of the rules with one";
    "erased with an opening": LogData(|log| skip_last(log, "erased".into(), Value::Null))
        => "log.json", "the opening is there";
    "a deleted phone with an opening":
        LogData(|log| skip_last(log, "phone_deleted".into(), Value::Null))
        => "log.json", "the opening is there";
    "a winner left out": LogData(|log| drop(places(log).remove(0)))
        => "log.json leaves out place 1 of grand-prize";
    "a place left out": LogData(|log| drop(places(log).remove(3)))
        => "log.json leaves out place 2 of";
    "a place twice": LogData(|log| {
        let place = places(log)[0].clone();
        places(log).insert(1, place);
    }) => "log.json leaves out place 2 of grand-prize";
    "places in another order": LogData(|log| places(log).swap(0, 1))
        => "log.json leaves out place 1 of grand-prize";
    "a row that was not drawn": LogData(|log| places(log)[2]["row"] = 59.into())
        => "log.json has row 59 as place 1 of";
    "a prize that there is not": LogData(|log| last(log)["tier"] = "car".into())
        => "log.json has a prize car";
    "another reference": LogData(|log| last(log)["reference"] = "ZZZZ-ZZZZ".into())
        => "log.json: no opening proves the reference";
    "a reference without an opening":
        LogData(|log| places(log)[2]["reference"] = "ZZZZ-ZZZZ".into())
        => "log.json: no opening proves the reference";
    "the opening of another entrant": LogData(|log| {
        let (opening, reference) = (
            places(log)[0]["opening"].clone(),
            places(log)[0]["reference"].clone(),
        );
        (last(log)["opening"], last(log)["reference"]) = (opening, reference);
    }) => "has another hash than the opening of row";
    "an opening in another form": Log(r"\nAAAA", r"\n AAAA") => "log.json";
    "two winners of one prize":
        LogData(|log| drop(steps(log, 0).pop()))
        => "log.json has 2 winners of grand-prize";
    "a prize that was withheld": LogData(|log| drop(places(log).pop()))
        => "log.json has 4 winners of";
    "no winners": LogData(|log| places(log).clear())
        => "log.json has 0 winners of grand-prize, but there are 1 prizes";
    "a place drawn before the skip that opens it":
        LogData(|log| places(log)[1]["steps"][0]["at"] = "2023-09-15T14:06:08.999+03:00".into())
        => "log.json: place 2 of grand-prize was drawn before a skip opened it";
    "a prize without an identity card": LogData(|log| drop(steps(log, 1).remove(3)))
        => "log.json", "do not follow each other";
    "a prize after a skip": LogData(|log| {
        let step = places(log)[1]["steps"][4].clone();
        steps(log, 0).push(step);
    }) => "log.json", "do not follow each other";
    "a fourth call": LogData(|log| {
        let mut step = places(log)[0]["steps"][3].clone();
        step["at"] = "2023-09-15T14:20:00+03:00".into();
        steps(log, 0).insert(4, step);
    }) => "log.json", "do not follow each other";
    "no steps": LogData(|log| last(log)["steps"] = json!([]))
        => "log.json", "do not begin with drawn";
    "a step that there is not": LogData(|log| last(log)["steps"][0]["is"] = "won".into())
        => "log.json", "won";
    "a freeze before the period's end": Log("2023-09-15T13:30:00", "2023-09-10T13:30:00")
        => "log.json says frozen_at";
    "a freeze after the round": Log("2023-09-15T13:30:00", "2023-09-15T14:00:04")
        => "log.json says frozen_at";
    "files published at the round": Log("2023-09-15T13:30:02", "2023-09-15T14:00:03")
        => "log.json says published_at";
    "files published before the period's end": Log("2023-09-15T13:30:02", "2023-09-11T00:00:00")
        => "log.json says published_at";
    "a freeze after its files were published":
        Log("2023-09-15T13:30:00", "2023-09-15T13:30:02.001")
        => "log.json says frozen_at", "which is after published_at";
    "a draw before the round": Log(r#""drawn_at":"2023-09-15T14:00:09"#, r#""drawn_at":"2023-09-15T14:00:02"#)
        => "log.json says drawn_at", "which is before the round";
    "a place drawn before the round":
        LogData(|log| last(log)["steps"][0]["at"] = "2023-09-15T14:00:02.999+03:00".into())
        => "log.json", "have a time before the round";
    "a skip before its place was drawn":
        LogData(|log| places(log)[2]["steps"][1]["at"] = "2023-09-15T14:06:48+03:00".into())
        => "log.json", "before the step above";
    "a time that is none": Log("2023-09-15T13:30:00", "2023-09-15T25:30:00") => "log.json";
    "a time in microseconds": Log("2023-09-15T14:00:09+", "2023-09-15T14:00:09.123456+")
        => "log.json";
    "a key of the log twice": Log(r#""places":["#, r#""places":[],"places":["#)
        => "log.json", "the key places occurs twice";
    "no time of the draw":
        LogData(|log| drop(log.as_object_mut().expect("an object").remove("drawn_at")))
        => "log.json", "drawn_at";
    "a missing region": LogData(|log| {
        drop(
            last(log)
                .as_object_mut()
                .expect("an object")
                .remove("region"),
        )
    }) => "log.json", "region";
    "a place as a fraction": Log(r#""place":1,"#, r#""place":1.0,"#)
        => "log.json", "1.0 is not an integer";
    "place 0": Log(r#""place":1,"#, r#""place":0,"#) => "log.json", "0";
};
