"""Calls africastalking.php as Africa's Talking does, with a service and a gateway that give the case's replies."""
import hashlib
import http.server
import json
import os
import pathlib
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ENTERED = (200, {"id": "1", "state": "accepted", "message": "Umeingia."})
BUSY = (503, {"error": {"code": "service_unavailable", "message": "Busy"}}, 60)
REFUSED = (422, {"error": {"code": "phone_invalid", "message": "Not a number", "field": "phone"}})
ASK, SORRY = "Tuma namba ya kwenye pakiti.", "Samahani, imeshindikana kwa sasa. Jaribu tena baadaye."
LONG = (200, {"id": "1", "state": "accepted", "message": "ŵ" * 320})
# Name, what is typed, the service's replies, the code that it is sent (none if it is not called), and the answer.
USSD = [
    ("session begins", "", [], None, f"CON {ASK}"),
    ("code in the session", "AB12-CD34-EF56", [ENTERED], "AB12CD34EF56", "END Umeingia."),
    ("code of digits in groups", "1234 5678 9012", [ENTERED], "123456789012", "END Umeingia."),
    ("code after one that is too short", "12*123456789012", [ENTERED], "123456789012", "END Umeingia."),
    ("something else is asked for again", "1", [], None, f"CON {ASK}"),
    ("service that is busy", "123456789012", [BUSY], "123456789012", f"END {SORRY}"),
    ("phone that is refused", "123456789012", [REFUSED], "123456789012", f"END {SORRY}"),
    ("failure that passes", "123456789012", [(502, {}), ENTERED], "123456789012", "END Umeingia."),
    ("message longer than a screen", "123456789012", [LONG], "123456789012", f"END {'ŵ' * 178}"),
]
# The answer is an SMS.
SMS = [
    ("code alone", "AB12-CD34-EF56", [ENTERED], "AB12CD34EF56", "Umeingia."),
    ("code after the keyword", "chai 1234 5678 9012", [ENTERED], "123456789012", "Umeingia."),
    ("code among words", "CHAI, namba:123456789012. Asante", [ENTERED], "123456789012", "Umeingia."),
    ("code after a long word", "tafadhali 123456789012", [ENTERED], "123456789012", "Umeingia."),
    ("groups after a word as long", "code 1234 5678 9012", [ENTERED], "123456789012", "Umeingia."),
    ("groups after words", "namba ni 1234 5678 9012", [ENTERED], "123456789012", "Umeingia."),
    ("groups with one of letters", "CHAI\nk7m2 qxda 9bcd", [ENTERED], "k7m2qxda9bcd", "Umeingia."),
    ("code of letters", "CHAI ABCD-EFGH-JKLM", [ENTERED], "ABCDEFGHJKLM", "Umeingia."),
    ("code glued to the keyword", "CHAI123456789012", [ENTERED], "123456789012", "Umeingia."),
    ("no code", "CHAI", [], None, ASK),
    ("words alone", "Habari naomba kuingia", [], None, ASK),
    ("long message", "CHAI 123456789012", [LONG], "123456789012", "ŵ" * 320),
    ("service that is busy", "CHAI 123456789012", [BUSY], "123456789012", SORRY),
    ("phone that is refused", "CHAI 123456789012", [REFUSED], "123456789012", SORRY),
]


class Both(http.server.BaseHTTPRequestHandler):
    """The service, and the gateway that sends SMS."""

    replies, entries, sent = [], [], []
    answers = threading.Event()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answers.wait()
        if self.path == "/version1/messaging":
            assert self.headers["apiKey"] == "key of the gateway", self.headers
            self.sent.append(dict(urllib.parse.parse_qsl(body.decode())))
            return self.reply(201, {})
        self.entries.append((self.headers["Idempotency-Key"], json.loads(body)))
        return self.reply(*self.replies.pop(0))

    def reply(self, status, body, retry_after=None):
        self.send_response(status)
        if retry_after:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


def call(token="token of the callbacks", **fields):
    query = urllib.parse.urlencode({"token": token})
    try:
        with urllib.request.urlopen(f"{address}/?{query}", urllib.parse.urlencode(fields).encode()) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Both)
threading.Thread(target=server.serve_forever, daemon=True).start()
both = f"http://127.0.0.1:{server.server_port}"
with socket.create_server(("127.0.0.1", 0)) as free:
    address = f"http://127.0.0.1:{free.getsockname()[1]}"
example = pathlib.Path(__file__).parent.parent / "php" / "africastalking.php"
env = {"BASE": both, "KEY": "svc_test_key_of_the_cases", "AT_URL": both, "AT_KEY": "key of the gateway", "AT_USERNAME": "chai",
       "TOKEN": "token of the callbacks", "TERMS": "2026-11", "SENDER": "15670", "KEYWORD": "CHAI"}
php = subprocess.Popen(["php", "-S", address.removeprefix("http://"), example], env={**os.environ, **env}, stderr=subprocess.PIPE, text=True)
try:
    for _ in range(100):
        try:
            assert call(token="another")[0] == 403
            break
        except urllib.error.URLError:
            time.sleep(0.05)
    Both.answers.set()
    assert call(token="")[0] == 403 and call(other="1")[0] == 400
    for number, (channel, (name, text, replies, code, answer)) in enumerate([("ussd", case) for case in USSD] + [("sms", case) for case in SMS]):
        Both.replies, Both.entries, Both.sent = list(replies), [], []
        phone, id = "+255712345678", f"AT{number}"
        fields = {"sessionId": id, "phoneNumber": phone} if channel == "ussd" else {"id": id, "from": phone}
        status, told = call(text=text, **fields)
        entry = {"phone": phone, "code": code, "consent": True, "consent_version": "2026-11", "channel": channel}
        assert Both.entries == [(f"at-{channel}-{hashlib.sha256(id.encode()).hexdigest()}", entry)] * len(replies) and not Both.replies, (name, Both.entries)
        if channel == "ussd":
            assert (status, told, Both.sent) == (200, answer, []), (name, status, told)
        else:
            sms = {"username": "chai", "from": "15670", "to": phone, "message": answer}
            assert (status, told, Both.sent) == (200, "", [sms]), (name, status, told, Both.sent)
    Both.answers.clear()
    began = time.monotonic()
    assert call(text="123456789012", id="1", **{"from": "+255712345678"})[0] == 200
    assert time.monotonic() - began < 15, "a callback ends within 15 seconds, even if nothing answers"
finally:
    php.terminate()
    log = php.stderr.read()
assert "712345678" not in log and "123456789012" not in log, log
print(f"africastalking.php: {len(USSD) + len(SMS)} cases passed")
