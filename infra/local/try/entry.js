// The consumer's form: what is typed becomes an attempt, an attempt becomes an entry, and the entry is followed
// until nothing more happens by itself.

import { ApiError, NoConnection } from './api.js';
import { NotAPhoto, TooLarge, downsize, upload } from './photo.js';
import { translate, word } from './words.js';

const $ = (id) => document.getElementById(id);

/** A status that a later version of the service may have is shown like this one. */
const MARKS = { entered: '✓', checking: '…', receipt_in_review: '…', not_accepted: '×', needs_attention: '!' };

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

/** Something a consumer can put right: at which field, in which words. */
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
  // A reload forgets it. Then the service knows the entry by its code and phone, and a receipt counts once anyway.
  /** The receipt that was announced last. A corrected phone must not make a consumer pay for a second upload. */
  #announced = null;
  #problem = null;
  #timer = 0;
  #busy = false;
  /** Aborted once another campaign has the form: replies that come later are nobody's. */
  #signal;

  constructor(api, { isTest, tell }) {
    Object.assign(this, { api, isTest, tell });
  }

  /** Shows the campaign's form in a language. */
  async show(language) {
    this.#language = language;
    const campaign = await this.api.campaign(language);
    if (this.#signal.aborted || language !== this.#language) return;
    this.#campaign = campaign;
    this.#render();
    // The entry's message is the service's, so it is asked for in the new language too.
    if (this.#submission) this.#showResult(await this.api.submission(this.#submission.id, language));
    if (this.#problem) this.#say(this.#problem);
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
    on('again', 'click', () => this.#reset());
    on('lookup', 'submit', (event) => {
      event.preventDefault();
      this.#lookup();
    });
    signal.addEventListener('abort', () => clearTimeout(this.#timer));
    this.#reset({ focus: false });
  }

  /** Fills a field in, as if it had been typed. */
  fill(id, value) {
    if (!$('result').hidden) this.#reset({ focus: false });
    $(id).value = value;
    this.#changed($(id));
  }

  get kind() {
    return document.querySelector('input[name=kind]:checked').value;
  }

  /** Takes a photo, in the size in which it will be sent. */
  async choosePhoto(file) {
    if (!$('result').hidden) this.#reset({ focus: false });
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
      const [code, time] = [$('receipt-code').value.trim(), $('receipt-time').value.trim()];
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
    $('progress').hidden = false;
    await upload(receipt, this.#photo.blob, {
      refresh: () => this.api.refreshUpload(receipt.id, this.#language),
      progress: (share) => {
        $('uploaded').value = share;
      },
      tell: this.tell,
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

  // What came of it.

  #showResult(submission, { focus = false } = {}) {
    if (this.#signal.aborted) return;
    this.#submission = submission;
    this.#attempt = null;
    this.#announced = null;
    const status = submission.display_status in MARKS ? submission.display_status : 'other_status';
    $('form').hidden = true;
    $('result').hidden = false;
    $('again').hidden = false;
    $('result').dataset.status = status;
    $('result').querySelector('.badge').textContent = MARKS[status] ?? '·';
    $('result-title').textContent = this.#word(status);
    // The message is the campaign's own, in the language asked for; it is there for unknown keys as well.
    $('result-message').textContent = submission.message;
    $('result-earlier').hidden = !submission.replayed;
    this.#renderFacts(submission);
    if (focus) $('result').focus();
    this.#follow(submission);
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

  #renderFacts({ ref, entries, instant_win: prize, receipt }) {
    const branch = this.#campaign.receipt?.branches.find(({ key }) => key === receipt?.branch);
    const bought = receipt && [receipt.date, branch?.name, receipt.items_summary].filter(Boolean).join(' · ');
    const facts = [['reference', ref], ['earned', entries || null], ['prize', prize], ['bought', bought]];
    $('result-facts').replaceChildren(
      ...facts.filter(([, value]) => value).flatMap(([name, value]) => [
        element('dt', this.#word(name)),
        element('dd', value),
      ]),
    );
  }

  async #lookup() {
    const phone = $('lookup-phone').value.trim();
    setError('lookup-phone', 'lookup-error', null);
    $('found').replaceChildren();
    try {
      if (phone.length < 9) throw new Problem('phone', 'phone_wrong');
      const { submissions, total_entries: total } = await this.api.lookup(phone, this.#language);
      const list = element('ul');
      list.append(...submissions.map(({ date, ref, display_status: status, message }) => {
        const item = element('li');
        const title = status in MARKS ? status : 'other_status';
        item.append(element('strong', this.#word(title)), ` ${date} · ${ref}`, element('br'), message);
        return item;
      }));
      const sum = submissions.length ? this.#word('total', { n: total }) : this.#word('no_entries');
      if (!this.#signal.aborted) $('found').replaceChildren(element('p', sum), list);
    } catch (error) {
      const { name, values } = this.#problemOf(error);
      setError('lookup-phone', 'lookup-error', this.#word(name, values));
    }
  }

  // Problems.

  #problemOf(error) {
    if (error instanceof Problem) return error;
    if (error instanceof NoConnection) return new Problem('form', 'offline');
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
    const text = this.#word(problem.name, problem.values);
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

  #reset({ focus = true } = {}) {
    clearTimeout(this.#timer);
    this.#submission = null;
    this.#attempt = null;
    this.#photo = null;
    this.#clearProblem();
    this.#setBusy(false);
    for (const id of ['code', 'photo', 'receipt-code', 'receipt-time']) $(id).value = '';
    // The next one may be somebody else's.
    $('consent').checked = false;
    $('found').replaceChildren();
    $('result').hidden = true;
    $('again').hidden = true;
    if (!this.#campaign) return;
    this.#render();
    if (focus) $(this.#campaign.capabilities.code_required ? 'code' : 'phone').focus();
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
    translate(this.#language);
    $('brand').textContent = brand;
    $('name').textContent = name;
    const isOpen = status === 'live';
    $('notice').hidden = isOpen;
    $('notice').textContent = isOpen ? '' : messages[`campaign_${status}`];
    $('form').hidden = !isOpen || Boolean(this.#submission);
    $('entries').hidden = false;
    const said = [
      limits.phone_daily && this.#word('limit_daily', { n: limits.phone_daily }),
      limits.phone_total && this.#word('limit_total', { n: limits.phone_total }),
    ].filter(Boolean);
    $('limits').hidden = said.length === 0;
    $('limits').textContent = said.join(' ');
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

function element(name, text = '') {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Says what is wrong with a field, beside it, or takes that back. */
function setError(field, place, text) {
  $(place).hidden = !text;
  $(place).textContent = text ?? '';
  if (field === 'form') return;
  if (text) $(field).setAttribute('aria-invalid', 'true');
  else $(field).removeAttribute('aria-invalid');
}
