// The page around the consumer's form: campaign, key, language, samples to click, and the list
// of calls. A brand's page has none of this; it would begin with `new Entry(…)` alone.

import { Api, wait } from './api.js';
import { Entry } from './entry.js';
import { element } from './result.js';
import { translate, word } from './words.js';

const $ = (id) => document.getElementById(id);
const MAX_CALLS = 30;
/** Between looks for new events, in milliseconds. */
const EVENTS_EVERY = 1000;

/**
 * Came with the page, so that the form needs no other call: the campaigns to try, the first
 * one, and the language. The address names them, so that a reload or link shows the same. Never a code or
 * a phone.
 */
const { campaigns, receipt_time: receiptTime, language: asked, first } = JSON.parse($('loaded').textContent);
let language = asked;
let entry = null;
let listening = new AbortController();

const environment = () => document.querySelector('input[name=environment]:checked').value;
const chosen = () => campaigns.find(({ slug }) => slug === $('campaign').value);

async function start() {
  setLanguage(language);
  if (!first) return showNone();
  $('campaign').replaceChildren(...campaigns.map(({ slug, name }) => new Option(name, slug)));
  $('campaign').value = first.slug;
  document.querySelector(`input[value=${first.environment}]`).checked = true;
  $('campaign').addEventListener('change', () => choose());
  for (const radio of document.querySelectorAll('input[name=environment]')) radio.addEventListener('change', () => choose());
  for (const place of document.querySelectorAll('.bench, .calls')) place.hidden = false;
  await choose(first.campaign);
}

/** Begins anew with the chosen campaign and key; `loaded` is the campaign, if the page has it. */
async function choose(loaded) {
  listening.abort();
  listening = new AbortController();
  const { environments } = chosen();
  const hasLive = environments.some(({ name }) => name === 'live');
  document.querySelector('input[value=live]').disabled = !hasLive;
  if (!hasLive) document.querySelector('input[value=test]').checked = true;
  const api = new Api(chosen().slug, environment(), tell);
  entry = new Entry(api, { isTest: environment() === 'test', tell });
  $('qr').value = '';
  entry.listen(listening.signal);
  listenToEvents(api, listening.signal);
  await render(loaded);
}

async function render(loaded) {
  if (!entry) return showNone();
  remember();
  $('what').textContent = chosen().what[language];
  const shown = entry;
  await shown.show(language, loaded);
  if (shown === entry) renderSamples();
}

function remember() {
  const search = new URLSearchParams({ campaign: $('campaign').value, key: environment(), language });
  history.replaceState(null, '', `?${search}`);
}

function showNone() {
  $('name').textContent = word(language, 'none');
  $('notice').hidden = false;
  $('notice').textContent = word(language, 'none_what');
}

// Language.

function setLanguage(wanted) {
  language = wanted;
  translate(language);
  for (const button of document.querySelectorAll('[data-language]')) {
    button.setAttribute('aria-pressed', String(button.dataset.language === language));
  }
}

for (const button of document.querySelectorAll('[data-language]')) {
  button.addEventListener('click', () => {
    setLanguage(button.dataset.language);
    render();
  });
}

// Samples.

function renderSamples() {
  const { codes, receipts } = chosen().environments.find(({ name }) => name === environment());
  const isClosed = entry.isOpen === false;
  $('samples').hidden = isClosed || codes.length + receipts.length === 0;
  $('samples-closed').hidden = !isClosed;
  fillSamples($('code-samples'), codes, (code) => {
    entry.fill('code', code);
    entry.fill('phone', newPhone());
  });
  fillSamples($('receipt-samples'), receipts, useReceipt);
}

function fillSamples(place, samples, use) {
  place.hidden = samples.length === 0;
  place.querySelector('ul').replaceChildren(...samples.map(({ value, what }) => {
    const button = document.createElement('button');
    button.type = 'button';
    const name = document.createElement('code');
    name.textContent = value.replace(/[.-]?\{n\}/, '');
    const says = document.createElement('span');
    says.textContent = what[language];
    button.append(name, ' ', says);
    button.addEventListener('click', () => use(value.replace('{n}', newNumber())));
    const item = document.createElement('li');
    item.append(button);
    return item;
  }));
}

/** Makes an unsent sample. */
function newNumber() {
  return String(crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000).padStart(6, '0');
}

/** A phone below its daily limit. */
function newPhone() {
  const digits = newNumber();
  return `0712 ${digits.slice(0, 3)} ${digits.slice(3)}`;
}

/** Types in a receipt, or makes its photo if the form asks for one. */
async function useReceipt(code) {
  entry.fill('phone', newPhone());
  if (entry.kind === 'typed') {
    entry.fill('receipt-code', code);
    entry.fill('receipt-time', receiptTime);
    return;
  }
  if (environment() === 'test') entry.fill('qr', code);
  const drawing = await fetch(`/try/receipt.png?${new URLSearchParams({ code })}`);
  await entry.choosePhoto(await drawing.blob());
}

// Calls.

/** Lists a call. The key is added behind this page, so it is in neither request nor reply. */
function tell({ method, path, key, body, at, status, replayed, reply, note }) {
  const outcome = element('strong', status ?? '—');
  outcome.dataset.ok = String(status < 300);
  const line = element('p');
  line.append(outcome, ' ', element('code', `${method} ${path}`));
  const notes = [
    `${at.toLocaleTimeString(language)} · ${Date.now() - at} ms`,
    reply?.error?.code ?? reply?.message_key ?? reply?.state,
    reply?.poll_after_seconds && `poll_after_seconds: ${reply.poll_after_seconds}`,
    key && `Idempotency-Key: ${key.slice(0, 8)}…`,
    replayed && 'Idempotent-Replayed: true',
    note,
  ].filter(Boolean);
  const item = element('li');
  item.append(line, element('small', notes.join(' · ')));
  for (const [name, content] of [['sent', body], ['received', reply]]) {
    if (!content) continue;
    const part = element('details');
    const summary = element('summary', word(language, name));
    summary.dataset.word = name;
    part.append(summary, element('pre', JSON.stringify(content, null, 2)));
    item.append(part);
  }
  $('calls').prepend(item);
  while ($('calls').children.length > MAX_CALLS) $('calls').lastChild.remove();
}

// Events.

/** Has events sent to the page's server while the box is ticked, and lists them as calls. */
function listenToEvents(api, signal) {
  const box = $('events');
  let turn = 0;
  box.checked = false;
  box.addEventListener('change', async () => {
    box.disabled = true;
    $('events-error').hidden = true;
    try {
      await api.switchEvents(box.checked);
    } catch (error) {
      box.checked = false;
      $('events-error').textContent = error.message;
      $('events-error').hidden = false;
    }
    box.disabled = false;
    turn += 1;
    for (let seen = 0, own = turn; box.checked && own === turn && !signal.aborted; await wait(EVENTS_EVERY)) {
      for (const { number, at, id, body } of await api.events(seen).catch(() => [])) {
        seen = number;
        tell({ method: 'POST', path: body.type, at: new Date(at), status: 204, note: id, body });
      }
    }
  }, { signal });
  signal.addEventListener('abort', () => box.checked && api.switchEvents(false).catch(() => {}));
}

start();
