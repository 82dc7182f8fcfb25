// The consumer's form: what is typed becomes an attempt, an attempt becomes an entry, and the entry is followed
// until nothing more happens by itself.

import { ApiError, NoConnection } from './api.js';
import { Cancelled, NotAPhoto, TooLarge, downsize, upload } from './photo.js';
import { element, renderFound, renderResult, toCorrect } from './result.js';
import { hideUnreachable, showUnreachable } from './unreachable.js';
import { translate, word } from './words.js';

const $ = (id) => document.getElementById(id);

/** Which words, at which field, an error of the API stands for. Others are nothing a consumer can change. */
const PROBLEMS = {
  phone_invalid: ['phone', 'phone_wrong'],
  consent_required: ['consent', 'consent_missing'],
  receipt_required: ['photo', 'photo_missing'],
  file_too_large: ['photo', 'photo_too_large'],
  file_wrong_type: ['photo', 'photo_unreadable'],
  sentinel_with_live_key: ['form', 'wrong_key'],
};
/** The same, by field, of `validation_failed`; `code` and `time` belong to a receipt where one was announced. */
const FIELDS = { phone: ['phone', 'phone_wrong'], code: ['code', 'code_missing'] };
const RECEIPT_FIELDS = {
  code: ['receipt-code', 'receipt_code_wrong'],
  time: ['receipt-time', 'receipt_time_wrong'],
};

/** Something a consumer can put right: at which field, in which words, or in the service's by `messageKey`. */
class Problem extends Error {
  constructor(field, name, values) {
    super(name);
    Object.assign(this, { field, name, values });
  }
}

export class Entry {
  #campaign;
  #language = document.documentElement.lang;
  #photo = null;
  #submission = null;
  /** One try of the consumer. It keeps its keys until something in the form changes, so a retry is a retry. */
  #attempt = null;
  // A reload forgets it; an entry that was sent is remembered by its id. A receipt counts once anyway.
  /** The receipt that was announced last. A corrected phone must not make a consumer pay for a second upload. */
  #announced = null;
  #problem = null;
  #timer = 0;
  #busy = false;
  /** Cancels the upload under way. */
  #cancelling = new AbortController();
  /** Aborted once another campaign has the form: replies that come later are nobody's. */
  #signal;

  constructor(api, { isTest, tell }) {
    Object.assign(this, { api, isTest, tell });
  }

