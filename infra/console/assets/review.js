// Reviewing by keyboard. The next submissions wait in the page, photos included, so that an answer shows the next one at once.

const AHEAD = 3;
const BEAT_MS = 30_000;
// Claims are not kept for a page that nobody looks at.
const LEAVE_AFTER_MS = 5 * 60_000;
const byId = (id) => document.getElementById(id);
const review = byId('review');
const holdMs = Number(review.dataset.hold);

let cards = [];
let answered = [];
let isFetching = false;
let hasLeft = false;
let usedAt = performance.now();

const send = (path, fields = {}) =>
  fetch(`${location.pathname}/${path}`, {
    method: 'POST',
    body: new URLSearchParams({ screen: review.dataset.screen, ...fields }),
  });

function say(text, isBad = false) {
  byId('said').textContent = text;
  byId('said').className = isBad ? 'bad' : '';
}

function show() {
  for (const card of cards) card.hidden = card !== cards[0];
  byId('nothing').hidden = cards.length > 0;
  const heading = cards[0]?.querySelector('h2') ?? byId('nothing');
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

async function fetchAhead() {
  if (isFetching || hasLeft) return;
  isFetching = true;
  try {
    while (cards.length <= AHEAD) {
      const reply = await send('next');
      if (reply.status === 204) break;
      if (!reply.ok) {
        say(await reply.text(), true);
        break;
      }
      const holder = document.createElement('template');
      holder.innerHTML = await reply.text();
      const card = holder.content.firstElementChild;
      card.hidden = true;
      review.append(card);
      cards.push(card);
      if (cards.length === 1) show();
    }
  } catch {
    say('The console does not answer. It may have ended; start it again with ops console.', true);
  }
  isFetching = false;
  if (cards.length === 0) show();
}

function putBack(card) {
  answered = answered.filter((one) => one.card !== card);
  if (!cards.includes(card)) cards.unshift(card);
  show();
}

async function answer(fields, said) {
  const card = cards.shift();
  if (!card) return;
  card.hidden = true;
  answered.push({ card, at: performance.now() });
  show();
  say(`${card.dataset.ref}: ${said}. Press u to undo.`);
  const reply = await send('answer', { id: card.dataset.id, ...fields });
  if (!reply.ok) {
    putBack(card);
    say(`${card.dataset.ref}: ${await reply.text()}`, true);
  }
  fetchAhead();
  setTimeout(beat, holdMs + 1_000);
}

function accept(card, fields) {
  answer({ verdict: 'accept', ...fields }, 'accepted');
}

function askForCode(card) {
  byId('code').value = card.dataset.code ?? '';
  byId('without').checked = false;
  byId('entries').value = card.dataset.entries ?? '';
  byId('accepting').showModal();
  byId(card.dataset.code ? 'entries' : 'code').focus();
}

async function undo() {
  const last = answered.pop();
  if (!last) return say('There is nothing to undo.');
  const reply = await send('undo', { id: last.card.dataset.id });
  if (!reply.ok) return say(await reply.text(), true);
  putBack(last.card);
  say(`${last.card.dataset.ref}: taken back.`);
}

async function skip() {
  const card = cards.shift();
  if (!card) return;
  card.remove();
  show();
  say(`${card.dataset.ref}: skipped.`);
  await send('skip', { id: card.dataset.id });
  fetchAhead();
}

async function beat() {
  if (hasLeft) return;
  if (performance.now() - usedAt > LEAVE_AFTER_MS) return leave('Left to others after five minutes. Press any key to go on.');
  const reply = await send('beat');
  if (!reply.ok) return say(await reply.text(), true);
  const { lost, notices, progress } = await reply.json();
  byId('progress').textContent = progress;
  for (const { id, text, is_failure: isFailure } of notices) {
    const card = answered.find((one) => one.card.dataset.id === id)?.card;
    if (isFailure && card) putBack(card);
    say(card ? `${card.dataset.ref}: ${text}` : text, isFailure);
  }
  const isLost = (card) => lost.includes(card.dataset.id);
  if (cards.some(isLost)) {
    cards.filter(isLost).forEach((card) => card.remove());
    cards = cards.filter((card) => !isLost(card));
    show();
    say('Another reviewer has what was shown here.');
  }
  const isWritten = (one) => performance.now() - one.at > holdMs + BEAT_MS;
  answered.filter(isWritten).forEach((one) => one.card.remove());
  answered = answered.filter((one) => !isWritten(one));
  fetchAhead();
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
    answer({ verdict: 'reject', reason: button.dataset.reason }, `rejected, ${button.dataset.reason}`);
  }
  return true;
}

document.addEventListener('keydown', (event) => {
  if (hasLeft) return location.reload();
  usedAt = performance.now();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector('dialog[open]')) return;
  if (event.target.closest('input, textarea, select')) return;
  if (press(event.key)) event.preventDefault();
});
document.addEventListener('pointerdown', () => (usedAt = performance.now()));
review.addEventListener('click', (event) => {
  const button = event.target.closest('[data-key]');
  if (button) press(button.dataset.key);
});
for (const button of document.querySelectorAll('[data-close]')) {
  button.addEventListener('click', () => button.closest('dialog').close(''));
}
byId('accepting').addEventListener('close', () => {
  const window = byId('accepting');
  if (window.returnValue === 'yes' && cards[0]) {
    const without = byId('without').checked ? { without: 'yes' } : {};
    accept(cards[0], { code: byId('code').value, entries: byId('entries').value, ...without });
  }
  window.returnValue = '';
});
byId('reopening').addEventListener('close', async () => {
  const window = byId('reopening');
  if (window.returnValue !== 'yes') return;
  window.returnValue = '';
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
