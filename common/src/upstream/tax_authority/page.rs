use super::answer::{LookupAnswer, PortalError, UnexpectedPage};
use super::found::{self, FOUND_MARKER, Mismatch};
use super::markup::{self, PageContent, collapsed};
use crate::domain::{ReceiptKey, VerificationCode};

/// Prompt after a wrong time, in lower case.
const TIME_PROMPT: &str = "please provide your receipt time";
/// Prefix of labels with the customer's data.
const CUSTOMER: &str = "CUSTOMER";
/// Labels that end the customer's data.
const OWN_LABELS: [&str; 13] = [
    "TIN",
    "VRN",
    "SERIAL NO",
    "UIN",
    "TAX OFFICE",
    "RECEIPT NO",
    "Z NUMBER",
    "RECEIPT DATE",
    "RECEIPT TIME",
    "RECEIPT VERIFICATION CODE",
    "DESCRIPTION",
    "TOTAL ",
    "PURCHASED ITEMS",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Verified,
    /// The page behind a receipt's QR code.
    Receipt {
        is_asked: bool,
    },
    Missing,
    Warning,
    Start,
    Elsewhere,
}

impl Place {
    fn from_path(path: &str, asked: &VerificationCode) -> Self {
        match path.trim_end_matches('/').to_ascii_lowercase().as_str() {
            "/verify/verified" => return Self::Verified,
            "/home/missing" => return Self::Missing,
            "/home/warning" => return Self::Warning,
            "/home/index" | "" => return Self::Start,
            _ => {}
        }
        // Only a link with a time is a receipt's: any other word could be a code.
        let claim = path.trim_matches('/');
        match ReceiptKey::from_token(claim).filter(|claim| claim.time.is_some()) {
            Some(claim) => Self::Receipt {
                is_asked: claim.code == *asked,
            },
            None => Self::Elsewhere,
        }
    }
}

pub fn read(path: &str, status: u16, body: &[u8], asked: &VerificationCode) -> LookupAnswer {
    if status >= 500 {
        return LookupAnswer::Unavailable(PortalError::Status(status));
    }
    let place = Place::from_path(path, asked);
    match place {
        Place::Missing => return LookupAnswer::NotFoundYet,
        Place::Warning => return LookupAnswer::Throttled,
        Place::Start => return LookupAnswer::RefererRefused,
        Place::Verified | Place::Receipt { .. } | Place::Elsewhere if status != 200 => {
            return LookupAnswer::Unavailable(PortalError::Status(status));
        }
        Place::Verified | Place::Receipt { .. } | Place::Elsewhere => {}
    }
    let html = String::from_utf8_lossy(body);
    let content = markup::read(&html);
    let unexpected = |why: Mismatch| unexpected(path, status, &content, why);
    let text = collapsed(&html);
    let is_verified = place == Place::Verified;
    if text.contains(FOUND_MARKER) {
        if !is_verified {
            return unexpected("a found page at another path");
        }
        return found_page(&content, asked).unwrap_or_else(unexpected);
    }
    if place == (Place::Receipt { is_asked: false }) {
        return LookupAnswer::Unavailable(PortalError::OtherReceipt);
    }
    if place != Place::Elsewhere && text.to_ascii_lowercase().contains(TIME_PROMPT) {
        return LookupAnswer::WrongTime;
    }
    if is_verified {
        return unexpected("neither a receipt nor a question for its time");
    }
    LookupAnswer::Unavailable(PortalError::UnknownPage)
}

fn found_page(content: &PageContent, asked: &VerificationCode) -> Result<LookupAnswer, Mismatch> {
    // Ownership comes before readability: the next look-up may get ours.
    if found::code(content)? != *asked {
        return Ok(LookupAnswer::Unavailable(PortalError::OtherReceipt));
    }
    found::read(content).map(|record| LookupAnswer::Found(Box::new(record)))
}

fn unexpected(path: &str, status: u16, content: &PageContent, why: Mismatch) -> LookupAnswer {
    LookupAnswer::Unexpected(Box::new(UnexpectedPage {
        final_path: shown_path(path),
        status,
        excerpt: excerpt(content),
        why,
    }))
}

/// Masks anything that could be a receipt's code and time.
pub(super) fn shown_path(path: &str) -> String {
    let is_known = |part: &str| {
        [
            "", "verify", "verified", "home", "missing", "warning", "index",
        ]
        .iter()
        .any(|known| part.eq_ignore_ascii_case(known))
    };
    let shown = |part: &str| {
        // Codes have digits; words do not.
        let is_secret = !is_known(part)
            && part
                .bytes()
                .any(|byte| byte.is_ascii_digit() || byte == b'%');
        if is_secret {
            "***".to_owned()
        } else {
            part.to_owned()
        }
    };
    let path: Vec<String> = path.split('/').map(shown).collect();
    path.join("/").chars().take(MAX_PATH_CHARS).collect()
}

const MAX_PATH_CHARS: usize = 200;

/// Customer data ends at the next line with another label.
fn excerpt(content: &PageContent) -> String {
    let mut excerpt = String::new();
    let mut is_customers = false;
    for line in &content.lines {
        let upper = line.text.to_ascii_uppercase();
        is_customers &= !OWN_LABELS.iter().any(|label| upper.starts_with(label));
        let kept = match upper.find(CUSTOMER) {
            Some(at) => line.text.get(..at).unwrap_or_default(),
            None if is_customers => continue,
            None => &line.text,
        };
        excerpt.push_str(kept);
        if kept.len() < line.text.len() {
            is_customers = true;
            excerpt.push_str("CUSTOMER ***");
        }
        excerpt.push('\n');
        if excerpt.len() > 4 * UnexpectedPage::MAX_EXCERPT_CHARS {
            break;
        }
    }
    excerpt
        .trim_end()
        .chars()
        .take(UnexpectedPage::MAX_EXCERPT_CHARS)
        .collect()
}
