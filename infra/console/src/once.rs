//! Forms that make something new, such as a key: one that is sent twice makes it once. And pages that
//! answered a form, so that a browser can go back to them.

use std::collections::{HashSet, VecDeque};

use common::lock::Mutex;

use crate::prelude::*;

const FIELD: &str = "once";

#[derive(Default)]
pub(crate) struct SentForms(Mutex<HashSet<String>>);

impl SentForms {
    /// Does the work of a form with [`mark`], unless it was sent before. After a failure the same form may be sent again. If its
    /// browser goes away meanwhile, how far it came is unknown, and it may not.
    pub(crate) async fn once<T, E: From<Failure>>(
        &self,
        form: &Form,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let sent = form.get(FIELD);
        if sent.is_empty() || !self.0.lock().insert(sent.to_owned()) {
            let failure = failure!(
                "sent_already",
                "this form was sent before, so nothing was done again: look at the list, and open the page anew for another one"
            );
            return Err(failure.into());
        }
        let done = work.await;
        if done.is_err() {
            self.0.lock().remove(sent);
        }
        done
    }
}

const KEPT: &str = "kept";
const MAX_KEPT: usize = 16;

/// Pages under random names, the newest last.
#[derive(Default)]
pub(crate) struct KeptPages(Mutex<VecDeque<(String, Html<String>)>>);

impl KeptPages {
    /// Leads to the page, below `path`.
    pub(crate) fn keep(&self, path: &str, page: Html<String>) -> Redirect {
        let name = hex::encode(random::bytes::<8>());
        let address = with_query(path, &[(KEPT, &name)]);
        let mut all = self.0.lock();
        all.push_back((name, page));
        while all.len() > MAX_KEPT {
            all.pop_front();
        }
        Redirect::to(&address)
    }

    pub(crate) fn find(&self, query: &Form) -> Option<Html<String>> {
        let all = self.0.lock();
        let (_, page) = all.iter().find(|(name, _)| name == query.get(KEPT))?;
        Some(page.clone())
    }
}

/// A field of a form that counts once.
pub(crate) fn mark() -> Markup {
    hidden(FIELD, &hex::encode(random::bytes::<16>()))
}
