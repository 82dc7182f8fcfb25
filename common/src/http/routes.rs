#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Also its name in logs.
    pub function: &'static str,
    pub method: &'static str,
    /// `{id}` stands for one segment.
    pub path: &'static str,
}

pub const ROUTES: &[Route] = &[
    GET_CAMPAIGN,
    CHECK_CODE,
    CREATE_SUBMISSION,
    GET_SUBMISSION,
    LOOKUP_SUBMISSIONS,
    CREATE_RECEIPT,
    REFRESH_UPLOAD_URL,
    GET_RECEIPT,
];

const fn route(function: &'static str, method: &'static str, path: &'static str) -> Route {
    Route {
        function,
        method,
        path,
    }
}

pub const GET_CAMPAIGN: Route = route("get-campaign", "GET", "/api/v1/campaign");
pub const CHECK_CODE: Route = route("check-code", "POST", "/api/v1/codes/check");
pub const CREATE_SUBMISSION: Route = route("create-submission", "POST", "/api/v1/submissions");
pub const GET_SUBMISSION: Route = route("get-submission", "GET", "/api/v1/submissions/{id}");
pub const LOOKUP_SUBMISSIONS: Route =
    route("lookup-submissions", "POST", "/api/v1/submissions/lookup");
pub const CREATE_RECEIPT: Route = route("create-receipt", "POST", "/api/v1/receipts");
pub const REFRESH_UPLOAD_URL: Route = route(
    "refresh-upload-url",
    "POST",
    "/api/v1/receipts/{id}/upload-url",
);
pub const GET_RECEIPT: Route = route("get-receipt", "GET", "/api/v1/receipts/{id}");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMatch<'a> {
    /// Still encoded.
    pub id: Option<&'a str>,
}

impl Route {
    /// Slashes must match exactly.
    pub fn matches<'a>(&self, path: &'a str) -> Option<PathMatch<'a>> {
        let mut id = None;
        let mut segments = path.split('/');
        for expected in self.path.split('/') {
            let segment = segments.next()?;
            if expected == "{id}" && !segment.is_empty() {
                id = Some(segment);
            } else if expected != segment {
                return None;
            }
        }
        segments.next().is_none().then_some(PathMatch { id })
    }
}

/// A fixed path takes precedence over one with `{id}`.
pub fn methods_of(path: &str) -> Vec<&'static str> {
    let fixed: Vec<_> = ROUTES
        .iter()
        .filter(|route| route.path == path)
        .map(|route| route.method)
        .collect();
    let matching = ROUTES
        .iter()
        .filter(|route| route.matches(path).is_some())
        .map(|route| route.method);
    if fixed.is_empty() {
        matching.collect()
    } else {
        fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_one_route() {
        assert_eq!(
            GET_SUBMISSION.matches("/api/v1/submissions/x"),
            Some(PathMatch { id: Some("x") })
        );
        assert_eq!(GET_SUBMISSION.matches("/api/v1/submissions/"), None);
        assert_eq!(GET_SUBMISSION.matches("/api/v1/submissions/x/"), None);
        assert_eq!(
            GET_CAMPAIGN.matches("/api/v1/campaign"),
            Some(PathMatch { id: None })
        );
        assert_eq!(GET_CAMPAIGN.matches("/api/v1/campaign/"), None);
        assert_eq!(methods_of("/api/v1/submissions/lookup"), ["POST"]);
        assert_eq!(methods_of("/api/v1/submissions/other"), ["GET"]);
        assert_eq!(methods_of("/api/v2/campaign"), [""; 0]);
    }
}
