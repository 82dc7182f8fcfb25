//! Message keys and their texts in English and Swahili.
//!
//! A text fits one SMS of 160 GSM-7 characters and says what to do next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

text_enum! {
    pub enum Language {
        En = "en",
        Sw = "sw",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessageOverrides {
    pub en: BTreeMap<TextKey, String>,
    pub sw: BTreeMap<TextKey, String>,
}

impl MessageOverrides {
    pub fn text(&self, key: impl Into<TextKey>, language: Language) -> &str {
        let key = key.into();
        let own = match language {
            Language::En => &self.en,
            Language::Sw => &self.sw,
        };
        own.get(&key)
            .map_or_else(|| key.text(language), String::as_str)
    }
}

macro_rules! messages {
    ($(#[$about:meta])* $keys:ident $($(#[$doc:meta])* $variant:ident $name:literal $en:literal $sw:literal)*) => {
        text_enum! {
            $(#[$about])*
            #[derive(schemars::JsonSchema)]
            pub enum $keys { $($(#[$doc])* $variant = $name,)* }
        }

        impl $keys {
            pub fn text(self, language: Language) -> &'static str {
                match (self, language) {
                    $((Self::$variant, Language::En) => $en, (Self::$variant, Language::Sw) => $sw,)*
                }
            }
        }
    };
}

messages! {
    /// Message to show. New keys may be added: show `message` for an unknown message key.
    MessageKey
    /// Accepted.
    Entered "entered"
        "You are in! Keep your code or receipt until the campaign ends."
        "Umeingia kwenye shindano! Tunza namba au risiti yako hadi kampeni itakapoisha."
    /// Accepted, with an instant prize in `instant_win`.
    InstantWin "instant_win"
        "Congratulations, you have won an instant prize! We will contact you on this number."
        "Hongera, umeshinda zawadi ya papo hapo! Tutawasiliana nawe kwa namba hii ya simu."
    /// The code does not exist or was withdrawn.
    Invalid "invalid"
        "This code is not valid. Check it and try again."
        "Namba hii si sahihi. Iangalie vizuri kisha ujaribu tena."
    /// For your form: no code was typed. No submission has this key without a test code.
    CodeRequired "code_required"
        "Enter the code printed on the pack."
        "Weka namba iliyochapishwa kwenye pakiti."
    /// Another phone redeemed the code.
    AlreadyUsed "already_used"
        "This code has already been used. Try another code."
        "Namba hii imeshatumika. Jaribu namba nyingine."
    /// The phone reached `limits.phone_daily`.
    DailyLimit "daily_limit"
        "You have reached today's limit. Try again tomorrow."
        "Umefikia kikomo cha leo. Jaribu tena kesho."
    /// The phone is on the campaign's blocklist.
    Blocked "blocked"
        "This phone number cannot take part. Contact customer care for help."
        "Namba hii ya simu haiwezi kushiriki. Wasiliana na huduma kwa wateja."
    /// Waiting for the partner or the tax authority to answer.
    Checking "checking"
        "We are checking your entry. You will see the result soon."
        "Tunahakiki ushiriki wako. Utapata matokeo hivi karibuni."
    /// The receipt is being checked, by the service or by your operator.
    ReceiptReceived "receipt_received"
        "We have received your receipt and are checking it."
        "Tumepokea risiti yako na tunaihakiki."
    /// The file shows no readable receipt.
    ReceiptUnreadable "receipt_unreadable"
        "We could not read your receipt. Take a clear photo of the whole receipt and try again."
        "Hatukuweza kusoma risiti yako. Piga picha inayoonyesha risiti yote vizuri kisha ujaribu tena."
    /// The photo did not arrive.
    ReceiptNotUploaded "receipt_not_uploaded"
        "The photo of your receipt did not arrive. Send it again."
        "Picha ya risiti yako haikufika. Itume tena."
    /// The receipt is from a shop that does not take part.
    ReceiptWrongStore "receipt_wrong_store"
        "This receipt is from a shop that does not take part."
        "Risiti hii inatoka kwenye duka ambalo halishiriki."
    /// The purchase was outside the entry window.
    ReceiptOutsideWindow "receipt_outside_window"
        "The date of this receipt is outside the campaign."
        "Tarehe ya risiti hii iko nje ya muda wa kampeni."
    /// The receipt lists no participating product.
    ReceiptNoQualifyingProduct "receipt_no_qualifying_product"
        "This receipt has no product that takes part."
        "Risiti hii haina bidhaa inayoshiriki."
    /// The receipt was entered before.
    ReceiptAlreadyUsed "receipt_already_used"
        "This receipt has already been used."
        "Risiti hii imeshatumika."
    /// The tax authority does not know the receipt, or it was cancelled.
    ReceiptNotFound "receipt_not_found"
        "We could not find this receipt with the tax authority."
        "Hatukuipata risiti hii kwenye mfumo wa mamlaka ya mapato."
    /// The typed time is not the one on the receipt.
    ReceiptTimeMismatch "receipt_time_mismatch"
        "The time does not match this receipt. Check the time printed on it."
        "Muda ulioweka haulingani na risiti hii. Angalia muda uliochapishwa."
    /// The phone reached `limits.phone_total`.
    EntryLimit "entry_limit"
        "You have reached the limit of entries for this campaign."
        "Umefikia kikomo cha ushiriki kwenye kampeni hii."
    /// Another phone's submission with this code is still being checked.
    CodeHeld "code_held"
        "This code is being checked for another entry. Try again later."
        "Namba hii inahakikiwa kwa ushiriki mwingine. Jaribu tena baadaye."
    /// The entry window has not started.
    CampaignNotStarted "campaign_not_started"
        "The campaign has not started yet."
        "Kampeni bado haijaanza."
    /// The entry window is over.
    CampaignEnded "campaign_ended"
        "The campaign has ended. Thank you for taking part."
        "Kampeni imekwisha. Asante kwa kushiriki."
    /// The operator paused the campaign.
    CampaignPaused "campaign_paused"
        "The campaign is paused. Try again later."
        "Kampeni imesimamishwa kwa muda. Jaribu tena baadaye."
    /// Too many wrong codes from this phone, or too many receipts still being checked.
    RateLimited "rate_limited"
        "Too many tries. Wait a while and try again."
        "Umejaribu mara nyingi mno. Subiri kidogo kisha ujaribu tena."
    /// For your page: the service could not be reached. Only test codes produce it.
    ServiceUnavailable "service_unavailable"
        "The service is not available right now. Try again later."
        "Huduma haipatikani kwa sasa. Jaribu tena baadaye."
    /// The photo is over 5 MB.
    FileTooLarge "file_too_large"
        "The photo is too large. Send a photo of at most 5 MB."
        "Picha ni kubwa mno. Tuma picha isiyozidi MB 5."
    /// The file is not a JPEG, PNG or WebP photo.
    FileWrongType "file_wrong_type"
        "This file is not a photo we can read. Send a JPEG, PNG or WebP photo."
        "Faili hili si picha tunayoweza kusoma. Tuma picha ya JPEG, PNG au WebP."
}

messages! {
    /// Text for what only a form can get wrong. No submission has such a key.
    FormKey
    /// The phone is not a Tanzanian mobile number.
    PhoneInvalid "phone_invalid"
        "This phone number is not right. Enter a Tanzanian mobile number, for example 0712 345 678."
        "Namba ya simu si sahihi. Weka namba ya Tanzania, kwa mfano 0712 345 678."
    /// The consumer did not agree.
    ConsentRequired "consent_required"
        "Please tick the box to agree, then send again."
        "Tafadhali weka alama kwenye kisanduku ili kukubali, kisha utume tena."
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum TextKey {
    Outcome(MessageKey),
    Form(FormKey),
}

impl TextKey {
    pub fn all() -> impl Iterator<Item = Self> {
        let outcomes = MessageKey::ALL.map(Self::Outcome);
        outcomes.into_iter().chain(FormKey::ALL.map(Self::Form))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outcome(key) => key.as_str(),
            Self::Form(key) => key.as_str(),
        }
    }

    pub fn text(self, language: Language) -> &'static str {
        match self {
            Self::Outcome(key) => key.text(language),
            Self::Form(key) => key.text(language),
        }
    }
}

impl From<MessageKey> for TextKey {
    fn from(key: MessageKey) -> Self {
        Self::Outcome(key)
    }
}

impl From<TextKey> for &'static str {
    fn from(key: TextKey) -> Self {
        key.as_str()
    }
}

impl TryFrom<String> for TextKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
            .map(Self::Outcome)
            .or_else(|_| text.parse().map(Self::Form))
    }
}

impl MessageKey {
    pub fn rejects(self) -> bool {
        !matches!(
            self,
            Self::Entered | Self::InstantWin | Self::Checking | Self::ReceiptReceived
        )
    }

    pub fn blames_receipt(self) -> bool {
        matches!(
            self,
            Self::ReceiptUnreadable
                | Self::ReceiptNotUploaded
                | Self::ReceiptWrongStore
                | Self::ReceiptOutsideWindow
                | Self::ReceiptNoQualifyingProduct
                | Self::ReceiptAlreadyUsed
                | Self::ReceiptNotFound
                | Self::ReceiptTimeMismatch
                | Self::FileTooLarge
                | Self::FileWrongType
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True for the GSM 7-bit default alphabet.
    fn is_gsm7(c: char) -> bool {
        c.is_ascii_alphanumeric() || " .,:;!?'()/-+&%\"".contains(c)
    }

    #[test]
    fn every_message_fits_one_sms_in_both_languages() {
        assert_eq!((MessageKey::ALL.len(), TextKey::all().count()), (26, 28));
        for key in TextKey::all() {
            for language in [Language::En, Language::Sw] {
                let text = key.text(language);
                assert!(
                    !text.is_empty() && text.len() <= 160 && text.chars().all(is_gsm7),
                    "{key:?}: {text}"
                );
            }
            assert_ne!(
                key.text(Language::En),
                key.text(Language::Sw),
                "{key:?} is not translated"
            );
        }
    }

    #[test]
    fn no_submission_has_a_key_of_a_form() {
        for key in FormKey::ALL {
            assert!(key.as_str().parse::<MessageKey>().is_err(), "{key:?}");
            assert_eq!(
                TextKey::try_from(key.as_str().to_owned()),
                Ok(TextKey::Form(key))
            );
        }
    }

    #[test]
    fn a_key_reads_back_from_its_name() {
        for key in MessageKey::ALL {
            assert_eq!(key.as_str().parse(), Ok(key));
            assert_eq!(key.to_string(), key.as_str());
        }
        assert!("Entered".parse::<MessageKey>().is_err());
    }

    #[test]
    fn text_key_is_stored_by_its_name() {
        for key in TextKey::all() {
            let stored = serde_json::to_value(key).expect("JSON");
            assert_eq!(stored, key.as_str());
            assert_eq!(serde_json::from_value::<TextKey>(stored).ok(), Some(key));
        }
    }

    #[test]
    fn a_campaigns_copy_wins_in_its_language_alone() {
        let overrides = MessageOverrides {
            en: BTreeMap::from([(MessageKey::Entered.into(), "Chai for you!".to_owned())]),
            sw: BTreeMap::new(),
        };
        assert_eq!(
            overrides.text(MessageKey::Entered, Language::En),
            "Chai for you!"
        );
        assert_eq!(
            overrides.text(MessageKey::Entered, Language::Sw),
            MessageKey::Entered.text(Language::Sw)
        );
    }
}
