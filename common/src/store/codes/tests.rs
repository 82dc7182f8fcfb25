use super::*;
use crate::domain::CampaignSlug;

#[test]
fn key_of_a_sentinel_is_told_from_others() {
    let slug: CampaignSlug = "demo".parse().expect("a slug");
    let [scope, _] = slug.scopes();
    let imported = CodeKey::Imported {
        digest: "d1".to_owned(),
        batch: String::new(),
    };
    for (key, expected) in [
        (CodeKey::Minted(7), false),
        (imported, false),
        (CodeKey::Partner("d2".to_owned()), false),
        (CodeKey::Sentinel("d3".to_owned()), true),
    ] {
        assert_eq!(is_sentinel(&key.in_scope(&scope)), expected, "{key:?}");
    }
}
