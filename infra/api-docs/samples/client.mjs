import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY } = process.env;
const MAX_ATTEMPTS = 5;
const TIMEOUT_MS = 25_000; // longer than the service takes at most
const MAX_WAIT_S = 30;

/** An error of the API. `status` is 0 if there was no reply, and `code` is empty unless the service itself replied. */
export class ApiError extends Error {
  constructor(status, text) {
    let error;
    try { error = JSON.parse(text).error; } catch { /* Not the service's own reply. */ }
    const { code, message, field, errors, request_id } = error ?? {};
    super(`${status || "No reply"}: ${code ? `${code}: ${message}` : text}`);
    this.status = status;
    this.code = code ?? "";
    this.errors = errors ?? (field ? [{ field, message }] : []); // every field at fault
    this.field = field ?? this.errors[0]?.field;
    this.requestId = request_id;
  }
}

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
      throw new ApiError(reply.status, reply.text);
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
