//! Changes of a campaign: shown first, asked about, kept, taken back.

use ops_core::campaigns::carry_out;
use serde_json::{Value, json};
use service_tests::text::{fields, len_of};

use crate::campaign::with_partner;
use crate::support::{CHAI, NOW, Stack};

const SLUG: &str = "chai-bora-2026";

fn changed(from: &str, to: &str) -> String {
    assert!(CHAI.contains(from), "{from}");
    CHAI.replace(from, to)
}

/// The changes of a file, as `--dry-run` prints them.
async fn would_change(stack: &Stack, text: &str) -> String {
    let file = stack.file("changed.yaml", text);
    let said = stack.fine(format!("campaign apply --dry-run {file}")).await;
    let said = said
        .strip_prefix("chai-bora-2026 changes:\n")
        .expect("it changes");
    said.strip_suffix("Nothing was changed, because of --dry-run; leave it out to apply this.\n")
        .expect("it says so")
        .to_owned()
}

/// A field of the campaign as it is shown.
async fn shown(stack: &Stack, name: &str) -> String {
    fields(&stack.json(format!("campaign show {SLUG}")).await, name)
}

#[tokio::test]
async fn change_is_shown_and_written_once_agreed() {
    let stack = Stack::with_chai().await;
    let file = stack.file("changed.yaml", changed("Shinda", "Pata"));
    let asked =
        "chai-bora-2026 changes:\n  name: Chai Bora Shinda -> Chai Bora Pata\nApply this? [y/N] ";
    let refused = stack
        .answering(format!("campaign apply {file}"), "n\n")
        .await
        .failed();
    assert_eq!(
        refused,
        format!("{asked}error: nothing was changed; answer `y` to continue\n")
    );
    assert_eq!(shown(&stack, "name").await, "Chai Bora Shinda");
    let applied = stack
        .answering(format!("campaign apply {file}"), "y\n")
        .await;
    assert_eq!(applied.out, "chai-bora-2026 updated\n");
    assert_eq!(applied.err, asked);
    assert_eq!(shown(&stack, "name").await, "Chai Bora Pata");
    let again = stack.answering(format!("campaign apply {file}"), "").await;
    assert_eq!(again.out, "chai-bora-2026 unchanged\n");
    assert_eq!(again.err, "", "nothing to ask");
}

#[tokio::test]
async fn without_a_terminal_a_change_needs_the_option() {
    let stack = Stack::with_chai().await;
    let file = stack.file("changed.yaml", changed("Shinda", "Pata"));
    let error = stack
        .refused(format!("campaign apply {file}"), "confirmation_needed")
        .await;
    assert_contains!(error.message, "add --yes");
    assert_eq!(shown(&stack, "name").await, "Chai Bora Shinda");
}

#[tokio::test]
async fn a_new_campaign_is_shown_as_new() {
    let stack = Stack::empty().await;
    let file = stack.file("chai.yaml", CHAI);
    let said = stack.fine(format!("campaign apply --dry-run {file}")).await;
    assert_contains!(
        said,
        "chai-bora-2026 is new:\n  slug: chai-bora-2026\n  name: Chai Bora Shinda\n",
        "  window.start: 2026-01-01 00:00:00 Africa/Dar_es_Salaam\n",
        "  messages.en.entered: You are in!\nNothing was changed, because of --dry-run; leave it out to apply this.\n"
    );
    assert_eq!(
        stack.json("campaign list").await,
        json!({ "campaigns": [] })
    );
}

#[tokio::test]
async fn a_trial_says_what_would_change_for_programs_too() {
    let stack = Stack::with_chai().await;
    let file = stack.file("changed.yaml", changed("phone_total: 20", "phone_total: 5"));
    let document = stack.json(format!("campaign apply --dry-run {file}")).await;
    assert_eq!(document["dry_run"], true);
    let differences = &document["campaigns"][0]["differences"];
    assert_eq!(
        fields(&differences[0], "field before after meaning"),
        "limits.phone_total 20 5 a phone that has more keeps them, and gets no further submission \
         accepted"
    );
    assert_eq!(len_of(differences), 1);
    let same = stack.file("chai.yaml", CHAI);
    let said = stack.fine(format!("campaign apply --dry-run {same}")).await;
    assert_eq!(
        said,
        "chai-bora-2026 would not change\nNothing was changed, because of --dry-run; leave it out to apply this.\n"
    );
}

