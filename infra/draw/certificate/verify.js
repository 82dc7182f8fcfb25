'use strict';
// Verifies the published files of a draw. Hashes are WebCrypto's; nothing is asked for or sent, and nothing is shown here.

/** The public chain that draws rest on. Times in seconds. */
const QUICKNET = '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971';
const QUICKNET_TIMES = { genesis_time: 1692803367, period: 3 };
/** Hashes that are under way at once. */
const BATCH = 2048;
/** Places that each order has after the prizes of its tier, as far as there are rows. */
const ALTERNATES = 20;
/** Shortest time between two calls to a winner, in milliseconds. */
const PAUSE = 60_000;
/** Reasons that follow from the rules of a draw; the others are given before an inspector. */
const RULES = ['has_prize', 'erased', 'phone_deleted'];
/** What each reason has before it: the steps between drawn and skipped. */
const REASONS = new Map([
  ...RULES.map((reason) => [reason, /^$/]), ['no_answer', /^( no_answer){3}$/], ['wrong_number', /^(( no_answer)+|( no_answer)* reached)$/],
  ['under_age', / reached$/], ['not_identified', / reached$/], ['declined', / reached( identified)?$/], ['not_collected', / reached( identified)?$/],
  ['excluded', /^/], ['revoked', /^/],
]);
/** The steps of a place, in the order in which they can follow. */
const STEPS = /^drawn(( no_answer){0,3}( skipped)?|( no_answer){0,2} reached( identified)?( skipped)?|( no_answer){0,2} reached identified handed_over)$/;

/** Controls, format characters (the category Cf of Unicode 16) and line separators. A browser's own table is another one in each version. */
const UNSEEN = /[\u{0}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{600}-\u{605}\u{61c}\u{6dd}\u{70f}\u{890}-\u{891}\u{8e2}\u{180e}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2064}\u{2066}-\u{206f}\u{feff}\u{fff9}-\u{fffb}\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0001}\u{e0020}-\u{e007f}]/u;

class Difference extends Error {}
const check = (holds, difference) => {
  if (!holds) throw new Difference(difference);
};

const encode = (text) => new TextEncoder().encode(text);
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));

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

// Strict reading: a file means the same to every program, or it is refused.

/** JSON without repeated keys, whose numbers are integers. */
function parse(file, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Difference(`${file} is not JSON: ${error.message}`);
  }
  const open = []; // The keys so far of each object that is open; null for a list.
  for (const [token, string, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*(:)?|[{}[\]]|-?[0-9][-+.0-9eE]*/g)) {
    if (string) {
      const read = JSON.parse(string);
      check(!/\p{Surrogate}/u.test(read), `${file} is not JSON: half a character`);
      check(!colon || !open.at(-1).has(read), `${file}: the key ${read} occurs twice`);
      if (colon) open.at(-1).add(read);
    } else if ('{['.includes(token)) open.push(token === '{' ? new Set() : null);
    else if ('}]'.includes(token)) open.pop();
    else check(isInteger(token), `${file}: ${token} is not an integer from 0 to 2^53 - 1`);
  }
  return value;
}

const isInteger = (text) => /^(0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(Number(text));
const isText = (value) => typeof value === 'string';
const matches = (pattern) => (value) => isText(value) && pattern.test(value);
const number = (value) => typeof value === 'number';
const positive = (value) => number(value) && value > 0;
const orNull = (shape) => (value) => value === null || shape(value);
const digest = matches(/^[0-9a-f]{64}$/);
/** A date of the years 1000 to 2999. */
function day(value) {
  const at = matches(/^[12]\d{3}-\d\d-\d\d$/)(value) ? Date.parse(`${value}T00:00:00Z`) : NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(value);
}
const TIME = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.(?!000)\d{3})?(Z|[+-](?!00:00)([01]\d|2[0-3]):[0-5]\d)$/;
const time = (value) => matches(TIME)(value) && day(value.slice(0, 10));
/** Without what makes a text look like another one. */
const seen = (value) => isText(value) && value !== '' && value === value.trim() && !UNSEEN.test(value);
const printable = (value) => seen(value) && [...value].length <= 64;
const days = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
  && Object.keys(value).every(day) && Object.values(value).every(number);

