//! Markdown tables, and the verdict on all budgets.

use std::process::ExitCode;

/// Printed when complete, because the columns are as wide as their widest cell.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self {
            rows: vec![header.map(str::to_owned).to_vec()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.rows[0].len(), "a cell for each column");
        self.rows.push(cells.to_vec());
    }

    pub(crate) fn print(&self) {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::from("|");
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // The first column has names, the others numbers.
                line += &if column == 0 {
                    format!(" {cell:<width$} |")
                } else {
                    format!(" {cell:>width$} |")
                };
            }
            println!("{line}");
            if index == 0 {
                let rule = |(column, width): (usize, &usize)| {
                    if column == 0 {
                        format!("{:-<1$}|", "", width + 2)
                    } else {
                        format!("{:-<1$}:|", "", width + 1)
                    }
                };
                println!(
                    "|{}",
                    widths.iter().enumerate().map(rule).collect::<String>()
                );
            }
        }
        println!();
    }
}

#[derive(Default)]
pub(crate) struct Verdicts {
    checked: usize,
    broken: Vec<String>,
}

impl Verdicts {
    /// Records whether a budget is kept, and returns the word for the table. `what` describes a broken budget in a full
    /// sentence.
    pub(crate) fn check(&mut self, kept: bool, what: impl FnOnce() -> String) -> String {
        self.checked += 1;
        if kept {
            return "yes".to_owned();
        }
        self.broken.push(what());
        "**NO**".to_owned()
    }

    /// Prints the verdict; fails when a budget is broken.
    pub(crate) fn conclude(&self) -> ExitCode {
        println!("## Verdict\n");
        if self.broken.is_empty() {
            println!("All {} budgets are kept.", self.checked);
            return ExitCode::SUCCESS;
        }
        println!(
            "{} of {} budgets are broken:\n",
            self.broken.len(),
            self.checked
        );
        for broken in &self.broken {
            println!("- {broken}");
        }
        ExitCode::FAILURE
    }
}