#[tokio::test]
async fn what_a_change_means_is_said() {
    let stack = Stack::with_chai().await;
    for (from, to, expected) in [
        (
            "end: null",
            "end: 2026-02-01T00:00:00+03:00",
            "  window.end: for ever -> 2026-02-01 00:00:00 Africa/Dar_es_Salaam\n      \
             the window ends in the past: no more entries are taken\n",
        ),
        (
            "start: 2026-01-01",
            "start: 2026-06-01",
            "  window.start: 2026-01-01 00:00:00 Africa/Dar_es_Salaam -> 2026-06-01 00:00:00 Africa/Dar_es_Salaam\n      \
             entries are refused before the new start\n",
        ),
        (
            "phone_daily: 3",
            "phone_daily: null",
            "  limits.phone_daily: 3 -> no limit\n",
        ),
        (
            "entries_per_submission: 2",
            "entries_per_submission: 3",
            "  entries_per_submission: 2 -> 3\n      \
             for submissions from now on; accepted ones keep their entries\n",
        ),
        (
            "{ entered: \"You are in!\" }",
            "{ entered: \"Karibu\\nsana\" }",
            "  messages.en.entered: You are in! -> Karibu\\nsana\n      \
             consumers read it within 5 seconds, also for earlier submissions\n",
        ),
    ] {
        let said = would_change(&stack, &changed(from, to)).await;
        assert_eq!(said, expected);
    }
    let without = changed("checked_by: service", "checked_by: none");
    stack.mint(1200).await;
    let said = would_change(&stack, &without).await;
    let expected = "  code.checked_by: service -> none\n      the 1,200 live codes of this campaign are no longer looked at\n";
    assert_eq!(said, expected);
}

#[tokio::test]
async fn block_that_comes_or_goes_is_one_line() {
    let stack = Stack::with_chai().await;
    let with = format!("{CHAI}receipt: {{ required: false, typed: true }}\n");
    let said = would_change(&stack, &with).await;
    assert!(
        said.starts_with(
            "  receipt: it takes no receipts -> these rules\n      receipt.required: false\n"
        ),
        "{said}"
    );
    stack.apply(with).await;
    assert_eq!(
        would_change(&stack, CHAI).await,
        "  receipt: its rules -> it takes no receipts\n"
    );
}

#[tokio::test]
async fn items_of_a_list_are_compared_by_their_names() {
    let stack = Stack::empty().await;
    let with = |ranges: &str| format!("{CHAI}receipt: {{ ranges: [{ranges}] }}\n");
    stack
        .apply(with("{ name: A, tag: one }, { name: B }"))
        .await;
    let said = would_change(&stack, &with("{ name: A, tag: two }, { name: C }")).await;
    assert_eq!(
        said,
        "  receipt.ranges[A].tag: one -> two\n      receipts that are still pending are judged by it too\n  \
         receipt.ranges[C].name: none -> C\n  receipt.ranges[B].name: B -> none\n"
    );
    let said = would_change(&stack, &with("{ name: B }, { name: A, tag: one }")).await;
    assert_eq!(said, "  receipt: its lists -> its lists in another order\n");
}

#[tokio::test]
async fn a_changed_consent_under_the_same_version_is_noticed() {
    let stack = Stack::with_chai().await;
    let consent = |version: &str, en: &str| {
        format!(
            "{CHAI}consent: {{ version: \"{version}\", en: {en}, sw: Nakubali }}\nretention: {{ phones_days: 90 }}\n"
        )
    };
    stack.apply(consent("1", "I agree")).await;
    assert_eq!(shown(&stack, "consent.version").await, "1");
    let said = would_change(&stack, &consent("1", "I agree to more")).await;
    assert_contains!(said, "raise consent.version");
    let said = would_change(&stack, &consent("2", "I agree to more")).await;
    assert_eq!(
        said,
        "  consent.version: 1 -> 2\n  consent.en: I agree -> I agree to more\n"
    );
}

