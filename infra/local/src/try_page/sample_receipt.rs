use common::error::{Error, FieldProblem};

use crate::demo::paper::{photo, portal_link, print};
use crate::shops::SHOPS;
use crate::tax_portal::cases::TIME;

/// Prefix of test codes, whose QR code has no other text.
const TEST_PREFIX: &str = "TEST0";

pub(super) fn draw(query: &str) -> Result<Vec<u8>, Error> {
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    let code = parameters.find_map(|(name, value)| (name == "code").then_some(value));
    let code = code.filter(|code| is_printable(code)).ok_or_else(|| {
        let message = "A receipt's code is 6 to 40 letters and digits; dots are for test receipts.";
        Error::fields(vec![FieldProblem {
            field: "code".to_owned(),
            message: message.to_owned(),
        }])
    })?;
    let qr_text = match code.starts_with(TEST_PREFIX) {
        true => code.clone().into_owned(),
        false => portal_link(&code, TIME),
    };
    let shop = SHOPS.first();
    let [trader, tin] = shop.map_or([""; 2], |shop| [shop.trader, shop.tin]);
    let items = [("CHAI BORA 250G", 250_000), ("MAZIWA", 180_000)];
    let lines = print(
        [
            trader.to_owned(),
            "KARIAKOO, DAR ES SALAAM".to_owned(),
            format!("TIN {tin}"),
        ],
        "",
        TIME,
        &items.map(|(name, cents)| (name.to_owned(), cents)),
        &code,
    );
    photo(&lines, Some(&qr_text)).map_err(Error::internal)
}

fn is_printable(code: &str) -> bool {
    let printed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'.';
    (6..=40).contains(&code.len()) && code.bytes().all(printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::paper::tests::read;

    #[test]
    fn photo_has_the_link_of_a_receipt_or_the_test_code() {
        let texts = ["GOOD010001", "TEST0VERIFIED.123456"]
            .map(|code| read(&draw(&format!("code={code}")).unwrap()).concat());
        let link = "https://verify.tra.go.tz/GOOD010001_101530";
        assert_eq!(texts, [link, "TEST0VERIFIED.123456"]);
    }
}
