//! Text as people type and paste it: invisible characters, and several spellings of one character.

use std::ops::RangeInclusive;

use icu_normalizer::ComposingNormalizerBorrowed;

/// General category Cf in Unicode 16: invisible, added by keyboards, word processors and web pages.
const FORMAT: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];

/// General category Pd in Unicode 16.
const DASHES: [RangeInclusive<char>; 20] = [
    '-'..='-',
    '\u{58a}'..='\u{58a}',
    '\u{5be}'..='\u{5be}',
    '\u{1400}'..='\u{1400}',
    '\u{1806}'..='\u{1806}',
    '\u{2010}'..='\u{2015}',
    '\u{2e17}'..='\u{2e17}',
    '\u{2e1a}'..='\u{2e1a}',
    '\u{2e3a}'..='\u{2e3b}',
    '\u{2e40}'..='\u{2e40}',
    '\u{2e5d}'..='\u{2e5d}',
    '\u{301c}'..='\u{301c}',
    '\u{3030}'..='\u{3030}',
    '\u{30a0}'..='\u{30a0}',
    '\u{fe31}'..='\u{fe32}',
    '\u{fe58}'..='\u{fe58}',
    '\u{fe63}'..='\u{fe63}',
    '\u{ff0d}'..='\u{ff0d}',
    '\u{10d6e}'..='\u{10d6e}',
    '\u{10ead}'..='\u{10ead}',
];

/// A symbol to Unicode, a dash to people.
const MINUS: char = '\u{2212}';

pub fn is_format(c: char) -> bool {
    FORMAT.iter().any(|range| range.contains(&c))
}

pub fn is_dash(c: char) -> bool {
    c == MINUS || DASHES.iter().any(|range| range.contains(&c))
}

/// White space does not count.
pub fn has_control(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !c.is_whitespace())
}

/// Strips white space and format characters.
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
    // Characters that are adjacent only now may combine, such as a letter and its accent.
    normalizer.normalize_iter(kept).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_general_category::{GeneralCategory, get_general_category};

    use super::*;

    fn every_character() -> impl Iterator<Item = char> {
        '\0'..=char::MAX
    }

    fn without_dashes(text: &str) -> String {
        folded(text, |c| (!is_dash(c)).then_some(c))
    }

    #[test]
    fn the_tables_are_unicodes_own() {
        for c in every_character() {
            let category = get_general_category(c);
            assert_eq!(is_format(c), category == GeneralCategory::Format, "{c:?}");
            assert_eq!(
                is_dash(c),
                category == GeneralCategory::DashPunctuation || c == MINUS,
                "{c:?}"
            );
        }
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
