import { Client, newAttempt } from "./client.mjs";

const client = new Client({ baseUrl: process.env.BASE, key: process.env.KEY });
// One for each press of the button. Store it with what was typed, so that you can send it again after a crash.
const attempt = newAttempt();
const entry = { phone: "0714 345 678", code: "TEST-0-VALID.2", consent: true };
try {
  let submission = await client.createSubmission(entry, attempt);
  if (!submission.terminal) submission = await client.waitUntilSettled(submission.id);
  console.log(submission.message_key, "-", submission.message);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
