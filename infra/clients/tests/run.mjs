// Runs the table of cases, or the story that the driver compares: node run.mjs cases|story
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PhotoError, upload } from "../typescript/photo.mjs";
import { ApiError, Client, newAttempt, verifyWebhook, WebhookError } from "../typescript/client.mjs";

const KEY = "svc_test_key_of_the_cases";
const ENTRY = { phone: "0712 345 678", code: "AB12", consent: true };

/** Gives the case's replies, on a clock that only moves by waiting. */
class Scripted extends Client {
  tries = [];
  time = 0;
  waited = 0;

  constructor(given) {
    super({ baseUrl: "https://api.invalid", key: KEY });
    this.given = given;
  }

  async send(url, request, seconds) {
    const { replies, repeat, takes = 0 } = this.given;
    this.tries.push({ url, ...request });
    assert(this.tries.length <= replies.length || repeat, "one try too many");
    const [status, retryAfter, body] = replies[Math.min(this.tries.length, replies.length) - 1];
    this.time += Math.min(takes, seconds);
    return { status, retryAfter: retryAfter ?? undefined, text: typeof body === "string" ? body : JSON.stringify(body) };
  }

  now() {
    return this.time;
  }

  async pause(seconds) {
    this.time += seconds;
    this.waited += seconds;
  }
}

async function cases() {
  const table = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
  for (const given of table) {
    const client = new Scripted(given);
    const settles = given.call === "wait_until_settled";
    const calling = settles ? client.waitUntilSettled("1") : client.createSubmission(ENTRY, "attempt-of-the-cases");
    let ended;
    try {
      ended = { result: await calling };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const found = { ...error, field: error.field ?? null, retry_after: error.retryAfter };
      ended = { error: Object.fromEntries(Object.keys(given.error ?? found).map((name) => [name, found[name]])) };
      assert(error.requestId === client.tries[0].headers["X-Request-Id"] && !error.message.includes(KEY), given.name);
    }
    for (const [name, value] of Object.entries(ended)) assert.deepEqual(value, given[name], given.name);
    if (!settles) for (const same of client.tries) assert.deepEqual(same, client.tries[0], given.name);
    assert(given.waited[0] <= client.waited && client.waited <= given.waited[1], `${given.name}: ${client.waited}`);
  }
  console.log(`node: ${table.length + (await webhooks()) + (await uploads())} cases passed`);
}

async function webhooks() {
  const { delivery, cases } = JSON.parse(readFileSync(new URL("webhooks.json", import.meta.url)));
  for (const given of cases) {
    const { body, headers, secrets, now } = { ...delivery, ...given, headers: { ...delivery.headers, ...given.headers } };
    // Bytes are copied at once: one by one, a large body takes seconds.
    const bytes = Object.assign(Buffer.from(body), { [Symbol.iterator]: () => assert.fail(given.name) });
    for (const arrived of [body, bytes]) {
      const ended = {};
      try {
        assert.deepEqual(await verifyWebhook(arrived, headers, secrets, now), JSON.parse(body), given.name);
      } catch (error) {
        if (!(error instanceof WebhookError || error instanceof TypeError)) throw error;
        ended[error instanceof WebhookError ? "refused" : "misused"] = error.message;
      }
      for (const name of ["refused", "misused"]) {
        assert(name in ended === name in given && (ended[name] ?? "").includes(given[name] ?? ""), `${given.name}: ${JSON.stringify(ended)}`);
      }
    }
  }
  assert(await verifyWebhook(delivery.body, new Headers(delivery.headers), delivery.secrets, delivery.now));
  return cases.length;
}