#[tokio::test]
async fn a_change_that_deletes_personal_data_takes_the_slug() {
    let stack = Stack::empty().await;
    let file = |end: &str, phones_days: u32| {
        let text = CHAI.replace("start: 2026-01-01", "start: 2025-01-01");
        let text = text.replace("end: null", &format!("end: {end}T00:00:00+03:00"));
        format!("{text}retention: {{ phones_days: {phones_days}, photos_days: 60 }}\n")
    };
    stack.apply(file("2026-12-31", 90)).await;
    let said = would_change(&stack, &file("2025-12-31", 90)).await;
    let due = "the window ends in the past: no more entries are taken; photos are past their retention then, and their deletion \
               begins within the hour\n";
    assert!(said.ends_with(due), "{said}");
    let slip = stack.file("slip.yaml", file("2025-11-30", 90));
    let refused = stack
        .answering(format!("campaign apply {slip}"), "y\n")
        .await;
    assert_contains!(
        refused.err,
        "phones and photos are past their retention then"
    );
    let asked = "Apply this, and begin to delete the phones and photos of chai-bora-2026 within the hour? This cannot be undone. Type \
                 chai-bora-2026 to continue: error: nothing was changed";
    assert_contains!(refused.err, asked);
    let error = stack
        .refused(
            format!("campaign apply --yes {slip}"),
            "deletes_personal_data",
        )
        .await;
    assert_contains!(error.message, "--delete-now");
    assert_eq!(shown(&stack, "status").await, "live");

    stack.apply(file("2026-01-15", 90)).await;
    let lower = file("2026-01-15", 30);
    let said = would_change(&stack, &lower).await;
    let due = "phones are past their retention then, and their deletion begins within the hour\n";
    assert_eq!(
        said,
        format!("  retention.phones_days: 90 -> 30\n      {due}")
    );
    let lower = stack.file("lower.yaml", lower);
    let apply = format!("campaign apply {lower}");
    stack.answering(apply, "chai-bora-2026\n").await.fine();
    stack.apply(file("2026-12-31", 90)).await;
    stack
        .fine(format!("campaign apply --yes --delete-now {slip}"))
        .await;
    assert_eq!(shown(&stack, "status").await, "ended");
}

#[tokio::test]
async fn a_difference_shows_no_secret_of_a_partner() {
    let stack = Stack::empty().await;
    stack.apply(with_partner()).await;
    let other = with_partner()
        .replace("token=hush", "token=shhh")
        .replace("X-Client: hush", "X-Client: shhh");
    let file = stack.file("chai.yaml", other);
    let ended = stack.run(format!("campaign apply --dry-run {file}")).await;
    assert_contains!(
        ended.out,
        "  partner.url: https://partner.example/redeem?(not shown) -> ",
        "  partner.headers.X-Client: (not shown) -> (not shown)\n"
    );
    assert_lacks!(ended.out, "hush", "shhh");
}

#[tokio::test]
async fn of_two_operators_who_apply_at_once_the_second_is_told() {
    let stack = Stack::with_chai().await;
    let tables = stack.tables();
    let file = |text: &str| ops_core::campaign_file::read("a.yaml", text).expect("a campaign");
    let change = || common::store::campaign_versions::CampaignChange { at: NOW, by: None };
    let plan = async |text: &str| {
        let planned = ops_core::campaigns::plan(&tables, &file(text), NOW).await;
        planned.expect("a plan")
    };
    let first = plan(&changed("Shinda", "Pata")).await;
    let second = plan(&changed("phone_daily: 3", "phone_daily: 4")).await;
    let carry_out = async |plan: &_| carry_out(&tables, plan, change()).await;
    carry_out(&first).await.expect("it is first");
    let refused = carry_out(&second).await.expect_err("it has changed");
    assert_eq!(refused.code, "campaign_changed");
    assert_contains!(refused.message, "run this again");
    let now = shown(&stack, "name limits.phone_daily").await;
    assert_eq!(now, "Chai Bora Pata 3");
    // The file would take back a pause unseen, so it counts.
    let third = plan(CHAI).await;
    stack.fine(format!("campaign pause {SLUG}")).await;
    let refused = carry_out(&third).await.expect_err("it is paused");
    assert_eq!(refused.code, "campaign_changed");
    assert_eq!(shown(&stack, "status").await, "paused");
}

