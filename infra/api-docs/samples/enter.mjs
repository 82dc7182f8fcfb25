import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "./client.mjs";

// One key for each attempt. Store it with the attempt, so that you can send it again after a crash.
const attempt = randomUUID();
const body = { phone: "0714 345 678", code: "TEST-0-VALID.2", consent: true };
try {
  let submission = await call("POST", "/api/v1/submissions", body, { "Idempotency-Key": attempt });
  for (let polls = 0; !submission.terminal && polls < 5; polls += 1) {
    await sleep(submission.poll_after_seconds * 1000);
    submission = await call("GET", `/api/v1/submissions/${submission.id}`);
  }
  console.log(submission.message_key, "-", submission.message);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
