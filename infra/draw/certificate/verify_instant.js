
// Instant prizes by winning moments: the checks of verify.py, in their order.

/** Milliseconds in which clocks of the service differ, and writes overtake each other. */
const TOLERANCE = 10_000;
const ROW = /^(\d{13}),([0-9a-f]{64}),([0-9a-f]{64}),(0|1?[1-9]|10|),(\d{13}|)\n$/;

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const curve = (value) => Array.isArray(value) && value.every((weight) => number(weight) && weight <= 10 ** 6) && sum(value) > 0;
const curves = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(curve);
const PLAN = {
  algorithm: (value) => value === 'svc-instant-v1', campaign: printable, caps: { day: positive, total: positive }, chain: digest, curves,
  days: [{ curve: isText, from: number, prizes: [number], to: number }], environment: matches(/^(test|live)$/),
  prizes: [(value) => seen(value) && [...value].length <= 120], round: positive, secret: digest,
};
const OUTCOME = {
  round: positive, signature: matches(/^[0-9a-f]{96}$/), randomness: digest, given: [number], stops: [{ from: number, to: number }],
  days: [{ day: number, sha256: digest, logged_at: number }], other_plans: [digest],
};

/** RFC 8785 for what a plan has: texts, integers, lists and objects. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

function readPlan(found, files) {
  const header = read('header.json', files.header, PLAN);
  check(canonical(header) === files.header, 'header.json is written in another form');
  const { prizes, days } = header;
  check(prizes.length >= 1 && prizes.length <= 20 && new Set(prizes).size === prizes.length, 'header.json: there are not 1 to 20 prizes, each once');
  check(days.length >= 1 && days.length <= 731, 'header.json: there are not 1 to 731 days');
  for (const [at, day] of days.entries()) {
    const fails = (holds, why) => check(holds, `header.json: days[${at}] ${why}`);
    fails(day.from < day.to, 'ends before it begins');
    fails(at === 0 || days[at - 1].to === day.from, 'does not begin where the day before ends');
    fails(Object.hasOwn(header.curves, day.curve), 'names no curve of the plan');
    const [weights, length] = [header.curves[day.curve], (day.to - day.from) * 1000];
    fails(length % weights.length === 0, 'does not divide into the parts of its curve');
    fails((sum(weights) * length) / weights.length < 2 ** 53, 'has too much weight');
    fails(day.prizes.length === prizes.length && sum(day.prizes) <= 20_000, 'does not have a number of each prize, at most 20000 in all');
  }
  return { header, sentence: `${prizes.length} prizes on ${days.length} days` };
}

async function readSecret({ header }, files) {
  const published = (name, text) => {
    check(/^[0-9a-f]{64}\n?$/.test(text), `${name} is not 64 lower-case hexadecimal digits`);
    return text.trim();
  };
  const said = published('commitment.txt', files.commitment);
  const commitment = hexOf(await sha256(encode('svc-instant-v1\n'), encode(files.header)));
  check(said === commitment, `commitment.txt says ${said}, but header.json leads to ${commitment}`);
  const secret = published('secret.txt', files.secret);
  const hash = hexOf(await sha256(bytesOf(secret)));
  check(hash === header.secret, `secret.txt leads to ${hash}, but header.json says ${header.secret}`);
  return { commitment, secret, sentence: `the commitment is ${commitment}; the secret is the one that the header commits to` };
}

async function readOutcome({ header, secret, commitment }, files, chain) {
  const times = header.chain === QUICKNET ? QUICKNET_TIMES : chain;
  check(times, `the chain ${header.chain} is not known`);
  const [givenAt, first] = [(times.genesis_time + times.period * (header.round - 1)) * 1000, header.days[0].from * 1000];
  check(givenAt < first, `round ${header.round} was given after the first day began, or has no time`);
  const result = read('result.json', files.result, OUTCOME);
  check(result.round === header.round, `result.json is of round ${result.round}, but header.json names round ${header.round}`);
  const computed = hexOf(await sha256(bytesOf(result.signature)));
  check(computed === result.randomness, `result.json has the randomness ${result.randomness}, but its signature leads to ${computed}`);
  const ends = result.stops.flatMap(({ from, to }) => [from, to]);
  check(ends.every((time, at) => at === 0 || ends[at - 1] < time), 'result.json has stops that are not in order');
  const seed = await hmac(bytesOf(secret), encode('svc-instant-seed-v1\n'), bytesOf(commitment), bytesOf(computed));
  return { result, givenAt, seed, sentence: `round ${header.round} was given at ${new Date(givenAt).toISOString()}: your copy of the commitment has to be older` };
}

async function hmac(secret, ...parts) {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, await new Blob(parts).arrayBuffer()));
}

/** Milliseconds since 1970; the parts of a day are as likely as its curve says. */
function momentOf(signed, day, weights) {
  const part = ((day.to - day.from) * 1000) / weights.length;
  let left = Number((new DataView(signed).getBigUint64(0) * BigInt(sum(weights) * part)) >> 64n);
  for (const [start, weight] of weights.entries()) {
    if (left < part * weight) return day.from * 1000 + start * part + Math.floor(left / weight);
    left -= part * weight;
  }
  return NaN;
}

