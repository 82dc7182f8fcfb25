//! Runs every target on its samples and on a fixed number of inputs made from them, always the
//! same. `FUZZ_SEED` selects others, `FUZZ_TIMES` multiplies them.

mod mutation;

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use fuzz::corpus;
use fuzz::targets::{self, TARGETS};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::mutation::inputs;

macro_rules! bounded {
    ($($test:ident: $target:literal, $cases:literal;)*) => {
        $(#[test]
        fn $test() {
            run($target, $cases);
        })*

        const TESTED: &[&str] = &[$($target),*];
    };
}

bounded! {
    an_amount_is_exact_or_refused: "amount", 4_000;
    a_campaign_file_is_read_or_each_problem_names_a_line: "campaign_file", 600;
    a_code_has_one_spelling_and_does_not_print: "code", 4_000;
    a_list_of_codes_is_read_line_by_line_and_again: "code_lines", 2_000;
    any_event_of_the_gateway_gets_a_reply_of_the_contract: "http_event", 150;
    any_request_gets_a_reply_of_the_contract: "http_request", 300;
    a_body_is_read_however_it_is_written_or_the_field_is_named: "json_body", 2_000;
    a_name_is_written_as_it_is_read: "name", 4_000;
    a_partners_reply_is_within_its_bounds_and_does_not_print: "partner_reply", 2_000;
    partner_rules_survive_storing_and_keep_their_secrets: "partner_rules", 1_000;
    a_partners_url_that_is_taken_can_be_asked: "partner_url", 4_000;
    a_phone_has_one_spelling_and_does_not_print: "phone", 4_000;
    a_photo_is_within_its_bounds_or_refused: "photo", 300;
    a_message_that_cannot_be_read_fails_alone: "queue_event", 150;
    a_receipts_code_and_time_survive_and_do_not_print: "receipt_text", 4_000;
    no_event_of_storage_has_to_be_sent_again: "storage_event", 150;
    a_page_is_read_the_same_twice_and_is_of_the_receipt_asked_for: "tax_page", 1_500;
}

#[test]
fn every_target_has_a_test_and_samples() {
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(TESTED.iter().copied().collect::<BTreeSet<_>>(), names);
    let folders: BTreeSet<String> = fs::read_dir(corpus::folder())
        .expect("the corpus")
        .map(|entry| {
            entry
                .expect("a folder")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    assert_eq!(
        folders.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        names
    );
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is no number"))
    })
}

/// Runs samples, then `cases` inputs made from them.
fn run(name: &str, cases: u32) {
    let target = targets::named(name).expect("a target");
    let samples = corpus::of(target);
    samples.iter().for_each(|sample| (target.run)(sample));

    let seed = number("FUZZ_SEED").unwrap_or(1);
    let times = u32::try_from(number("FUZZ_TIMES").unwrap_or(1)).expect("FUZZ_TIMES fits");
    let config = Config {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed.to_le_bytes(); 4].concat());
    let found = TestRunner::new_with_rng(config, rng).run(&inputs(samples), |input| {
        (target.run)(&input.0);
        Ok(())
    });
    match found {
        Ok(()) => {}
        Err(TestError::Fail(why, input)) => {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-found"));
            fs::write(&file, &input.0).expect("the input is kept");
            panic!(
                "{why}\n{input:?}\nmakes {name} fail (FUZZ_SEED={seed}); it is kept in {}",
                file.display()
            );
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}
