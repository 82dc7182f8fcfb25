"""What a real caller does by itself: a fresh Idempotency-Key for each attempt, and each consumer's address."""
import random
import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    phase = getattr(case.meta, "generation", None)
    headers = case.headers or {}
    # A key or address that was spoilt on purpose stays spoilt.
    if phase is not None and str(getattr(phase.mode, "value", phase.mode)) == "negative":
        return
    if any(name.lower() == "idempotency-key" for name in headers):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if case.operation.path in ("/api/v1/codes/check", "/api/v1/submissions/lookup"):
        case.headers["SVC-Client-IP"] = ".".join(str(random.randint(1, 223)) for _ in range(4))
