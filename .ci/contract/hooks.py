"""Makes requests realistic: a fresh Idempotency-Key for each attempt, consumers' different addresses, no control
characters, which the description forbids in words, and no SVC-Campaign header, which would name another campaign than
the key's. SVC-Test-Time is left out too: few times are within two years."""
import random
import unicodedata
import uuid

import schemathesis
from schemathesis.generation import GenerationMode

# A well-formed request can still be refused because of its receipt.
REFUSALS = {
    "/api/v1/submissions": {"receipt_not_uploaded", "receipt_already_attached"},
    "/api/v1/receipts/{id}/upload-url": {"receipt_already_attached", "validation_failed"},
}


def printable(value):
    """The value without control characters, and without white space other than the ASCII space."""
    if isinstance(value, dict):
        return {name: printable(field) for name, field in value.items()}
    if isinstance(value, list):
        return [printable(item) for item in value]
    if not isinstance(value, str):
        return value
    return "".join(" " if c == " " else "0" if unicodedata.category(c)[0] in "CZ" else c for c in value)


@schemathesis.hook
def before_call(context, case, kwargs):
    generation = getattr(case.meta, "generation", None)
    if generation is not None and generation.mode == GenerationMode.NEGATIVE:
        # Leave invalid requests invalid.
        return
    case.body = printable(case.body)
    for name in list(case.headers or {}):
        if name.lower() in ("svc-campaign", "svc-test-time"):
            del case.headers[name]
        elif name.lower() == "idempotency-key":
            case.headers[name] = str(uuid.uuid4())
    if case.operation.path in ("/api/v1/codes/check", "/api/v1/submissions/lookup"):
        case.headers["SVC-Client-IP"] = ".".join(str(random.randint(1, 223)) for _ in range(4))


@schemathesis.check
def only_its_receipt_refuses_what_is_well_formed(context, response, case):
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE or response.status_code != 422:
        return
    allowed = REFUSALS.get(case.operation.path)
    code = response.json()["error"]["code"]
    assert allowed is None or code in allowed, f"{code} for a request that is well formed"
