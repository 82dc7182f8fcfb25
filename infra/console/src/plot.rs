//! Plots as inline SVG, with their numbers in a table.

use common::domain::statistics::Amount;
pub(crate) use ops_core::statistics::aggregate::number;
use ops_core::statistics::aggregate::{Aggregate, UNNAMED, largest, scaled};

use crate::prelude::*;

/// SVG units, scaled to the page's width.
const WIDTH: i64 = 720;
const HEIGHT: i64 = 180;
const LEFT: i64 = 56;
const TOP: i64 = 10;
const BOTTOM: i64 = 24;
/// More labels would overlap.
const LABELS: usize = 7;

/// Bars show entries; submissions are in the table only. `link` is the list of a row's submissions,
/// if there is one.
pub(crate) fn over_time(
    title: &str,
    unit: &str,
    series: &[(String, Amount)],
    link: impl Fn(&str) -> Option<String>,
) -> Markup {
    let largest = largest(series.iter().map(|(_, sum)| sum.entries));
    // Even, so that the label in the middle is in the middle.
    let largest = largest + largest % 2;
    let count = i64::try_from(series.len()).unwrap_or(1).max(1);
    let height = HEIGHT - TOP - BOTTOM;
    let (base, step) = (HEIGHT - BOTTOM, (WIDTH - LEFT) * 100 / count);
    let every = series.len().div_ceil(LABELS).max(1);
    let places = (0_i64..).zip(series).map(|(index, (name, sum))| {
        let tall = scaled(sum.entries, largest, height);
        (LEFT + index * step / 100, tall, name, sum.entries)
    });
    let places: Vec<_> = places.collect();
    let wide = (step * 8 / 1000).max(1);
    let any = series.iter().filter(|(_, sum)| *sum != Amount::default());
    html! {
        figure.plot {
            figcaption { (title) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (title) "; the table below has the numbers" } {
                @for (share, shown) in [(0, 0), (50, largest / 2), (100, largest)] {
                    @let y = base - height * share / 100;
                    line.grid x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                    @if share == 0 || shown > 0 { text.end x=(LEFT - 8) y=(y + 4) { (number(shown)) } }
                }
                @for (x, tall, name, entries) in places.iter().filter(|(_, tall, ..)| *tall > 0) {
                    rect.bar x=(x) y=(base - tall) width=(wide) height=(tall) { title { (name) ": " (number(*entries)) } }
                }
                @for (x, _, name, _) in places.iter().step_by(every) {
                    text x=(x) y=(HEIGHT - 6) { (short(name)) }
                }
            }
            (numbers(title, &[unit, "Submissions", "Entries"], any, link))
        }
    }
}

/// `11-22` for a day, `17:00` for an hour.
fn short(name: &str) -> &str {
    name.split_once(' ')
        .map(|(_, time)| time)
        .or_else(|| name.split_once('-').map(|(_, day)| day))
        .unwrap_or(name)
}

fn numbers<'a>(
    title: &str,
    heading: &[&str],
    amounts: impl Iterator<Item = &'a (String, Amount)>,
    link: impl Fn(&str) -> Option<String>,
) -> Markup {
    let rows = html! {
        @for (name, sum) in amounts {
            tr {
                td { (name) }
                td { @if let Some(path) = link(name) { a href=(path) { (number(sum.records)) } } @else { (number(sum.records)) } }
                td { (number(sum.entries)) }
            }
        }
    };
    html! { details { summary { "Numbers" span.unseen { " of: " (title) } } (table(title, heading, rows)) } }
}

pub(crate) struct Share {
    pub(crate) name: Markup,
    pub(crate) value: i64,
    pub(crate) of: i64,
    pub(crate) words: Markup,
}

pub(crate) fn shares(caption: &str, heading: [&str; 2], rows: Vec<Share>) -> Markup {
    let rows = html! {
        @for row in &rows {
            tr {
                td { (row.name) }
                td { (row.words) }
                td {
                    div.share {
                        svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                            rect.whole width="100" height="8" rx="2" {}
                            rect.bar width=(scaled(row.value, row.of, 100)) height="8" rx="2" {}
                        }
                        span { (percent(row.value, row.of)) }
                    }
                }
            }
        }
    };
    let [name, value] = heading;
    table(caption, &[name, value, "Share"], rows)
}

