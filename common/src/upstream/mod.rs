//! Those outside who are asked.

pub mod tax_authority;
