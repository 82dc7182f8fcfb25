use std::io;

/// Lines are counted from 1, rows from 0.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(pub(crate) String);

impl From<io::Error> for Difference {
    fn from(error: io::Error) -> Self {
        Self(format!("a file cannot be read: {error}; check the folder"))
    }
}

macro_rules! check {
    ($holds:expr, $($said:tt)+) => {
        if !$holds {
            return Err($crate::difference::Difference(format!($($said)+)));
        }
    };
}
pub(crate) use check;
