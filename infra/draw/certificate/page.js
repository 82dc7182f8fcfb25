'use strict';
// Computes a draw again from what this page holds. Hashes are WebCrypto's; nothing is asked for or sent.

/** The public chain that draws rest on. Times in seconds. */
const QUICKNET = {
  chain: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971', genesis: 1692803367, period: 3,
};
/** Hashes that are under way at once. */
const BATCH = 2048;
/** Alternates that each order has at least, as far as there are rows. */
const ALTERNATES = 20;
/** Stands for the reference and the phone of an erased person. */
const ERASED = 'erased';

const draw = JSON.parse(document.getElementById('draw').textContent);
const $ = (id) => document.getElementById(id);
/** What was read of the list of entries. */
const list = { rows: [], starts: [], total: 0 };

class Difference extends Error {}
const check = (holds, difference) => {
  if (!holds) throw new Difference(difference);
};

const encode = (text) => new TextEncoder().encode(text);
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const bytesOf = (hex) => {
  check(/^([0-9a-f]{2})*$/i.test(hex), `${hex} is not hexadecimal`);
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));
};

async function sha256(...parts) {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all));
}

/** Maps in batches, so that a long list does not fill the memory with promises. */
async function mapAll(items, step) {
  const results = [];
  for (let at = 0; at < items.length; at += BATCH) {
    results.push(...(await Promise.all(items.slice(at, at + BATCH).map(step))));
  }
  return results;
}

function readEntries(text) {
  let [end, last] = [0, ''];
  const lines = text.split('\n');
  check(lines.pop() === '', 'entries.csv does not end with a line feed: something is missing at its end');
  lines.forEach((line, at) => {
    const [, hash, start, count] = /^([0-9a-f]{64}),(0|[1-9][0-9]*),([1-9][0-9]*)$/.exec(line) ?? [];
    check(hash, `entries.csv, line ${at + 1} is not a hash, a start and a count`);
    check(Number(start) === end, `entries.csv, line ${at + 1} starts at ${start}, but the lines above it end before ${end}: `
      + 'a line is missing, added, changed or out of place');
    check(hash > last, `entries.csv, line ${at + 1} has a hash that is not above the one of the line before`);
    list.rows.push({ hash, line, start: end, count: Number(count) });
    list.starts.push(end);
    [last, end] = [hash, end + Number(count)];
  });
  list.total = end;
  const header = JSON.parse(draw.header);
  check(lines.length === header.rows, `entries.csv has ${lines.length} lines, but the header says ${header.rows} rows`);
  check(end === header.total, `entries.csv has ${end} entries, but the header says ${header.total}`);
  const days = Object.values(header.days).reduce((sum, count) => sum + count, 0);
  check(days === end, `entries.csv has ${end} entries, but the days of the header have ${days}`);
  return `${lines.length} lines with ${end} entries, as the header and its days say`;
}

/** RFC 9162, section 2.1: neighbours are joined level by level; one without a neighbour goes up as it is. */
async function merkleRoot() {
  const [leaf, node] = [Uint8Array.of(0), Uint8Array.of(1)];
  let level = await mapAll(list.rows, ({ line }) => sha256(leaf, encode(line)));
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, at) => level.slice(2 * at, 2 * at + 2));
    level = await mapAll(pairs, (pair) => (pair.length === 2 ? sha256(node, ...pair) : pair[0]));
  }
  return level[0];
}

async function checkCommitment() {
  const root = await merkleRoot();
  check(hexOf(root) === draw.root, `the lines lead to the root ${hexOf(root)}, but this page says ${draw.root}`);
  const commitment = hexOf(await sha256(encode('svc-draw-v1\n'), encode(draw.header), encode('\n'), root));
  check(commitment === draw.commitment, `header and root lead to the commitment ${commitment}, but this page says ${draw.commitment}`);
  return `root ${draw.root}; with the header it gives the commitment ${draw.commitment}`;
}

