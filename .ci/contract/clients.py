"""Generates clients from the description, and lets them read what callers get: every example, a reply of each endpoint of
the running stack, and all of these with values and fields that a later version might add.

usage: clients.py BASE DESCRIPTION FOLDER    (KEY_OF_CODES and KEY_OF_RECEIPTS are test keys of campaigns with codes and with receipts)
"""
import concurrent.futures
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

base, description, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
here = pathlib.Path(__file__).parent
programs = pathlib.Path(sys.executable).parent
whole = json.loads(description.read_text())
LINK = "#/components/schemas/"


def generate():
    """The clients in PHP and Python of openapi-generator, and the one of openapi-python-client, each in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    openapi_generator = [programs / "openapi-generator-cli", "generate", "-i", description, "--skip-validate-spec"]
    commands = [
        [*openapi_generator, "-g", "php", "-o", folder / "php"],
        [*openapi_generator, "-g", "python", "-o", folder / "python", "--package-name", "generated"],
        [programs / "openapi-python-client", "generate", "--path", description, "--output-path", folder / "models_of_attrs", "--meta", "none"],
    ]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in pool.map(lambda command: subprocess.run(command, text=True, capture_output=True), commands):
            if done.returncode != 0:
                sys.exit(f"{done.args[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def call(key, method, path, body=None):
    """A reply of the running stack, whatever its status."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": f"clients-{time.time_ns()}"}
    request = urllib.request.Request(base + path, None if body is None else json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def real():
    """A reply of each endpoint, and an error, as (where, schema, value)."""
    codes, receipts = os.environ["KEY_OF_CODES"], os.environ["KEY_OF_RECEIPTS"]
    entry = {"phone": "0756 345 678", "code": "TEST-0-VALID.clients", "consent": True}
    photo = {"type": "photo", "content_type": "image/jpeg", "size_bytes": 9}
    submission = call(codes, "POST", "/api/v1/submissions", entry)
    receipt = call(receipts, "POST", "/api/v1/receipts", photo)
    replies = [
        ("Submission", submission),
        ("Submission", call(codes, "GET", f"/api/v1/submissions/{submission['id']}")),
        ("SubmissionList", call(codes, "POST", "/api/v1/submissions/lookup", {"phone": entry["phone"]})),
        ("Precheck", call(codes, "POST", "/api/v1/codes/check", {"code": entry["code"]})),
        ("Campaign", call(codes, "GET", "/api/v1/campaign")),
        ("Campaign", call(receipts, "GET", "/api/v1/campaign?locale=sw")),
        ("Receipt", receipt),
        ("Receipt", call(receipts, "GET", f"/api/v1/receipts/{receipt['id']}")),
        ("Receipt", call(receipts, "POST", f"/api/v1/receipts/{receipt['id']}/upload-url")),
        ("ErrorBody", call(codes, "POST", "/api/v1/submissions", {})),
    ]
    return [(f"reply {number}", schema, value) for number, (schema, value) in enumerate(replies)]


def examples():
    """Every example of the description, as (where, schema, value)."""
    for path, methods in whole["paths"].items():
        for method, endpoint in methods.items():
            for status, reply in endpoint["responses"].items():
                media = reply["content"]["application/json"]
                for name, example in media["examples"].items():
                    yield f"{method} {path} {status} {name}", media["schema"]["$ref"].removeprefix(LINK), example["value"]


def later(value, schema):
    """The value as a later version might send it: with unknown values in enums, and an unknown field in each object."""
    schema = whole["components"]["schemas"][schema["$ref"].removeprefix(LINK)] if "$ref" in schema else schema
    for choice in schema.get("anyOf", []):
        if value is not None and choice.get("type") != "null":
            return later(value, choice)
    if isinstance(value, str) and "x-known-values" in schema:
        return "a_value_of_tomorrow"
    if isinstance(value, list):
        return [later(item, schema["items"]) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        fields = {name: later(field, schema["properties"][name]) for name, field in value.items()}
        return {**fields, "field_of_tomorrow": {"is": ["nested"]}}
    return value


def read_in_python(replies):
    """Lets both Python clients read the replies; returns what went wrong."""
    sys.path[:0] = [str(folder), str(folder / "python")]
    clients = {"openapi-generator": "generated", "openapi-python-client": "models_of_attrs.models"}
    for client, models in [(client, importlib.import_module(name)) for client, name in clients.items()]:
        for where, schema, value in replies:
            try:
                read = getattr(models, schema).from_dict(json.loads(json.dumps(value)))
                told = json.dumps(read.to_dict(), default=str)
                assert "a_value_of_tomorrow" in told or "a_value_of_tomorrow" not in json.dumps(value), "a value is lost"
            except Exception as error:
                yield f"{client}: {where}: {type(error).__name__}: {error}"


generate()
known = [*examples(), *real()]
unexpected = [(f"{where}, later", schema, later(value, {"$ref": LINK + schema})) for where, schema, value in known]
assert any("a_value_of_tomorrow" in json.dumps(value) for _, _, value in unexpected)
replies = known + unexpected
(folder / "replies.json").write_text(json.dumps([{"where": where, "schema": schema, "value": value} for where, schema, value in replies]))
wrong = list(read_in_python(replies))
php = subprocess.run(["php", "-d", "error_reporting=-1", "-d", "display_errors=stderr", here / "read.php", folder / "php", folder / "replies.json"],
                     text=True, capture_output=True)
wrong += [f"PHP: {line}" for line in (php.stdout + php.stderr).splitlines()]
if wrong or php.returncode != 0:
    sys.exit("\n".join(wrong[:20]) + f"\n{len(wrong)} replies were not read")
print(f"   {len(replies)} replies read by three clients")
