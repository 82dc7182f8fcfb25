"""The restore drill of infra/runbook.md, on a production stack: tables are restored beside their own, a submission is lost and copied back.

The emulator restores a table as it is now, whatever time is asked for.
"""

import json

from emulator import Stack, fail

NAME = "campaign-entry-production"
CAMPAIGN = "smoke-test"


def restored(emulator, template, url, start_ops):
    stack = Stack(emulator, NAME)
    stack.deploy(template, {"Stage": "production"}, "CREATE_COMPLETE")
    emulator.serve_api(stack.resources("AWS::ApiGatewayV2::Api")["Api"])
    ops = start_ops(stack)
    ops.smoke(url, "production")
    env_file, tables = str(stack.ops_environment()), emulator.client("dynamodb")
    ops.sh("infra/restore-tables", env_file, "2026-11-22T09:00:00Z")

    table = json.loads(stack.output("OpsEnvironment"))["env"]["SUBMISSIONS_TABLE"]
    lost = tables.scan(TableName=table)["Items"][0]
    key = {"id": lost["id"]}
    tables.delete_item(TableName=table, Key=key)
    ops.sh("infra/copy-back", table, json.dumps(key))
    if tables.get_item(TableName=table, Key=key).get("Item") != lost:
        fail("the submission that was copied back is not what it was")
    ops.run("submission", "show", lost["reference"]["S"].rsplit("#", 1)[-1])
    names = tables.list_tables()["TableNames"]
    print(f"ok   {sum(name.endswith('-restored') for name in names)} tables restored, a lost submission copied back")