async function computeMoments({ header, seed }) {
  const key = await crypto.subtle.importKey('raw', seed, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const label = encode('svc-instant-moment-v1\n');
  const moments = header.prizes.map(() => []);
  for (const [at, day] of header.days.entries()) {
    for (const [prize, count] of day.prizes.entries()) {
      const all = await mapAll(Array.from({ length: count }, (_, i) => i), (i) => {
        const signed = new Uint8Array(label.length + 12);
        signed.set(label);
        [at, prize, i].forEach((one, place) => new DataView(signed.buffer).setUint32(label.length + 4 * place, one));
        return crypto.subtle.sign('HMAC', key, signed);
      });
      const ofDay = all.map((one) => momentOf(one, day, header.curves[day.curve]));
      for (const moment of ofDay.sort((one, other) => one - other)) moments[prize].push(moment);
    }
  }
  return { moments, sentence: `${sum(moments.map((of) => of.length))} moments follow from secret, commitment and round` };
}

function readRows({ header }, files) {
  const whole = (text) => (text === '' ? null : Number(text));
  const rows = [];
  for (const [at, line] of (files.rows.match(/[^\n]*\n|[^\n]+$/g) ?? []).entries()) {
    const fails = (holds, why) => check(holds, `rows.csv, line ${at + 1} ${why}`);
    const match = ROW.exec(line);
    fails(match, 'is not a time, two digests, a prize or none, and a time or none');
    const row = { at: Number(match[1]), name: match[2], who: match[3], prize: whole(match[4]), back: whole(match[5]) };
    const before = rows.at(-1);
    fails(!before || before.at < row.at || (before.at === row.at && before.name < row.name), 'is not after the line before');
    fails(row.at >= header.days[0].from * 1000, 'is before the first day');
    fails(row.back === null || (row.prize !== null && row.back >= row.at), 'gives back a prize that it did not have');
    fails(row.prize === null || row.prize < header.prizes.length, 'won a prize that the plan does not have');
    rows.push(row);
  }
  return { rows, sentence: `${rows.length} accepted entries, in order` };
}

/** How many of the sorted numbers are at most a limit. */
function countUpTo(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkRows({ header, rows, moments, result }) {
  const days = header.days.map(({ from }) => from * 1000);
  const inside = (at, wider) => result.stops.some(({ from, to }) => from - wider <= at && at < to + wider);
  // The time of a return is in doubt by the tolerance: `least` lowers its count early, `most` late.
  const [least, most] = [moments.map(() => 0), moments.map(() => 0)];
  const [totals, byDay, names] = [new Map(), new Map(), new Set()];
  const early = rows.filter(({ back }) => back !== null).sort((one, other) => one.back - other.back);
  const late = [...early];
  const passedOver = ({ line, name }) => new Difference(`rows.csv, line ${line}: ${name} entered while a prize was open, and did not win`);
  let waiting = [];
  for (const [place, { at, name, who, prize }] of rows.entries()) {
    const fails = (holds, why) => check(holds, `rows.csv, line ${place + 1}: ${name} ${why}`);
    while (early.length > 0 && early[0].back - TOLERANCE <= at) least[early.shift().prize] -= 1;
    while (late.length > 0 && late[0].back + TOLERANCE <= at) most[late.shift().prize] -= 1;
    fails(!names.has(name), 'is there twice');
    names.add(name);
    const key = `${who} ${countUpTo(days, at)}`;
    const [total, ofDay] = [totals.get(who) ?? 0, byDay.get(key) ?? 0];
    const capped = total >= header.caps.total || ofDay >= header.caps.day;
    if (prize !== null) {
      fails(!capped, 'is over the cap');
      fails(!inside(at, -TOLERANCE), 'won while nothing could be won');
      least[prize] += 1;
      most[prize] += 1;
      const due = countUpTo(moments[prize], at);
      fails(least[prize] <= due, `won before a moment was due: ${least[prize]} given, ${due} due`);
      totals.set(who, total + 1);
      byDay.set(key, ofDay + 1);
      waiting = waiting.filter((one) => at - one.at > TOLERANCE || (one.prize !== prize && one.who !== who));
    } else if (!capped && !inside(at, TOLERANCE)) {
      const open = moments.findIndex((of, one) => countUpTo(of, at) > most[one]);
      if (open >= 0) waiting.push({ at, prize: open, who, line: place + 1, name });
    }
    const overdue = waiting.find((one) => at - one.at > TOLERANCE);
    if (overdue) throw passedOver(overdue);
  }
  if (waiting.length > 0) throw passedOver(waiting[0]);
  const kept = moments.map((_, prize) => rows.filter((row) => row.prize === prize && row.back === null).length);
  check(JSON.stringify(kept) === JSON.stringify(result.given), `result.json says that [${result.given.join(', ')}] prizes were given, but rows.csv has [${kept.join(', ')}]`);
  return { sentence: `no prize was given before its moment, none over the caps, and no entry was passed over; ${sum(kept)} prizes were given and kept` };
}

/** The wins and stops of each day are those that were logged when it ended. */
async function checkDays({ header, rows, result }) {
  const digits = (at) => String(at).padStart(13, '0');
  const first = header.days[0].from * 1000;
  const turns = result.stops.flatMap(({ from, to }) => [['stop', from], ['start', to]]).filter(([turn, at]) => turn === 'start' || at > first);
  const winners = rows.filter(({ prize }) => prize !== null);
  let last = -1;
  for (const { day, sha256: said, logged_at: loggedAt } of result.days) {
    const fails = (holds, why) => check(holds, `result.json: day ${day} ${why}`);
    fails(last < day && day < header.days.length, 'is not in order, or header.json does not have it');
    last = day;
    const [start, end] = [header.days[day].from * 1000, header.days[day].to * 1000];
    fails(loggedAt >= end, 'was logged before it ended');
    const won = winners.filter(({ at }) => start <= at && at < end).map(({ at, name, who, prize }) => `${digits(at)},${name},${who},${prize}\n`);
    const turned = turns.filter(([, at]) => start <= at && at < end).map(([turn, at]) => `${turn},${digits(at)}\n`);
    const computed = hexOf(await sha256(encode([...won, ...turned].sort().join(''))));
    check(computed === said, `day ${day}'s wins are not those that were logged: rows.csv and the stops of result.json do not lead to ${said}`);
  }
  // A day after the last stop had no entry.
  const inTime = new Set(result.days.filter(({ day, logged_at: at }) => at <= header.days[day].to * 1000 + 86_400_000).map(({ day }) => day));
  const notLogged = [...header.days.keys()].filter((day) => !inTime.has(day) && header.days[day].from * 1000 < (result.stops.at(-1)?.from ?? Infinity));
  const wonAfter = winners.filter(({ at }) => at >= header.days.at(-1).to * 1000).length;
  const warnings = [];
  if (notLogged.length > 0) warnings.push(`Not logged within a day of their end, so that their wins could be changed: days ${notLogged.join(', ')}.`);
  if (wonAfter > 0) warnings.push(`Won after the last day, which no log has: ${wonAfter} prizes.`);
  return { warnings, sentence: [`${result.days.length} days have the wins that were logged`, ...warnings].join('. ') };
}

const PLAN_CHECKS = [
  ['The plan is strict', readPlan],
  ['Commitment and secret are those of the plan', readSecret],
  ['The round came before the first day', readOutcome],
  ['The moments are computed', computeMoments],
  ['The list of entries is whole and in order', readRows],
  ['Each prize went to an entry that was first', checkRows],
  ['The wins of each day are those that were logged when it ended', checkDays],
];

/** Verifies all but the signature of the round. `files` are texts: header, commitment, secret, result, rows. */
function verifyPlan(files, chain, report) {
  return runChecks(PLAN_CHECKS, files, chain, report);
}

