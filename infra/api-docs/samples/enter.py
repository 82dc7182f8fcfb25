import sys
import time
import uuid

from client import ApiError, call

# One key for each attempt. Store it with the attempt, so that you can send it again after a crash.
attempt = str(uuid.uuid4())
body = {"phone": "0721 345 678", "code": "TEST-0-VALID.4", "consent": True}
try:
    submission = call("POST", "/api/v1/submissions", body, {"Idempotency-Key": attempt})
    for _ in range(5):
        if submission["terminal"]:
            break
        time.sleep(submission["poll_after_seconds"])
        submission = call("GET", f"/api/v1/submissions/{submission['id']}")
    print(submission["message_key"], "-", submission["message"])
except ApiError as error:
    sys.exit(str(error))
