"""Sends entries continuously while a stack changes, and waits for those that are settled later."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request

from emulator import fail, parse, wait_for

CAMPAIGN = "sample-events"
INTERVAL_SECONDS = 0.2
POLL_SECONDS = 1
# A lost message is found by the sweep, which runs every minute.
SETTLED_SECONDS = 150


class Entries:
    """Context manager that sends entries one after the other, each with another phone."""

    def __init__(self, ops, url):
        ops.run("campaign", "apply", "--yes", f"infra/local/demo/{CAMPAIGN}.yaml")
        issued = parse(ops.run("--json", "key", "issue", "--campaign", CAMPAIGN, "--environment", "test"))
        self.key, self.url = issued["key"], url
        self.run_id = issued["key_id"]
        self.entered, self.pending, self.wrong = 0, [], []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.send_all)

    def __enter__(self):
        # These are settled later, by a function that may be of another release then.
        self.send(1, code="SLOW", expected="checking")
        self.send(2, receipt="TEST0VERIFIED", expected="receipt_received")
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def send_all(self):
        number = 2
        # Includes one more entry after the change.
        last = False
        while not last:
            last = self.stopping.wait(INTERVAL_SECONDS)
            number += 1
            self.send(number)

    def send(self, number, code="VALID", receipt=None, expected="entered"):
        body = {"phone": f"0712{number:06}", "code": f"TEST-0-{code}.{self.run_id}.{number}", "consent": True}
        try:
            if receipt:
                typed = {"type": "typed", "code": receipt, "time": "10:15"}
                body["receipt_id"] = self.call("receipts", typed, f"receipt-{number:06}")["id"]
            found = self.call("submissions", body, f"entry-{number:06}")
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            content = error.read().decode() if isinstance(error, urllib.error.HTTPError) else ""
            self.wrong.append(f"entry {number}: {error} {content}")
            return
        if found.get("message_key") != expected:
            self.wrong.append(f"entry {number}: {found}")
        elif expected == "entered":
            self.entered += 1
        else:
            self.pending.append(found["id"])

    def call(self, path, body=None, key=""):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Idempotency-Key": f"{self.run_id}-{key}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read())

    def report(self, when):
        if self.wrong:
            fail(f"{len(self.wrong)} entries were not entered {when}:\n" + "\n".join(self.wrong[:5]))
        if not self.entered or len(self.pending) != 2:
            fail(f"{self.entered} entries were entered {when}, and {len(self.pending)} were pending")
        for submission in self.pending:
            wait_for(lambda: self.is_accepted(submission), f"settling submission {submission}, which was pending {when},", SETTLED_SECONDS)
        print(f"ok   {self.entered} entries {when}, none refused; {len(self.pending)} that were pending before are settled")

    def is_accepted(self, submission):
        # The key's limit is 600 requests a minute.
        time.sleep(POLL_SECONDS)
        try:
            return self.call(f"submissions/{submission}")["state"] == "accepted"
        except OSError:
            return False