async function checkRound(header) {
  const { round, signature, randomness } = draw.result;
  check(round === header.round, `the result is of round ${round}, but the header names round ${header.round}`);
  if (header.chain === QUICKNET.chain) {
    const time = (QUICKNET.genesis + QUICKNET.period * (round - 1)) * 1000;
    check(time === Date.parse(draw.round_at), `round ${round} was at ${new Date(time).toISOString()}, but this page says ${draw.round_at}`);
  }
  check(Date.parse(draw.published_at) < Date.parse(draw.round_at), `the commitment was published at ${draw.published_at}, but the round was at ${draw.round_at} already`);
  check(/^[0-9a-f]{96}$/.test(signature), 'the signature is not 48 bytes in lower-case hexadecimal');
  const computed = hexOf(await sha256(bytesOf(signature)));
  check(computed === randomness, `the signature leads to the randomness ${computed}, but this page says ${randomness}`);
  return `round ${round}: its signature leads to the randomness ${randomness}`;
}

/** Rows by the first of their tickets that is drawn. Values that would favour low tickets are dropped. */
async function* orderOf(seed) {
  const key = await crypto.subtle.importKey('raw', seed, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const total = BigInt(list.total);
  const limit = 2n ** 64n - (2n ** 64n % total);
  const seen = new Set();
  for (let first = 0; ; first += 64) {
    const blocks = await Promise.all(Array.from({ length: 64 }, (_, at) => {
      const number = new DataView(new ArrayBuffer(8));
      number.setBigUint64(0, BigInt(first + at));
      return crypto.subtle.sign('HMAC', key, number);
    }));
    for (const value of blocks.flatMap((block) => [0, 8, 16, 24].map((at) => new DataView(block).getBigUint64(at)))) {
      const ticket = Number(value % total);
      const row = rowOf(ticket);
      if (value >= limit || seen.has(row)) continue;
      seen.add(row);
      yield { row, ticket };
    }
  }
}

/** The last row that starts at or before a ticket. */
function rowOf(ticket) {
  let [low, high] = [0, list.starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list.starts[middle] <= ticket) low = middle;
    else high = middle;
  }
  return low;
}

/** The places of a prize in result.json: winners of this prize, winners of earlier ones, who may be skipped, and alternates. */
function publishedPlaces(header, at) {
  const places = header.prizes.slice(0, at + 1).reduce((sum, { number }) => sum + number, ALTERNATES);
  return Math.min(places, header.rows);
}

async function checkOrder(header, tier, at) {
  const prize = header.prizes[at];
  const published = publishedPlaces(header, at);
  check(prize?.name === tier.name && prize.number === tier.prizes, `the header does not have ${tier.prizes} of ${tier.name}`);
  check(tier.order.length >= published, `there are only ${tier.order.length} places for ${tier.name}`);
  check(tier.order.length <= list.rows.length, `there are more places for ${tier.name} than rows`);
  const seed = await sha256(encode('svc-draw-seed-v1\n'), bytesOf(draw.commitment), bytesOf(draw.result.randomness), encode(tier.name));
  let place = 0;
  if (tier.order.length > 0) {
    for await (const { row, ticket } of orderOf(seed)) {
      const found = tier.order[place++];
      check(found.row === row && found.ticket === ticket, `place ${place} of ${tier.name} is row ${found.row} by ticket ${found.ticket}, `
        + `but the computation gives row ${row} by ticket ${ticket}`);
      if (place === tier.order.length) break;
    }
  }
  return `${tier.name}: seed ${hexOf(seed)}; all ${place} places follow from it`;
}

/** Each contact in the log has the row that was drawn, and no place is missing. */
async function checkContacts() {
  for (const tier of draw.result.tiers) {
    const contacts = draw.contacts.filter((contact) => contact.tier === tier.name);
    for (const [at, { place, row, reference, opening }] of contacts.entries()) {
      check(place === at + 1, `the log leaves out place ${at + 1} of ${tier.name}`);
      check(tier.order[at]?.row === row, `place ${place} of ${tier.name} is row ${tier.order[at]?.row}, but the log has row ${row}`);
      check(opening === null ? reference === ERASED : references(opening).includes(reference), `no opening of place ${place} of ${tier.name} names ${reference}`);
      if (opening === null) continue;
      check(await hashOf(opening) === list.rows[row].hash, `the opening of place ${place} of ${tier.name} is not of row ${row}`);
    }
    const winners = contacts.filter(({ is_skipped }) => !is_skipped).length;
    check(winners <= tier.prizes, `the log has ${winners} winners of ${tier.name}, but there are ${tier.prizes} prizes`);
  }
  check(draw.contacts.every(({ tier }) => draw.result.tiers.some(({ name }) => name === tier)), 'the log names a prize that there is not');
  return draw.contacts.length === 0 ? 'no winner was contacted yet' : `${draw.contacts.length} places in the log, each with the row that was drawn, none missing`;
}

