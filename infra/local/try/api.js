// Calls of the API through the page's own server, which adds the key. Retried here:
// a lost connection, and a server that fails or is busy.

/** An error of the API: the request is at fault, not the consumer. Branch on `code`. */
export class ApiError extends Error {
  /** `error` is missing if a network in front of the API refused the request. */
  constructor(status, error, retryAfter) {
    super(error?.message);
    this.status = status;
    this.code = error?.code ?? `HTTP ${status}`;
    this.field = error?.field;
    this.requestId = error?.request_id ?? '—';
    this.retryAfter = retryAfter;
  }
}

/** There was no reply to any try. */
export class NoConnection extends Error {}

/** Waits before retries, in milliseconds. */
const WAITS = [500, 1500, 4000];
/** Longest wait in silence, in seconds; people are told of longer ones. */
const MAX_WAIT = 10;

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Api {
  /** `tell` is called with every reply, for the list of calls. */
  constructor(campaign, environment, tell) {
    this.base = `/try/api/${campaign}/${environment}`;
    this.eventsPath = `/try/events/${campaign}/${environment}`;
    this.tell = tell;
  }

  /** The campaign, with texts in a language. */
  campaign(language) {
    return this.#call('GET', '/campaign', language);
  }

  /** Announces a receipt. The same key and body give the same receipt. */
  createReceipt(body, key, language) {
    return this.#call('POST', '/receipts', language, { body, key });
  }

  /** A new URL for a photo that has not arrived. */
  refreshUpload(id, language) {
    return this.#call('POST', `/receipts/${id}/upload-url`, language);
  }

  /** Enters a consumer. The same key and body enter once. */
  submit(body, key, language) {
    return this.#call('POST', '/submissions', language, { body, key });
  }

  submission(id, language) {
    return this.#call('GET', `/submissions/${id}`, language);
  }

  lookup(phone, language) {
    return this.#call('POST', '/submissions/lookup', language, { body: { phone } });
  }

  /** Has events sent to the page's server, or no more. */
  async switchEvents(isOn) {
    const method = isOn ? 'PUT' : 'DELETE';
    const response = await fetch(this.eventsPath, { method, headers: { 'X-Requested-With': 'try-page' } });
    if (!response.ok) throw new ApiError(response.status, (await response.json()).error);
  }

  /** Events that came after the one with this number. */
  async events(after) {
    const response = await fetch(`${this.eventsPath}?after=${after}`);
    return (await response.json()).events;
  }

  async #call(method, path, language, { body, key } = {}) {
    for (let tried = 0; ; tried += 1) {
      let pause = WAITS[tried];
      try {
        return await this.#once(method, path, language, body, key);
      } catch (error) {
        const passes = error instanceof NoConnection || error.status >= 500 || [409, 429].includes(error.status);
        const last = tried === WAITS.length || (error instanceof NoConnection && !navigator.onLine);
        if (last || !passes || error.retryAfter > MAX_WAIT) throw error;
        pause = Math.max(pause, (error.retryAfter ?? 0) * 1000);
      }
      await wait(pause);
    }
  }

  async #once(method, path, language, body, key) {
    // A page of another site cannot send the first.
    const headers = { 'X-Requested-With': 'try-page', 'Accept-Language': language };
    if (body) headers['Content-Type'] = 'application/json';
    if (key) headers['Idempotency-Key'] = key;
    const call = { method, path, key, body, at: new Date() };
    let response;
    let reply;
    try {
      response = await fetch(`${this.base}${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
      });
      reply = await response.json();
    } catch {
      this.tell(call);
      throw new NoConnection();
    }
    const replayed = response.headers.get('Idempotent-Replayed') === 'true';
    this.tell({ ...call, status: response.status, replayed, reply });
    if (response.ok) return reply;
    const seconds = Number(response.headers.get('Retry-After'));
    throw new ApiError(response.status, reply?.error, seconds > 0 ? seconds : undefined);
  }
}
