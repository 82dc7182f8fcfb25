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

/// Bars show entries; submissions are in the table only.
pub(crate) fn over_time(title: &str, unit: &str, series: &[(String, Amount)]) -> Markup {
    let largest = largest(series.iter().map(|(_, sum)| sum.entries));
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
            (numbers(title, &[unit, "Submissions", "Entries"], any))
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
) -> Markup {
    let rows = html! {
        @for (name, sum) in amounts {
            tr {
                td { @if name.is_empty() { (UNNAMED) } @else { (name) } }
                td { (number(sum.records)) }
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
    pub(crate) words: String,
}

pub(crate) fn shares(caption: &str, heading: [&str; 2], rows: Vec<Share>) -> Markup {
    let rows = html! {
        @for row in &rows {
            tr {
                td { (row.name) }
                td { (row.words) }
                td {
                    svg.share viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                        rect.whole width="100" height="8" rx="2" {}
                        rect.bar width=(scaled(row.value, row.of, 100)) height="8" rx="2" {}
                    }
                }
            }
        }
    };
    let [name, value] = heading;
    table(caption, &[name, value, "Share"], rows)
}

/// Shares of the largest sum.
pub(crate) fn of_largest(aggregate: &Aggregate, name: impl Fn(&str) -> String) -> Vec<Share> {
    let of = largest(aggregate.values().map(|sum| sum.records));
    let row = |(dimension, sum): (&String, &Amount)| {
        let shown = if dimension.is_empty() {
            UNNAMED.to_owned()
        } else {
            name(dimension)
        };
        Share {
            name: html! { (shown) },
            value: sum.records,
            of,
            words: number(sum.records),
        }
    };
    aggregate.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_bars_of_entries_and_empty_places() {
        let day = |day: &str, records, entries| (day.to_owned(), Amount { records, entries });
        let series = [
            day("2026-03-01", 5, 1),
            day("2026-03-02", 0, 0),
            day("2026-03-03", 3, 0),
            day("2026-03-04", 1, 4),
        ];
        let plot = over_time("Entries by day", "Day", &series).into_string();
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
