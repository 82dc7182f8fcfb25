// Shows the result of `verifyDraw`.

const SUBJECT = 'draw';
const FOLLOWS = 'the order of winners follows from';

/** English and Swahili. */
const REASON_WORDS = {
  no_answer: ['did not answer three calls', 'hakupokea simu tatu'],
  wrong_number: ['the number belongs to another person', 'namba ni ya mtu mwingine'],
  under_age: ['under 18', 'ana umri chini ya miaka 18'],
  not_identified: ['showed no identity card, or that of another person', 'hakuonyesha kitambulisho chake'],
  declined: ['declined the prize', 'alikataa zawadi'],
  excluded: ['the terms of the campaign exclude the person', 'masharti hayamruhusu kushinda'],
  not_collected: ['did not collect the prize in time', 'hakuchukua zawadi kwa wakati'],
  has_prize: ['has another prize of this draw', 'ana zawadi nyingine ya droo hii'],
  erased: ["the person's data was erased", 'taarifa zake zilifutwa'],
  phone_deleted: ['the phone number was deleted when its retention ended', 'namba yake ilifutwa muda wa kuitunza ulipoisha'],
  revoked: ['the entries were revoked after the freeze', 'ushiriki wake ulibatilishwa'],
};
const STATE_WORDS = {
  drawn: ['drawn, not called yet', 'bado hajapigiwa simu'],
  reached: ['answered the call', 'amepokea simu'],
  identified: ['showed an identity card', 'ameonyesha kitambulisho'],
  handed_over: ['has the prize', 'amepewa zawadi'],
};
const MONTHS = [
  ['January', 'Januari'], ['February', 'Februari'], ['March', 'Machi'], ['April', 'Aprili'], ['May', 'Mei'], ['June', 'Juni'],
  ['July', 'Julai'], ['August', 'Agosti'], ['September', 'Septemba'], ['October', 'Oktoba'], ['November', 'Novemba'], ['December', 'Desemba'],
];

/** Time of day, and the day in both languages, in the period's offset. */
function localTime(time, header) {
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(header.period.to) ?? ['', '+', '0', '0'];
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  const at = new Date(Date.parse(time) + offset);
  const [english, kiswahili] = MONTHS[at.getUTCMonth()].map((month) => `${at.getUTCDate()} ${month} ${at.getUTCFullYear()}`);
  const zone = offset === 0 ? 'UTC' : `UTC${header.period.to.slice(-6)}`;
  const clock = at.toISOString().slice(11, 19);
  return { english, kiswahili, time: clock, whole: `${english}, ${clock} (${zone})` };
}

/** Verifies, and shows checks and result. */
async function compute(entries) {
  $('checks').replaceChildren();
  $('winners-section').hidden = true;
  $('rehearsal').hidden = page.chain === null && page.header.includes(`"chain":"${QUICKNET}"`);
  try {
    found = await verifyDraw({ ...page, entries }, page.chain, reportCheck);
  } catch (error) {
    if (!(error instanceof Difference)) console.error(error);
    $('proof').open = true;
    return verdict('different', `This draw does NOT hold. First difference: ${error.message}.`);
  }
  await showFound();
  verdict('follows', `The order of winners follows from the commitment to ${found.rows.length} entrants with ${found.header.total} entries, and from the `
    + `signature of round ${found.header.round}. Now compare both below: a commitment that was copied before ${givenAt()}, and the beacon's signature.`);
}

const givenAt = () => localTime(new Date(found.givenAt).toISOString(), found.header).whole;

const linesOf = (opening) => opening.trim().split(/\r?\n/).map((line) => line.trim());

function lookUpWinner(reference) {
  const isTheirs = ({ opening }) => opening !== null && referencesOf(opening).includes(reference);
  const places = found.log?.places.filter(isTheirs).map((place) => `place ${place.place} of ${place.tier} (${inWords(place)[0]})`) ?? [];
  answer('inclusion-answer', places.length > 0, places.length > 0 ? `${reference} was drawn: ${places.join('; ')}.`
    : `${reference} is not among the winners of this page.`);
}

async function lookUp() {
  if (found === null) return answer('inclusion-answer', false, 'This page has not verified the draw yet.');
  const [reference, opening] = [$('reference').value.trim().toUpperCase(), $('opening').value];
  if (opening.trim() === '') return lookUpWinner(reference);
  const lines = linesOf(opening);
  if (lines.length !== 3) return answer('inclusion-answer', false, 'This is not an opening: it has three lines.');
  if (!lines[1].split(',').includes(reference)) return answer('inclusion-answer', false, `This opening does not name ${reference}.`);
  const hash = hexOf(await sha256(encode(lines.join('\n'))));
  const number = found.rows.findIndex((row) => row.hash === hash);
  if (number < 0) return answer('inclusion-answer', false, `No line of the list has this opening: ${reference} is not in this draw, or the opening is not the right one.`);
  const { start, count } = found.rows[number];
  const places = found.result.tiers.map(({ name, order }) => {
    const place = order.findIndex(({ row }) => row === number) + 1;
    return place > 0 ? `${name}: place ${place}` : `${name}: after place ${order.length}`;
  });
  answer('inclusion-answer', true, `${reference} was in the draw: line ${number + 1}, with ${count} of ${found.header.total} tickets (${start + 1} to ${start + count}). ${places.join('; ')}.`);
}

