"""Runs the samples of the reference pages as a reader would: under the file names that the pages give, with BASE and KEY set.

usage: samples.py BASE FOLDER OPS...    (KEY_OF_CODES and KEY_OF_RECEIPTS are test keys of codes-2026 and of a campaign with receipts; OPS is the
operator's command)
"""
import contextlib
import http.cookiejar
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

base, folder, ops_command = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
interpreters = {"sh": "bash", "js": "node", "php": "php", "py": sys.executable}
endings = {"sh": "sh", "js": "mjs", "php": "php", "py": "py"}


def blocks(page):
    """Caption, language and text of a page's code blocks."""
    with urllib.request.urlopen(f"{base}{page}.md") as reply:
        text = reply.read().decode()
    found = re.findall(r"(?:^(`\S+`[^\n]*)\n\n)?^```(\w+)\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    # Many systems have no uuidgen.
    assert not any("uuidgen" in sample for _, _, sample in found), f"{page} has a sample with uuidgen"
    return found


def run(name, language, text, key, **env):
    """Runs a sample from a file and returns its output."""
    interpreter = interpreters[language]
    if shutil.which(interpreter) is None:
        print(f"   not run, {interpreter} is not installed: {name}")
        return None
    file = folder / name
    file.write_text(text + "\n")
    shell = [] if language != "sh" else ["-e"]
    done = subprocess.run([interpreter, *shell, file.name], cwd=folder, text=True, capture_output=True, timeout=120,
                          env={**os.environ, "CURL_HOME": str(folder), "BASE": base, "KEY": key, **env})
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{name} failed ({done.returncode}):\n{text}\n{done.stdout}\n{done.stderr}")
    assert not done.stdout or done.stdout.endswith("\n"), f"{name} ends without a newline: {done.stdout}"
    return done.stdout


codes, receipts = os.environ["KEY_OF_CODES"], os.environ["KEY_OF_RECEIPTS"]
folder.mkdir(parents=True, exist_ok=True)
# A reader's terminal shows no progress of curl, and a prompt after the reply.
(folder / ".curlrc").write_text('silent\nshow-error\nwrite-out = "\\n"\n')
ran = 0

for name in ("client.mjs", "client.php", "campaign_entry.py"):
    with urllib.request.urlopen(f"{base}/docs/{name}") as reply:
        (folder / name).write_bytes(reply.read())

# The overview: commands that need no input, then a whole entry in each language.
for number, (caption, language, text) in enumerate(blocks("/docs")):
    if language not in interpreters or "read -rs" in text or text.startswith("npx "):
        continue
    printed = run(f"overview-{number}.{endings[language]}", language, text, codes)
    if printed is None:
        continue
    ran += 1
    expected = "already_used" if "ALREADY-USED" in text else "name" if text.endswith('$KEY"') else "entered"
    assert expected in printed and "error" not in printed, printed

# Receipts, from the photo to the outcome.
(folder / "receipt.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(5000))
if shutil.which("jq") is None:
    print("   not run, jq is not installed: receipts and polling")
else:
    commands = [text for _, language, text in blocks("/docs/receipts") if language == "sh"]
    for number, command in enumerate(commands):
        run(f"receipts-{number}.sh", "sh", command, receipts)
    submission = json.loads((folder / "submission.json").read_text())
    polling = [text for _, language, text in blocks("/docs/polling") if language == "sh"]
    printed = run("polling.sh", "sh", "\n".join(polling), receipts, ID=submission["id"])
    assert json.loads(printed)["state"] == "accepted", printed
    ran += len(commands) + len(polling)

# Each endpoint in each language, with ids of existing records.
request = urllib.request.Request(
    f"{base}/api/v1/receipts", json.dumps({"type": "photo", "content_type": "image/jpeg", "size_bytes": 9}).encode(),
    {"Authorization": f"Bearer {receipts}", "Content-Type": "application/json"})
receipt = json.loads(urllib.request.urlopen(request).read())["id"]
request = urllib.request.Request(
    f"{base}/api/v1/submissions", json.dumps({"phone": "0755 345 678", "code": "TEST-0-VALID.contract", "consent": True}).encode(),
    {"Authorization": f"Bearer {codes}", "Content-Type": "application/json", "Idempotency-Key": f"samples-{time.time_ns()}"})
submission = json.loads(urllib.request.urlopen(request).read())["id"]
for page in ("campaign", "codes", "submissions", "receipts"):
    key, id = (receipts, receipt) if page == "receipts" else (codes, submission)
    for number, (_, language, text) in enumerate(blocks(f"/docs/endpoints/{page}")):
        if language in interpreters:
            ran += run(f"{page}-{number}.{endings[language]}", language, text, key, ID=id) is not None

# An error is one line, without the key.
for language, name in (("js", "enter.mjs"), ("php", "enter.php"), ("py", "enter.py")):
    text = next(text for caption, found, text in blocks("/docs") if found == language and name in caption)
    if shutil.which(interpreters[language]) is None:
        continue
    (folder / name).write_text(text + "\n")
    done = subprocess.run([interpreters[language], name], cwd=folder, text=True, capture_output=True, timeout=120,
                          env={**os.environ, "BASE": base, "KEY": "svc_test_nobody_has_this"})
    told = done.stdout + done.stderr
    assert done.returncode == 1 and "key_unknown" in told and "svc_test" not in told, told
    assert len(told.splitlines()) == 1, told
    ran += 1


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextlib.contextmanager
def serving(command, name, port, **env):
    """A server of a sample, as long as it is used; its log is printed after a failure."""
    log = (folder / f"{name}.log").open("w+")
    command = [re.sub("800[01]", str(port), part) for part in command]
    server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "PORT": str(port), **env})
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert server.poll() is None
                time.sleep(0.1)
        yield folder / f"{name}.log"
    except Exception:
        log.seek(0)
        print(f"{name}:\n{log.read()}", file=sys.stderr)
        raise
    finally:
        server.terminate()
        server.wait()
        log.close()


