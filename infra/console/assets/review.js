// Reviewing by keyboard. The next submissions are in the page, photos included, and follow an answer at once.
// An answer is held here while it can be taken back; then the console writes it.

const AHEAD = 3;
const HEARTBEAT_MS = 30_000;
// A hidden page keeps no locks.
const LEAVE_AFTER_MS = 5 * 60_000;
// A receipt, or the tax authority’s answer, has to be seen before a key decides.
const UNSEEN_MS = 400;
// Answers this close may be keys meant for something else, and are taken back together.
const BURST_MS = 1_000;
// A receipt’s code is printed below its middle.
const CODE_AT = 0.7;
const byId = (id) => document.getElementById(id);
const review = byId('review');
const holdMs = Number(review.dataset.hold);

const ENDED = 'the console does not answer, so this is hardly written. It may have ended; start it again with ops console.';
const UNSEEN = 'This key did not count: the receipt had only just appeared. Press it again.';
const CODE_MISSING = 'Type the receipt’s code, or tick that it cannot be read.';
const CODE_INVALID = 'A receipt’s code has 6 to 40 letters and digits. Read it from the receipt again.';
const TIME_MISSING = 'Type the time too, so that the tax authority is asked, or tick that it cannot be read.';
const TIME_INVALID = 'A receipt’s time has hours and minutes, such as 14:05:33.';
const ANSWER_UNSEEN = 'This did not count: the answer had only just appeared. Read it, then press again.';
const NOT_BY_ENTER = 'Enter does not accept this receipt. Read the answer, then use the button to accept it, or go back to reject it.';
const LOOKING_UP = 'The tax authority is asked. Wait for the answer, or tick below the time to accept without it.';
const ENTRIES_INVALID = 'Type how many entries it gets.';

// The look-up of a form's code and time; forgotten with another code or time.
const lookUps = new WeakMap();
let cards = [];
// Unwritten answers, earliest first. Sent ones cannot be taken back.
let answers = [];
// The last shown card, and the time from which keys decide it.
let shownCard;
let countsFrom = Infinity;
// The answer in the line of messages.
let saidAbout;
let isFetching = false;
// Of the last fetch: it found nothing, or failed.
let isEmpty = false;
let hasFailed = false;
let hasLeft = false;
let usedAt = performance.now();

const encoded = (fields) => new URLSearchParams({ screen: review.dataset.screen, ...fields });

/** Sends a form. No answer counts as a reply. */
const send = (path, fields, options) =>
  fetch(`${location.pathname}/${path}`, { method: 'POST', body: encoded(fields), ...options }).catch(() => ({ ok: false, text: async () => ENDED }));

/** A reply's text. A console without a session replies with a page. */
async function textOf(reply) {
  const text = await reply.text();
  return text.startsWith('<!DOCTYPE') ? new DOMParser().parseFromString(text, 'text/html').querySelector('main').textContent : text;
}

function say(text, kind = '') {
  const said = byId('said');
  said.textContent = text;
  said.className = '';
  // The animation begins again.
  void said.offsetWidth;
  said.className = kind;
  saidAbout = undefined;
}

const photoOf = (card) => card.querySelector('.photo');
const formOf = (card) => card.querySelector('.accepting');
const isAccepting = (card) => Boolean(card) && !formOf(card).hidden;

function show() {
  for (const card of cards) card.hidden = card !== cards[0];
  byId('nothing').hidden = cards.length > 0 || !isEmpty;
  byId('failed').hidden = cards.length > 0 || !hasFailed;
  const card = cards[0];
  if (isAccepting(card)) formOf(card).querySelector('input').focus({ preventScroll: true });
  else (card?.querySelector('h2') ?? byId('nothing')).focus({ preventScroll: true });
  if (card === shownCard) return;
  shownCard = card;
  scrollTo(0, 0);
  countsFrom = Infinity;
  painted(card).then(() => {
    if (shownCard === card) countsFrom = performance.now() + UNSEEN_MS;
  });
}

const frame = () => new Promise(requestAnimationFrame);

/** Resolves once a card is on the screen. Loaded photos have to be decoded, and a busy page paints late. */
async function painted(card) {
  // Does not wait for a photo that cannot be decoded.
  await card?.querySelector('.photo img')?.decode().catch(() => {});
  await frame();
  await frame();
}

