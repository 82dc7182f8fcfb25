"""Sends entries continuously while a stack changes."""

import json
import threading
import urllib.error
import urllib.request

from emulator import fail, parse

CAMPAIGN = "infra/local/demo/chai-bora-2026.yaml"
INTERVAL_SECONDS = 0.2


class Entries:
    """Context manager that sends entries one after the other, each with another phone."""

    def __init__(self, ops, url):
        ops.run("campaign", "apply", "--yes", CAMPAIGN)
        issued = parse(ops.run("--json", "key", "issue", "--campaign", "chai-bora-2026", "--environment", "test"))
        self.key, self.url = issued["key"], url
        self.run_id = issued["key_id"]
        self.entered, self.wrong = 0, []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.send_all)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def send_all(self):
        number = 0
        # Includes one more entry after the change.
        last = False
        while not last:
            last = self.stopping.wait(INTERVAL_SECONDS)
            number += 1
            self.send(number)

    def send(self, number):
        body = {"phone": f"0712{number:06}", "code": f"TEST-0-VALID.{self.run_id}.{number}", "consent": True}
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"{self.run_id}-entry-{number:06}",
        }
        request = urllib.request.Request(f"{self.url}/api/v1/submissions", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                found = json.loads(reply.read())
        except (OSError, ValueError) as error:
            content = error.read().decode() if isinstance(error, urllib.error.HTTPError) else ""
            self.wrong.append(f"entry {number}: {error} {content}")
            return
        if found.get("message_key") == "entered":
            self.entered += 1
        else:
            self.wrong.append(f"entry {number}: {found}")

    def report(self, when):
        if self.wrong:
            fail(f"{len(self.wrong)} entries were not entered {when}:\n" + "\n".join(self.wrong[:5]))
        print(f"ok   {self.entered} entries {when}, none refused")
