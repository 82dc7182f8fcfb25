"""The CloudFormation emulator, a proxy for the API, and the template adapted to the emulator."""

import contextlib
import copy
import http.client
import http.server
import json
import logging
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
import yaml

# Silences messages of the emulator's import.
logging.basicConfig(level=logging.ERROR)

from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as KNOWN_TYPES

ACCOUNT = "123456789012"
REGION = "af-south-1"
START_SECONDS = 60
# A stack takes twenty seconds, and longer on a busy machine.
STACK_SECONDS = 180
# Policy statements that would deny everything here: the emulator has no TLS, and does not know `s3:if-none-match` or `ArnNotEquals`.
NOT_HERE = ("TlsOnly", "FirstUploadWins", "DaysOfPlans")


def fail(message):
    sys.exit(f"error: {message}")


def wait_for(condition, what, seconds):
    """Waits until the condition is true and returns its value."""
    until = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        if time.monotonic() > until:
            fail(f"{what} did not happen within {seconds} s")
        time.sleep(0.1)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Emulator:
    """An emulator of the stack's AWS services. It enforces roles: a call that the function's policy does not allow fails."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.api_port = free_port()
        self.endpoint = f"http://localhost:{self.port}"
        self.api_url = f"http://127.0.0.1:{self.api_port}"
        # The account id as access key stands for the account's root user.
        self.credentials = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        os.environ.update(self.credentials)

    @contextlib.contextmanager
    def running(self):
        """Starts the emulator, and stops it with every function that it started."""
        program = pathlib.Path(sys.executable).with_name("ministack")
        env = self.environment | {
            "AUTH": "true",
            "AWS_ENDPOINT_URL": self.endpoint,
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "MINISTACK_REGION": REGION,
        }
        with open(self.folder / "emulator.log", "wb") as log:
            process = subprocess.Popen([program], env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(lambda: self.is_up(process), "the emulator's start", START_SECONDS)
            yield self
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)

    def is_up(self, process):
        if process.poll() is not None:
            fail("the emulator ended:\n" + self.log())
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=5).status == 200

    def log(self):
        return (self.folder / "emulator.log").read_text(errors="replace")

    def client(self, service):
        return boto3.client(service)

    def serve_api(self, api_id):
        """Serves the API on a local port. The emulator selects an API by host name, which does not resolve here."""
        host, port = f"{api_id}.execute-api.localhost:{self.port}", self.port

        class Forwarder(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                upstream.request(self.command, self.path, body, headers | {"Host": host})
                reply = upstream.getresponse()
                content = reply.read()
                self.send_response(reply.status)
                for name, value in reply.getheaders():
                    if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                upstream.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.api_port), Forwarder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


def prepare(built, folder, emulator):
    """Copies the output of `sam build`, adapts it to the emulator, and prints each change."""
    shutil.copytree(built, folder / "build")
    changes = {}
    for path in (folder / "build").rglob("template.yaml"):
        template = yaml.safe_load(path.read_text())
        without_unknown_types(template, changes)
        with_numbers(template, changes)
        without_statements(template["Resources"], changes)
        template = with_secret_arns(template, changes)
        text = yaml.safe_dump(template, sort_keys=False, width=1000)
        address = "https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}"
        if address in text:
            changes["the API has a local address"] = text.count(address)
        path.write_text(text.replace(address, emulator.api_url))
    for change, count in sorted(changes.items()):
        print(f"for the emulator: {change} ({count})")
    return folder / "build" / "template.yaml"


def without_unknown_types(template, changes):
    """Removes resources that the emulator does not know."""
    resources = template["Resources"]
    template.get("Globals", {}).get("Function", {}).pop("DeploymentPreference", None)
    for name, resource in list(resources.items()):
        kind = resource["Type"]
        if kind == "AWS::Serverless::Function":
            if resource["Properties"].pop("DeploymentPreference", None):
                change = "DeploymentPreference removed: there is no CodeDeploy, so aliases switch at once"
                changes[change] = changes.get(change, 0) + 1
        elif kind not in KNOWN_TYPES or "Metrics" in resource["Properties"]:
            del resources[name]
            change = f"{kind}{' with an expression' if kind in KNOWN_TYPES else ''} removed: not supported"
            changes[change] = changes.get(change, 0) + 1


def with_secret_arns(part, changes):
    """Names the secret by its ARN, which a reference is on AWS; the emulator's is the name, and roles then allow nothing."""
    if isinstance(part, list):
        return [with_secret_arns(one, changes) for one in part]
    if not isinstance(part, dict):
        return part
    if part in ({"Ref": "DeploymentSecret"}, {"Ref": "MomentsSecret"}):
        change = "a reference to the secret is its ARN"
        changes[change] = changes.get(change, 0) + 1
        return {"Fn::GetAtt": [part["Ref"], "Id"]}
    return {name: with_secret_arns(one, changes) for name, one in part.items()}


