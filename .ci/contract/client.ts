// A caller as a brand would write it, with the types generated from the API description.
import type { components, operations, paths } from "./campaign-entry.js";

type Submission = components["schemas"]["Submission"];
type Refused = components["schemas"]["ErrorBody"];
type Entering = operations["createSubmission"]["requestBody"]["content"]["application/json"];

export async function enter(base: string, key: string, attempt: string, body: Entering): Promise<Submission> {
  const path: keyof paths = "/api/v1/submissions";
  const reply = await fetch(base + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": attempt },
    body: JSON.stringify(body),
  });
  if (!reply.ok) {
    const { error } = (await reply.json()) as Refused;
    const places = (error.errors ?? []).map((problem) => problem.pointer).join(", ");
    throw new Error(`${error.code} ${places}: ${error.fix}`);
  }
  return (await reply.json()) as Submission;
}

export function shown(submission: Submission): string {
  switch (submission.message_key) {
    case "entered":
      return `${submission.message} ${submission.entries}`;
    case "instant_win":
      return submission.instant_win ?? submission.message;
    default:
      return submission.poll_after_seconds === null ? submission.message : submission.display_status;
  }
}

export const example: Entering = { phone: "0712 345 678", code: "TEST-0-VALID", consent: true };
