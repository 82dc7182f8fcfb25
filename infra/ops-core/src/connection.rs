use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::config::Region;
use common::aws;
use common::store::campaigns;

use crate::prelude::*;

/// Names the env file without `--env-file`.
pub const ENV_FILE_VARIABLE: &str = "OPS_ENV_FILE";
const USUAL_ENV_FILE: &str = "ready.json";

/// The local stack's `--ready-file`.
#[derive(Deserialize)]
struct ReadyFile {
    env: HashMap<String, String>,
}

/// Variables of the env file, given or named by the environment, override the environment. Without
/// either, and if the environment names no stack, those of the local stack's usual file do.
pub fn with_usual_env_file(env: Env, given: Option<&Path>) -> Result<Env> {
    let named = given
        .map(Path::to_owned)
        .or_else(|| env.optional(ENV_FILE_VARIABLE).map(PathBuf::from));
    let usual = Path::new(USUAL_ENV_FILE);
    let has_usual = || env.optional(campaigns::VARIABLE).is_none() && usual.is_file();
    match named.or_else(|| has_usual().then(|| usual.to_owned())) {
        Some(path) => with_env_file(env, &path),
        None => Ok(env),
    }
}

pub fn with_env_file(env: Env, path: &Path) -> Result<Env> {
    let bytes = std::fs::read(path).map_err(Failure::from_io(path, "reading"))?;
    // The local stack also chooses the format by name.
    let variables = if path.as_os_str().as_encoded_bytes().ends_with(b".env") {
        of_lines(&bytes)
    } else {
        serde_json::from_slice(&bytes)
            .map(|file: ReadyFile| file.env)
            .map_err(|error| error.to_string())
    };
    let variables = variables.map_err(|problem| {
        failure!(
            "env_file_invalid",
            "{} is not an env file: {problem}; name the file that the local stack wrote (its --ready-file), JSON such \
             as {{\"env\": {{\"CAMPAIGNS_TABLE\": \"...\"}}}}, or lines such as CAMPAIGNS_TABLE='...' in a file whose \
             name ends in .env",
            path.display()
        )
    })?;
    Ok(env.overridden_by(variables.into_iter().collect()))
}

/// Parses `NAME='value'` as a shell does.
fn of_lines(bytes: &[u8]) -> Result<HashMap<String, String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let variable = |(number, line): (usize, &str)| {
        // The line may hold a secret, so the error does not repeat it.
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {number} has no ="))?;
        let quoted = ['\'', '"']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Ok((
            name.to_owned(),
            quoted.unwrap_or(value).replace("'\\''", "'"),
        ))
    };
    lines.map(variable).collect()
}

pub async fn tables(env: &Env) -> Result<Tables> {
    // First, so that a missing variable is reported at once.
    env.required(campaigns::VARIABLE)?;
    Ok(Tables::for_command(env, &aws(env).await?)?)
}

/// Falls back to the credentials that the AWS command line would find.
pub async fn aws(env: &Env) -> Result<Aws> {
    // An env file or a session may have everything.
    if let Ok(aws) = Aws::for_operator(env) {
        return Ok(aws);
    }
    let mut chain = aws_config::defaults(BehaviorVersion::latest()).http_client(aws::https(env));
    if let Some(profile) = env.optional("AWS_PROFILE") {
        chain = chain.profile_name(profile);
    }
    if let Some(region) = env
        .optional("AWS_REGION")
        .or_else(|| env.optional("AWS_DEFAULT_REGION"))
    {
        chain = chain.region(Region::new(region));
    }
    let found = chain.load().await;
    let region = found.region().cloned().ok_or_else(|| {
        failure!(
            "not_configured",
            "no AWS region is set; set AWS_REGION to the region of the stack"
        )
    })?;
    let credentials = found.credentials_provider().ok_or_else(|| {
        failure!(
            "not_configured",
            "no AWS credentials were found; sign in, for example with `aws sso login`, or set AWS_PROFILE"
        )
    })?;
    Ok(Aws::for_operator_with(env, region, credentials))
}
