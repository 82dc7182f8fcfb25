use super::*;
use crate::domain::Environment;

#[test]
fn a_key_of_the_table_gives_the_codes_key_back() {
    let scope = |environment| Scope {
        campaign: "demo".parse().expect("a slug"),
        environment,
    };
    let (test, live) = (scope(Environment::Test), scope(Environment::Live));
    let imported = CodeKey::Imported {
        digest: "d1".to_owned(),
        batch: String::new(),
    };
    for key in [
        CodeKey::Minted(7),
        imported,
        CodeKey::Partner("d3".to_owned()),
        CodeKey::Sentinel("d2".to_owned()),
    ] {
        assert_eq!(
            CodeKey::parse(&test, &key.in_scope(&test)),
            Some(key.clone())
        );
        assert_eq!(CodeKey::parse(&live, &key.in_scope(&test)), None);
        assert_eq!(
            is_sentinel(&key.in_scope(&test)),
            matches!(key, CodeKey::Sentinel(_))
        );
    }
    assert_eq!(CodeKey::parse(&test, &test.key("other#7")), None);
}
