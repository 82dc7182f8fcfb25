//! Runs `FUZZ_TARGET` under libFuzzer.

#![no_main]

use std::env;
use std::sync::LazyLock;

use fuzz::targets::{self, Target};

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    targets::named(&name).unwrap_or_else(|| {
        let names: Vec<_> = targets::TARGETS.iter().map(|target| target.name).collect();
        panic!("FUZZ_TARGET has to be one of {}", names.join(", "))
    })
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
