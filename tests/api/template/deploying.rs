//! Pages and policy for deployers, against the template.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};
use service_tests::template::{deployer, file_text, parse, resources, service};
use service_tests::text::{list_of, text_of};

#[test]
fn deployer_may_make_every_resource_and_remove_no_data() {
    let policy = deployer();
    let statements = list_of(&policy["Statement"]);
    let actions: BTreeSet<_> = statements
        .iter()
        .flat_map(|statement| match &statement["Action"] {
            Value::String(action) => vec![action.clone()],
            actions => serde_json::from_value(actions.clone()).expect("actions"),
        })
        .collect();
    let prefix = |service: &str| match service {
        "ApiGatewayV2" => "apigateway".to_owned(),
        "Serverless" => "lambda".to_owned(),
        other => other.to_lowercase(),
    };
    for file in [
        "template.yaml",
        "infra/stack/monitoring/template.yaml",
        "infra/stack/monitoring/function.yaml",
    ] {
        let template = parse(&file_text(file));
        for resource in template["Resources"]
            .as_object()
            .expect("resources")
            .values()
        {
            let kind = text_of(&resource["Type"]);
            let service = format!("{}:", prefix(kind.split("::").nth(1).expect("a service")));
            assert!(
                actions.iter().any(|action| action.starts_with(&service)),
                "{kind}"
            );
        }
    }
    for action in [
        "dynamodb:DeleteTable",
        "dynamodb:DeleteItem",
        "s3:DeleteObject",
        "s3:DeleteObjectVersion",
        "secretsmanager:DeleteSecret",
        "secretsmanager:GetSecretValue",
    ] {
        assert!(!actions.contains(action), "{action}");
    }
    for statement in statements {
        let action = &statement["Action"];
        assert!(
            *action != "*" && statement["Effect"] == "Allow",
            "{statement}"
        );
        // `*` at the end also names a bucket's objects.
        let of_people =
            ["photos", "evidence", "openings"].map(|bucket| format!("campaign-entry-{bucket}"));
        if of_people
            .iter()
            .any(|bucket| statement["Resource"].to_string().contains(bucket))
        {
            for reading in ["s3:GetObject", "s3:List", "s3:*"] {
                assert!(!action.to_string().contains(reading), "{statement}");
            }
        }
    }
}

/// A rollback deletes buckets that its update created, if empty. Their names are fixed, so one left
/// makes every later update fail.
#[test]
fn a_rollback_may_delete_the_buckets_that_it_leaves_empty() {
    let policy = deployer();
    let mut statements = list_of(&policy["Statement"]).iter();
    let statement = statements
        .find(|statement| statement["Sid"] == "Buckets")
        .expect("a statement");
    for needed in ["s3:DeleteBucket", "s3:DeleteBucketPolicy"] {
        assert!(
            list_of(&statement["Action"]).contains(&json!(needed)),
            "{needed}"
        );
    }
    let template = service();
    for (id, bucket) in resources(&template, "AWS::S3::Bucket") {
        let name = text_of(&bucket["BucketName"]["Fn::Sub"][0]);
        let named = json!(format!("arn:aws:s3:::{}", name.replace("${Id}", "*")));
        assert!(list_of(&statement["Resource"]).contains(&named), "{id}");
    }
}

fn steps() -> Vec<(String, Value)> {
    let workflow = parse(&file_text(".github/workflows/deploy-stack.yml"));
    let steps = list_of(&workflow["jobs"]["deploy"]["steps"]).iter();
    steps
        .filter_map(|step| Some((step["name"].as_str()?.to_owned(), step.clone())))
        .collect()
}

/// True if the workflow accepts the parameters, and its output.
fn check(parameters: &str) -> (bool, String) {
    let steps = steps();
    let (_, check) = steps
        .iter()
        .find(|(name, _)| name == "Check the parameters")
        .expect("a step");
    let script = text_of(&check["run"]);
    let output = Command::new("bash")
        .args(["-e", "-c", script])
        .env("PARAMETERS", parameters)
        .output();
    let output = output.expect("bash");
    (
        output.status.success(),
        String::from_utf8(output.stdout).expect("text"),
    )
}