def walk_through_form(command, name):
    """Runs the page with the entry form, and fills it in as a consumer would."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/"

    def consumer():
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        browser.addheaders = [("Accept-Language", "sw-TZ,sw;q=0.9")]
        return lambda path="", **form: browser.open(address + path, urllib.parse.urlencode(form).encode() if form else None).read().decode()

    def reference(page):
        found = re.search(r"<p>Namba ya kumbukumbu: (\S+)", page)
        assert found, page
        return found[1]

    with serving(command, name, port, BASE=base, KEY=codes):
        open_page = consumer()
        assert "Namba ya simu" in open_page() and "-error" not in open_page()
        typed = {"phone": "0712", "code": "TEST-0-VALID.form", "consent": "on"}
        for phone in ("0712", "+254 712 345 678", "\"><b>"):
            page = open_page(**{**typed, "phone": phone})
            assert re.findall(r'id="(\w+)-error">([^<]+)', page) == [("phone", "Namba ya simu si sahihi. Weka namba ya Tanzania, kwa mfano 0712 345 678.")], page
            assert "TEST-0-VALID.form" in page and "<b>" not in page, page
        typed["phone"] = "0757 345 678"
        assert re.findall(r'id="(\w+)-error"', open_page(phone="", code="", consent="on")) == ["phone", "code"]
        assert re.findall(r'id="(\w+)-error"', open_page(phone=typed["phone"], code=typed["code"])) == ["consent"]
        entered = open_page(**typed)
        assert "Umeingia" in entered, entered
        assert {reference(open_page(**typed)), reference(open_page())} == {reference(entered)}, "a second click enters again"
        assert "Namba ya simu" in open_page("?again=")
        # Others' codes are decided late, or never.
        open_page = consumer()
        assert 'http-equiv="refresh"' in open_page(phone="0758 345 678", code="TEST-0-CHECKING.form", consent="on")
        open_page = consumer()
        page = open_page(phone="0759 345 678", code="TEST-0-SLOW.form", consent="on")
        late = reference(page)
        for _ in range(60):
            if 'http-equiv="refresh"' not in page:
                break
            time.sleep(0.5)
            page = open_page()
        assert "Umeingia" in page and reference(page) == late, page


for caption, language, text in blocks("/docs/entry-form"):
    name, command = re.match(r"`(\S+)`: run `(.+)`", caption).groups()
    if shutil.which(interpreters[language]) is not None:
        (folder / name).write_text(text + "\n")
        walk_through_form(command.split(), name)
        ran += 1


def receive_events(command, name):
    """Runs a receiver, which takes the decision about an entry, and nothing that another one sends."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/hook"

    def ops(*words):
        done = subprocess.run([*ops_command, "--json", "webhook", words[0], "--campaign", "codes-2026", "--environment", "test", *words[1:]],
                              text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    added = ops("add", "--url", url)
    assert added["ping"]["reason"] == "connect", added
    with serving(command, name, port, WEBHOOK_SECRET=added["secret"]) as log:
        ops("test", added["endpoint"])
        # Functions hear of an endpoint within five seconds.
        time.sleep(6)
        request = urllib.request.Request(
            f"{base}/api/v1/submissions", json.dumps({"phone": "0756 345 678", "code": f"TEST-0-SLOW.{name}", "consent": True}).encode(),
            {"Authorization": f"Bearer {codes}", "Content-Type": "application/json", "Idempotency-Key": f"webhook-{time.time_ns()}"})
        with urllib.request.urlopen(request) as reply:
            entry = json.load(reply)
        assert entry["state"] == "unknown", entry
        for _ in range(300):
            if f"submission.accepted {entry['id']} accepted, revision" in log.read_text():
                break
            time.sleep(0.1)
        assert f"submission.accepted {entry['id']}" in log.read_text() and "test.ping" in log.read_text()
        forged = {"webhook-id": "evt_s4fkv7yfdfyhgxhnecjfwc67km", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
        try:
            urllib.request.urlopen(urllib.request.Request(url, b'{"type":"forged","data":{}}', forged))
            raise AssertionError("a forged event is taken")
        except urllib.error.HTTPError as refused:
            assert refused.code == 400, refused
        assert "forged" not in log.read_text()
    ops("remove", added["endpoint"], "--yes")


for caption, language, text in blocks("/docs/webhooks"):
    named = re.match(r"`(\S+)`: run `(.+)`", caption)
    if named and shutil.which(interpreters[language]) is not None:
        (folder / named[1]).write_text(text + "\n")
        receive_events(named[2].split(), named[1])
        ran += 1


class Flaky(http.server.BaseHTTPRequestHandler):
    """Answers with API Gateway's 503, then with a 429 for the key's rate limit, then with success."""
    seen = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((time.monotonic(), self.headers["Idempotency-Key"], body))
        answers = [(503, {}, {"message": "Service Unavailable"}), (429, {"Retry-After": "2"}, {"error": {"code": "rate_limited"}}),
                   (200, {}, {"id": "1", "terminal": True, "message_key": "entered", "message": "In"})]
        status, headers, answer = answers[min(len(self.seen), len(answers)) - 1]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


# A retry has the same key and body, and waits for Retry-After.
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
threading.Thread(target=server.serve_forever, daemon=True).start()
for language, name in (("js", "enter.mjs"), ("php", "enter.php"), ("py", "enter.py")):
    if shutil.which(interpreters[language]) is None:
        continue
    Flaky.seen.clear()
    done = subprocess.run([interpreters[language], name], cwd=folder, text=True, capture_output=True, timeout=120,
                          env={**os.environ, "BASE": f"http://127.0.0.1:{server.server_port}", "KEY": codes})
    assert done.returncode == 0 and done.stdout == "entered - In\n", done
    (_, *first), (limited, *second), (last, *third) = Flaky.seen
    assert first == second == third and len(first[0]) >= 16, Flaky.seen
    assert last - limited >= 2, Flaky.seen
    ran += 1

assert ran >= 30, ran
print(f"   {ran} samples ran")
