// Mistakes and failures, in words for a consumer: which field, which text.

import { ApiError, NoConnection } from './api.js';

const $ = (id) => document.getElementById(id);

/** Something a consumer can put right. `name` is a message key of the campaign, or one of the page's own words. */
export class Problem extends Error {
  constructor(field, name, values) {
    super(name);
    Object.assign(this, { field, name, values });
  }
}

/** Field and text of the API's errors that a consumer can do something about. */
const PROBLEMS = {
  phone_invalid: ['phone', 'phone_invalid'],
  consent_required: ['consent', 'consent_required'],
  receipt_required: ['photo', 'photo_missing'],
  file_too_large: ['photo', 'file_too_large'],
  file_wrong_type: ['photo', 'file_wrong_type'],
  sentinel_with_live_key: ['form', 'wrong_key'],
};
/** The same, by field, of `validation_failed`; `code` and `time` belong to a receipt where one was announced. */
const FIELDS = { phone: ['phone', 'phone_invalid'], code: ['code', 'code_required'] };
const RECEIPT_FIELDS = {
  code: ['receipt-code', 'receipt_code_wrong'],
  time: ['receipt-time', 'receipt_time_wrong'],
};

/** The problem behind an error; `offline` is the text for a lost connection. Errors of the page itself are thrown on. */
export function problemOf(error, { hasTypedReceipt = false, offline = 'offline' } = {}) {
  if (error instanceof Problem) return error;
  if (error instanceof NoConnection) return new Problem('form', offline);
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

/** Says what is wrong with a field, beside it, or takes that back. */
export function setError(field, place, text) {
  $(place).hidden = !text;
  $(place).textContent = text ?? '';
  if (field === 'form') return;
  if (text) $(field).setAttribute('aria-invalid', 'true');
  else $(field).removeAttribute('aria-invalid');
}