#[test]
fn workflow_refuses_an_architecture_other_than_its_packages() {
    for fine in [
        "",
        "AlarmEmail=ops@example.com",
        "Traces=off Architecture=x86_64",
        "Architecture=x86_64",
    ] {
        assert_eq!(check(fine), (true, String::new()), "{fine}");
    }
    for other in [
        "Architecture=arm64",
        "Traces=off Architecture=arm64 Rollout=now",
    ] {
        let (is_fine, said) = check(other);
        assert!(
            !is_fine && said.contains("x86_64") && said.contains("PARAMETERS"),
            "{other}: {said}"
        );
    }
    // Otherwise stacks keep their first architecture.
    let steps = steps();
    let (_, deploy) = steps
        .iter()
        .find(|(name, _)| name == "Deploy")
        .expect("a step");
    assert_contains!(text_of(&deploy["run"]), "\"Architecture=x86_64\"");
}

/// Only the last value would count.
#[test]
fn the_workflow_refuses_a_parameter_that_is_given_twice() {
    for (parameters, twice) in [
        (
            "Architecture=x86_64 Traces=off Architecture=arm64",
            "Architecture",
        ),
        ("Traces=off Traces=off", "Traces"),
        ("Traces=off\nStage=staging", "Stage"),
        ("AlarmEmail=ops@example.com Release=1", "Release"),
    ] {
        let (is_fine, said) = check(parameters);
        let names_it = said.contains(&format!(": {twice}. "));
        assert!(
            !is_fine && names_it && said.contains("PARAMETERS"),
            "{parameters}: {said}"
        );
    }
}

#[test]
fn production_stack_is_protected_right_after_deployment() {
    let names: Vec<_> = steps().into_iter().map(|(name, _)| name).collect();
    let deployed = names
        .iter()
        .position(|name| name == "Deploy")
        .expect("a step");
    assert_eq!(names[deployed + 1], "Protect the stack");
}

#[test]
fn a_release_is_published_once_production_runs_it() {
    let workflow = parse(&file_text(".github/workflows/deploy.yml"));
    assert_eq!(workflow["jobs"]["publish"]["needs"], "production");
}

/// A page's command lines, without comments, continuation lines joined.
fn commands(page: &str) -> Vec<String> {
    let text = file_text(page);
    let blocks = text
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default());
    let lines = blocks.flat_map(|block| {
        let joined = block.replace("\\\n", " ");
        joined.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    lines
        .map(|line| {
            line.split(" #")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

/// Functions stay at their version without a new name.
#[test]
fn every_deployment_names_its_release() {
    let release = &service()["Parameters"]["Release"];
    assert_eq!(
        release.get("Default"),
        None,
        "the first deployment is refused without one"
    );
    let named = |command: &str| command.contains("Release=$(date -u +%y%m%d%H%M)");
    let commands = commands("infra/docs/deploying.md");
    let deployments: Vec<_> = commands
        .iter()
        .filter(|line| line.starts_with("sam deploy"))
        .collect();
    assert!(
        deployments.len() >= 3 && deployments.iter().all(|line| named(line)),
        "{deployments:#?}"
    );
    // A repeated run deploys the first one's packages.
    let workflow = parse(&file_text(".github/workflows/deploy-stack.yml"));
    let steps = list_of(&workflow["jobs"]["deploy"]["steps"]);
    let deploys = steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .filter(|run| run.contains("sam deploy"));
    assert_eq!(deploys.map(named).collect::<Vec<_>>(), [true]);
}

#[test]
fn every_variable_of_a_pages_commands_is_set_on_that_page() {
    for page in [
        "infra/docs/deploying.md",
        "infra/docs/runbook.md",
        "infra/docs/capacity.md",
    ] {
        let commands = commands(page);
        let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
        let is_set = |name: &str| {
            let assigned = format!("{name}=");
            commands
                .iter()
                .any(|line| line.trim_start_matches("export ").starts_with(&assigned))
                || name == "PATH"
        };
        for line in &commands {
            for rest in line.split('$').skip(1) {
                let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                assert!(name.is_empty() || is_set(name), "{page}: {name} in {line}");
            }
        }
    }
}
