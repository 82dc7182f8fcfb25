// The Campaign Entry Service from Node 18, Deno, Bun and edge runtimes: one file, no dependencies.
// Types come from the service's description: see package.json.

/**
 * @typedef {import("./api.js").components["schemas"]} Schemas
 * @typedef {Schemas["SubmissionRequest"]} Entry
 * @typedef {Schemas["PhotoReceiptRequest"] | Schemas["TypedReceiptRequest"]} NewReceipt
 * @typedef {{ baseUrl: string, key: string, locale?: "en" | "sw", budget?: number, timeout?: number }} Options
 * @typedef {{ type: string, timestamp: string, data: Record<string, any> }} WebhookEvent
 * @typedef {{ status: number, retryAfter?: number, text: string }} Reply `status` is 0 without a reply
 */

// Node 18 has no global of this name.
// @ts-ignore: without the types of Node
const crypto = /** @type {Crypto} */ (globalThis.crypto ?? (await import("node:crypto")).webcrypto);

/** A call that the service refused, or that got no usable reply within the client's time. */
export class ApiError extends Error {
  /** @param {Reply} reply @param {string} requestId @param {number} [retryAfter] seconds after which the same call can succeed */
  constructor({ status, text }, requestId, retryAfter) {
    const error = parse(text)?.error ?? {};
    super(`${status || "no reply"}: ${error.code ? `${error.code}: ${error.message}` : text.slice(0, 200)} (request ${requestId})`);
    this.name = "ApiError";
    this.status = status;
    /** The service's error code, such as `phone_invalid`; empty if the reply is not the service's own. @type {string} */
    this.code = error.code ?? "";
    /** @type {string | undefined} */
    this.field = error.field;
    /** Every field at fault. @type {{ field: string, message: string }[]} */
    this.errors = error.errors ?? (error.field ? [{ field: error.field, message: error.message }] : []);
    /** What to change, for developers. @type {string | undefined} */
    this.fix = error.fix;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** A delivery that none of your secrets signed, or that is too old. Reply with status 400. */
export class WebhookError extends Error {
  name = "WebhookError";
}

/** A new Idempotency-Key. Store it with what the consumer typed, and use it for every try of that entry. */
export const newAttempt = () => crypto.randomUUID();

/**
 * Replies are returned as they are; unknown keys and values are kept. Outcomes for consumers are replies, not errors.
 * Lost connections, 409, 429, 5xx and torn replies are sent again, unchanged, within `budget` seconds.
 */
export class Client {
  #options;

  /** `budget` is for a call with all its retries, `timeout` for one try, in seconds; a partner takes up to 8. @param {Options} options */
  constructor(options) {
    if (!/^[\x21-\x7e]+$/.test(options.key)) throw new TypeError("the key has a character that no key has, such as a line end");
    this.#options = { locale: "en", budget: 25, timeout: 12, ...options };
  }

  /** @returns {Promise<Schemas["Campaign"]>} */
  getCampaign() {
    return this.#call("GET", "/api/v1/campaign");
  }

  /** `clientIp`: the consumer's address; without it the limits count your server. @param {{ code: string, phone?: string }} body @param {string} [clientIp] @returns {Promise<Schemas["Precheck"]>} */
  checkCode(body, clientIp) {
    return this.#call("POST", "/api/v1/codes/check", body, { "SVC-Client-IP": clientIp });
  }

  /** Enters a consumer. @param {Entry} entry @param {string} attempt @returns {Promise<Schemas["Submission"]>} */
  createSubmission(entry, attempt) {
    return this.#call("POST", "/api/v1/submissions", entry, { "Idempotency-Key": attempt });
  }

  /** @param {string} id @returns {Promise<Schemas["Submission"]>} */
  getSubmission(id) {
    return this.#call("GET", `/api/v1/submissions/${encodeURIComponent(id)}`);
  }

  /** @param {{ phone: string }} body @param {string} [clientIp] @returns {Promise<Schemas["SubmissionList"]>} */
  lookupSubmissions(body, clientIp) {
    return this.#call("POST", "/api/v1/submissions/lookup", body, { "SVC-Client-IP": clientIp });
  }

  /** With `attempt`, the same receipt comes back when this is sent again. @param {NewReceipt} receipt @param {string} [attempt] @returns {Promise<Schemas["Receipt"]>} */
  createReceipt(receipt, attempt) {
    return this.#call("POST", "/api/v1/receipts", receipt, { "Idempotency-Key": attempt });
  }

  /** @param {string} receiptId @returns {Promise<Schemas["Receipt"]>} */
  refreshUploadUrl(receiptId) {
    return this.#call("POST", `/api/v1/receipts/${encodeURIComponent(receiptId)}/upload-url`);
  }

  /** @param {string} id @returns {Promise<Schemas["Receipt"]>} */
  getReceipt(id) {
    return this.#call("GET", `/api/v1/receipts/${encodeURIComponent(id)}`);
  }

  /** Polls until the submission is decided. Returns it undecided if `budget` seconds are not enough. @param {string} id */
  async waitUntilSettled(id, budget = 60) {
    const until = this.now() + budget;
    for (;;) {
      const submission = await this.getSubmission(id);
      const wait = submission.poll_after_seconds;
      if (typeof wait !== "number" || this.now() + wait > until) return submission;
      await this.pause(wait);
    }
  }

  /** @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string | undefined>} [more] @returns {Promise<any>} */
  async #call(method, path, body, more = {}) {
    const { baseUrl, key, locale, budget, timeout } = this.#options;
    const requestId = crypto.randomUUID();
    const type = body === undefined ? undefined : "application/json";
    const all = { Authorization: `Bearer ${key}`, "Content-Type": type, "X-Request-Id": requestId, ...more };
    const headers = /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
    const request = { method, headers, body: JSON.stringify(body) };
    const until = this.now() + budget;
    for (let tried = 0; ; tried += 1) {
      const reply = await this.send(`${baseUrl}${path}?locale=${locale}`, request, Math.min(timeout, Math.max(1, until - this.now())));
      const value = reply.status === 200 ? parse(reply.text) : undefined;
      if (value) return value;
      const canRetry = [0, 200, 409, 429].includes(reply.status) || reply.status >= 500;
      const wait = Math.max(reply.retryAfter ?? 0, Math.min(8, 0.25 * 2 ** tried) * (0.5 + Math.random() / 2));
      if (!canRetry || this.now() + wait >= until) throw new ApiError(reply, requestId, canRetry ? wait : undefined);
      await this.pause(wait);
    }
  }

  /** One try. @protected @param {string} url @param {{ method: string, headers: Record<string, string>, body?: string }} request @param {number} seconds @returns {Promise<Reply>} */
  async send(url, request, seconds) {
    try {
      const reply = await fetch(url, { ...request, redirect: "manual", signal: AbortSignal.timeout(Math.ceil(seconds * 1000)) });
      const retryAfter = reply.headers.get("Retry-After") ?? "";
      return { status: reply.status, retryAfter: /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined, text: await reply.text() };
    } catch (error) {
      const { cause, message } = /** @type {Error} */ (error);
      return { status: 0, text: cause instanceof Error ? cause.message : message };
    }
  }

  /** @protected */
  now() {
    return performance.now() / 1000;
  }

  /** @protected @param {number} seconds @returns {Promise<void>} */
  pause(seconds) {
    return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** In seconds; a delivery has a new time for each try. */
const WEBHOOK_TOLERANCE = 300;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/**
 * The event of a webhook's delivery. `body` is the text or bytes that arrived, since a parsed body has lost its signature.
 * While a secret rotates, pass both. An event can arrive twice, with the same `webhook-id`, and after one of a higher
 * `revision`.
 * @param {string | Uint8Array} body
 * @param {Headers | Record<string, string | string[] | undefined>} headers
 * @param {string[]} secrets
 * @returns {Promise<WebhookEvent>}
 */
export async function verifyWebhook(body, headers, secrets, now = Date.now() / 1000) {
  const keys = await Promise.all(secrets.map(webhookKey));
  const [id, sent, signatures] = ["id", "timestamp", "signature"].map((name) => textOf(headers, `webhook-${name}`));
  if (!id || !signatures || !/^\d{1,12}$/.test(sent)) throw new WebhookError("webhook: a header is missing or malformed");
  if (Math.abs(now - Number(sent)) > WEBHOOK_TOLERANCE) throw new WebhookError("webhook: not sent within five minutes; is the clock right?");
  const encode = (/** @type {string} */ text) => new TextEncoder().encode(text);
  const bytes = typeof body === "string" ? encode(body) : body;
  const start = encode(`${id}.${sent}.`);
  const message = new Uint8Array(start.length + bytes.length);
  message.set(start);
  message.set(bytes, start.length);
  for (const signature of signatures.split(" ")) {
    const [version, encoded = ""] = signature.split(",", 2);
    for (const [own, key] of keys) {
      if (version === own && (await crypto.subtle.verify(key.algorithm, key, decoded(encoded), message))) return JSON.parse(new TextDecoder().decode(bytes));
    }
  }
  throw new WebhookError("webhook: no signature matches; is the body as it arrived, and the secret of this endpoint?");
}

/** A header; empty if it is no text. @param {Headers | Record<string, string | string[] | undefined>} headers @param {string} name */
function textOf(headers, name) {
  const given = typeof headers.get === "function" ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return [given].flat().filter((part) => typeof part === "string").join(" ");
}

/** Version of a secret's signatures, and key. @param {string} secret @returns {Promise<[string, CryptoKey]>} */
async function webhookKey(secret) {
  const [prefix, encoded = ""] = secret.split("_", 2);
  const key = decoded(encoded);
  if (prefix === "whsec" && key.length >= 24) return ["v1", await crypto.subtle.importKey("raw", key, HMAC, false, ["verify"])];
  if (prefix === "whpk" && key.length === 32) return ["v1a", await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"])];
  throw new TypeError("a webhook secret begins with whsec_ or whpk_; this one is not whole");
}

/** Bytes of base64; none if it is malformed. @param {string} text */
function decoded(text) {
  try {
    return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** A JSON object, or undefined. @param {string} text @returns {any} */
function parse(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value ?? undefined : undefined;
  } catch {
    return undefined;
  }
}
