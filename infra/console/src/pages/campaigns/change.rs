//! A new campaign, and a changed one: the form, what it changes, and the change. The same rules and
//! words as those of `ops campaign apply`.

use common::store::campaign_versions::CampaignChange;
use ops_core::campaign_file::form::{self, Typed};
use ops_core::campaign_file::{self, CampaignFile, Problem};
use ops_core::campaigns::versions::stored;
use ops_core::campaigns::{self, Change, ChangeRow, Meanwhile, Plan, carry_out, plan};
use ops_core::pace::PartnerConcurrency;

use super::form::{Fields, field_words, marked};
use crate::prelude::*;

const NEW: &str = "/campaigns/new";
/// Fields of the form that are no part of a campaign file.
const ACTION: &str = "do";
const REVISION: &str = "revision";
const YAML: &str = "yaml";
const ANYONE: &str = "anyone";
const TYPED: &str = "typed";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route(NEW, get(new).post(change_new))
        .route("/campaigns/{campaign}/edit", get(edit).post(change_stored))
}

/// A form that was filled, with where it goes to.
struct Filled {
    /// `None` for a new campaign.
    slug: Option<CampaignSlug>,
    /// The stored revision when the form was opened; 0 for a new campaign.
    revision: u64,
    typed: Typed,
    told: Markup,
    problems: Vec<Problem>,
    /// A pasted file, with its problems.
    yaml: String,
}

async fn new(console: Console, Query(query): Query) -> PageResult<Response> {
    if let Some(page) = console.kept_pages.find(&query) {
        return Ok(page.into_response());
    }
    let typed = match query.get("like") {
        "" => form::empty(),
        like => {
            let like = like.parse().map_err(|_| page_unknown())?;
            let mut typed = form::fill(&console.tables()?.campaign(&like).await?)?;
            typed.remove("slug");
            typed
        }
    };
    Filled::new(None, 0, typed)
        .page(&console, StatusCode::OK)
        .await
}

async fn edit(
    console: Console,
    Named(slug): Named<CampaignSlug>,
    Query(query): Query,
) -> PageResult<Response> {
    if let Some(page) = console.kept_pages.find(&query) {
        return Ok(page.into_response());
    }
    let stored = stored(&console.tables()?, &slug).await?;
    let typed = form::fill(&stored.campaign)?;
    Filled::new(Some(slug), stored.revision, typed)
        .page(&console, StatusCode::OK)
        .await
}

async fn change_new(console: Console, form: Form) -> PageResult<Response> {
    change(&console, None, &form).await
}

async fn change_stored(
    console: Console,
    Named(slug): Named<CampaignSlug>,
    form: Form,
) -> PageResult<Response> {
    change(&console, Some(slug), &form).await
}

async fn change(
    console: &Console,
    slug: Option<CampaignSlug>,
    form: &Form,
) -> PageResult<Response> {
    let own = [ACTION, REVISION, YAML, ANYONE, TYPED];
    let typed = form.fields().filter(|(name, _)| !own.contains(name));
    let typed = typed.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let revision = form.get(REVISION).parse().unwrap_or(0);
    let mut filled = Filled::new(slug, revision, typed.collect());
    let action = form.get(ACTION);
    if action == "paste" {
        return filled.paste(console, form.get(YAML)).await;
    }
    if action == "edit" {
        return filled.page(console, StatusCode::OK).await;
    }
    let file = match filled.read() {
        Ok(file) => file,
        Err(problems) => {
            filled.problems = problems;
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return filled.page(console, status).await;
        }
    };
    if action == "file" {
        let page = filled.file_page(&file)?;
        return Ok(filled.kept_page(console, page));
    }
    let (tables, now) = (console.tables()?, console.now());
    let plan = Box::pin(plan(&tables, &file, now)).await?;
    // Sent twice, it was done once.
    if action == "apply" && plan.change == Change::Unchanged {
        return Ok(Redirect::to(&overview_of(&plan)).into_response());
    }
    if let Some(refused) = filled.refused(console, &tables, &plan).await? {
        return Ok(refused);
    }
    let question = Question::of_plan(&plan);
    if action != "apply" || !question.is_answered(form) {
        let is_refused = action == "apply";
        let page = filled.check_page(console, &plan, &question, is_refused)?;
        return Ok(match is_refused {
            true => (StatusCode::UNPROCESSABLE_ENTITY, page).into_response(),
            false => filled.kept_page(console, page),
        });
    }
    let by = Some(tables.audit.operator_in_full().await?);
    let written = carry_out(&tables, &plan, CampaignChange { at: now, by }).await;
    match written {
        // Another operator was faster by a moment.
        Err(failure) if failure.code == "campaign_changed" => {
            let tables = console.tables()?;
            let again = Box::pin(campaigns::plan(&tables, &file, now)).await?;
            let refused = filled.refused(console, &tables, &again).await?;
            refused.ok_or_else(|| PageError::from(failure))
        }
        written => {
            written?;
            Ok(Redirect::to(&overview_of(&plan)).into_response())
        }
    }
}

