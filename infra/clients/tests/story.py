"""The same story told by each client, through a proxy that loses one reply in ten: usage: story.py BASE COMMAND...

KEY is a test key of a campaign with codes. Every entry has to be there once, and all clients have to be told the same.
"""
import http.client
import http.server
import json
import os
import random
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

base, commands = sys.argv[1], sys.argv[2:]
service = urllib.parse.urlsplit(base)
lost = random.Random(10)
counts = {"before": 0, "after": 0}


class Lossy(http.server.BaseHTTPRequestHandler):
    """Forwards a request; loses one in twenty before it arrives, and one reply in ten."""

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        draw = lost.random()
        if draw < 0.05:
            counts["before"] += 1
            return self.cut()
        connection = http.client.HTTPConnection(service.hostname, service.port, timeout=30)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body, headers)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        if draw < 0.15:
            counts["after"] += 1
            return self.cut()
        self.send_response(reply.status)
        for name in ("Content-Type", "Retry-After"):
            if reply.headers[name]:
                self.send_header(name, reply.headers[name])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = forward

    def cut(self):
        self.close_connection = True

    def log_message(self, *_):
        pass


def found(phone, address):
    """The submissions of a phone, asked for directly."""
    request = urllib.request.Request(
        f"{base}/api/v1/submissions/lookup", json.dumps({"phone": phone}).encode(),
        {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json", "SVC-Client-IP": address})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["submissions"]


proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lossy)
threading.Thread(target=proxy.serve_forever, daemon=True).start()
OUTCOMES = ("VALID", "INSTANT-WIN", "ALREADY-USED", "DAILY-LIMIT", "SLOW")
stories = []
for number, command in enumerate(commands):
    # Others on a second run, because a phone is looked up five times at most.
    phones = [f"07{number}{os.getpid() % 1000:03}{each:04}" for each in range(105)]
    script = {"outcomes": {f"TEST-0-{outcome}.story": phones.pop() for outcome in OUTCOMES}, "entries": phones}
    done = subprocess.run(command.split(), input=json.dumps(script), text=True, capture_output=True, timeout=300,
                          env={**os.environ, "BASE": f"http://127.0.0.1:{proxy.server_port}"})
    assert done.returncode == 0 and not done.stderr, f"{command}: {done.stdout}\n{done.stderr}"
    told = json.loads(done.stdout)
    for each, (phone, id) in enumerate(zip(phones, told.pop("entries"), strict=True)):
        ids = [entry["id"] for entry in found(phone, f"10.{number}.{each}.1")]
        assert ids == [id], f"{command}: {phone} was entered as {ids}, and told {id}"
    stories.append(told)
assert all(told == stories[0] for told in stories), stories
outcomes = dict(zip(OUTCOMES, stories[0]["outcomes"].values()))
assert outcomes == {"VALID": "entered", "INSTANT-WIN": "instant_win", "ALREADY-USED": "already_used", "DAILY-LIMIT": "daily_limit", "SLOW": "entered"}, outcomes
assert stories[0]["refused"] == ["validation_failed", ["phone"]] and stories[0]["found"] == 1, stories[0]
assert min(counts.values()) > 0, counts
print(f"{100 * len(commands)} entries, {counts['before']} requests and {counts['after']} replies lost: none lost, none doubled")