const HEADER = {
  algorithm: (value) => value === 'svc-draw-v1', campaign: printable, draw: printable, period: { from: time, to: time }, rows: positive, total: positive,
  days, left_out: { blocked: days, without_phone: days }, overlapping: [{ draw: printable, commitment: digest }], prizes: [{ name: printable, number: positive }],
  one_prize_per_row: (value) => typeof value === 'boolean', chain: digest, round: positive,
};
const RESULT = {
  round: positive, signature: matches(/^[0-9a-f]{96}$/), randomness: digest, tiers: [{ name: printable, prizes: positive, order: [{ row: number, ticket: number }] }],
};
const LOG = {
  frozen_at: time, published_at: time, drawn_at: time,
  places: [{
    tier: printable, place: positive, row: number, reference: orNull(seen), region: orNull(seen), phone: orNull(seen),
    opening: orNull(matches(/^svc-draw-entry-v1\n[A-Za-z0-9-]{1,64}(,[A-Za-z0-9-]{1,64})*\n[0-9a-f]{32}$/)),
    steps: [{ at: time, is: matches(/^(drawn|no_answer|reached|identified|handed_over|skipped)$/), reason: orNull(isText), inspector: orNull(seen) }],
  }],
};

/** The value has the shape: exactly these keys, and each value as it has to be. */
function shaped(where, value, shape) {
  if (typeof shape === 'function') return check(shape(value), `${where} is ${JSON.stringify(value)}, which cannot be`);
  check(typeof value === 'object' && value !== null && Array.isArray(value) === Array.isArray(shape), `${where} is ${Array.isArray(shape) ? 'no list' : 'no object'}`);
  if (Array.isArray(shape)) return value.forEach((item) => shaped(where, item, shape[0]));
  const keys = new Set(Object.keys(shape));
  const other = [...keys].find((key) => !Object.hasOwn(value, key)) ?? Object.keys(value).find((key) => !keys.has(key));
  check(other === undefined, `${where}: the key ${other} is missing, or is not known`);
  for (const key of keys) shaped(`${where}: ${key}`, value[key], shape[key]);
}

function read(file, text, shape) {
  const value = parse(file, text);
  shaped(file, value, shape);
  return value;
}

// The checks, in their order. Each takes what the ones before it found, adds to it, and says it in a sentence.

function readHeader(found, files) {
  const header = read('header.json', files.header, HEADER);
  check(Date.parse(header.period.from) < Date.parse(header.period.to), 'header.json: the period ends before it begins');
  check(header.prizes.length > 0, 'header.json: there is no prize');
  check(new Set(header.prizes.map((prize) => prize.name)).size === header.prizes.length, 'header.json: two prizes have the same name');
  const sum = header.prizes.reduce((all, prize) => all + prize.number, 0);
  check(Number.isSafeInteger(sum), 'header.json: the prizes are above 2^53 - 1');
  const entries = Object.values(header.days).reduce((all, count) => all + count, 0);
  check(entries === header.total, 'header.json: the entries of the days do not add up to the total');
  check(/^[0-9a-f]{64}\n?$/.test(files.commitment), 'commitment.txt is not 64 lower-case hexadecimal digits');
  return { header, commitment: files.commitment.trim(), sentence: 'header and commitment can be read in one way only' };
}

function readEntries({ header }, files) {
  const rows = [];
  let [end, last] = [0, ''];
  const lines = files.entries.split('\n');
  check(lines.pop() === '', `entries.csv, line ${lines.length + 1} is not a hash, a start and a count, ended by a line feed`);
  lines.forEach((line, at) => {
    const [, hash, start, count] = /^([0-9a-f]{64}),(0|[1-9][0-9]*),([1-9][0-9]*)$/.exec(line) ?? [];
    check(hash, `entries.csv, line ${at + 1} is not a hash, a start and a count`);
    check(Number(start) === end, `entries.csv, line ${at + 1} starts at ${start}, but the lines above it end before ${end}: `
      + 'a line is missing, added, changed or out of place');
    check(hash > last, `entries.csv, line ${at + 1} has a hash that is not above the one of the line before`);
    rows.push({ hash, line, start: end, count: Number(count) });
    [last, end] = [hash, end + Number(count)];
  });
  check(lines.length === header.rows, `entries.csv has ${lines.length} lines, but header.json says ${header.rows} rows`);
  check(end === header.total, `entries.csv has ${end} entries, but header.json says ${header.total}`);
  return { rows, sentence: `${lines.length} lines with ${end} entries, as the header and its days say` };
}

