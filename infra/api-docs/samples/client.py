import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request

MAX_ATTEMPTS = 5
TIMEOUT_S = 25  # longer than the service takes at most
MAX_WAIT_S = 30


class ApiError(Exception):
    """An error of the API. `status` is 0 if there was no reply, and `code` is empty unless the service itself replied."""

    def __init__(self, status, text):
        try:
            error = json.loads(text)["error"]
        except (ValueError, LookupError, TypeError):
            error = {}
        told = f"{error['code']}: {error['message']}" if error else text
        super().__init__(f"{status or 'No reply'}: {told}")
        self.status = status
        self.code = error.get("code", "")
        own = [{"field": error["field"], "message": error["message"]}] if "field" in error else []
        self.errors = error.get("errors", own)  # every field at fault
        self.field = error.get("field", self.errors[0]["field"] if self.errors else None)
        self.request_id = error.get("request_id")


def call(method, path, body=None, headers={}):
    """Calls the API. Sends the same request again after a failed connection, 409, 429 and 5xx."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(os.environ["BASE"] + path, data, headers, method=method)
    attempt = 1
    while True:
        status, retry_after, text = send(request)
        if 200 <= status < 300:
            return json.loads(text)
        can_retry = status in (0, 409, 429) or status >= 500
        backoff = 0.5 * 2**attempt * random.uniform(0.5, 1)
        wait = max(retry_after, backoff)
        if not can_retry or attempt == MAX_ATTEMPTS or wait > MAX_WAIT_S:
            raise ApiError(status, text)
        time.sleep(wait)
        attempt += 1


def send(request):
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            return reply.status, 0, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, int(error.headers.get("Retry-After", 0)), error.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return 0, 0, str(error)
