import os
import sys

from campaign_entry import ApiError, Client, new_attempt

client = Client(os.environ["BASE"], os.environ["KEY"])
# One for each press of the button. Store it with what was typed, so that you can send it again after a crash.
attempt = new_attempt()
entry = {"phone": "0721 345 678", "code": "TEST-0-VALID.4", "consent": True}
try:
    submission = client.create_submission(entry, attempt)
    if not submission["terminal"]:
        submission = client.wait_until_settled(submission["id"])
    print(submission["message_key"], "-", submission["message"])
except ApiError as error:
    sys.exit(str(error))