fn overview_of(plan: &Plan) -> String {
    let [_, live] = plan.slug.scopes();
    path_of(&live)
}

/// Agreements that the change needs besides the button.
struct Question {
    /// Must be typed, because personal data is deleted.
    deletes: Option<(String, String)>,
    /// Must be ticked.
    anyone: Option<String>,
}

impl Question {
    fn of_plan(plan: &Plan) -> Self {
        let names: Vec<_> = plan.deletes.iter().map(|data| data.as_str()).collect();
        let deletes = (!names.is_empty()).then(|| (plan.slug.to_string(), names.join(" and ")));
        let anyone = plan.lets_anyone_in();
        Self { deletes, anyone }
    }

    fn is_answered(&self, form: &Form) -> bool {
        let is_typed = |(word, _): &(String, String)| form.get(TYPED) == word;
        self.deletes.as_ref().is_none_or(is_typed)
            && (self.anyone.is_none() || form.get(ANYONE) == "on")
    }
}

impl Filled {
    fn new(slug: Option<CampaignSlug>, revision: u64, typed: Typed) -> Self {
        Self {
            slug,
            revision,
            typed,
            told: html! {},
            problems: Vec::new(),
            yaml: String::new(),
        }
    }

    fn path(&self) -> String {
        match &self.slug {
            Some(slug) => format!("/campaigns/{slug}/edit"),
            None => NEW.to_owned(),
        }
    }

    fn read(&self) -> Result<CampaignFile, Vec<Problem>> {
        let file = form::read(&self.typed)?;
        match &self.slug {
            Some(slug) if *slug != file.campaign.slug => Err(vec![Problem {
                file: "form".to_owned(),
                line: 1,
                field: Some("slug".to_owned()),
                message: format!("cannot be changed: this form is that of `{slug}`"),
            }]),
            Some(_) | None => Ok(file),
        }
    }

    async fn paste(mut self, console: &Console, yaml: &str) -> PageResult<Response> {
        let status = match campaign_file::read("the file", yaml) {
            Ok(file) => {
                self.typed = form::fill(&file.campaign)?;
                self.told = html! {
                    p.good role="status" { "The form is filled from the file. Nothing is changed yet." }
                    @if file.campaign.paused {
                        p.bad { "The file says paused, and the form does not: pause the campaign on its overview." }
                    }
                };
                StatusCode::OK
            }
            Err(problems) => {
                self.told = html! {
                    div role="alert" {
                        p.bad { "The file cannot be read, so the form is as it was." }
                        ul { @for problem in &problems { li { (problem) } } }
                    }
                };
                self.yaml = yaml.to_owned();
                StatusCode::UNPROCESSABLE_ENTITY
            }
        };
        self.page(console, status).await
    }

    /// A page, if the campaign is not as it was when the form was opened.
    async fn refused(
        &mut self,
        console: &Console,
        tables: &Tables,
        plan: &Plan,
    ) -> PageResult<Option<Response>> {
        if plan.revision() == self.revision {
            return Ok(None);
        }
        let slug = &plan.slug;
        if self.revision == 0 {
            self.problems.push(Problem {
                file: "form".to_owned(),
                line: 1,
                field: Some("slug".to_owned()),
                message: format!(
                    "is that of another campaign: `{slug}` exists already; choose another"
                ),
            });
        } else if plan.revision() == 0 {
            let gone = failure!("campaign_unknown", "there is no campaign `{slug}` any more");
            return Err(gone.into());
        } else {
            let now = console.now();
            let meanwhile = campaigns::meanwhile(tables, slug, self.revision, now).await?;
            self.told = told_of(&meanwhile, plan.after.timezone);
            // Sent again, it replaces what is told.
            self.revision = meanwhile.revision;
        }
        let page = self.page(console, StatusCode::CONFLICT).await;
        Ok(Some(page?))
    }

    async fn page(&self, console: &Console, status: StatusCode) -> PageResult<Response> {
        let may_change = console.has(Role::Operator).await?;
        let fields = Fields {
            typed: &self.typed,
            problems: &self.problems,
            is_stored: self.slug.is_some(),
        };
        let content = html! {
            (self.told)
            @if !may_change { (lacks("To apply a campaign", Role::Operator)) }
            @if let Some(slug) = &self.slug { p { a href=(with_query(NEW, &[("like", slug.as_str())])) { "New campaign like this one" } } }
            form method="post" action=(self.path()) novalidate data-keep {
                p.bad role="alert" hidden data-most=(MAX_BYTES) { (TOO_LONG) }
                (hidden(REVISION, &self.revision.to_string()))
                (fields.render())
                p.soft {
                    "Prizes belong to batches of codes and to draws, and the campaign is paused on its overview. The console stays open while \
                     you type. If it ended all the same: run " code { "ops console --port " (port(console)) } ", open its link in another tab, and \
                     go on here."
                }
                p.row {
                    @if may_change { button name=(ACTION) value="check" { "See what changes" } }
                    button.plain name=(ACTION) value="file" { "As a file" }
                }
                details open[!self.yaml.is_empty()] {
                    summary { "Fill the form from a file" }
                    label for=(YAML) { "A campaign file" }
                    textarea.lines id=(YAML) name=(YAML) rows="8" wrap="off" spellcheck="false" { "\n" (self.yaml) }
                    p { button.plain name=(ACTION) value="paste" { "Fill the form" } }
                }
            }
        };
        Ok((status, self.frame("", content)).into_response())
    }

