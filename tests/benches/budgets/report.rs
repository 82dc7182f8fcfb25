//! Markdown tables, and the verdict on budgets.

use std::fmt::Display;
use std::process::ExitCode;

/// Printed when complete: its widest cells set the columns.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self {
            rows: vec![header.map(str::to_owned).to_vec()],
        }
    }

    pub(crate) fn row(&mut self, cells: &[&dyn Display]) {
        assert_eq!(cells.len(), self.rows[0].len(), "a cell for each column");
        self.rows
            .push(cells.iter().map(ToString::to_string).collect());
    }

    pub(crate) fn print(&self) {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        };
        for (index, row) in self.rows.iter().enumerate() {
            let (mut line, mut rule) = ("|".to_owned(), "|".to_owned());
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                // The first column has names, the others numbers.
                if column == 0 {
                    line += &format!(" {cell:<width$} |");
                    rule += &format!("-{:-<width$}-|", "");
                } else {
                    line += &format!(" {cell:>width$} |");
                    rule += &format!("-{:-<width$}:|", "");
                }
            }
            println!("{line}");
            if index == 0 {
                println!("{rule}");
            }
        }
        println!();
    }
}

/// A figure that not every system gives.
pub(crate) fn or_unknown(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("unknown".to_owned(), |figure| {
        format!("{figure:.decimals$}")
    })
}

#[derive(Default)]
pub(crate) struct Verdicts {
    checked: usize,
    broken: Vec<String>,
}

impl Verdicts {
    /// Records a verdict, and returns the word for the table. `what` describes a broken budget.
    pub(crate) fn check(&mut self, kept: bool, what: impl FnOnce() -> String) -> &'static str {
        self.checked += 1;
        if kept {
            return "yes";
        }
        self.broken.push(what());
        "**NO**"
    }

    /// Prints the verdict.
    pub(crate) fn conclude(&self) -> ExitCode {
        println!("## Verdict\n");
        if self.broken.is_empty() {
            println!("All {} budgets are kept.", self.checked);
            return ExitCode::SUCCESS;
        }
        let (broken, checked) = (self.broken.len(), self.checked);
        println!("{broken} of {checked} budgets are broken:\n");
        for broken in &self.broken {
            println!("- {broken}");
        }
        ExitCode::FAILURE
    }
}
