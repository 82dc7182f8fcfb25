//! Error pages.

use crate::prelude::*;

pub(crate) struct PageError(StatusCode, Failure);

pub(crate) type PageResult<T = Html<String>> = Result<T, PageError>;

impl<E: Into<Failure>> From<E> for PageError {
    fn from(error: E) -> Self {
        let failure = error.into();
        let status = match failure.code {
            "campaign_unknown" | "submission_unknown" | "batch_unknown" | "draw_unknown"
            | "prize_unknown" | "winner_unknown" | "tier_unknown" | "endpoint_unknown"
            | "key_unknown" => StatusCode::NOT_FOUND,
            "not_allowed" => StatusCode::FORBIDDEN,
            "aws_failed" => StatusCode::BAD_GATEWAY,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self(status, failure)
    }
}

impl PageError {
    pub(crate) fn status(&self) -> StatusCode {
        self.0
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Self(status, failure) = self;
        let (title, section) = match status {
            StatusCode::NOT_FOUND => ("There is no such thing", Section::None),
            StatusCode::FORBIDDEN => ("Not allowed", Section::None),
            _ => ("This did not work", Section::None),
        };
        let content = html! {
            p.bad role="alert" { (page_message(&failure)) }
            @if !failure.problems.is_empty() { ul { @for problem in &failure.problems { li { (problem) } } } }
            p { "Go back with your browser to try it again." }
        };
        (status, Page::new(title, section).render(content)).into_response()
    }
}

/// Differs from the message where that names options of the command line.
pub(crate) fn page_message(failure: &Failure) -> String {
    let own = match failure.code {
        "campaign_unknown" => "There is no such campaign. Campaigns lists those there are.",
        "receipt_code_needed" => {
            "The purchase of this receipt is still unknown, so the receipt could be entered again. Type the receipt's code, or tick \
             that it cannot be read."
        }
        "receipt_code_differs" => {
            "The tax authority's record has another code than the one that was typed. Compare both, and leave the code empty to \
             accept the purchase of the record."
        }
        "receipt_absent" => "The submission came without a receipt. Leave the code empty.",
        "entries_needed" => {
            "More entries were counted on the receipt than a till is trusted with. Look at the receipt, and type the number."
        }
        "purchase_taken" => {
            "Another submission was accepted with the same receipt. Reject this one as already used."
        }
        "not_settled" => "It is not settled yet: the review decides it.",
        "accepted" => "It is accepted. Revoke it first, and reopen it then.",
        "already_revoked" => {
            "It was revoked before, and its code stays used. To free the code, reopen it, and reject it in the review."
        }
        "phone_blocked" => "The phone is blocked. Unblock it first if the submission is to count.",
        "draw_unknown" => "There is no such draw. Draws lists those there are.",
        "draw_unpublished" => {
            "The freeze was interrupted before its commitment was published. Publish it from the draw's page."
        }
        "draw_abandoned" => {
            "Two people gave this draw up, so it has no winners, and its name is not used again. Freeze the period under \
             another name."
        }
        "draw_drawn" => "The draw has winners, so it cannot be given up.",
        "draw_frozen" => {
            "There is such a draw, and a draw is frozen once. Draws lists those there are."
        }
        "interrupted" => {
            "The freeze was stopped. If Draws lists the draw, it was recorded before, and its page finishes it."
        }
        "round_unavailable" => {
            "No relay gave the round. Try it again in a minute, or fetch a relay's reply elsewhere, and paste it below the button."
        }
        "submission_moved" => {
            "The submission changed since it was shown, so nothing was written. It comes back if it still waits."
        }
        _ => return sentence(&on_pages(&failure.message)),
    };
    own.to_owned()
}

const PAGES: [(&str, &str); 34] = [
    ("ops submission show", "its page"),
    ("ops submission settle", "Review"),
    ("ops submission revoke", "“Revoke” on its page"),
    ("ops submission reopen", "“Reopen” on its page"),
    ("ops submission list", "Submissions"),
    ("ops draw show", "Draws"),
    ("ops draw freeze", "“New draw”"),
    ("ops draw run", "“Draw the winners” on its page"),
    ("ops draw skip", "“Skip” on the winner’s page"),
    ("ops draw abandon", "“Give this draw up” on its page"),
    ("ops phone unblock", "“Unblock its phone” on its page"),
    ("ops person find", "People"),
    ("ops person", "People"),
    ("ops webhook list", "Webhooks"),
    ("ops webhook add", "“Add an endpoint” on Webhooks"),
    ("ops webhook remove", "“Remove” on Webhooks"),
    ("ops webhook test", "“Test” on Webhooks"),
    ("ops webhook start", "“Start” on Webhooks"),
    ("ops webhook replay", "“Send again” on Webhooks"),
    ("ops webhook", "Webhooks"),
    ("ops key list", "Keys"),
    ("ops key issue", "“Issue a key” on Keys"),
    ("ops key", "Keys"),
    ("ops code batches", "Codes"),
    ("ops code mint", "“Mint” on Codes"),
    ("ops code import", "“Import” on Codes"),
    ("ops code", "Codes"),
    ("ops campaign list", "Campaigns"),
    ("ops campaign apply", "the campaign’s form"),
    ("ops campaign pause", "“Pause the campaign” on Overview"),
    ("ops campaign resume", "“Resume the campaign” on Overview"),
    ("ops campaign show", "Overview"),
    ("ops audit list", "Changes"),
    ("ops numbers", "Overview"),
];

/// A message of the command line, with pages instead of its commands. A command without a page stays.
pub(crate) fn on_pages(message: &str) -> String {
    let piece = |(index, piece): (usize, &str)| {
        let page = PAGES.iter().find(|(command, _)| piece.starts_with(command));
        match (index % 2, page) {
            (0, _) => piece.to_owned(),
            (_, Some((_, page))) => (*page).to_owned(),
            (_, None) => format!("`{piece}`"),
        }
    };
    message.split('`').enumerate().map(piece).collect()
}

pub(crate) fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    let end = if message.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", chars.as_str())
}

/// A refusal without the frame, for callers that may not see the console.
pub(crate) fn refusal(status: StatusCode, title: &str, message: &str) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(html! { (title) }, []))
            body.alone { main { h1 { (title) } p { (message) } } }
        }
    };
    (status, Html(page.into_string())).into_response()
}

pub(crate) async fn no_such_page() -> PageError {
    page_unknown()
}

pub(crate) fn page_unknown() -> PageError {
    let message = "the console has no such page; use the navigation";
    PageError(StatusCode::NOT_FOUND, Failure::new("page_unknown", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_pages() {
        let message =
            "there is no `week`; `ops webhook list --json` shows the ids, `ops smoke` does not";
        let shown = "There is no `week`; Webhooks shows the ids, `ops smoke` does not.";
        assert_eq!(sentence(&on_pages(message)), shown);
    }
}