    fn frame(&self, doing: &str, content: Markup) -> Html<String> {
        let title = match &self.slug {
            Some(slug) => format!("{doing}Change {slug}"),
            None => format!("{doing}New campaign"),
        };
        let page = Page::new(&title, Section::Campaigns);
        match &self.slug {
            Some(slug) => {
                let [_, live] = slug.scopes();
                page.in_scope(&live).render(content)
            }
            None => page.render(content),
        }
    }

    /// All that was typed, for the page after this one.
    fn kept(&self) -> Markup {
        html! {
            (hidden(REVISION, &self.revision.to_string()))
            @for (path, text) in self.typed.iter().filter(|(_, text)| !text.is_empty()) { (hidden(path, text)) }
        }
    }

    /// The page after the form, to which a browser can go back.
    fn kept_page(&self, console: &Console, page: Html<String>) -> Response {
        console.kept_pages.keep(&self.path(), page).into_response()
    }

    fn file_page(&self, file: &CampaignFile) -> PageResult {
        let yaml = campaign_file::to_yaml(&file.campaign)?;
        let content = html! {
            p { "The form as a file, which " code { "ops campaign apply" } " takes. It keeps the pause switch as it is." }
            div.wide tabindex="0" role="region" aria-label="The file" { pre { code { (yaml) } } }
            form method="post" action=(self.path()) {
                (self.kept())
                p { button name=(ACTION) value="edit" { "Back to the form" } }
            }
        };
        Ok(self.frame("As a file: ", content))
    }

    fn check_page(
        &self,
        console: &Console,
        plan: &Plan,
        question: &Question,
        is_refused: bool,
    ) -> PageResult {
        let notes = plan.notes(console.now(), PartnerConcurrency::from_env(&console.env)?);
        let (title, button) = match plan.change {
            Change::Created => ("The campaign is new", "Create the campaign"),
            Change::Updated => ("This changes", "Apply the change"),
            Change::Unchanged => ("Nothing changes", ""),
        };
        let content = html! {
            @if is_refused { p.bad role="alert" { "Nothing was changed: what is asked for below is missing." } }
            h2 { (title) }
            @if plan.change != Change::Unchanged { (changes(&plan.rows())) }
            @if plan.after.archived { p { "The campaign is archived." } }
            @for note in &notes { p.soft { (marked(&on_pages(note))) } }
            form method="post" action=(self.path()) {
                (self.kept())
                @if plan.change != Change::Unchanged { (question.fields()) }
                p.row {
                    @if plan.change != Change::Unchanged { button name=(ACTION) value="apply" { (button) } }
                    button.plain name=(ACTION) value="edit" formnovalidate { "Back to the form" }
                }
            }
        };
        Ok(self.frame("Check: ", content))
    }
}

impl Question {
    fn fields(&self) -> Markup {
        html! {
            @if self.anyone.is_some() {
                label.inline { input type="checkbox" name=(ANYONE) value="on" required; " Anyone can enter: that is meant" }
            }
            @if let Some((word, names)) = &self.deletes {
                p.bad { "The deletion of the " (names) " of this campaign begins within the hour." }
                label for=(TYPED) { "This cannot be undone. Type " code { (word) } " to continue" }
                input id=(TYPED) name=(TYPED) required autocomplete="off" autocapitalize="off" spellcheck="false" data-word=(word);
            }
        }
    }
}

fn changes(rows: &[ChangeRow]) -> Markup {
    let rows = html! {
        @for row in rows {
            tr {
                td { (field_words(&row.field)) }
                td { @if let Some(before) = &row.before { del { (before) } " → " } (row.after) }
                td { @if let Some(meaning) = &row.meaning { strong { (meaning) } } }
            }
        }
    };
    table("Changes", &["Field", "Change", "What it means"], rows)
}

fn told_of(meanwhile: &Meanwhile, zone: Tz) -> Markup {
    let Meanwhile { rows, last, .. } = meanwhile;
    html! {
        div role="alert" {
            p.bad {
                "Nothing was changed: the campaign was changed after you opened this form"
                @if let Some((at, by)) = last { ", by " (by) ", " (zoned_time(*at, zone)) }
                ". What you typed is still here. If you send it again, it replaces these changes:"
            }
            @if rows.is_empty() { p { "None of its fields, as far as is known: it may have been archived." } } @else { (changes(rows)) }
        }
    }
}

fn port(console: &Console) -> &str {
    let port = console.authority.rsplit(':').next();
    port.unwrap_or_default()
}