fn percent(value: i64, of: i64) -> String {
    match scaled(value, of, 1_000) {
        0 => "0 %".to_owned(),
        1..10 => "under 1 %".to_owned(),
        share => format!("{} %", (share + 5) / 10),
    }
}

/// Shares of the whole, the largest first; those after `most` are one row. `link` is the list of a
/// row's submissions, if there is one.
pub(crate) fn of_whole(
    aggregate: &Aggregate,
    most: usize,
    name: impl Fn(&str) -> String,
    link: impl Fn(&str) -> Option<String>,
) -> Vec<Share> {
    let of = aggregate.values().map(|sum| sum.records).sum();
    let mut sums: Vec<_> = aggregate.iter().collect();
    sums.sort_by_key(|(_, sum)| -sum.records);
    let rest = sums.split_off(most.min(sums.len()));
    let row = |(dimension, sum): (&String, &Amount)| Share {
        name: html! {
            @if dimension.is_empty() {
                (UNNAMED)
            } @else if let Some(path) = link(dimension) {
                a href=(path) { (name(dimension)) }
            } @else {
                (name(dimension))
            }
        },
        value: sum.records,
        of,
        words: html! { (number(sum.records)) },
    };
    let mut rows: Vec<_> = sums.into_iter().map(row).collect();
    if !rest.is_empty() {
        let value = rest.iter().map(|(_, sum)| sum.records).sum();
        let (name, words) = (html! { (rest.len()) " others" }, html! { (number(value)) });
        rows.push(Share {
            name,
            value,
            of,
            words,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_whole_and_small_ones_are_seen() {
        let shares = [
            (0, "0 %"),
            (1, "under 1 %"),
            (500, "33 %"),
            (1_500, "100 %"),
        ];
        for (value, words) in shares {
            assert_eq!(percent(value, 1_500), words);
        }
        let sums = [("Dar", 3), ("", 1), ("Arusha", 5), ("Mwanza", 1)];
        let amount = |records| Amount {
            records,
            entries: 0,
        };
        let sums = sums.map(|(name, records)| (name.to_owned(), amount(records)));
        let rows = of_whole(&Aggregate::from(sums), 2, str::to_owned, |_| {
            Some("/".to_owned())
        });
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.name.0.as_str(), row.value, row.of))
            .collect();
        let (arusha, dar) = ("<a href=\"/\">Arusha</a>", "<a href=\"/\">Dar</a>");
        assert_eq!(rows, [(arusha, 5, 10), (dar, 3, 10), ("2 others", 2, 10)]);
    }

    #[test]
    fn a_plot_has_bars_of_entries_and_empty_places() {
        let day = |day: &str, records, entries| (day.to_owned(), Amount { records, entries });
        let series = [
            day("2026-03-01", 5, 1),
            day("2026-03-02", 0, 0),
            day("2026-03-03", 3, 0),
            day("2026-03-04", 1, 4),
        ];
        let plot = over_time("Entries by day", "Day", &series, |_| None).into_string();
        assert_eq!(plot.matches("<rect class=\"bar\"").count(), 2, "{plot}");
        let place = |index: i64| format!("x=\"{}\"", LEFT + index * (WIDTH - LEFT) / 4);
        for (index, bar) in [
            (0, "<title>2026-03-01: 1</title>"),
            (3, "<title>2026-03-04: 4</title>"),
        ] {
            let start = plot
                .find(&format!("<rect class=\"bar\" {}", place(index)))
                .expect("its place");
            assert!(
                plot[start..]
                    .split_once("</rect>")
                    .is_some_and(|(rect, _)| rect.contains(bar)),
                "{plot}"
            );
        }
        assert!(
            plot.contains("<td>2026-03-03</td><td>3</td><td>0</td>"),
            "{plot}"
        );
        assert!(
            !plot.contains("<td>2026-03-02</td>"),
            "the table names those with any: {plot}"
        );
    }
}