const linesOf = (opening) => opening.trim().split(/\r?\n/).map((line) => line.trim());
const references = (opening) => (linesOf(opening)[1] ?? '').split(',');
const hashOf = async (opening) => hexOf(await sha256(encode(linesOf(opening).join('\n'))));

/** Fills a list in as it computes; the first difference ends it. */
async function compute(entries) {
  const header = JSON.parse(draw.header);
  const steps = [
    ['The list of entries is whole and in order', () => readEntries(entries)],
    ['The commitment covers this list and this header', checkCommitment],
    ['The round is the one of the header', () => checkRound(header)],
    ...draw.result.tiers.map((tier, at) => ['The order follows', () => checkOrder(header, tier, at)]),
    ['Every prize of the header was drawn', () => {
      check(draw.result.tiers.length === header.prizes.length, `the header has ${header.prizes.length} prizes, the result ${draw.result.tiers.length}`);
      return `${header.prizes.length} of ${header.prizes.length}`;
    }],
    ['The log follows the order', checkContacts],
  ];
  $('checks').replaceChildren();
  for (const [title, step] of steps) {
    const item = element('li', element('b', title), ': ', element('span', 'computing …'));
    $('checks').append(item);
    try {
      item.lastChild.textContent = await step();
      item.dataset.state = 'holds';
      item.append(' ', element('span.state', '✓'));
    } catch (error) {
      item.dataset.state = 'different';
      item.lastChild.textContent = error.message;
      item.append(' ', element('span.state', '✗'));
      if (!(error instanceof Difference)) console.error(error);
      return verdict('different', `This draw does NOT hold. First difference: ${error.message}.`);
    }
  }
  verdict('follows', `The order of winners follows from the commitment to ${header.rows} entrants with ${header.total} entries, and from the `
    + `signature of round ${header.round}. Now compare that signature below with the beacon's.`);
}

function compareSignature() {
  const same = $('given-signature').value.toLowerCase().match(/[0-9a-f]{96}/)?.[0] === draw.result.signature;
  answer('signature-answer', same, same ? 'It is the same signature.' : 'It is NOT the same. Copy the whole signature of this round and this chain. If it still differs, the draw does not hold.');
  if (same && $('verdict').dataset.state === 'follows') {
    verdict('holds', 'This draw holds: the order of winners follows from the commitment, and from the signature that you compared.');
  }
}

function verdict(state, text) {
  $('verdict').dataset.state = state;
  $('verdict').textContent = text;
}

function answer(id, holds, text) {
  $(id).dataset.state = holds ? 'holds' : 'different';
  $(id).textContent = text;
}

function compareCommitment() {
  const copied = $('copied').value.replace(/\s/g, '').toLowerCase();
  const same = copied === draw.commitment;
  answer('copied-answer', same, same ? 'It is the same commitment.'
    : 'It is NOT the same. If you copied it without a mistake, this is not the list that was committed to.');
}

function lookUpWinner(reference) {
  const found = draw.contacts.filter((contact) => contact.reference === reference || references(contact.opening ?? '').includes(reference));
  const places = found.map(({ tier, place, happened }) => `place ${place} of ${tier} (${happened})`);
  answer('inclusion-answer', found.length > 0, found.length > 0 ? `${reference} was drawn: ${places.join('; ')}.`
    : `${reference} is not among the winners of this page.`);
}

async function lookUp() {
  const [reference, opening] = [$('reference').value.trim().toUpperCase(), $('opening').value];
  if (opening.trim() === '') return lookUpWinner(reference);
  if (list.rows.length === 0) return answer('inclusion-answer', false, 'The list of entries was not read yet.');
  if (linesOf(opening).length !== 3) return answer('inclusion-answer', false, 'This is not an opening: it has three lines.');
  if (!references(opening).includes(reference)) return answer('inclusion-answer', false, `This opening does not name ${reference}.`);
  const hash = await hashOf(opening);
  const number = list.rows.findIndex((row) => row.hash === hash);
  if (number < 0) return answer('inclusion-answer', false, `No row of the list has this opening: ${reference} is not in this draw, or the opening is not the right one.`);
  const { start, count } = list.rows[number];
  const places = draw.result.tiers.map(({ name, order }) => {
    const place = order.findIndex(({ row }) => row === number) + 1;
    return place > 0 ? `${name}: place ${place}` : `${name}: after place ${order.length}`;
  });
  answer('inclusion-answer', true, `${reference} was in the draw: row ${number}, with ${count} of ${list.total} tickets (${start} to ${start + count - 1}). ${places.join('; ')}.`);
}