  /** Shows the campaign's form in a language. */
  async show(language) {
    this.#language = language;
    hideUnreachable();
    // The page's own words do not wait for the service.
    if (this.#campaign) this.#render();
    const isStale = () => this.#signal.aborted || language !== this.#language;
    try {
      const campaign = await this.api.campaign(language);
      if (isStale()) return;
      this.#campaign = campaign;
      this.#render();
      if (this.#problem) this.#say(this.#problem);
      // The entry's message is the service's, so it is asked for in the new language too.
      const id = this.#submission?.id ?? remembered(this.api);
      const submission = id && (await this.#recall(id));
      if (submission && !isStale() && (this.#submission?.id ?? id) === id) this.#showResult(submission);
    } catch (error) {
      if (isStale()) return;
      const { name, values } = this.#problemOf(error);
      if (!this.#campaign) $('name').dataset.word = 'unreachable';
      translate(language);
      showUnreachable(this.#word(name, values), () => this.show(this.#language));
    }
  }

  /** Whether the campaign takes entries now; undefined until that is known. */
  get isOpen() {
    return this.#campaign && this.#campaign.status === 'live';
  }

  /** An entry by its id; null when the service has no such entry any more. */
  async #recall(id) {
    try {
      return await this.api.submission(id, this.#language);
    } catch (error) {
      if (error.status !== 404) throw error;
      remember(this.api, null);
      return null;
    }
  }

  /** Listens to the form. Another campaign has an entry of its own, and `signal` ends this one. */
  listen(signal) {
    this.#signal = signal;
    const on = (id, event, act) => $(id).addEventListener(event, act, { signal });
    on('form', 'input', (event) => this.#changed(event.target));
    on('form', 'submit', (event) => {
      event.preventDefault();
      this.#send();
    });
    on('photo', 'change', () => $('photo').files[0] && this.choosePhoto($('photo').files[0]));
    on('receipt-time', 'change', () => {
      $('receipt-time').value = clockTime($('receipt-time').value);
    });
    on('cancel', 'click', () => this.#cancelling.abort());
    on('correct', 'click', () => this.#correct());
    on('again', 'click', () => this.#startOver());
    on('lookup', 'submit', (event) => {
      event.preventDefault();
      this.#lookup();
    });
    signal.addEventListener('abort', () => clearTimeout(this.#timer));
    this.#reset();
  }

  /** Fills a field in, as if it had been typed. */
  fill(id, value) {
    if (!$('result').hidden) this.#startOver({ focus: false });
    $(id).value = value;
    this.#changed($(id));
  }

  get kind() {
    return document.querySelector('input[name=kind]:checked').value;
  }

  /** Takes a photo, in the size in which it will be sent. */
  async choosePhoto(file) {
    if (!$('result').hidden) this.#startOver({ focus: false });
    this.#changed($('photo'));
    this.#photo = null;
    try {
      this.#photo = await downsize(file, this.#campaign.receipt.max_bytes);
    } catch (error) {
      if (error instanceof NotAPhoto) this.#say(new Problem('photo', 'photo_unreadable'));
      else if (error instanceof TooLarge) this.#say(new Problem('photo', 'photo_too_large'));
      else throw error;
    }
    if (!this.#signal.aborted) this.#renderPhoto();
  }

  // Sending.

  async #send() {
    if (this.#busy) return;
    this.#clearProblem();
    this.#setBusy(true);
    try {
      this.#attempt ??= this.#newAttempt();
      const receiptId = await this.#announce(this.#attempt);
      const submission = await this.#submit({ ...this.#attempt.body, ...(receiptId && { receipt_id: receiptId }) });
      this.#attempt = null;
      // What was refused at once took no receipt: the next try can send the same one.
      if (submission.state !== 'rejected') this.#announced = null;
      this.#showResult(submission, { focus: true });
    } catch (error) {
      this.#say(this.#problemOf(error));
    } finally {
      this.#setBusy(false);
    }
  }

  /** What the form holds, and the keys under which it is sent however often that takes. */
  #newAttempt() {
    const { capabilities } = this.#campaign;
    const code = $('code').value.trim();
    const phone = $('phone').value.trim();
    if (capabilities.code_required && !code) throw new Problem('code', 'code_missing');
    const receipt = this.#newReceipt(capabilities);
    // Only the service knows which numbers there are; this is what it would not even look at.
    if (phone.length < 9) throw new Problem('phone', 'phone_wrong');
    if (!$('consent').checked) throw new Problem('consent', 'consent_missing');
    return {
      body: { phone, ...(code && { code }), consent: true },
      key: crypto.randomUUID(),
      receipt,
    };
  }

  /** The receipt to announce, or null where there is none. */
  #newReceipt(capabilities) {
    if (!this.#campaign.receipt) return null;
    if (this.kind === 'typed') {
      const [code, time] = [$('receipt-code').value.trim(), clockTime($('receipt-time').value)];
      if (!code && !time && !capabilities.receipt_required) return null;
      if (code.length < 6) throw new Problem('receipt-code', 'receipt_code_wrong');
      if (!/^\d{1,2}:\d{2}(:\d{2})?$/.test(time)) throw new Problem('receipt-time', 'receipt_time_wrong');
      return { type: 'typed', code, time };
    }
    if (this.#photo) {
      const qr = this.isTest && $('qr').value.trim();
      const { type, size } = this.#photo.blob;
      return { type: 'photo', content_type: type, size_bytes: size, ...(qr && { qr_payload: qr }) };
    }
    if (capabilities.receipt_required) throw new Problem('photo', 'photo_missing');
    return null;
  }

  /** Announces the attempt's receipt, and puts its photo where the answer says. */
  async #announce(attempt) {
    if (!attempt.receipt) return null;
    const what = JSON.stringify(attempt.receipt);
    if (this.#announced?.what !== what || this.#announced.photo !== this.#photo) {
      this.#announced = { what, photo: this.#photo, key: crypto.randomUUID() };
    }
    const receipt = await this.api.createReceipt(attempt.receipt, this.#announced.key, this.#language);
    // There is no target where the photo has arrived already.
    if (receipt.upload) await this.#upload(receipt);
    return receipt.id;
  }

  async #upload(receipt) {
    this.#cancelling = new AbortController();
    $('progress').hidden = false;
    await upload(receipt, this.#photo.blob, {
      refresh: () => this.api.refreshUpload(receipt.id, this.#language),
      progress: (share) => {
        $('uploaded').value = share;
      },
      tell: this.tell,
      signal: this.#cancelling.signal,
    });
  }

  async #submit(body) {
    const { key } = this.#attempt;
    try {
      return await this.api.submit(body, key, this.#language);
    } catch (error) {
      if (error.code !== 'receipt_not_uploaded') throw error;
      // The photo did not arrive after all. Once it has, the same request with the same key can succeed.
      await this.#upload(await this.api.refreshUpload(body.receipt_id, this.#language));
      return this.api.submit(body, key, this.#language);
    }
  }

  // The result.

  #showResult(submission, { focus = false } = {}) {
    if (this.#signal.aborted) return;
    this.#submission = submission;
    remember(this.api, submission.terminal ? null : submission.id);
    renderResult(submission, this.#campaign, this.#language);
    $('form').hidden = true;
    $('result').hidden = false;
    $('correct').hidden = !this.isOpen || !toCorrect(submission);
    $('again').hidden = !this.isOpen;
    if (focus) $('result').focus();
    this.#follow(submission);
  }

  /** Goes back to the form, which still holds what was sent, to the field that the service's message is about. */
  #correct() {
    const { message_key: messageKey } = this.#submission;
    const isTyped = this.kind === 'typed';
    const fields = { receipt: isTyped ? 'receipt-code' : 'photo', time: isTyped ? 'receipt-time' : 'photo' };
    const wrong = toCorrect(this.#submission);
    const problem = new Problem(fields[wrong] ?? wrong, 'retry');
    this.#showForm();
    this.#say(Object.assign(problem, { messageKey }));
    if (wrong === 'form') $('send').focus();
  }

  /** Asks again when the service says so, until the entry is settled. */
  #follow({ id, terminal, poll_after_seconds: seconds }) {
    clearTimeout(this.#timer);
    if (terminal) return;
    this.#timer = setTimeout(async () => {
      try {
        const submission = await this.api.submission(id, this.#language);
        if (this.#submission?.id !== id) return;
        // What is written again is read aloud again, so only news is written.
        const isNews = ['display_status', 'message'].some((field) => submission[field] !== this.#submission[field]);
        if (isNews) this.#showResult(submission);
        else this.#follow(submission);
      } catch {
        // Whatever it was, the entry is safe; look again later.
        if (this.#submission?.id === id) this.#follow({ id, terminal, poll_after_seconds: seconds });
      }
    }, seconds * 1000);
  }

  async #lookup() {
    const phone = $('lookup-phone').value.trim();
    setError('lookup-phone', 'lookup-error', null);
    $('found').replaceChildren();
    try {
      if (phone.length < 9) throw new Problem('phone', 'phone_wrong');
      const found = await this.api.lookup(phone, this.#language);
      if (!this.#signal.aborted) renderFound(found, this.#language);
    } catch (error) {
      const { name, values } = this.#problemOf(error);
      setError('lookup-phone', 'lookup-error', this.#word(name, values));
    }
  }

  // Problems.

  #problemOf(error) {
    if (error instanceof Problem) return error;
    if (error instanceof NoConnection) return new Problem('form', 'offline');
    if (error instanceof Cancelled) return new Problem('form', 'cancelled');
    if (!(error instanceof ApiError)) throw error;
    const isReceipt = this.#attempt?.receipt?.type === 'typed' && error.field in RECEIPT_FIELDS;
    const known = error.code === 'validation_failed'
      ? (isReceipt ? RECEIPT_FIELDS : FIELDS)[error.field]
      : PROBLEMS[error.code];
    if (known) return new Problem(...known);
    if (error.status === 429) {
      return error.retryAfter ? new Problem('form', 'too_many', { n: error.retryAfter }) : new Problem('form', 'too_many_now');
    }
    if (error.status >= 500 || error.status === 409) return new Problem('form', 'failed');
    return new Problem('form', 'refused', { code: error.code, request: error.requestId });
  }

  #say(problem) {
    if (this.#signal.aborted) return;
    this.#problem = problem;
    const text = this.#campaign.messages[problem.messageKey] ?? this.#word(problem.name, problem.values);
    setError(problem.field, `${problem.field}-error`, text);
    if (problem.field !== 'form') $(problem.field).focus();
    // What was sent already is sent again as it was.
    $('send').textContent = this.#word(this.#attempt ? 'retry' : 'send');
  }

  #clearProblem() {
    if (this.#problem) setError(this.#problem.field, `${this.#problem.field}-error`, null);
    this.#problem = null;
  }

  /** What was changed is a new attempt, with new keys. */
  #changed(field) {
    if (this.#busy) return;
    this.#attempt = null;
    this.#clearProblem();
    $('send').textContent = this.#word('send');
    if (field.name === 'kind') this.#renderKind();
  }

  /** Shows the form as it was left. */
  #showForm() {
    clearTimeout(this.#timer);
    this.#submission = null;
    remember(this.api, null);
    for (const id of ['result', 'correct', 'again']) $(id).hidden = true;
    this.#setBusy(false);
    if (this.#campaign) this.#render();
  }

  /** Empties the form for another entry. */
  #startOver({ focus = true } = {}) {
    this.#empty();
    this.#showForm();
    if (focus) $(this.#campaign.capabilities.code_required ? 'code' : 'phone').focus();
  }

  /** Takes the form from another campaign. */
  #reset() {
    clearTimeout(this.#timer);
    this.#empty();
    for (const id of ['form', 'result', 'correct', 'again']) $(id).hidden = true;
    this.#setBusy(false);
  }

  #empty() {
    this.#attempt = null;
    this.#announced = null;
    this.#photo = null;
    for (const id of ['code', 'photo', 'receipt-code', 'receipt-time']) {
      $(id).value = '';
      setError(id, `${id}-error`, null);
    }
    this.#clearProblem();
    // The next one may be somebody else's.
    $('consent').checked = false;
    $('found').replaceChildren();
  }

  #setBusy(busy) {
    this.#busy = busy;
    if (this.#signal.aborted) return;
    $('send').setAttribute('aria-disabled', String(busy));
    $('uploaded').value = 0;
    if (busy) $('send').textContent = this.#word('sending');
    else {
      $('progress').hidden = true;
      if (!this.#problem) $('send').textContent = this.#word('send');
    }
  }

  // What the campaign needs.

  #render() {
    const { name, brand, status, capabilities, limits, messages, receipt } = this.#campaign;
    $('name').removeAttribute('data-word');
    translate(this.#language);
    $('brand').textContent = brand;
    $('name').textContent = name;
    const isOpen = status === 'live';
    $('notice').hidden = isOpen;
    $('notice').textContent = isOpen ? '' : messages[`campaign_${status}`];
    $('form').hidden = !isOpen || Boolean(this.#submission);
    $('entries').hidden = false;
    const { phone_daily: daily, phone_total: total } = limits;
    $('limits').hidden = !daily && !total;
    if (daily && total) $('limits').textContent = this.#word('limit_both', { daily, total });
    else if (daily || total) $('limits').textContent = this.#word(daily ? 'limit_daily' : 'limit_total', { n: daily || total });
    $('code-field').hidden = !capabilities.code_required;
    $('receipt-field').hidden = !receipt;
    $('receipt-field').querySelector('legend').textContent =
      this.#word(capabilities.receipt_required ? 'receipt' : 'receipt_optional');
    $('consent-text').textContent = this.#word(receipt ? 'consent_receipt' : 'consent');
    $('receipt-kinds').hidden = !capabilities.typed_receipt;
    if (!capabilities.typed_receipt) document.querySelector('input[name=kind][value=photo]').checked = true;
    $('qr-field').hidden = !this.isTest;
    $('offer').hidden = !receipt;
    const offered = receipt
      ? [...receipt.products, ...receipt.branches.map(({ merchant, name: at, city }) => ({ name: `${merchant} ${at}, ${city}` }))]
      : [];
    $('offer').querySelector('ul').replaceChildren(...offered.map(({ name: item }) => element('li', item)));
    this.#renderKind();
    this.#renderPhoto();
    if (this.#submission) renderResult(this.#submission, this.#campaign, this.#language);
  }

  #renderKind() {
    $('photo-part').hidden = this.kind !== 'photo';
    $('typed-part').hidden = this.kind !== 'typed';
  }

  #renderPhoto() {
    const preview = $('preview');
    const [image, caption] = [preview.querySelector('img'), preview.querySelector('figcaption')];
    URL.revokeObjectURL(image.src);
    preview.hidden = !this.#photo;
    if (!this.#photo) return image.removeAttribute('src');
    const { blob, width, height } = this.#photo;
    const size = new Intl.NumberFormat(this.#language, { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 0 });
    image.src = URL.createObjectURL(blob);
    caption.textContent = this.#word('photo_of', { width, height, size: size.format(blob.size / 1000) });
  }

  #word(name, values) {
    return word(this.#language, name, values);
  }
}

/** A time as it stands on a receipt, from what people type: 1015, 10.15 and 10h15 are 10:15. */
function clockTime(typed) {
  const text = typed.trim();
  const digits = text.match(/^(\d{1,2})(\d{2})(\d{2})?$/) ?? text.match(/^(\d{1,2})\D(\d{2})(?:\D(\d{2}))?$/);
  return digits ? digits.slice(1).filter(Boolean).join(':') : text;
}

/** The entry that is still being checked, kept until the tab is closed. Its id alone: no phone, no code. */
function remember(api, id) {
  try {
    if (id) sessionStorage.setItem(api.base, id);
    else sessionStorage.removeItem(api.base);
  } catch {
    // A browser that keeps nothing forgets it at a reload.
  }
}

function remembered(api) {
  try {
    return sessionStorage.getItem(api.base);
  } catch {
    return null;
  }
}

/** Says what is wrong with a field, beside it, or takes that back. */
function setError(field, place, text) {
  $(place).hidden = !text;
  $(place).textContent = text ?? '';
  if (field === 'form') return;
  if (text) $(field).setAttribute('aria-invalid', 'true');
  else $(field).removeAttribute('aria-invalid');
}