async function fetchAhead() {
  if (isFetching || hasLeft) return;
  isFetching = true;
  while (cards.length <= AHEAD) {
    const reply = await send('next');
    isEmpty = reply.status === 204;
    hasFailed = !reply.ok;
    if (isEmpty) break;
    if (hasFailed) {
      say(await textOf(reply), 'bad');
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

function drop(isDropped) {
  cards.filter(isDropped).forEach((card) => card.remove());
  cards = cards.filter((card) => !isDropped(card));
  if (cards[0] !== shownCard) show();
}

function answer(card, fields, said, note = '') {
  closeForm(card);
  cards = cards.filter((one) => one !== card);
  card.hidden = true;
  const { id, revision, secondLook } = card.dataset;
  const given = { card, fields: { id, revision, second_look: secondLook, ...fields }, note, at: performance.now(), isSent: false };
  given.timer = setTimeout(() => write(given), holdMs);
  answers.push(given);
  fetchAhead();
  show();
  const { length } = burst(given);
  if (length > 1) say(`${length} answers within a second. Press u to take them back.`, 'flash');
  else say(`${card.dataset.ref}: ${said}${note}. Press u to undo.`);
  saidAbout = given;
}

/** Answers of one second, to be taken back together. */
const burst = (last) => answers.filter((one) => !one.isSent && one.at > last.at - BURST_MS);

async function write(given) {
  clearTimeout(given.timer);
  given.isSent = true;
  // It arrives although the page is closed meanwhile.
  const reply = await send('answer', given.fields, { keepalive: true });
  answers = answers.filter((one) => one !== given);
  if (hasLeft) return;
  const { card, note } = given;
  const told = reply.status === 204 ? `written${note}.` : await textOf(reply);
  if (reply.ok || reply.status === 409) card.remove();
  else {
    // Shown at once, so that the message is about the receipt below.
    cards.unshift(card);
    show();
  }
  if (reply.status !== 204 || saidAbout === given) say(`${card.dataset.ref}: ${told}`, reply.ok ? '' : 'bad');
  fetchAhead();
}

function undo() {
  const last = answers.filter((one) => !one.isSent).at(-1);
  if (!last) return say('There is nothing to undo.');
  const taken = burst(last);
  taken.forEach(({ timer }) => clearTimeout(timer));
  answers = answers.filter((one) => !taken.includes(one));
  cards.unshift(...taken.map(({ card }) => card));
  show();
  say(`${taken.map(({ card }) => card.dataset.ref).join(', ')}: taken back.`);
}

async function skip(card) {
  drop((one) => one === card);
  say(`${card.dataset.ref}: skipped.`);
  const reply = await send('skip', { id: card.dataset.id });
  if (!reply.ok) say(await textOf(reply), 'bad');
  fetchAhead();
}

/** Replaces the buttons by the form for accepting, and shows the photo near the code. */
function openForm(card) {
  card.querySelector('.answers').hidden = true;
  const form = formOf(card);
  form.hidden = false;
  form.querySelector('.missing').textContent = '';
  countFromSeen(card);
  const photo = photoOf(card);
  photo.classList.remove('zoomed');
  photo.classList.add('near');
  card.scrollIntoView();
  photo.scrollTo(0, photo.scrollHeight * CODE_AT - photo.clientHeight / 2);
  form.querySelector('input').select();
}

function closeForm(card) {
  card.querySelector('.answers').hidden = false;
  formOf(card).hidden = true;
  photoOf(card).classList.remove('near');
}

/** Code and time to look up; empty without both. */
function toLookUp(form) {
  const { code, time } = form.elements;
  return time?.value && !time.disabled ? `${code.value} ${time.value}` : '';
}

/** Asks the tax authority, and shows its answer unless code or time changed meanwhile. */
async function lookUp(card) {
  const form = formOf(card);
  const looked = form.querySelector('.looked');
  const { code, time, entries } = form.elements;
  const asked = { about: toLookUp(form), isAnswered: false, isFound: false, countsFrom: Infinity };
  lookUps.set(form, asked);
  looked.textContent = 'The tax authority is asked …';
  const reply = await send('lookup', { id: card.dataset.id, code: code.value, time: time.value });
  const text = await textOf(reply);
  if (lookUps.get(form) !== asked) return;
  form.querySelector('.missing').textContent = '';
  if (reply.ok) looked.innerHTML = text;
  else looked.textContent = text;
  const found = looked.querySelector('[data-answer=found]');
  asked.isAnswered = true;
  asked.isFound = Boolean(found);
  asked.isClear = found?.matches('[data-clear]');
  const counted = found?.dataset.entries;
  if (counted && entries.value === entries.defaultValue) {
    asked.filledIn = counted;
    entries.value = counted;
  }
  countFromSeen(card);
}

/** Submits count once the answer was seen. */
async function countFromSeen(card) {
  const asked = lookUps.get(formOf(card));
  if (!asked) return;
  asked.countsFrom = Infinity;
  await painted(card);
  asked.countsFrom = performance.now() + UNSEEN_MS;
}

/** The reason why this press accepts nothing, if the tax authority’s answer is one. */
function refusal(form, at, isEnter) {
  const asked = lookUps.get(form);
  if (!asked) return undefined;
  if (!asked.isAnswered) return LOOKING_UP;
  if (at < asked.countsFrom) {
    asked.countsFrom = Math.max(asked.countsFrom, at + UNSEEN_MS);
    return ANSWER_UNSEEN;
  }
  return isEnter && asked.isFound && !asked.isClear ? NOT_BY_ENTER : undefined;
}

/** Forgets the answer about another code or time, with the number of entries it gave. */
function forgetLookUp(form) {
  const asked = lookUps.get(form);
  if (!asked || asked.about === toLookUp(form)) return;
  const { entries } = form.elements;
  if (entries.value === asked.filledIn) entries.value = entries.defaultValue;
  lookUps.delete(form);
  form.querySelector('.looked').replaceChildren();
}

/** What an accepted receipt is said not to be, if the tax authority's answer did not decide. */
const notLookedUp = ({ time }) => (time?.disabled ? ', without a look-up at the tax authority' : '');

/** The first incomplete field, and the reason. */
function missing({ code, time, entries }) {
  if (code && !code.disabled && code.validity.valueMissing) return [code, CODE_MISSING];
  if (code && !code.disabled && !code.validity.valid) return [code, CODE_INVALID];
  if (time && !time.disabled && !time.value) return [time, TIME_MISSING];
  if (time && !time.disabled && !time.validity.valid) return [time, TIME_INVALID];
  return entries.validity.valid ? [] : [entries, ENTRIES_INVALID];
}

review.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.target;
  const [field, text] = missing(form.elements);
  form.querySelector('.missing').textContent = text ?? '';
  if (field) return field.focus();
  const refused = refusal(form, event.timeStamp, false);
  form.querySelector('.missing').textContent = refused ?? '';
  if (refused) return undefined;
  if (toLookUp(form) && !lookUps.get(form)?.isFound) return lookUp(form.closest('.card'));
  answer(form.closest('.card'), { verdict: 'accept', ...Object.fromEntries(new FormData(form)) }, 'accepted', notLookedUp(form.elements));
});
review.addEventListener('input', ({ target }) => {
  const { code, without, time, untimed } = target.form.elements;
  if (target === without) code.disabled = without.checked;
  if (time) time.disabled = without?.checked || untimed.checked;
  forgetLookUp(target.form);
  // The rest of a code may follow, but no other character.
  const isCode = !code || code.disabled || !/[^\s\p{Pd}\p{L}\p{N}]/u.test(code.value);
  target.form.querySelector('.missing').textContent = isCode ? '' : CODE_INVALID;
});
// A left field is complete.
review.addEventListener('change', ({ target }) => {
  const [field, text] = missing(target.form.elements);
  if (field === target && target.value) target.form.querySelector('.missing').textContent = text;
});

async function heartbeat() {
  if (hasLeft) return;
  if (performance.now() - usedAt > LEAVE_AFTER_MS) return leave('Released to other reviewers after five minutes. Press any key, or touch the page, to continue.');
  const reply = await send('heartbeat');
  if (!reply.ok) return say(await textOf(reply), 'bad');
  const { progress, lost } = await reply.json();
  byId('progress').textContent = progress;
  const isLost = (card) => lost.includes(card.dataset.id);
  if (cards.some(isLost)) {
    drop(isLost);
    say('Another reviewer has what was shown here.');
  }
  fetchAhead();
}

function leave(text) {
  hasLeft = true;
  const beacon = (path, fields) => navigator.sendBeacon(`${location.pathname}/${path}`, encoded(fields));
  for (const { fields, timer } of answers.filter((one) => !one.isSent)) {
    clearTimeout(timer);
    beacon('answer', fields);
  }
  beacon('leave', { answered: answers.map(({ fields }) => fields.id).join() });
  cards.forEach((card) => card.remove());
  cards = [];
  say(text);
}

const DECISIONS = {
  a: (card) => (card.dataset.direct ? answer(card, { verdict: 'accept' }, 'accepted') : openForm(card)),
  e: openForm,
  s: skip,
};
const LOOKS = {
  z: (card) => {
    photoOf(card).classList.remove('near');
    photoOf(card).classList.toggle('zoomed');
    // Arrows move it.
    photoOf(card).focus();
  },
  c: (card) => photoOf(card).classList.toggle('contrast'),
  r: (card) => {
    const photo = photoOf(card);
    photo.dataset.turn = (Number(photo.dataset.turn ?? 0) + 1) % 4;
  },
};
const TOOLS = { u: undo, '?': () => byId('keys').showModal(), o: () => byId('reopening').showModal() };

/** A key's decision about the card, if any. */
function decision(card, key) {
  const reason = card.querySelector(`[data-reason][data-key="${CSS.escape(key)}"]`)?.dataset.reason;
  return reason ? () => answer(card, { verdict: 'reject', reason }, `rejected, ${reason}`) : DECISIONS[key];
}

/** `at` is when the key was pressed: a busy page handles it later. */
function press(key, at) {
  const card = cards[0];
  const isUnseen = at < countsFrom;
  const tool = TOOLS[key] ?? (card && LOOKS[key]);
  const decide = card && decision(card, key);
  // Typing text decides nothing.
  if (isUnseen || !(tool || decide)) countsFrom = Math.max(countsFrom, at + UNSEEN_MS);
  if (tool) tool(card);
  else if (!decide) return false;
  else if (isUnseen) {
    // The failure that put the receipt in front stays readable.
    const { textContent, className } = byId('said');
    const failure = className === 'bad' ? textContent.replace(UNSEEN, '').trim() : '';
    say(`${failure} ${UNSEEN}`.trim(), failure && 'bad');
  }
  else if (!isAccepting(card)) {
    if (byId('said').textContent.includes(UNSEEN)) say('');
    decide(card);
  }
  return true;
}

/** Keeps a held Enter, and one too many, from accepting. The button is pressed on purpose. */
function pressEnter(event) {
  const { target } = event;
  if (!target.matches('.accepting input, .accepting button:not([type])')) return;
  const refused = refusal(target.form, event.timeStamp, target.matches('input'));
  if (event.repeat || refused) event.preventDefault();
  if (refused) target.form.querySelector('.missing').textContent = refused;
}

document.addEventListener('keydown', (event) => {
  if (hasLeft) return location.reload();
  usedAt = performance.now();
  if (document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape' && isAccepting(cards[0])) {
    closeForm(cards[0]);
    return show();
  }
  if (event.key === 'Enter') return pressEnter(event);
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.key.length > 1) return;
  // Users of speech input or screen readers turn single keys off.
  if (event.target.closest('input:not([type=checkbox]), textarea, select') || !byId('single-keys').checked) return;
  if (press(event.key, event.timeStamp)) event.preventDefault();
});
document.addEventListener('pointerdown', () => {
  if (hasLeft) location.reload();
  usedAt = performance.now();
});
for (const part of [review, byId('tools')]) {
  part.addEventListener('click', (event) => {
    const button = event.target.closest('[data-key]');
    if (button) press(button.dataset.key, event.timeStamp);
  });
}
review.addEventListener('click', (event) => {
  if (!event.target.closest('[data-close]')) return;
  closeForm(cards[0]);
  show();
});
byId('again').addEventListener('click', fetchAhead);
for (const button of document.querySelectorAll('dialog [data-close]')) {
  button.addEventListener('click', () => button.closest('dialog').close(''));
}
byId('reopening').addEventListener('close', async () => {
  const dialog = byId('reopening');
  if (dialog.returnValue !== 'yes') return;
  dialog.returnValue = '';
  const reply = await send('reopen', { name: byId('name').value, why: byId('why').value });
  say(await textOf(reply), reply.ok ? '' : 'bad');
  byId('why').value = '';
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden' && !hasLeft) answers.filter((one) => !one.isSent).forEach(write);
});
addEventListener('pagehide', () => {
  if (!hasLeft) leave('');
});
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

setInterval(heartbeat, HEARTBEAT_MS);
await fetchAhead();
heartbeat();
