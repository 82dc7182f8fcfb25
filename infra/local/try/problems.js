// Mistakes and failures for a consumer: field and text.

import { ApiError, NoConnection } from './api.js';

const $ = (id) => document.getElementById(id);

/** A mistake that a consumer can correct. `name` is a message key of the campaign, or one of the page's own words. */
export class Problem extends Error {
  constructor(field, name, values) {
    super(name);
    Object.assign(this, { field, name, values });
  }
}

/** Field and text of API errors that a consumer can correct. */
const PROBLEMS = {
  phone_invalid: ['phone', 'phone_invalid'],
  consent_required: ['consent', 'consent_required'],
  receipt_required: ['photo', 'photo_missing'],
  file_too_large: ['photo', 'file_too_large'],
  file_wrong_type: ['photo', 'file_wrong_type'],
  sentinel_with_live_key: ['form', 'wrong_key'],
};
/** The same of `validation_failed` by field; `code` and `time` are the announced receipt's. */
const FIELDS = { phone: ['phone', 'phone_invalid'], code: ['code', 'code_required'] };
const RECEIPT_FIELDS = {
  code: ['receipt-code', 'receipt_code_wrong'],
  time: ['receipt-time', 'receipt_time_wrong'],
};

/** The problem behind an error; `offline` is the text for a lost connection. Rethrows the page's own errors. */
export function problemOf(error, { hasTypedReceipt = false, offline = 'offline' } = {}) {
  if (error instanceof Problem) return error;
  if (error.name === 'AbortError') return new Problem('form', 'cancelled');
  if (error instanceof NoConnection) return new Problem('form', offline);
  if (error.name === 'PhotoError') return new Problem(...(PROBLEMS[error.code] ?? ['form', 'failed']));
  if (!(error instanceof ApiError)) throw error;
  const isReceipt = hasTypedReceipt && error.field in RECEIPT_FIELDS;
  const known = error.code === 'validation_failed'
    ? (isReceipt ? RECEIPT_FIELDS : FIELDS)[error.field]
    : PROBLEMS[error.code];
  if (known) return new Problem(...known);
  if (error.status === 429) {
    return error.retryAfter ? new Problem('form', 'too_many', { n: error.retryAfter }) : new Problem('form', 'rate_limited');
  }
  if (error.status >= 500 || error.status === 409) return new Problem('form', 'failed');
  return new Problem('form', 'refused', { code: error.code, request: error.requestId });
}

/** Shows or removes a problem beside its field. */
export function setError(field, place, text) {
  $(place).hidden = !text;
  $(place).textContent = text ?? '';
  if (field === 'form') return;
  if (text) $(field).setAttribute('aria-invalid', 'true');
  else $(field).removeAttribute('aria-invalid');
}
