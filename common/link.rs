//! The build script of every function.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=../../common/link.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        // At a fixed address nothing has to be relocated at each start, which would take a tenth of it or more.
        // Libraries, heap and stack are still where nobody can foresee.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