/** The last step of a place, in both languages. */
function inWords(place) {
  const skip = skipOf(place);
  if (skip) return REASON_WORDS[skip.reason];
  const last = place.steps.at(-1).is;
  const calls = place.steps.filter(({ is }) => is === 'no_answer').length;
  return STATE_WORDS[last] ?? [`called ${calls} of 3 times`, `amepigiwa simu mara ${calls} kati ya 3`];
}

/** Times of calls to a place, each day once. */
function callsOf({ steps }) {
  const calls = steps.filter(({ is }) => is === 'no_answer' || is === 'reached').map(({ at }) => localTime(at, found.header));
  return calls.map(({ english, time }, at) => (english === calls[at - 1]?.english ? time : `${english}, ${time}`));
}

function winnerRow(place) {
  const skip = skipOf(place);
  const passed = (text) => (skip ? element('s', text) : text);
  const [english, kiswahili] = inWords(place);
  const happened = element('td', skip ? `Passed over: ${english} ` : `${english} `, swahili(skip ? `Amepitwa: ${kiswahili}` : kiswahili));
  if (skip?.inspector) happened.append(element('span.note', `before ${skip.inspector}`));
  const calls = callsOf(place);
  if (calls.length > 0) happened.append(element('span.note', `called ${calls.join(', ')}`));
  const who = [String(place.place), place.reference ?? 'erased', place.region ?? '', place.phone ?? ''];
  return element(skip ? 'tr.skipped' : 'tr.winner', ...who.map((text) => element('td', passed(text))), happened);
}

const prizeWords = ({ name, number }) => `${number} × ${name}`;

function showWinners() {
  const heads = () => [['Place ', swahili('Nafasi')], ['Reference ', swahili('Kumbukumbu')], ['Region ', swahili('Mkoa')], ['Phone ', swahili('Simu')], ['What happened ', swahili('Kilichotokea')]];
  const parts = found.header.prizes.flatMap((prize) => {
    const own = found.log?.places.filter(({ tier }) => tier === prize.name) ?? [];
    const title = element('h3', `${prize.name}: ${prize.number} ${prize.number === 1 ? 'prize' : 'prizes'} `, swahili(`zawadi ${prize.number}`));
    return [title, own.length === 0 ? element('p', 'Nobody was called yet.') : table(`Winners of ${prize.name}`, heads(), own.map(winnerRow))];
  });
  $('winners').replaceChildren(...parts);
  $('winners-section').hidden = false;
}

async function showOrders() {
  const parts = [];
  for (const { name, order } of found.result.tiers) {
    const logged = found.log?.places.filter(({ tier }) => tier === name).length ?? 0;
    const places = logged > order.length ? await placesOf(found, name, logged) : order;
    parts.push(element('h3', name));
    if (logged > order.length) parts.push(element('p', `result.json ends with place ${order.length}. The log reaches further, so this page has more places by the same computation.`));
    const rows = places.map(({ row, ticket }, at) => element('tr', ...[at + 1, row + 1, ticket + 1].map((text) => element('td', String(text)))));
    parts.push(table(`Order of ${name}`, ['Place', 'Line', 'Ticket'], rows));
  }
  $('orders').replaceChildren(...parts);
}

function showDraw() {
  const { header, log, result } = found;
  const at = (time) => localTime(time, header).whole;
  const facts = {
    'Campaign and draw, by their keys': `${header.campaign}, ${header.draw}`,
    'Period, its end not included': `${at(header.period.from)} to ${at(header.period.to)}`, 'Entrants, entries': `${header.rows}, ${header.total}`,
    'Entries by the day on which they were made': Object.entries(header.days).map(([day, count]) => `${day}: ${count}`).join('; '),
    'Entries left out, of blocked phones and of people who were erased': [header.left_out.blocked, header.left_out.without_phone].map((days) => Object.entries(days).map(([day, count]) => `${day}: ${count}`).join('; ') || 'none').join(' / '),
    'Earlier draws of entries of this period': header.overlapping.map(({ draw, commitment }) => `${draw} (commitment ${commitment})`).join('; ') || 'none',
    'May one entrant win several prizes?': header.one_prize_per_row ? 'no' : 'yes',
    'Commitment recorded': log && at(log.frozen_at), 'Files published': log && at(log.published_at), 'Time of the round': givenAt(), 'Order computed': log && at(log.drawn_at),
    'Beacon chain': header.chain, 'Round': header.round, 'Signature of the round': result.signature, 'Randomness': result.randomness,
    'Algorithm': header.algorithm, 'Merkle root': found.root, 'Header, byte for byte': page.header,
  };
  showFacts(facts);
}

/** Runs after the verification, so that nothing is shown that a strict reader refuses. */
async function showFound() {
  const { header, log } = found;
  const { english, kiswahili } = localTime(log?.drawn_at ?? new Date(found.givenAt).toISOString(), header);
  $('prizes').replaceChildren(header.prizes.map(prizeWords).join(', '));
  $('day').replaceChildren(`Drawn on ${english} `, swahili(`Droo ya ${kiswahili}`));
  $('commitment').textContent = found.commitment.match(/.{1,4}/g).join(' ');
  $('signature').textContent = found.result.signature;
  $('round-address').textContent = roundAddress(header);
  document.querySelectorAll('.given-at').forEach((item) => item.replaceChildren(givenAt()));
  showWinners();
  showDraw();
  await showOrders();
}

listen('copied-form', compareCommitment);
listen('signature-form', compareSignature);
listen('inclusion-form', lookUp);
begin('entries.csv');
