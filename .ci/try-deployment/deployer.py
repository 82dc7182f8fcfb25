"""Credentials of a deployer: a role with no other policy than infra/stack/deployer.json."""

import json
import pathlib

from emulator import ACCOUNT, REGION

POLICY = pathlib.Path(__file__).resolve().parent.parent.parent / "infra" / "stack" / "deployer.json"
NAME = "campaign-deployer"


def deployer(emulator):
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    iam = emulator.client("iam")
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = iam.create_role(RoleName=NAME, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    policy = POLICY.read_text().replace("REGION", REGION).replace("ACCOUNT", ACCOUNT)
    iam.put_role_policy(RoleName=NAME, PolicyName="deployer", PolicyDocument=policy)
    # The emulator has a permission for the call, where AWS has one for each PartiQL statement in it.
    statements = {"Effect": "Allow", "Action": "dynamodb:ExecuteTransaction", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statements]})
    iam.put_role_policy(RoleName=NAME, PolicyName="emulator", PolicyDocument=document)
    given = emulator.client("sts").assume_role(RoleArn=role, RoleSessionName="walk")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }
