// Reviewing by keyboard. The next submissions wait in the page, photos included, so that an answer shows the next one at once.

const AHEAD = 3;
const BEAT_MS = 30_000;
// Claims are not kept for a page that nobody looks at.
const LEAVE_AFTER_MS = 5 * 60_000;
const byId = (id) => document.getElementById(id);
const review = byId('review');
const holdMs = Number(review.dataset.hold);

const ENDED = 'The console does not answer, so this was not written. It may have ended; start it again with ops console.';

let cards = [];
let answered = [];
// The card that the window for accepting is about.
let accepting;
let isFetching = false;
let hasLeft = false;
let usedAt = performance.now();

/** Sends a form. A console that does not answer is a reply, too. */
const send = (path, fields = {}) =>
  fetch(`${location.pathname}/${path}`, {
    method: 'POST',
    body: new URLSearchParams({ screen: review.dataset.screen, ...fields }),
  }).catch(() => ({ ok: false, text: async () => ENDED }));

function say(text, isBad = false) {
  byId('said').textContent = text;
  byId('said').className = isBad ? 'bad' : '';
}

function show() {
  for (const card of cards) card.hidden = card !== cards[0];
  byId('nothing').hidden = cards.length > 0 || isFetching;
  const heading = cards[0]?.querySelector('h2') ?? byId('nothing');
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

async function fetchAhead() {
  if (isFetching || hasLeft) return;
  isFetching = true;
  while (cards.length <= AHEAD) {
    const reply = await send('next');
    if (reply.status === 204) break;
    if (!reply.ok) {
      say(await reply.text(), true);
      break;
    }
    const template = document.createElement('template');
    template.innerHTML = await reply.text();
    const card = template.content.firstElementChild;
    card.hidden = true;
    review.append(card);
    cards.push(card);
    if (cards.length === 1) show();
  }
  isFetching = false;
  if (cards.length === 0) show();
}

/** Shows a card again: at once, or after the one that is shown, which must not change under the reviewer's finger. */
function putBack(card, place) {
  answered = answered.filter((one) => one.card !== card);
  if (!cards.includes(card)) cards.splice(place, 0, card);
  if (cards[0] === card) show();
}

function drop(isDropped) {
  const wasShown = cards[0];
  cards.filter(isDropped).forEach((card) => card.remove());
  cards = cards.filter((card) => !isDropped(card));
  if (cards[0] !== wasShown) show();
}

async function answer(card, fields, said) {
  cards = cards.filter((one) => one !== card);
  card.hidden = true;
  const given = { card, isHeld: false, sent: send('answer', { id: card.dataset.id, ...fields }) };
  answered.push(given);
  fetchAhead();
  show();
  say(`${card.dataset.ref}: ${said}. Press u to undo.`);
  const reply = await given.sent;
  if (reply.ok) {
    given.isHeld = true;
    setTimeout(hear, holdMs + 1_000);
  } else {
    putBack(card, 1);
    say(`${card.dataset.ref}: ${await reply.text()}`, true);
  }
}

function accept(card, fields) {
  answer(card, { verdict: 'accept', ...fields }, 'accepted');
}

function askForCode(card) {
  accepting = card;
  byId('code').value = card.dataset.code ?? '';
  byId('code').disabled = byId('without').checked = false;
  byId('entries').value = card.dataset.entries ?? '';
  byId('accepting').showModal();
  byId(card.dataset.code ? 'entries' : 'code').focus();
}

async function undo() {
  const last = answered.at(-1);
  if (!last) return say('There is nothing to undo.');
  // It can be taken back once the console has it.
  if (!(await last.sent).ok || !answered.includes(last)) return;
  const reply = await send('undo', { id: last.card.dataset.id });
  if (!reply.ok) return say(`${last.card.dataset.ref}: ${await reply.text()}`, true);
  putBack(last.card, 0);
  say(`${last.card.dataset.ref}: taken back.`);
}

async function skip() {
  const card = cards.shift();
  if (!card) return;
  card.remove();
  show();
  say(`${card.dataset.ref}: skipped.`);
  const reply = await send('skip', { id: card.dataset.id });
  if (!reply.ok) say(await reply.text(), true);
  fetchAhead();
}

/** Shows the results of earlier answers. */
function take({ held, notices }, known) {
  for (const { id, text, is_failure: isFailure, is_gone: isGone } of notices) {
    const card = answered.find((one) => one.card.dataset.id === id)?.card;
    if (isFailure && card && !isGone) putBack(card, 1);
    say(text, isFailure);
  }
  // Those that are written are not needed any more.
  const isWritten = (one) => known.includes(one) && !held.includes(one.card.dataset.id);
  answered.filter(isWritten).forEach((one) => one.card.remove());
  answered = answered.filter((one) => !isWritten(one));
  fetchAhead();
}

/** Asks for the results of the answers. */
async function hear() {
  if (hasLeft) return;
  const known = answered.filter((one) => one.isHeld);
  const reply = await send('notices');
  if (reply.ok) take(await reply.json(), known);
  else say(await reply.text(), true);
}

async function beat() {
  if (hasLeft) return;
  if (performance.now() - usedAt > LEAVE_AFTER_MS) return leave('Released to other reviewers after five minutes. Press any key, or touch the page, to continue.');
  const known = answered.filter((one) => one.isHeld);
  const reply = await send('beat');
  if (!reply.ok) return say(await reply.text(), true);
  const told = await reply.json();
  byId('progress').textContent = told.progress;
  const isLost = (card) => told.lost.includes(card.dataset.id);
  if (cards.some(isLost)) {
    drop(isLost);
    say('Another reviewer has what was shown here.');
  }
  take(told, known);
}

function leave(text) {
  hasLeft = true;
  navigator.sendBeacon(`${location.pathname}/leave`, new URLSearchParams({ screen: review.dataset.screen }));
  cards.forEach((card) => card.remove());
  cards = [];
  say(text);
}

const photoOf = (card) => card?.querySelector('.photo');

const KEYS = {
  a: (card) => (card.dataset.direct ? accept(card, {}) : askForCode(card)),
  e: askForCode,
  s: skip,
  z: (card) => {
    photoOf(card).classList.toggle('zoomed');
    // So that arrows move it.
    photoOf(card).focus();
  },
  c: (card) => photoOf(card).classList.toggle('contrast'),
  r: (card) => {
    const photo = photoOf(card);
    photo.dataset.turn = (Number(photo.dataset.turn ?? 0) + 1) % 4;
  },
};

function press(key) {
  const card = cards[0];
  if (key === 'u') undo();
  else if (key === '?') byId('keys').showModal();
  else if (key === 'o') byId('reopening').showModal();
  else if (!card) return false;
  else if (KEYS[key]) KEYS[key](card);
  else {
    const button = card.querySelector(`[data-reason][data-key="${CSS.escape(key)}"]`);
    if (!button) return false;
    answer(card, { verdict: 'reject', reason: button.dataset.reason }, `rejected, ${button.dataset.reason}`);
  }
  return true;
}

document.addEventListener('keydown', (event) => {
  if (hasLeft) return location.reload();
  usedAt = performance.now();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector('dialog[open]')) return;
  // Those who speak to their computer, or hear it read, turn single keys off.
  if (event.target.closest('input:not([type=checkbox]), textarea, select') || !byId('single-keys').checked) return;
  if (press(event.key)) event.preventDefault();
});
document.addEventListener('pointerdown', () => {
  if (hasLeft) location.reload();
  usedAt = performance.now();
});
for (const part of [review, byId('tools')]) {
  part.addEventListener('click', (event) => {
    const button = event.target.closest('[data-key]');
    if (button) press(button.dataset.key);
  });
}
byId('without').addEventListener('change', () => (byId('code').disabled = byId('without').checked));
for (const button of document.querySelectorAll('[data-close]')) {
  button.addEventListener('click', () => button.closest('dialog').close(''));
}
byId('accepting').addEventListener('close', () => {
  const dialog = byId('accepting');
  const isYes = dialog.returnValue === 'yes';
  dialog.returnValue = '';
  if (!isYes) return;
  const [code, entries] = [byId('code').value, byId('entries').value];
  if (!cards.includes(accepting)) return say(`${accepting.dataset.ref}: not accepted; another reviewer has it.`, true);
  // What was typed is there again if it is refused.
  Object.assign(accepting.dataset, { code, entries });
  accept(accepting, byId('without').checked ? { without: 'yes', entries } : { code, entries });
});
byId('reopening').addEventListener('close', async () => {
  const dialog = byId('reopening');
  if (dialog.returnValue !== 'yes') return;
  dialog.returnValue = '';
  const reply = await send('reopen', { name: byId('name').value, why: byId('why').value });
  say(await reply.text(), !reply.ok);
  byId('why').value = '';
});
addEventListener('pagehide', () => {
  if (!hasLeft) leave('');
});
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

setInterval(beat, BEAT_MS);
await fetchAhead();
beat();