/** RFC 9162, section 2.1: neighbours are joined level by level; one without a neighbour goes up as it is. */
async function merkleRoot(rows) {
  const [leaf, node] = [Uint8Array.of(0), Uint8Array.of(1)];
  let level = await mapAll(rows, ({ line }) => sha256(leaf, encode(line)));
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, at) => level.slice(2 * at, 2 * at + 2));
    level = await mapAll(pairs, (pair) => (pair.length === 2 ? sha256(node, ...pair) : pair[0]));
  }
  return level[0];
}

async function checkCommitment({ rows, commitment }, files) {
  const root = await merkleRoot(rows);
  const computed = hexOf(await sha256(encode('svc-draw-v1\n'), encode(files.header), encode('\n'), root));
  check(computed === commitment, `commitment.txt says ${commitment}, but header.json and entries.csv lead to ${computed}`);
  return { root: hexOf(root), sentence: `root ${hexOf(root)}; with the header it gives the commitment ${commitment}` };
}

/** The time follows from the chain's constants; no file says it. */
function checkRoundTime({ header }, files, chain) {
  const times = header.chain === QUICKNET ? QUICKNET_TIMES : chain;
  check(times, `the times of the chain ${header.chain} are not known`);
  const givenAt = (times.genesis_time + times.period * (header.round - 1)) * 1000;
  check(givenAt < Date.UTC(3000), `round ${header.round} of the chain has no time before the year 3000`);
  check(givenAt > Date.parse(header.period.to), `round ${header.round} was given at ${new Date(givenAt).toISOString()}, but the period ends at ${header.period.to}: `
    + 'the randomness was known while entries could be added');
  return { givenAt, sentence: `round ${header.round} was given at ${new Date(givenAt).toISOString()}: your copy of the commitment has to be older` };
}

async function readResult({ header }, files) {
  const result = read('result.json', files.result, RESULT);
  check(result.round === header.round, `result.json is of round ${result.round}, but header.json names round ${header.round}`);
  const computed = hexOf(await sha256(bytesOf(result.signature)));
  check(computed === result.randomness, `result.json has the randomness ${result.randomness}, but its signature leads to ${computed}`);
  const prizes = result.tiers.map((tier) => [tier.name, tier.prizes]);
  const same = JSON.stringify(prizes) === JSON.stringify(header.prizes.map((prize) => [prize.name, prize.number]));
  check(same, 'result.json does not have the prizes of header.json');
  return { result, sentence: `the signature leads to the randomness ${computed}` };
}

/** Rows by the first of their tickets that is drawn. Values that would favour low tickets are dropped. */
async function* orderOf(seed, { rows, header }) {
  const key = await crypto.subtle.importKey('raw', seed, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const total = BigInt(header.total);
  const limit = 2n ** 64n - (2n ** 64n % total);
  const seen = new Set();
  for (let first = 0; seen.size < rows.length; first += 64) {
    const blocks = await Promise.all(Array.from({ length: 64 }, (_, at) => {
      const block = new DataView(new ArrayBuffer(8));
      block.setBigUint64(0, BigInt(first + at));
      return crypto.subtle.sign('HMAC', key, block);
    }));
    for (const value of blocks.flatMap((block) => [0, 8, 16, 24].map((at) => new DataView(block).getBigUint64(at)))) {
      const ticket = Number(value % total);
      const row = rowOf(ticket, rows);
      if (value >= limit || seen.has(row)) continue;
      seen.add(row);
      yield { row, ticket };
    }
  }
}

/** The last row that starts at or before a ticket. */
function rowOf(ticket, rows) {
  let [low, high] = [0, rows.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows[middle].start <= ticket) low = middle;
    else high = middle;
  }
  return low;
}

async function seedOf({ commitment, result }, tier) {
  return sha256(encode('svc-draw-seed-v1\n'), bytesOf(commitment), bytesOf(result.randomness), encode(tier));
}

