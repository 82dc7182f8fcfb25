"""Deploys the output of `sam build` to a CloudFormation emulator. It runs `ops smoke`, updates the stack while entries come in, lets an update fail,
switches back to the previous release, tries every alarm, restores a submission, and deletes the stack.

usage: python .ci/try-deployment OPS-PROGRAM SAM-PROGRAM    (run it with the Python that has ministack)
"""

import pathlib
import subprocess
import sys
import tempfile
import time

from alarms import try_alarms
from deployer import deployer
from emulator import Emulator, Stack, fail, package, prepare
from entries import Entries
from restore import restored

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / ".aws-sam" / "build"
AWS_PATH = f"{pathlib.Path(__file__).resolve().parent}:{pathlib.Path(sys.executable).parent}"
NAME = "campaign-entry-staging"
FIRST, SECOND, THIRD = "2611220901", "2611221002", "2611221103"


class Ops:
    """The `ops` program with the settings of one stack."""

    def __init__(self, program, stack, credentials=None):
        self.command = [program, "--env-file", stack.ops_environment()]
        self.env = stack.emulator.environment | stack.emulator.credentials | (credentials or {})

    def run(self, *arguments):
        done = subprocess.run([*self.command, *arguments], env=self.env, capture_output=True, text=True, cwd=ROOT)
        if done.returncode != 0:
            fail(f"ops {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def sh(self, program, *arguments):
        """Runs a script of the repository that calls `aws`."""
        done = self.tried(program, *arguments)
        if done.returncode != 0:
            fail(f"{program} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def tried(self, program, *arguments):
        """Like `sh`, but returns failures."""
        env = self.env | {"PATH": f"{AWS_PATH}:{self.env['PATH']}"}
        return subprocess.run([ROOT / program, *arguments], env=env, capture_output=True, text=True, cwd=ROOT)

    def smoke(self, url, when):
        steps = self.run("smoke", "--url", url).strip().splitlines()
        print(f"ok   ops smoke, {when}: {len(steps) - 1} steps", flush=True)


def updated(stack, ops, template, parameters, url):
    """An update must not refuse or lose entries."""
    with Entries(ops, url) as entries:
        stack.deploy(template, parameters | {"LogRetentionDays": "30", "Release": SECOND}, "UPDATE_COMPLETE")
    entries.report("during the update")
    serves(stack, SECOND)
    group = stack.resources("AWS::Logs::LogGroup")["CreateSubmissionLogs"]
    found = stack.emulator.client("logs").describe_log_groups(logGroupNamePrefix=group)["logGroups"][0]
    if found.get("retentionInDays") != 30:
        fail(f"the update did not reach {group}: {found}")
    ops.smoke(url, "updated")


def serves(stack, release):
    """Checks that every function's alias points to the release's version."""
    functions = stack.emulator.client("lambda")
    for name in stack.resources("AWS::Lambda::Function").values():
        served = functions.get_function_configuration(FunctionName=f"{name}:live")
        if served["Version"] == "$LATEST" or not served["Description"].endswith(f" {release}"):
            fail(f"{name} serves version {served['Version']}, {served['Description']!r}, instead of {release}")


def switched_back(stack, ops, url):
    """Switches back to the previous release while entries come in."""
    with Entries(ops, url) as entries:
        ops.sh("infra/stack/switch-release", stack.name, FIRST)
    entries.report("during the switch")
    serves(stack, FIRST)
    if ops.sh("infra/stack/switch-release", stack.name).split() != [SECOND, FIRST]:
        fail("switch-release does not list both releases")
    ops.smoke(url, f"switched back to {FIRST}")


def rolled_back(stack, ops, template, parameters, url):
    """An update that fails half way is rolled back while entries come in."""
    broken = {"Type": "AWS::SQS::Queue", "DependsOn": "ApiDocs", "Properties": {"RedrivePolicy": {"deadLetterTargetArn": "none"}}}
    template = template | {"Resources": template["Resources"] | {"Broken": broken}}
    with Entries(ops, url) as entries:
        stack.deploy(template, parameters | {"LogRetentionDays": "60", "Release": THIRD}, "UPDATE_ROLLBACK_COMPLETE")
    entries.report("while an update failed and was rolled back")
    serves(stack, SECOND)
    ops.smoke(url, "rolled back")


def campaign_alarm(stack):
    """A campaign's alarm, which is a separate stack."""
    own = Stack(stack.emulator, f"{stack.name}-quiet-chai-bora-2026")
    parameters = {
        "Service": stack.name,
        "Campaign": "chai-bora-2026",
        "QuietMinutes": "360",
        "AlarmTopic": stack.output("AlarmTopic"),
    }
    own.deploy((ROOT / "infra/stack/monitoring/campaign.yaml").read_text(), parameters, "CREATE_COMPLETE")
    return own


def removed(stack):
    """Deletes the stack, and checks that only tables and photos remain."""
    tables, buckets = stack.resources("AWS::DynamoDB::Table"), stack.resources("AWS::S3::Bucket")
    stack.delete()
    there = set(stack.emulator.client("dynamodb").list_tables()["TableNames"])
    if not set(tables.values()) <= there:
        fail(f"tables that should remain are gone: {set(tables.values()) - there}")
    there = {one["Name"] for one in stack.s3.list_buckets()["Buckets"]}
    if not set(buckets.values()) <= there:
        fail(f"photos that should remain are gone: {set(buckets.values()) - there}")
    left = [
        *(one["FunctionName"] for one in stack.emulator.client("lambda").list_functions()["Functions"]),
        *stack.emulator.client("sqs").list_queues().get("QueueUrls", []),
        *(one["AlarmName"] for one in stack.emulator.client("cloudwatch").describe_alarms()["MetricAlarms"]),
        *(one["RoleName"] for one in stack.emulator.client("iam").list_roles()["Roles"]),
        *(one["logGroupName"] for one in stack.emulator.client("logs").describe_log_groups()["logGroups"]),
    ]
    if left := [one for one in left if NAME in one]:
        fail(f"left behind: {left}")
    print(f"ok   deleted; {len(tables)} tables and the photos remain")


def main():
    ops_program, sam = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        emulator = Emulator(folder)
        template = prepare(BUILT, folder, emulator)
        with emulator.running():
            template = package(template, sam, folder, emulator)
            stack, parameters = Stack(emulator, NAME), {"Stage": "staging"}
            stack.deploy(template, parameters | {"Release": FIRST}, "CREATE_COMPLETE")
            server = emulator.serve_api(stack.resources("AWS::ApiGatewayV2::Api")["Api"])
            ops, url = Ops(ops_program, stack), emulator.api_url
            Ops(ops_program, stack, deployer(emulator)).smoke(url, "created, in the deployer's role")
            updated(stack, ops, template, parameters, url)
            rolled_back(stack, ops, template, parameters, url)
            switched_back(stack, ops, url)
            campaign = campaign_alarm(stack)
            try_alarms(stack, BUILT)
            campaign.delete()
            removed(stack)
            server.shutdown()
            server.server_close()
            restored(emulator, template, url, lambda stack: Ops(ops_program, stack))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
