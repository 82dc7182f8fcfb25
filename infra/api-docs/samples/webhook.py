import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from campaign_entry import WebhookError, verify_webhook

# While a secret rotates, the variable has both, with a space between.
SECRETS = os.environ["WEBHOOK_SECRET"].split()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            event = verify_webhook(body, dict(self.headers), SECRETS)
        except WebhookError:
            return self.answer(400)
        data = event["data"]
        if event["type"] == "test.ping":  # it has no submission
            print("test.ping", flush=True)
            return self.answer(204)
        # Here you store it. An event that comes twice, or late, changes nothing:
        #   INSERT INTO decisions (id, state, revision) VALUES (:id, :state, :revision) ON CONFLICT (id)
        #   DO UPDATE SET state = :state, revision = :revision WHERE decisions.revision <= :revision
        print(event["type"], data["id"], f"{data['state']}, revision {data['revision']}", flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8001"))), Receiver).serve_forever()