def with_numbers(template, changes):
    """Replaces numeric parameters with their defaults: the emulator's pollers would compare them as text."""
    for resource in template["Resources"].values():
        for event in resource["Properties"].get("Events", {}).values():
            scaling = event["Properties"].get("ScalingConfig", {})
            if isinstance(scaling.get("MaximumConcurrency"), dict):
                scaling["MaximumConcurrency"] = template["Parameters"][scaling["MaximumConcurrency"]["Ref"]]["Default"]
                change = "a queue's MaximumConcurrency is its parameter's default"
                changes[change] = changes.get(change, 0) + 1


def without_statements(resources, changes):
    for name, resource in list(resources.items()):
        document = resource["Properties"].get("PolicyDocument", {})
        kept = [one for one in document.get("Statement", []) if one["Sid"] not in NOT_HERE]
        for one in document.get("Statement", []):
            if one["Sid"] in NOT_HERE:
                change = f"statement {one['Sid']} removed: it would deny everything"
                changes[change] = changes.get(change, 0) + 1
        if document and not kept:
            del resources[name]
        elif document:
            document["Statement"] = kept


def package(template, sam, folder, emulator):
    """Uploads the functions' packages with `sam package`; returns the template with their locations."""
    output = folder / "packaged.yaml"
    command = [sam, "package", "--template-file", template, "--resolve-s3", "--output-template-file", output]
    env = emulator.environment | emulator.credentials | {"SAM_CLI_TELEMETRY": "0"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"sam package: {done.stdout}{done.stderr}")
    return yaml.safe_load(output.read_text())


class Stack:
    def __init__(self, emulator, name):
        self.name = name
        self.id = None
        self.emulator = emulator
        self.cloudformation = emulator.client("cloudformation")
        self.s3 = emulator.client("s3")

    def deploy(self, template, parameters, expected):
        """Creates or updates the stack, and waits for the expected status. The template is a dictionary or text."""
        if release := parameters.get("Release"):
            # The emulator creates function versions from the parameters' defaults, before it reads the parameters.
            template = copy.deepcopy(template)
            template["Parameters"]["Release"]["Default"] = release
        bucket = self.s3.list_buckets()["Buckets"][0]["Name"]
        body = template if isinstance(template, str) else yaml.safe_dump(template)
        self.s3.put_object(Bucket=bucket, Key=f"{self.name}.template", Body=body)
        act = self.cloudformation.create_stack if expected == "CREATE_COMPLETE" else self.cloudformation.update_stack
        act(
            StackName=self.name,
            TemplateURL=f"{self.emulator.endpoint}/{bucket}/{self.name}.template",
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        self.wait(expected)

    def wait(self, expected):
        status = wait_for(self.settled_status, f"an end of the work on {self.name}", STACK_SECONDS)
        if status != expected:
            events = self.cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
            failed = [event for event in events if "FAILED" in event["ResourceStatus"]]
            reasons = [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed]
            fail(f"{self.name} is {status} instead of {expected}\n" + "\n".join(reasons))
        print(f"ok   {self.name}: {status}", flush=True)

    def settled_status(self):
        status = self.describe()["StackStatus"]
        return None if status.endswith("IN_PROGRESS") else status

    def describe(self):
        return self.cloudformation.describe_stacks(StackName=self.id or self.name)["Stacks"][0]

    def delete(self):
        """Deletes the stack, which then can only be described by its id."""
        self.id = self.describe()["StackId"]
        self.cloudformation.delete_stack(StackName=self.name)
        self.wait("DELETE_COMPLETE")

    def output(self, name):
        return next(one["OutputValue"] for one in self.describe()["Outputs"] if one["OutputKey"] == name)

    def resources(self, kind):
        """Physical ids of a type's resources by logical id."""
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=self.name)
        found = (one for page in pages for one in page["StackResourceSummaries"] if one["ResourceType"] == kind)
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}

    def ops_environment(self):
        path = self.emulator.folder / f"{self.name}.json"
        path.write_text(self.output("OpsEnvironment"))
        return path


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        fail(f"not JSON: {text[:300]}")
