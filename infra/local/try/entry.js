// The consumer's form: typing makes an attempt, an attempt makes an entry, and the entry is followed
// until it is settled.

import { NoConnection } from './api.js';
import { keep, kept } from './kept.js';
import { lookUp } from './lookup.js';
import { Problem, problemOf, setError } from './problems.js';
import { element, renderResult, toCorrect } from './result.js';
import { hideUnreachable, showUnreachable, whenBack } from './unreachable.js';
import { translate, word } from './words.js';

const $ = (id) => document.getElementById(id);

/** Fields that survive a reload. A photo is too large to keep. */
const KEPT_FIELDS = ['code', 'receipt-code', 'receipt-time', 'phone', 'qr'];
/** Fields that depend on how the receipt is given. */
const RECEIPT_FIELDS = ['photo', 'receipt-code', 'receipt-time'];
const TIME = /^\d{1,2}:\d{2}(:\d{2})?$/;

export class Entry {
  #campaign;
  #language = document.documentElement.lang;
  #photo = null;
  #submission = null;
  /** One try of the consumer. It keeps its keys until the form changes. */
  #attempt = null;
  /** The last announced receipt: a corrected phone must not cost a second upload. */
  #announced = null;
  #problems = [];
  #timer = 0;
  #busy = false;
  /** Ends the wait for a network, if any. */
  #endWait = null;
  /** True after a reload that interrupted the sending. */
  #interrupted = false;
  /** Cancels the upload. */
  #cancelling = new AbortController();
  /** Aborted once another campaign has the form: later replies are ignored. */
  #signal;

  constructor(api, { isTest, tell }) {
    Object.assign(this, { api, isTest, tell });
  }