#[tokio::test]
async fn every_version_is_kept_and_can_be_applied_again() {
    let stack = Stack::with_chai().await;
    stack.apply(changed("Shinda", "Pata")).await;
    stack.fine(format!("campaign pause {SLUG}")).await;
    stack
        .apply(changed("phone_daily: 3", "phone_daily: 4"))
        .await;
    let text = stack.fine(format!("campaign history {SLUG}")).await;
    assert!(text.starts_with("REVISION  WHEN                 BY            CHANGED\n4         2026-03-01 03:00:00  asha (local)  name, limits.phone_daily\n"), "{text}");
    let document = stack.json(format!("campaign history {SLUG}")).await;
    let history = &document["history"];
    let names = "0.revision 1.revision 2.revision 3.revision";
    assert_eq!(fields(history, names), "4 3 2 1");
    // A pause is known by what it did alone.
    assert_eq!(fields(&history[1], "by differences.0.field"), "null paused");
    let limited = stack
        .json(format!("campaign history {SLUG} --limit 1"))
        .await;
    assert_eq!(limited["history"], json!([history[0]]));

    let first = stack
        .fine(format!("campaign show {SLUG} --yaml --revision 1"))
        .await;
    stack.apply(first).await;
    assert_eq!(shown(&stack, "name").await, "Chai Bora Shinda");
    stack
        .refused(
            format!("campaign show {SLUG} --yaml --revision 99"),
            "version_unknown",
        )
        .await;
}

#[tokio::test]
async fn a_campaign_is_shown_as_a_file_that_changes_nothing() {
    let stack = Stack::empty().await;
    for text in [CHAI.to_owned(), with_partner()] {
        stack.apply(text).await;
        stack.fine(format!("campaign pause {SLUG}")).await;
        let yaml = stack.fine(format!("campaign show {SLUG} --yaml")).await;
        let said = stack
            .fine(format!("campaign apply {}", stack.file("shown.yaml", yaml)))
            .await;
        assert_eq!(said, "chai-bora-2026 unchanged\n");
    }
}

#[tokio::test]
async fn a_clone_is_the_same_campaign_under_another_name() {
    let stack = Stack::with_chai().await;
    let path = stack.arg("next.yaml");
    stack
        .fine(format!(
            "campaign clone {SLUG} chai-bora-2027 --output {path}"
        ))
        .await;
    stack
        .refused(
            format!("campaign clone {SLUG} chai-bora-2027 --output {path}"),
            "file_exists",
        )
        .await;
    stack.fine(format!("campaign apply --yes {path}")).await;
    let (mut old, mut new) = (
        stack.json(format!("campaign show {SLUG}")).await,
        stack.json("campaign show chai-bora-2027").await,
    );
    assert_eq!(new["slug"], "chai-bora-2027");
    for shown in [&mut old, &mut new] {
        shown["slug"] = Value::Null;
    }
    assert_eq!(old, new);
    stack
        .refused(
            format!("campaign clone {SLUG} chai-bora-2027"),
            "campaign_exists",
        )
        .await;
    let printed = stack
        .fine(format!("campaign clone {SLUG} chai-bora-2028"))
        .await;
    assert_contains!(printed, "\nslug: chai-bora-2028\n");
}

#[tokio::test]
async fn campaign_that_is_over_is_archived_and_taken_back() {
    let stack = Stack::with_chai().await;
    stack
        .refused(format!("campaign archive {SLUG}"), "campaign_not_over")
        .await;
    let ended = changed("end: null", "end: 2026-02-01T00:00:00+03:00");
    stack.apply(ended).await;
    stack.fine(format!("campaign archive {SLUG}")).await;
    let listed = stack.run("campaign list").await;
    assert_lacks!(listed.out, SLUG);
    assert_eq!(listed.err, "1 archived; --all lists them too\n");
    let all = stack.fine("campaign list --all").await;
    assert_contains!(all, "chai-bora-2026  archived");
    // A file that opens it does not.
    let open = stack.file("chai.yaml", CHAI);
    let said = stack.fine(format!("campaign apply --yes {open}")).await;
    assert_contains!(
        said,
        "`ops campaign archive --undo chai-bora-2026` takes it back"
    );
    assert_eq!(shown(&stack, "status").await, "ended");
    stack.fine(format!("campaign archive --undo {SLUG}")).await;
    assert_eq!(shown(&stack, "status").await, "live");
    let history = stack.fine(format!("campaign history {SLUG}")).await;
    assert_contains!(history, "  archived\n", "  unarchived\n");
}