/** Statuses of storage, 0 for a lost connection; targets that the server gives anew; how it ends, after how many tries. */
const UPLOADS = [
  { name: "photo arrives", statuses: [200], tries: 1 },
  { name: "earlier try stored the photo", statuses: [0, 412], fresh: ["/2"], tries: 2 },
  { name: "lost reply had stored the photo", statuses: [0], fresh: [null], tries: 1 },
  { name: "old target is replaced", statuses: [403, 503, 200], fresh: ["/2", "/3"], tries: 3 },
  { name: "storage keeps failing", statuses: [503, 503, 503], fresh: ["/2", "/3"], tries: 3, code: "upload_failed", status: 503 },
  { name: "no connection", statuses: [0, 0, 0], fresh: ["/2", "/3"], tries: 3, code: "upload_failed", status: 0 },
  { name: "photo that is there already", statuses: [], first: null, tries: 0 },
  { name: "consumer cancels", statuses: ["abort"], tries: 1, aborted: true },
  { name: "consumer cancels before the photo is ready", statuses: [], tries: 0, cancels: "before", aborted: true },
  { name: "consumer cancels while the server is asked", statuses: [0], fresh: [null], tries: 1, cancels: "asking", aborted: true },
];

async function uploads() {
  const target = (path) => path && { method: "PUT", url: path, headers: { "content-type": "image/jpeg", "content-length": "3", "if-none-match": "*" } };
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (then) => setTimeout(then, 0);
  for (const { name, statuses, first = "/1", fresh = [], tries, cancels, ...expected } of UPLOADS) {
    const cancelling = new AbortController();
    if (cancels === "before") cancelling.abort();
    const [sent, parts] = [[], []];
    globalThis.XMLHttpRequest = class {
      upload = {};
      headers = {};
      open = (method, url) => sent.push([method, url, this.headers]);
      setRequestHeader = (header, value) => (this.headers[header] = value);
      abort = () => this.onabort();
      send(body) {
        this.status = statuses[sent.length - 1];
        this.upload.onprogress({ loaded: 1, total: body.size });
        if (this.status === "abort") return cancelling.abort();
        return this.status ? this.onload() : this.onerror();
      }
    };
    const refresh = async () => {
      if (cancels === "asking") cancelling.abort();
      return { upload: target(fresh[sent.length - 1]) };
    };
    const options = { refresh, progress: (part) => parts.push(part), signal: cancelling.signal };
    const error = await upload({ upload: target(first) }, new Blob(["abc"]), options).catch((error) => error);
    if (expected.code) assert(error instanceof PhotoError && error.code === expected.code && error.status === expected.status, name);
    else assert.equal(error?.name, expected.aborted ? "AbortError" : undefined, name);
    const headers = { "content-type": "image/jpeg", "if-none-match": "*" };
    assert.deepEqual(sent, [first, ...fresh].slice(0, tries).map((path) => ["PUT", path, headers]), name);
    assert.deepEqual(parts, Array(tries).fill(1 / 3), name);
  }
  globalThis.setTimeout = setTimeout;
  return UPLOADS.length;
}

async function story() {
  const script = JSON.parse(readFileSync(0));
  const client = new Client({ baseUrl: process.env.BASE, key: process.env.KEY });
  const told = { campaign: (await client.getCampaign()).slug, check: (await client.checkCode({ code: "TEST-0-VALID.story" })).precheck, outcomes: {}, entries: [] };
  for (const [code, phone] of Object.entries(script.outcomes)) {
    const entered = await client.createSubmission({ phone, code, consent: true }, newAttempt());
    told.outcomes[code] = (await client.waitUntilSettled(entered.id, 20)).message_key;
  }
  for (const phone of script.entries) {
    told.entries.push((await client.createSubmission({ phone, code: `TEST-0-VALID.${phone}`, consent: true }, newAttempt())).id);
  }
  await client.createSubmission({ phone: "0812", consent: true }, newAttempt()).catch((error) => {
    told.refused = [error.code, error.errors.map(({ field }) => field)];
  });
  told.found = (await client.lookupSubmissions({ phone: script.entries[0] })).submissions.length;
  process.stdout.write(JSON.stringify(told));
}

await { cases, story }[process.argv[2]]();