  /** Shows the campaign's form in a language; `loaded` is the campaign, if the page has it. */
  async show(language, loaded) {
    this.#language = language;
    hideUnreachable();
    // The page's own words need no service.
    if (this.#campaign) this.#render();
    const isStale = () => this.#signal.aborted || language !== this.#language;
    try {
      const campaign = loaded ?? (await this.api.campaign(language));
      if (isStale()) return;
      this.#campaign = campaign;
      this.#render();
      if (this.#problems.length) this.#say(this.#problems, { focus: false });
      // The service has the entry's message in the new language.
      const id = this.#submission?.id ?? kept(this.api).id;
      const submission = id && (await this.#recall(id));
      if (submission && !isStale() && (this.#submission?.id ?? id) === id) this.#showResult(submission);
      else if (this.#interrupted) this.#send();
    } catch (error) {
      if (isStale()) return;
      const problem = problemOf(error);
      if (!this.#campaign) $('name').dataset.word = 'unreachable';
      translate(language);
      showUnreachable(this.#text(problem), () => this.show(this.#language));
    }
  }

  /** True if the campaign takes entries now; undefined until known. */
  get isOpen() {
    return this.#campaign && this.#campaign.status === 'live';
  }

  /** An entry by its id; null if it is gone. */
  async #recall(id) {
    try {
      return await this.api.submission(id, this.#language);
    } catch (error) {
      if (error.status !== 404) throw error;
      keep(this.api, null);
      return null;
    }
  }

  /** Listens to the form until `signal`, when another campaign takes it. */
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
    signal.addEventListener('abort', () => {
      clearTimeout(this.#timer);
      this.#endWait?.();
    });
    this.#reset();
    this.#restore();
  }

  /** Fills in a field as if typed. */
  fill(id, value) {
    if (!$('result').hidden) this.#startOver({ focus: false });
    $(id).value = value;
    this.#changed($(id));
  }

  get kind() {
    return document.querySelector('input[name=kind]:checked').value;
  }

  /** Takes a photo in the size to send. */
  async choosePhoto(file) {
    if (!$('result').hidden) this.#startOver({ focus: false });
    this.#changed($('photo'));
    this.#photo = null;
    try {
      const { downsize } = await photos();
      this.#photo = await downsize(file, this.#campaign.receipt.max_bytes);
    } catch (error) {
      this.#say([problemOf(error)]);
    }
    if (!this.#signal.aborted) this.#renderPhoto();
  }

  // Sending.

  async #send() {
    if (this.#busy) return;
    this.#endWait?.();
    this.#interrupted = false;
    const mistakes = this.#attempt ? [] : this.#mistakes();
    this.#clearProblems();
    if (mistakes.length) return this.#say(mistakes);
    this.#setBusy(true);
    try {
      this.#attempt ??= this.#newAttempt();
      this.#keep();
      const receiptId = await this.#announce(this.#attempt);
      const submission = await this.#submit({ ...this.#attempt.body, ...(receiptId && { receipt_id: receiptId }) });
      this.#attempt = null;
      // A refusal at once took no receipt: the next try can send the same one.
      if (submission.state !== 'rejected') this.#announced = null;
      this.#showResult(submission, { focus: true });
    } catch (error) {
      const hasTypedReceipt = this.#attempt?.receipt?.type === 'typed';
      this.#say([problemOf(error, { hasTypedReceipt, offline: 'offline_waiting' })]);
      if (error instanceof NoConnection) this.#waitForNetwork();
    } finally {
      this.#setBusy(false);
      if (!this.#submission) this.#keep();
    }
  }

  /** Sends the attempt once there is a network. */
  #waitForNetwork() {
    if (this.#signal.aborted) return;
    const endWait = whenBack(() => this.#send());
    this.#endWait = () => {
      endWait();
      this.#endWait = null;
    };
  }

  /** Missing and malformed fields, in the form's order. */
  #mistakes() {
    const { capabilities, receipt } = this.#campaign;
    const mistakes = [];
    const need = (isRight, field, name) => isRight || mistakes.push(new Problem(field, name));
    need(!capabilities.code_required || value('code'), 'code', 'code_required');
    if (receipt && this.kind === 'photo') need(this.#photo || !capabilities.receipt_required, 'photo', 'photo_missing');
    else if (receipt && (capabilities.receipt_required || value('receipt-code') || value('receipt-time'))) {
      need(value('receipt-code').length >= 6, 'receipt-code', 'receipt_code_wrong');
      need(TIME.test(clockTime(value('receipt-time'))), 'receipt-time', 'receipt_time_wrong');
    }
    // The service alone knows which numbers exist.
    need(value('phone').length >= 9, 'phone', 'phone_invalid');
    need($('consent').checked, 'consent', 'consent_required');
    return mistakes;
  }

  /** The form's values, and the key for all tries. */
  #newAttempt() {
    const code = this.#campaign.capabilities.code_required && value('code');
    return {
      body: { phone: value('phone'), ...(code && { code }), consent: true },
      key: crypto.randomUUID(),
      receipt: this.#newReceipt(),
    };
  }

  /** The receipt to announce, or null. */
  #newReceipt() {
    if (!this.#campaign.receipt) return null;
    if (this.kind === 'typed') {
      const code = value('receipt-code');
      return code ? { type: 'typed', code, time: clockTime(value('receipt-time')) } : null;
    }
    if (!this.#photo) return null;
    const qr = this.isTest && value('qr');
    const { type, size } = this.#photo;
    return { type: 'photo', content_type: type, size_bytes: size, ...(qr && { qr_payload: qr }) };
  }

  /** Announces the attempt's receipt, and uploads its photo. */
  async #announce(attempt) {
    if (!attempt.receipt) return null;
    const what = JSON.stringify(attempt.receipt);
    if (this.#announced?.what !== what || this.#announced.photo !== this.#photo) {
      this.#announced = { what, photo: this.#photo, key: crypto.randomUUID() };
      this.#keep();
    }
    const receipt = await this.api.createReceipt(attempt.receipt, this.#announced.key, this.#language);
    // A photo that has arrived has no target.
    if (receipt.upload) await this.#upload(receipt);
    return receipt.id;
  }

  async #upload(receipt) {
    if (!this.#photo) throw new Problem('photo', 'photo_again');
    const { upload } = await photos();
    this.#cancelling = new AbortController();
    $('progress').hidden = false;
    const { method, url } = receipt.upload;
    const note = `${this.#photo.type}, ${this.#photo.size} bytes`;
    await upload(receipt, this.#photo, {
      refresh: () => this.api.refreshUpload(receipt.id, this.#language),
      progress: (share) => {
        $('uploaded').value = share;
      },
      tell: (status) => this.tell({ method, path: new URL(url).pathname, at: new Date(), status, note }),
      signal: this.#cancelling.signal,
    }).catch((error) => {
      throw error.code === 'upload_failed' && !error.status ? new NoConnection() : error;
    });
  }

  async #submit(body) {
    const { key } = this.#attempt;
    try {
      return await this.api.submit(body, key, this.#language);
    } catch (error) {
      if (error.code !== 'receipt_not_uploaded') throw error;
      // The photo did not arrive. Once it has, the same request and key can succeed.
      await this.#upload(await this.api.refreshUpload(body.receipt_id, this.#language));
      return this.api.submit(body, key, this.#language);
    }
  }

  // The result.

  #showResult(submission, { focus = false } = {}) {
    if (this.#signal.aborted) return;
    this.#submission = submission;
    keep(this.api, submission.terminal ? null : { id: submission.id });
    renderResult(submission, this.#campaign, this.#language);
    $('form').hidden = true;
    $('result').hidden = false;
    $('correct').hidden = !this.isOpen || !toCorrect(submission);
    $('again').hidden = !this.isOpen;
    if (focus) $('result').focus();
    this.#follow(submission);
  }

  /** Goes back to the form, to the field of the service's message. */
  #correct() {
    const { message_key: messageKey } = this.#submission;
    const isTyped = this.kind === 'typed';
    const fields = { receipt: isTyped ? 'receipt-code' : 'photo', time: isTyped ? 'receipt-time' : 'photo' };
    const wrong = toCorrect(this.#submission);
    this.#showForm();
    this.#say([new Problem(fields[wrong] ?? wrong, messageKey)]);
    if (wrong === 'form') $('send').focus();
  }

  /** Polls as the service says, until the entry is settled. */
  #follow({ id, terminal, poll_after_seconds: seconds }) {
    clearTimeout(this.#timer);
    if (terminal) return;
    this.#timer = setTimeout(async () => {
      try {
        const submission = await this.api.submission(id, this.#language);
        if (this.#submission?.id !== id) return;
        // Rewritten text is read aloud again, so only news is written.
        const isNews = ['display_status', 'message'].some((field) => submission[field] !== this.#submission[field]);
        if (isNews) this.#showResult(submission);
        else this.#follow(submission);
      } catch {
        // The entry is safe; look again later.
        if (this.#submission?.id === id) this.#follow({ id, terminal, poll_after_seconds: seconds });
      }
    }, seconds * 1000);
  }

  async #lookup() {
    setError('lookup-phone', 'lookup-error', null);
    try {
      await lookUp(value('lookup-phone'), this.api, this.#campaign, this.#language, this.#signal);
    } catch (error) {
      setError('lookup-phone', 'lookup-error', this.#text(problemOf(error)));
    }
  }

  // Problems.

  #say(problems, { focus = true } = {}) {
    if (this.#signal.aborted) return;
    this.#problems = problems;
    for (const problem of problems) setError(problem.field, `${problem.field}-error`, this.#text(problem));
    const [{ field }] = problems;
    if (focus && field !== 'form') $(field).focus();
    // An attempt is resent unchanged.
    $('send').textContent = this.#word(this.#attempt ? 'retry' : 'send');
  }

  /** The campaign's words, or the page's own. */
  #text({ name, values }) {
    return this.#campaign?.messages[name] ?? this.#word(name, values);
  }

  #clearProblems(isOver = () => true) {
    for (const { field } of this.#problems.filter(isOver)) setError(field, `${field}-error`, null);
    this.#problems = this.#problems.filter((problem) => !isOver(problem));
  }

  /** A change makes a new attempt with new keys. */
  #changed(field) {
    if (this.#busy) return;
    this.#attempt = null;
    this.#endWait?.();
    const changed = field.name === 'kind' ? RECEIPT_FIELDS : [field.id];
    this.#clearProblems((problem) => problem.field === 'form' || changed.includes(problem.field));
    $('send').textContent = this.#word('send');
    if (field.name === 'kind') this.#renderKind();
    this.#keep();
  }

  // Values that survive a reload.

  #keep() {
    if (this.#signal.aborted) return;
    const { what, key } = this.#announced ?? {};
    keep(this.api, {
      fields: Object.fromEntries(KEPT_FIELDS.map((id) => [id, $(id).value])),
      kind: this.kind,
      consent: $('consent').checked,
      attempt: this.#attempt,
      announced: this.#announced && { what, key, photo: null },
      isSending: this.#busy || Boolean(this.#endWait),
    });
  }

  #restore() {
    const { fields, kind, consent, attempt, announced, isSending } = kept(this.api);
    if (!fields) return;
    for (const [id, typed] of Object.entries(fields)) $(id).value = typed;
    document.querySelector(`input[name=kind][value=${kind}]`).checked = true;
    $('consent').checked = consent;
    this.#attempt = attempt;
    this.#announced = announced;
    this.#interrupted = Boolean(attempt && isSending);
  }

  #showForm() {
    clearTimeout(this.#timer);
    this.#submission = null;
    this.#keep();
    for (const id of ['result', 'correct', 'again']) $(id).hidden = true;
    this.#setBusy(false);
    if (this.#campaign) this.#render();
  }

  #startOver({ focus = true } = {}) {
    this.#empty();
    this.#showForm();
    if (focus) $(this.#campaign.capabilities.code_required ? 'code' : 'phone').focus();
  }

  /** Takes over the form from another campaign. */
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
    for (const id of ['code', ...RECEIPT_FIELDS]) {
      $(id).value = '';
      setError(id, `${id}-error`, null);
    }
    this.#clearProblems();
    // The next entry may be somebody else's.
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
      if (!this.#problems.length) $('send').textContent = this.#word('send');
    }
  }

  // The campaign's needs.

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
    if (receipt) photos().catch(() => {});
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
    image.src = URL.createObjectURL(this.#photo);
    caption.textContent = this.#word('photo_ready');
  }

  #word(name, values) {
    return word(this.#language, name, values);
  }
}

/** Code for photos, loaded if the campaign takes receipts. */
const photos = () => import('./photo.js').catch(() => {
  throw new NoConnection();
});

const value = (id) => $(id).value.trim();

/** Typed times as on receipts: 1015, 10.15 and 10h15 are 10:15. */
function clockTime(typed) {
  const text = typed.trim();
  const digits = text.match(/^(\d{1,2})(\d{2})(\d{2})?$/) ?? text.match(/^(\d{1,2})\D(\d{2})(?:\D(\d{2}))?$/);
  return digits ? digits.slice(1).filter(Boolean).join(':') : text;
}
