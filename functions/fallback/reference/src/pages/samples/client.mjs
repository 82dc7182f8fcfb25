import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY } = process.env;
const MAX_ATTEMPTS = 5;
const TIMEOUT_MS = 25_000; // longer than the service takes at most
const MAX_WAIT_S = 30;

/** Calls the API. Sends the same request again after a failed connection, 409, 429 and 5xx. */
export async function call(method, path, body, headers = {}) {
  const request = {
    method,
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  for (let attempt = 1; ; attempt += 1) {
    const reply = await send(BASE + path, request);
    if (reply.status >= 200 && reply.status < 300) return JSON.parse(reply.text);
    const canRetry = reply.status === 0 || reply.status === 409 || reply.status === 429 || reply.status >= 500;
    const backoff = 0.5 * 2 ** attempt * (0.5 + Math.random() / 2);
    const wait = Math.max(reply.retryAfter, backoff);
    if (!canRetry || attempt === MAX_ATTEMPTS || wait > MAX_WAIT_S) {
      throw new Error(`${method} ${path}: ${reply.status || "no reply"}: ${reply.text}`);
    }
    await sleep(wait * 1000);
  }
}

async function send(url, request) {
  try {
    const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: reply.status, retryAfter: Number(reply.headers.get("Retry-After")), text: await reply.text() };
  } catch (error) {
    return { status: 0, retryAfter: 0, text: error.cause?.message ?? error.message };
  }
}
