//! The frame of every page: head, navigation, content.

use maud::Render;

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Campaigns,
    Overview,
    Review,
    Submissions,
    Codes,
    Keys,
    Draws,
    Prizes,
    Webhooks,
    Search,
    People,
    Changes,
    None,
}

impl Section {
    /// Sections of a scope, their names and path ends.
    const OF_SCOPE: [(Self, &'static str, &'static str); 8] = [
        (Self::Overview, "Overview", ""),
        (Self::Review, "Review", "/review"),
        (Self::Submissions, "Submissions", "/submissions"),
        (Self::Codes, "Codes", "/codes"),
        (Self::Draws, "Draws", "/draws"),
        (Self::Prizes, "Prizes", "/prizes"),
        (Self::Webhooks, "Webhooks", "/webhooks"),
        (Self::Keys, "Keys", "/keys"),
    ];

    const OF_STACK: [(Self, &'static str, &'static str); 4] = [
        (Self::Campaigns, "Campaigns", "/"),
        (Self::Search, "Search", "/search"),
        (Self::People, "People", "/people"),
        (Self::Changes, "Changes", "/changes"),
    ];
}

pub(crate) fn path_of(scope: &Scope) -> String {
    format!("/campaigns/{}/{}", scope.campaign, scope.environment)
}

pub(crate) fn with_query(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    format!("{path}?{}", query.extend_pairs(fields).finish())
}

#[derive(Clone, Copy)]
pub(crate) struct Page<'a> {
    title: &'a str,
    section: Section,
    scope: Option<&'a Scope>,
    script: Option<&'static str>,
    is_renewed: bool,
}

impl<'a> Page<'a> {
    pub(crate) fn new(title: &'a str, section: Section) -> Self {
        Self {
            title,
            section,
            scope: None,
            script: None,
            is_renewed: false,
        }
    }

    pub(crate) fn in_scope(self, scope: &'a Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    pub(crate) fn with_script(self, script: &'static str) -> Self {
        Self {
            script: Some(script),
            ..self
        }
    }

    /// Loads itself again, until what it shows has ended.
    pub(crate) fn renewed(self) -> Self {
        Self {
            is_renewed: true,
            ..self
        }
    }

    pub(crate) fn render(self, content: Markup) -> Html<String> {
        let scripts = std::iter::once(assets::SCRIPT).chain(self.script);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(html! { (self.title) @if let Some(scope) = self.scope { " · " (scope.campaign) } " · Console" }, scripts))
                body data-renewed[self.is_renewed] {
                    a.skip href="#content" { "Skip to content" }
                    header { a.brand href="/" { img src=(assets::ICON) alt="" width="28" height="28"; "Operator's console" } }
                    nav aria-label="Pages" { (self.navigation()) }
                    main #content tabindex="-1" { h1 { (self.title) } (content) }
                }
            }
        };
        Html(page.into_string())
    }

    /// The page, or at least a secret that is shown only once.
    pub(crate) fn or_told(self, page: PageResult, told: Markup) -> Html<String> {
        page.unwrap_or_else(|_| self.render(told))
    }

    fn navigation(self) -> Markup {
        let here = |section: Section| (section == self.section).then_some("page");
        html! {
            ul {
                @for (section, name, path) in Section::OF_STACK {
                    li { a href=(path) aria-current=[here(section)] { (name) } }
                }
            }
            @if let Some(scope) = self.scope {
                h2 { (scope.campaign) " " (environment(scope.environment)) }
                ul {
                    @for (section, name, end) in Section::OF_SCOPE {
                        li { a href={ (path_of(scope)) (end) } aria-current=[here(section)] { (name) } }
                    }
                }
            }
        }
    }
}

pub(crate) fn head(title: Markup, scripts: impl IntoIterator<Item = &'static str>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            link rel="icon" href=(assets::ICON) type="image/svg+xml";
            link rel="stylesheet" href=(assets::STYLE);
            title { (title) }
            @for script in scripts { script src=(script) type="module" {} }
        }
    }
}

pub(crate) fn environment(environment: Environment) -> Markup {
    pill(environment.as_str(), environment.as_str())
}

/// Scrolls; the caption is for screen readers, and `rows` are `tr` elements.
pub(crate) fn table(caption: &str, heading: &[&str], rows: Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead { tr { @for name in heading { th scope="col" { (name) } } } }
                tbody { (rows) }
            }
        }
    }
}

pub(crate) fn pill(class: &str, word: impl Render) -> Markup {
    html! { span.pill.(class) { (word) } }
}

/// Words that replace a button, for an operator without the right.
pub(crate) fn lacks(doing: &str, role: Role) -> Markup {
    html! {
        p.soft { (doing) " takes the role " b { (role.as_str()) } ", which you do not have. The stack's administrator can give it to you." }
    }
}

/// The content for an operator who `has` the role, otherwise why it is missing.
pub(crate) fn with_role(has: bool, doing: &str, role: Role, content: Markup) -> Markup {
    if has { content } else { lacks(doing, role) }
}

pub(crate) fn facts(facts: &[(impl AsRef<str>, impl Render)]) -> Markup {
    html! { dl.facts { @for (name, value) in facts { div { dt { (name.as_ref()) } dd { (value) } } } } }
}

pub(crate) fn scope(scope: &Scope) -> Markup {
    html! { (scope.campaign) " " (environment(scope.environment)) }
}
