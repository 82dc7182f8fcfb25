use crate::domain::Language;

pub fn wanted(locale: Option<&str>, accept_language: Option<&str>) -> Language {
    let locale = locale.and_then(|locale| locale.parse().ok());
    locale.unwrap_or_else(|| accept_language.map_or(Language::En, preferred))
}

/// Swahili needs a higher q-value than English.
fn preferred(accept_language: &str) -> Language {
    if quality(accept_language, "sw") > quality(accept_language, "en") {
        Language::Sw
    } else {
        Language::En
    }
}

/// Thousandths; 0 if not listed.
fn quality(accept_language: &str, language: &str) -> u16 {
    let of_range = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let tag = parts.next()?;
        let primary = tag
            .split_once('-')
            .map_or(tag, |(primary, _region)| primary);
        if !primary.eq_ignore_ascii_case(language) {
            return None;
        }
        Some(
            parts
                .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
                .map_or(1000, thousandths),
        )
    };
    accept_language
        .split(',')
        .filter_map(of_range)
        .max()
        .unwrap_or(0)
}

/// Up to three decimals; anything else counts as 0.
fn thousandths(q: &str) -> u16 {
    let (whole, decimals) = q.split_once('.').unwrap_or((q, ""));
    if decimals.len() > 3 {
        return 0;
    }
    match whole {
        "1" if decimals.bytes().all(|byte| byte == b'0') => 1000,
        "0" if decimals.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{decimals:0<3}").parse().unwrap_or(0)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swahili_has_to_be_preferred() {
        for header in [
            "sw",
            "sw-TZ",
            "SW",
            "sw-TZ,en;q=0.9",
            "sw;q=1.000, en;q=0.999",
            "en;q=0.5, sw;q=0.6",
            "fr, sw;q=0.001",
        ] {
            assert_eq!(wanted(None, Some(header)), Language::Sw, "{header}");
        }
        for header in [
            "",
            "en",
            "en,sw;q=0.9",
            "sw;q=0",
            "sw,en",
            "fr",
            "swz",
            "sw;q=2",
            "sw;q=1.5",
            "*",
            "sw;q=x",
        ] {
            assert_eq!(wanted(None, Some(header)), Language::En, "{header}");
        }
    }

    #[test]
    fn the_locale_parameter_wins_when_it_names_a_language() {
        assert_eq!(wanted(Some("sw"), Some("en")), Language::Sw);
        assert_eq!(wanted(Some("en"), Some("sw")), Language::En);
        assert_eq!(wanted(Some("fr"), Some("sw")), Language::Sw);
        assert_eq!(wanted(Some("SW"), None), Language::En);
    }
}