async function checkOrders(found) {
  const said = [];
  for (const { name: tier, prizes, order } of found.result.tiers) {
    const needed = Math.min(prizes + ALTERNATES, found.rows.length);
    check(order.length >= needed, `result.json has ${order.length} places for ${tier}, but at least ${needed} have to be there`);
    check(order.length <= found.rows.length, `result.json has ${order.length} places for ${tier}, but there are ${found.rows.length} rows`);
    const seed = await seedOf(found, tier);
    let place = 0;
    for await (const { row, ticket } of orderOf(seed, found)) {
      const there = order[place++];
      check(there.row === row && there.ticket === ticket, `result.json, place ${place} of ${tier} is row ${there.row} by ticket ${there.ticket}, `
        + `but the computation gives row ${row} by ticket ${ticket}`);
      if (place === order.length) break;
    }
    said.push(`${tier}: seed ${hexOf(seed)}; all ${place} places follow from it`);
  }
  return { sentence: said.join('. ') };
}

const nameOf = ({ place, tier }) => `place ${place} of ${tier}`;
/** The step by which a place lost its prize. */
const skipOf = ({ steps }) => (steps.at(-1).is === 'skipped' ? steps.at(-1) : null);
const isOpen = (place) => skipOf(place) === null;
const referencesOf = (opening) => opening.split('\n')[1].split(',');

function checkSteps(place, givenAt) {
  const fails = (holds, why) => check(holds, `log.json: the steps of ${nameOf(place)} ${why}`);
  const names = place.steps.map((step) => step.is).join(' ');
  fails(names.startsWith('drawn'), 'do not begin with drawn');
  fails(STEPS.test(names), 'do not follow each other');
  const calls = place.steps.filter(({ is }) => is === 'no_answer' || is === 'reached').map(({ at }) => Date.parse(at));
  fails(calls.every((at, number) => number === 0 || at - calls[number - 1] >= PAUSE), 'have calls that are not a minute apart');
  const times = [givenAt, ...place.steps.map(({ at }) => Date.parse(at))];
  fails(times.every((at, number) => number === 0 || at >= times[number - 1]), 'have a time before the round, or before the step above');
  const bare = place.steps.filter((step) => step.is !== 'skipped');
  fails(bare.every(({ reason, inspector }) => reason === null && inspector === null), 'have a reason or an inspector without a skip');
  const skip = skipOf(place);
  if (!skip) return;
  fails(REASONS.has(skip.reason), 'have a skip without a known reason');
  const before = names.slice('drawn'.length, -' skipped'.length);
  fails(REASONS.get(skip.reason).test(before), 'have a reason that does not follow from the calls before it');
  fails(RULES.includes(skip.reason) === (skip.inspector === null), 'have a skip of an operator without an inspector, or one of the rules with one');
  fails(!['erased', 'phone_deleted'].includes(skip.reason) || place.opening === null, 'say that the person is not known any more, but the opening is there');
}

async function checkReference(place, rows) {
  const { opening, reference, row } = place;
  const named = opening === null ? [] : referencesOf(opening);
  check(opening === null ? reference === null : named.includes(reference), `log.json: no opening proves the reference of ${nameOf(place)}`);
  check(named.every((one, at) => at === 0 || named[at - 1] < one), `log.json: the opening of ${nameOf(place)} is not in order`);
  check(opening === null || hexOf(await sha256(encode(opening))) === rows[row].hash, `entries.csv, line ${row + 1} has another hash than the opening of row ${row}`);
}

/** True if the place had its prize at that time. What follows from the rules was skipped when it was drawn. */
function heldAt(place, at) {
  const skip = skipOf(place);
  const isLater = skip === null || (Date.parse(skip.at) >= at && !RULES.includes(skip.reason));
  return Date.parse(place.steps[0].at) <= at && isLater;
}

