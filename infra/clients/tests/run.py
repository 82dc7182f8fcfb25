"""Runs the table of cases, or the story that the driver compares: run.py cases|story"""
import json
import os
import pathlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "python"))
from campaign_entry import ApiError, Client, WebhookError, new_attempt, verify_webhook  # noqa: E402

KEY = "svc_test_key_of_the_cases"
ENTRY = {"phone": "0712 345 678", "code": "AB12", "consent": True}


class Scripted(Client):
    """Gives the case's replies, on a clock that only moves by waiting."""

    def __init__(self, case):
        super().__init__("https://api.invalid", KEY)
        self.case, self.tries, self.time, self.waited = case, [], 0.0, 0.0

    def _send(self, method, url, headers, data, seconds):
        self.tries.append((method, url, headers, data))
        replies = self.case["replies"]
        assert len(self.tries) <= len(replies) or self.case.get("repeat"), "one try too many"
        status, retry_after, body = replies[min(len(self.tries), len(replies)) - 1]
        self.time += min(self.case.get("takes", 0), seconds)
        return status, retry_after, body if isinstance(body, str) else json.dumps(body)

    def _now(self):
        return self.time

    def _pause(self, seconds):
        self.time += seconds
        self.waited += seconds


def cases():
    table = json.loads((here / "cases.json").read_text())
    for case in table:
        client = Scripted(case)
        settles = case.get("call") == "wait_until_settled"
        try:
            ended = {"result": client.wait_until_settled("1") if settles else client.create_submission(ENTRY, "attempt-of-the-cases")}
        except ApiError as error:
            found = {**vars(error), "request_id": None}
            ended = {"error": {name: found[name] for name in case.get("error", found)}}
            assert error.request_id == client.tries[0][2]["X-Request-Id"] and KEY not in str(error), case["name"]
        assert ended == {name: case[name] for name in ended}, (case["name"], ended)
        assert settles or all(same == client.tries[0] for same in client.tries), case["name"]
        assert case["waited"][0] <= client.waited <= case["waited"][1], (case["name"], client.waited)
    print(f"python: {len(table) + webhooks()} cases passed")


def ed25519(key, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def webhooks():
    table = json.loads((here / "webhooks.json").read_text())
    for case in table["cases"]:
        given = {**table["delivery"], **case, "headers": {**table["delivery"]["headers"], **case.get("headers", {})}}
        ended = {}
        try:
            event = verify_webhook(given["body"].encode(), given["headers"], given["secrets"], given["now"], ed25519)
            assert event == json.loads(given["body"]), case["name"]
        except WebhookError as error:
            ended["refused"] = str(error)
        except ValueError as error:
            ended["misused"] = str(error)
        for name in ("refused", "misused"):
            assert (name in ended) == (name in case) and case.get(name, "") in ended.get(name, ""), (case["name"], ended)
    try:
        verify_webhook("", {}, ["whpk_HkrEjdnHQPGAeXEe5DExIcCaBDiqN9Dtmsu7cPeze/g="])
        raise AssertionError("a public key needs a function")
    except ValueError as error:
        assert "ed25519" in str(error)
    try:
        # PHP reads no table with half a character.
        verify_webhook("", {"webhook-id": "\ud800", "webhook-timestamp": "0", "webhook-signature": "v1,"}, [], 0)
        raise AssertionError("half a character is no id")
    except WebhookError:
        pass
    return len(table["cases"])


def story():
    script = json.load(sys.stdin)
    client = Client(os.environ["BASE"], os.environ["KEY"])
    told = {"campaign": client.get_campaign()["slug"], "check": client.check_code({"code": "TEST-0-VALID.story"})["precheck"], "outcomes": {}, "entries": []}
    for code, phone in script["outcomes"].items():
        entered = client.create_submission({"phone": phone, "code": code, "consent": True}, new_attempt())
        told["outcomes"][code] = client.wait_until_settled(entered["id"], 20)["message_key"]
    for phone in script["entries"]:
        told["entries"].append(client.create_submission({"phone": phone, "code": f"TEST-0-VALID.{phone}", "consent": True}, new_attempt())["id"])
    try:
        client.create_submission({"phone": "0812", "consent": True}, new_attempt())
    except ApiError as error:
        told["refused"] = [error.code, [fault["field"] for fault in error.errors]]
    told["found"] = len(client.lookup_submissions({"phone": script["entries"][0]})["submissions"])
    json.dump(told, sys.stdout)


{"cases": cases, "story": story}[sys.argv[1]]()
