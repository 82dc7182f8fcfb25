"""The restore drill of infra/docs/runbook.md on a production stack: restores tables next to the originals, loses a submission and copies it back.

The emulator restores the current state at once, whatever the requested time, and does not report that time. The proxy `Restores` answers as AWS would.
"""

import contextlib
import http.client
import http.server
import json
import threading

from emulator import Stack, fail

NAME = "campaign-entry-production"
TIME, OTHER_TIME = "2026-11-22T09:00:00Z", "2026-11-22T09:00:01Z"


class Restores(http.server.ThreadingHTTPServer):
    """A proxy for DynamoDB: a restored table is ready only at the second look, and reports the time that was requested."""

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Forwarder)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.upstream_port = port
        self.times, self.seen = {}, set()

    @contextlib.contextmanager
    def running(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()

    def changed(self, operation, asked, reply):
        if operation == "RestoreTableToPointInTime":
            self.times[asked["TargetTableName"]] = asked["RestoreDateTime"]
        elif operation == "DescribeTable" and asked["TableName"] in self.times:
            name = asked["TableName"]
            reply["Table"]["RestoreSummary"] = {"RestoreDateTime": self.times[name], "RestoreInProgress": name not in self.seen}
            if name not in self.seen:
                reply["Table"]["TableStatus"] = "CREATING"
            self.seen.add(name)
        return reply


class Forwarder(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream_port, timeout=60)
        upstream.request("POST", self.path, body, dict(self.headers))
        reply = upstream.getresponse()
        content = reply.read()
        upstream.close()
        if reply.status == 200:
            operation = self.headers["x-amz-target"].rsplit(".", 1)[-1]
            content = json.dumps(self.server.changed(operation, json.loads(body), json.loads(content))).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def restored(emulator, template, url, start_ops):
    stack = Stack(emulator, NAME)
    stack.deploy(template, {"Stage": "production", "Release": "2611221204"}, "CREATE_COMPLETE")
    emulator.serve_api(stack.resources("AWS::ApiGatewayV2::Api")["Api"])
    ops = start_ops(stack)
    ops.smoke(url, "production")
    env_file, tables = str(stack.ops_environment()), emulator.client("dynamodb")
    with Restores(emulator.port).running() as restores:
        ops.env |= {"AWS_ENDPOINT_URL_DYNAMODB": restores.url, "POLL_SECONDS": "0.1"}
        print(f"ok   {restore_all(ops, env_file, tables, restores)} tables restored and ready, also after an interruption")
        copied_back(ops, stack, tables)


def restore_all(ops, env_file, tables, restores):
    ops.sh("infra/stack/restore-tables", env_file, TIME)
    names = set(restores.times)
    # The state after the script was interrupted before the last table.
    missing = next(iter(names))
    tables.delete_table(TableName=missing)
    del restores.times[missing]
    restores.seen.clear()
    ops.sh("infra/stack/restore-tables", env_file, TIME)
    if set(restores.times) != names or restores.seen != names:
        fail(f"restored again: {restores.times}, waited for: {restores.seen}")
    refused = ops.tried("infra/stack/restore-tables", env_file, OTHER_TIME)
    if refused.returncode == 0 or f"is not of {OTHER_TIME}" not in refused.stderr:
        fail(f"tables of two times: {refused.stdout}{refused.stderr}")
    return len(names)


def copied_back(ops, stack, tables):
    table = json.loads(stack.output("OpsEnvironment"))["env"]["SUBMISSIONS_TABLE"]
    lost = tables.scan(TableName=table)["Items"][0]
    key = {"id": lost["id"]}
    tables.delete_item(TableName=table, Key=key)
    ops.sh("infra/stack/copy-back", table, json.dumps(key))
    if tables.get_item(TableName=table, Key=key).get("Item") != lost:
        fail("the submission that was copied back is not what it was")
    ops.run("submission", "show", lost["id"]["S"].rsplit("#", 1)[-1])
    print("ok   a lost submission copied back")
