"""The Campaign Entry Service from Python 3.9: one file, no dependencies."""
import base64
import hmac
import http.client
import json
import random
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request


class ApiError(Exception):
    """A call that the service refused, or that got no usable reply within the client's time.

    `status` is 0 without a reply; `code` is empty if the reply is not the service's own; `errors` has every field at
    fault, with `field` and `message`; after `retry_after` seconds the same call can succeed.
    """

    def __init__(self, status, text, request_id, retry_after=None):
        error = (parse(text) or {}).get("error")
        error = error if isinstance(error, dict) else {}
        self.status, self.request_id, self.retry_after = status, request_id, retry_after
        self.code, self.field, self.fix = error.get("code", ""), error.get("field"), error.get("fix")
        own = [{"field": self.field, "message": error.get("message", "")}] if self.field else []
        self.errors = error.get("errors", own)
        told = f"{self.code}: {error.get('message', '')}" if self.code else text[:200]
        super().__init__(f"{status or 'no reply'}: {told} (request {request_id})")


class WebhookError(Exception):
    """A delivery that none of your secrets signed, or that is too old. Reply with status 400."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another address would get the key, and an entry as a GET."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(_NoRedirect)
# In seconds; a delivery has a new time for each try.
WEBHOOK_TOLERANCE = 300


def new_attempt():
    """A new Idempotency-Key. Store it with what the consumer typed, and use it for every try of that entry."""
    return secrets.token_hex(16)


def verify_webhook(body, headers, secrets, now=None, ed25519=None):
    """The event of a webhook's delivery. `body` has the bytes that arrived, since a parsed body has lost its signature.

    While a secret rotates, pass both. Python has no Ed25519, so secrets with `whpk_` need `ed25519(key, signature,
    message)`, which returns True for a signature, such as one made with the package cryptography. An event can arrive
    twice, with the same `webhook-id`, and after one of a higher `revision`.
    """
    checks = [_webhook_check(secret, ed25519) for secret in secrets]
    body = body.encode() if isinstance(body, str) else body
    headers = {str(name).lower(): value for name, value in headers.items()}
    id, sent, signatures = (_text(headers.get(f"webhook-{name}")) for name in ("id", "timestamp", "signature"))
    if not id or not signatures or not re.fullmatch("[0-9]{1,12}", sent):
        raise WebhookError("webhook: a header is missing or malformed")
    if abs((time.time() if now is None else now) - int(sent)) > WEBHOOK_TOLERANCE:
        raise WebhookError("webhook: not sent within five minutes; is the clock right?")
    message = f"{id}.{sent}.".encode(errors="surrogatepass") + body
    for signature in signatures.split(" "):
        version, _, text = signature.partition(",")
        if any(version == own and is_signature(_decoded(text), message) for own, is_signature in checks):
            return json.loads(body)
    raise WebhookError("webhook: no signature matches; is the body as it arrived, and the secret of this endpoint?")


def _text(header):
    """A header; empty if it is no text."""
    return " ".join(part for part in (header if isinstance(header, list) else [header]) if isinstance(part, str))


def _webhook_check(secret, ed25519):
    """Version of a secret's signatures, and a function of signature and message."""
    prefix, _, text = secret.partition("_")
    key = _decoded(text)
    if prefix == "whsec" and len(key) >= 24:
        return "v1", lambda given, message: hmac.compare_digest(hmac.digest(key, message, "sha256"), given)
    if prefix != "whpk" or len(key) != 32:
        raise ValueError("a webhook secret begins with whsec_ or whpk_; this one is not whole")
    if ed25519 is None:
        raise ValueError("a secret with whpk_ needs the argument ed25519: Python has no such function")
    return "v1a", lambda given, message: len(given) == 64 and ed25519(key, given, message) is True


def _decoded(text):
    """Bytes of base64; none if it is malformed."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


class Client:
    """Every method returns the reply as a dict; unknown keys and values are kept. Outcomes for consumers are replies,
    not errors. Lost connections, 409, 429, 5xx and torn replies are sent again, unchanged, within `budget` seconds.

    `timeout` is the longest silence of one try, in seconds: a partner takes up to 8 to judge a code.
    """

    def __init__(self, base_url, key, locale="en", budget=25.0, timeout=12.0):
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ValueError("the key has a character that no key has, such as a line end")
        self._base_url, self._key, self._locale = base_url, key, locale
        self._budget, self._timeout = budget, timeout

    def get_campaign(self):
        return self._call("GET", "/api/v1/campaign")

    def check_code(self, body, client_ip=None):
        """`client_ip`: the consumer's address; without it the limits count your server."""
        return self._call("POST", "/api/v1/codes/check", body, {"SVC-Client-IP": client_ip})

    def create_submission(self, entry, attempt):
        """Enters a consumer: `entry` has `phone`, `consent` and what the campaign needs of `code` and `receipt_id`."""
        return self._call("POST", "/api/v1/submissions", entry, {"Idempotency-Key": attempt})

    def get_submission(self, id):
        return self._call("GET", f"/api/v1/submissions/{urllib.parse.quote(id, safe='')}")

    def lookup_submissions(self, body, client_ip=None):
        return self._call("POST", "/api/v1/submissions/lookup", body, {"SVC-Client-IP": client_ip})

    def create_receipt(self, receipt, attempt=None):
        """With `attempt`, the same receipt comes back when this is sent again."""
        return self._call("POST", "/api/v1/receipts", receipt, {"Idempotency-Key": attempt})

    def refresh_upload_url(self, receipt_id):
        return self._call("POST", f"/api/v1/receipts/{urllib.parse.quote(receipt_id, safe='')}/upload-url")

    def get_receipt(self, id):
        return self._call("GET", f"/api/v1/receipts/{urllib.parse.quote(id, safe='')}")

    def wait_until_settled(self, id, budget=60.0):
        """Polls until the submission is decided. Returns it undecided if `budget` seconds are not enough."""
        until = self._now() + budget
        while True:
            submission = self.get_submission(id)
            wait = submission.get("poll_after_seconds")
            if wait is None or self._now() + wait > until:
                return submission
            self._pause(wait)

    def _call(self, method, path, body=None, more=None):
        request_id = new_attempt()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": body and "application/json",
                   "X-Request-Id": request_id, **(more or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        data = None if body is None else json.dumps(body).encode()
        until = self._now() + self._budget
        tried = 0
        while True:
            seconds = min(self._timeout, max(1.0, until - self._now()))
            status, retry_after, text = self._send(method, f"{self._base_url}{path}?locale={self._locale}", headers, data, seconds)
            value = parse(text) if status == 200 else None
            if value is not None:
                return value
            can_retry = status in (0, 200, 409, 429) or status >= 500
            wait = max(retry_after or 0.0, min(8.0, 0.25 * 2**tried) * random.uniform(0.5, 1))
            if not can_retry or self._now() + wait >= until:
                raise ApiError(status, text, request_id, wait if can_retry else None)
            self._pause(wait)
            tried += 1

    def _send(self, method, url, headers, data, seconds):
        """One try: status (0 without a reply), seconds of Retry-After, and the body or why there is none."""
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            try:
                reply = OPENER.open(request, timeout=seconds)
            except urllib.error.HTTPError as error:
                reply = error
            with reply:
                told = reply.headers.get("Retry-After", "")
                return reply.status, float(told) if told.isdigit() else None, reply.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, None, str(error)

    def _now(self):
        return time.monotonic()

    def _pause(self, seconds):
        time.sleep(seconds)


def parse(text):
    """A JSON object, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
