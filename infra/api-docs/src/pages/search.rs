use serde_json::{Value, json};

/// Longer texts are shown in parts.
const MAX_TEXT_CHARS: usize = 240;

pub(super) struct Place {
    title: String,
    id: String,
    pub(super) text: String,
}

impl Place {
    pub(super) fn new(title: String, id: &str, text: String) -> Self {
        let id = id.to_owned();
        Self { title, id, text }
    }

    /// `[title, page, URL, text]` of a place.
    pub(super) fn entry(&self, path: &str, page: &str) -> Value {
        let mark = if self.id.is_empty() { "" } else { "#" };
        let url = format!("{path}{mark}{}", self.id);
        json!([self.title, page, url, shortened(self.text.trim())])
    }
}

fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) else {
        return text.to_owned();
    };
    let start = text.get(..end).unwrap_or_default();
    format!(
        "{} …",
        start.rsplit_once(' ').map_or(start, |(words, _)| words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_at_a_word() {
        assert_eq!(shortened("one two"), "one two");
        let text = "seven77 ".repeat(40);
        let short = shortened(&text);
        assert!(
            short.ends_with("seven77 …") && short.chars().count() <= MAX_TEXT_CHARS + 2,
            "{short}"
        );
    }
}
