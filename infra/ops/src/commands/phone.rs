//! `ops phone`.

use common::config::Env;
use common::domain::moment::Moment;
use common::domain::phone::Phone;
use serde_json::json;

use crate::cli::{PhoneArgs, PhoneCommand};
use crate::connection;
use crate::console::Report;
use crate::failure::Failure;
use crate::phones::{masked, set_blocked};

pub(crate) async fn run(command: PhoneCommand, env: &Env, now: Moment) -> Result<Report, Failure> {
    let (PhoneArgs { campaign, phone }, blocked) = match command {
        PhoneCommand::Block(args) => (args, true),
        PhoneCommand::Unblock(args) => (args, false),
    };
    let phone: Phone = phone.join(" ").parse().map_err(|_| {
        let message = "this is not a Tanzanian mobile number; write it such as 0712345678 or +255712345678";
        Failure::new("phone_invalid", message)
    })?;
    set_blocked(&connection::tables(env).await?, &campaign, &phone, blocked, now).await?;
    let word = if blocked { "blocked" } else { "unblocked" };
    let text = format!("{} {word} in {campaign}, test and live", masked(&phone));
    Ok(Report::new(json!({ "campaign": campaign, "phone": masked(&phone), "blocked": blocked }), text))
}