/** `name.class` with children; texts are never markup. */
function element(name, ...children) {
  const [tag, className] = name.split('.');
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function tierTable(header, tier, prize) {
  const shown = draw.contacts.filter((contact) => contact.tier === tier.name);
  const rows = tier.order.map(({ row, ticket }, at) => {
    const { reference = '', region = '', phone = '', happened = '', is_skipped } = shown.find(({ place }) => place === at + 1) ?? {};
    const cells = [at + 1, row, ticket, reference, region ?? '', phone, happened];
    const kind = is_skipped ? 'tr.skipped' : at < tier.prizes ? 'tr.winner' : 'tr';
    return element(kind, ...cells.map((text) => element('td', String(text))));
  });
  const head = ['Place', 'Row', 'Ticket', 'Reference', 'Region', 'Phone', 'What happened'].map((text) => element('th', text));
  const table = element('div.table', element('table', element('thead', element('tr', ...head)), element('tbody', ...rows)));
  table.tabIndex = 0;
  table.setAttribute('role', 'region');
  table.setAttribute('aria-label', tier.name);
  const published = publishedPlaces(header, prize);
  const more = tier.order.length <= published ? []
    : [element('p', `result.json ends with place ${published}. The log reaches further, so this page has more places by the same computation.`)];
  return [element('h3', `${tier.name}: ${tier.prizes} ${tier.prizes === 1 ? 'prize' : 'prizes'}`), ...more, table];
}

function show(header) {
  $('title').textContent = document.title = `${header.campaign}, ${header.draw}`;
  $('commitment').textContent = draw.commitment.match(/.{1,4}/g).join(' ');
  $('signature').textContent = draw.result.signature;
  $('round-address').textContent = header.chain === QUICKNET.chain
    ? `https://api.drand.sh/${header.chain}/public/${header.round}` : `round ${header.round} of the chain ${header.chain}`;
  $('rehearsal').hidden = header.chain === QUICKNET.chain;
  $('tiers').replaceChildren(...draw.result.tiers.flatMap((tier, prize) => tierTable(header, tier, prize)));
  const facts = {
    'Period, its end not included': `${header.period.from} to ${header.period.to}`, 'Entrants, entries': `${header.rows}, ${header.total}`,
    'Entries by the day on which they were made': Object.entries(header.days).map(([day, count]) => `${day}: ${count}`).join('; '),
    'Earlier draws of entries of this period': header.overlapping.map(({ draw, commitment }) => `${draw} (commitment ${commitment})`).join('; ') || 'none',
    'May one entrant win several prizes?': header.one_prize_per_row ? 'no' : 'yes',
    'Commitment recorded': draw.frozen_at, 'Files published': draw.published_at, 'Time of the round': draw.round_at, 'Order computed': draw.drawn_at,
    'Beacon chain': header.chain, 'Round': header.round,
    'Signature of the round': draw.result.signature, 'Randomness': draw.result.randomness, 'Algorithm': header.algorithm,
    'Merkle root': draw.root, 'Header, byte for byte': draw.header,
  };
  $('facts').replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [element('dt', name), element('dd', String(value))]));
}

function listen(id, act) {
  $(id).addEventListener('submit', (event) => {
    event.preventDefault();
    act();
  });
}

show(JSON.parse(draw.header));
listen('copied-form', compareCommitment);
listen('signature-form', compareSignature);
listen('inclusion-form', lookUp);
const embedded = $('entries').textContent;
if (!globalThis.crypto?.subtle) {
  verdict('stopped', 'This browser does not compute hashes for this page, so nothing was verified. Save the page and open it from your device, or run verify.py.');
} else if (embedded) {
  compute(embedded);
} else {
  verdict('computing', 'Choose entries.csv below, and this page computes the draw again.');
  $('choose-entries').hidden = false;
  $('entries-file').addEventListener('change', async ({ target }) => {
    verdict('computing', 'Computing …');
    Object.assign(list, { rows: [], starts: [], total: 0 });
    if (target.files[0]) compute(await target.files[0].text());
  });
}