function checkPrizes({ header, rows }, places) {
  for (const one of places) {
    const others = places.filter((place) => place !== one && place.row === one.row);
    check(!header.one_prize_per_row || !isOpen(one) || !others.some(isOpen),
      `log.json: ${nameOf(one)} has a prize, but the same row has another one, and header.json gives one to each entrant`);
    const skip = skipOf(one);
    if (skip?.reason !== 'has_prize') continue;
    check(header.one_prize_per_row && others.some((other) => heldAt(other, Date.parse(skip.at))),
      `log.json: ${nameOf(one)} was skipped because of another prize of the same row, but it had none`);
  }
  for (const { name: tier, number: prizes } of header.prizes) {
    const own = places.filter((place) => place.tier === tier);
    const winners = own.filter(isOpen).length;
    check(winners === prizes || (winners < prizes && own.length === rows.length), `log.json has ${winners} winners of ${tier}, but there are ${prizes} prizes`);
    for (const [at, place] of own.entries()) {
      const isSkipped = (other) => !isOpen(other) && Date.parse(skipOf(other).at) <= Date.parse(place.steps[0].at);
      check(at < prizes || at < prizes + own.slice(0, at).filter(isSkipped).length, `log.json: ${nameOf(place)} was drawn before a skip opened it`);
    }
  }
}

async function checkLog(found, files) {
  if (files.log === null) return { log: null, sentence: 'there is no log yet' };
  const log = read('log.json', files.log, LOG);
  for (const key of ['frozen_at', 'published_at']) {
    const at = Date.parse(log[key]);
    check(at > Date.parse(found.header.period.to) && at < found.givenAt, `log.json says ${key} ${log[key]}, which is not between the end of the period, `
      + `${found.header.period.to}, and the round, ${new Date(found.givenAt).toISOString()}`);
  }
  check(Date.parse(log.frozen_at) <= Date.parse(log.published_at), `log.json says frozen_at ${log.frozen_at}, which is after published_at, ${log.published_at}`);
  check(Date.parse(log.drawn_at) >= found.givenAt, `log.json says drawn_at ${log.drawn_at}, which is before the round, ${new Date(found.givenAt).toISOString()}`);
  const other = log.places.find(({ tier }) => !found.header.prizes.some((prize) => prize.name === tier));
  check(!other, `log.json has a prize ${other?.tier} that header.json does not have`);
  for (const { name: tier } of found.header.prizes) {
    const own = log.places.filter((place) => place.tier === tier);
    const drawn = await placesOf(found, tier, own.length);
    for (const [at, place] of own.entries()) {
      check(place.place === at + 1 && drawn[at], `log.json leaves out place ${at + 1} of ${tier}, or has more places than there are rows`);
      check(place.row === drawn[at].row, `log.json has row ${place.row} as ${nameOf(place)}, but the order has row ${drawn[at].row}`);
      check(place.steps.length > 0, `log.json: the steps of ${nameOf(place)} do not begin with drawn`);
      checkSteps(place, found.givenAt);
      await checkReference(place, found.rows);
    }
  }
  checkPrizes(found, log.places);
  return { log, sentence: `${log.places.length} places, each with the row that was drawn, none missing, and each skip with its reason` };
}

/** The first places of an order. A log of many skips reaches further than result.json. */
async function placesOf(found, tier, count) {
  const places = [];
  if (count > 0) {
    for await (const place of orderOf(await seedOf(found, tier), found)) {
      if (places.push(place) === count) break;
    }
  }
  return places;
}

const CHECKS = [
  ['Header and commitment are strict', readHeader],
  ['The list of entries is whole and in order', readEntries],
  ['The commitment covers this list and this header', checkCommitment],
  ['The round came after the period', checkRoundTime],
  ['The result is of this round', readResult],
  ['The order of each prize follows', checkOrders],
  ['The log follows the order and the rules', checkLog],
];

/** Runs checks in order; each result is added to those before. */
async function runChecks(checks, files, chain, report = () => {}) {
  const found = {};
  for (const [title, step] of checks) {
    try {
      Object.assign(found, await step(found, files, chain));
    } catch (error) {
      report(title, 'different', error.message);
      throw error;
    }
    report(title, 'holds', found.sentence);
  }
  return found;
}

/**
 * Verifies all but the signature of the round. `files` are texts: entries, header, commitment, result, log (or null).
 * `chain` has the times of a chain other than quicknet.
 */
function verifyDraw(files, chain, report) {
  return runChecks(CHECKS, files, chain, report);
}
