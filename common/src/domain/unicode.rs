//! Text as people type and paste it.

use icu_normalizer::ComposingNormalizerBorrowed;
use unicode_general_category::{GeneralCategory, get_general_category};

/// A symbol to Unicode, a dash to people.
const MINUS: char = '\u{2212}';

/// Invisible, and added by keyboards, word processors and web pages.
pub fn is_format(c: char) -> bool {
    get_general_category(c) == GeneralCategory::Format
}

pub fn is_dash(c: char) -> bool {
    c == MINUS || get_general_category(c) == GeneralCategory::DashPunctuation
}

/// False for controls, format characters and line separators.
pub fn is_printable(c: char) -> bool {
    !c.is_control() && !is_format(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// True if no invisible character makes two texts look the same.
pub fn is_visible_text(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && text.chars().all(is_printable)
}

/// White space does not count.
pub fn has_control(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !c.is_whitespace())
}

pub fn stripped(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_format(c))
}

/// NFC: one spelling of each accented letter.
pub fn composed(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize_iter(text.chars())
        .collect()
}

/// NFKC: full-width and mathematical digits are ASCII's.
pub fn compatible(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfkc()
        .normalize_iter(text.chars())
        .collect()
}

/// Digits of ASCII, and of the Arabic and Indian scripts that phones in East Africa type.
pub fn digit(c: char) -> Option<u32> {
    const ZEROS: [char; 5] = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{ae6}'];
    let values = ZEROS
        .iter()
        .map(|zero| u32::from(c).checked_sub(u32::from(*zero)));
    values.flatten().find(|value| *value < 10)
}

/// NFKC in upper case, without white space and format characters; `map` changes or removes each
/// other character.
pub(super) fn folded(text: &str, map: impl Fn(char) -> Option<char>) -> String {
    let normalizer = ComposingNormalizerBorrowed::new_nfkc();
    let upper = normalizer
        .normalize_iter(text.chars())
        .flat_map(char::to_uppercase);
    let kept = upper
        .filter(|c| !c.is_whitespace() && !is_format(*c))
        .filter_map(map);
    // Newly adjacent ones may combine, such as a letter and its accent.
    normalizer.normalize_iter(kept).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn without_dashes(text: &str) -> String {
        folded(text, |c| (!is_dash(c)).then_some(c))
    }

    #[test]
    fn folding_any_character_twice_is_folding_it_once() {
        // The rest are ideographs, which fold to themselves.
        let characters = ('\0'..='\u{1ffff}')
            .chain('\u{2f800}'..='\u{2fa1f}')
            .chain('\u{e0000}'..='\u{e01ff}');
        for c in characters {
            // Alone, and next to accents.
            let text = format!("{c} e\u{301}{c}\u{345}{c}\u{301}");
            let once = without_dashes(&text);
            assert_eq!(without_dashes(&once), once, "{text:?}");
        }
    }

    #[test]
    fn what_is_composed_is_one_spelling() {
        assert_eq!(composed("e\u{301}"), "\u{e9}");
        assert_eq!(
            composed("\u{ff21}"),
            "\u{ff21}",
            "full-width letters stay what they are"
        );
        assert_eq!(
            without_dashes("\u{ff21} e\u{301}\u{200b}\u{2014}1"),
            "A\u{c9}1"
        );
        assert_eq!(stripped("\u{feff} a\u{200b}b\n\u{2060} "), "a\u{200b}b");
    }

    #[test]
    fn visible_text_has_nothing_that_is_not_seen() {
        for text in ["A kettle", "\u{e9}", "\u{2014}"] {
            assert!(is_visible_text(text), "{text:?}");
        }
        for text in ["", " a", "a\n", "a\u{7}b", "a\u{200b}b", "a\u{2028}b"] {
            assert!(!is_visible_text(text), "{text:?}");
        }
    }

    #[test]
    fn digits_of_several_scripts_are_read() {
        for (c, expected) in [
            ('0', Some(0)),
            ('9', Some(9)),
            ('\u{663}', Some(3)),
            ('\u{aef}', Some(9)),
            ('/', None),
            (':', None),
        ] {
            assert_eq!(digit(c), expected, "{c}");
        }
        assert_eq!(compatible("\u{ff11}\u{1d7d0}"), "12");
    }

    proptest! {
        #[test]
        fn folding_any_text_twice_is_folding_it_once(text in "\\PC{0,40}|[\\u{300}-\\u{345}a-zA-Zά-ώ\\s\\p{Cf}\\p{Pd}]{0,40}") {
            let once = without_dashes(&text);
            prop_assert!(!once.contains(|c: char| c.is_whitespace() || is_format(c) || is_dash(c)), "{once:?}");
            prop_assert_eq!(without_dashes(&once), once);
            prop_assert_eq!(composed(&composed(&text)), composed(&text));
        }
    }
}
