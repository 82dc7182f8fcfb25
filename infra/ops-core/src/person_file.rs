//! A ZIP of `person.json`, a page for the person, and the photos.

mod page;

use std::io::Seek;

use common::domain::receipt::photo::PhotoType;

use crate::contact_log::steps_of_person;
use crate::prelude::*;
use crate::submissions::view::{as_json, receipt_source};
use crate::zip_file::ZipFile;

/// A ZIP to which the photos are added, one by one, so that memory has only one.
pub(crate) fn begin<W: Write + Seek>(
    out: W,
    phone: &Phone,
    held: &[PersonRecords],
    now: Timestamp,
) -> Result<ZipFile<W>> {
    let mut file = ZipFile::begin(out, now);
    let data = data(phone, held, now);
    file.add("person.json", format!("{data:#}\n").as_bytes())?;
    file.add("person.html", page::page(phone, held, now).as_bytes())?;
    Ok(file)
}

/// `None` if no photo arrived.
pub(crate) fn photo_name(receipt: &Receipt) -> Option<String> {
    let extension = receipt
        .arrived?
        .photo_type
        .map_or("bin", PhotoType::extension);
    Some(format!("photos/{}.{extension}", receipt.receipt_id))
}

fn data(phone: &Phone, held: &[PersonRecords], now: Timestamp) -> Value {
    let number = phone.expose_e164();
    let campaigns = held.iter().map(|held| {
        let submissions = held.submissions.iter().map(|(submission, receipt)| {
            let source = receipt.as_ref().map(|receipt| receipt_source(receipt, true));
            let more = [("receipt_source", json!(source)), ("history", json!(submission.history))];
            extended(as_json(submission, number), more)
        });
        let entrant = &held.entrant;
        json!({
            "campaign": held.scope.campaign,
            "environment": held.scope.environment,
            "limits": {
                "submissions": entrant.total,
                "submissions_today": entrant.today,
                "entries": entrant.entries,
                "wrong_codes_at": entrant.wrong_codes.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "throttled_until": entrant.throttled_until,
                "blocked": entrant.blocked,
                "erased_at": entrant.erased_at,
            },
            "submissions": submissions.collect::<Vec<_>>(),
            "draws": held.contacts.iter().map(drawn).collect::<Vec<_>>(),
            "instant_prizes": held.wins.iter().map(won).collect::<Vec<_>>(),
        })
    });
    let mut data =
        json!({ "phone": number, "exported_at": now, "campaigns": campaigns.collect::<Vec<_>>() });
    write_times_out(&mut data);
    data
}

/// A contact without the operators, who are people too.
fn drawn(contact: &Contact) -> Value {
    json!({
        "draw": contact.draw,
        "prize": contact.prize,
        "place": contact.place,
        "ref": contact.reference.as_ref().map(ToString::to_string),
        "region": contact.region,
        "masked_phone": contact.masked_phone,
        "steps": steps_of_person(&contact.log),
    })
}

fn won(win: &Win) -> Value {
    json!({
        "ref": win.reference.to_string(),
        "prize": win.prize,
        "won_at": win.accepted_at,
        "status": win.status(),
        "steps": steps_of_person(&win.log),
    })
}
