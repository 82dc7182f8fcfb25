// Reviewers decide receipts by keyboard, each in a console of their own, in headless Chromium: one types codes where none is asked
// for, then two share a queue.
// usage: review.mjs TOOLS LOCAL-STACK-PROGRAM OPS-PROGRAM [SCREENSHOTS]    (TOOLS is the folder with the packages of try-page)

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, mkdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { decideBy, seen } from './stage.mjs';

const [tools, local, ops, screenshots] = process.argv.slice(2);
const CAMPAIGN = 'duka-kuu-2026';
const RECEIPTS = 20;
// Receipts decided by a typist of codes.
const TYPED = 15;
// Typed texts with keys of decisions, at the speeds of a scanner, a typist and a slower one.
const CODES = ['AB12CD34', 'ea12cs34'];
const KEY_MS = [20, 60, 90];
const PATIENCE_MS = 120_000;
// Between a key and the next receipt, photo included.
const MAX_MS = 200;
const require = createRequire(`${resolve(tools)}/`);
const { chromium } = require('playwright-core');
const axe = require('axe-core').source;
const folder = await mkdtemp(join(tmpdir(), 'review-'));
const children = [];

function start(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  child.printed = '';
  child.stdout.on('data', (text) => (child.printed += text));
  child.ended = new Promise((settle) => child.once('close', settle));
  children.push(child);
  return child;
}

async function until(condition, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await condition();
    if (found) return found;
    assert.ok(Date.now() < end, `waited in vain for ${what}`);
    await pause(50);
  }
}

async function startStack() {
  const ready = join(folder, 'ready.json');
  const child = start(local, ['--port', '0', '--ready-file', ready, '--speedup', '1000']);
  await until(() => child.printed.includes('\nServing '), 'the local stack');
  const { base_url: baseUrl, campaigns } = JSON.parse(await readFile(ready));
  const { live } = campaigns.find(({ slug }) => slug === CAMPAIGN);
  return { ready, baseUrl, key: live.key };
}

async function startConsole(stack, by) {
  const child = start(ops, ['--env-file', stack.ready, '--by', by, 'console', '--no-browser']);
  const [link] = await until(() => child.printed.match(/http:\S+/), 'a console');
  return { link, child };
}

function opsJson(stack, ...args) {
  return new Promise((settle, fail) => {
    const child = start(ops, ['--env-file', stack.ready, '--json', ...args]);
    child.once('close', (code) => (code === 0 ? settle(JSON.parse(child.printed)) : fail(new Error(`${args}: ${code}`))));
  });
}

/** Photos of a page that looks like a receipt. */
async function photos(browser, count) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 1800 } });
  const taken = [];
  for (let number = 0; number < count; number += 1) {
    const lines = Array.from({ length: 24 }, (_, line) => `<p>${line + 1}. SUKARI KILOMBERO 1KG <b>${3_200 + line * 50}.00</b></p>`);
    await page.setContent(`<style>body{margin:8%;font:30px monospace;background:linear-gradient(#eee,#bbb)}main{padding:40px;background:#fff;
      transform:rotate(${(number % 5) - 2}deg)}p{margin:8px 0}b{float:right}</style><main><h2>DUKA KUU, KARIAKOO</h2><p>TIN 100147181</p>
      ${lines.join('')}<h2>TOTAL ${40_000 + number}.00</h2><p>RECEIPT ${number}</p></main>`);
    taken.push(await page.screenshot({ type: 'jpeg', quality: 80 }));
  }
  await page.close();
  return taken;
}

/** Sends in a receipt from a new phone. `code` is the receipt's number. */
async function enter(stack, number, photo, code = number) {
  const api = async (path, body) => {
    const headers = { Authorization: `Bearer ${stack.key}`, 'Content-Type': 'application/json', 'Idempotency-Key': `${path}-of-receipt-${number}` };
    const reply = await fetch(`${stack.baseUrl}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const json = await reply.json();
    assert.ok(reply.ok, JSON.stringify(json));
    return json;
  };
  const digits = String(number).padStart(4, '0');
  // The tax authority knows it, without a participating product.
  const receipt = await api('receipts', {
    type: 'photo', content_type: 'image/jpeg', size_bytes: photo.length,
    qr_payload: `https://verify.tra.go.tz/NOIT01${String(code).padStart(4, '0')}_101530`,
  });
  const { url, headers, method = 'PUT' } = receipt.upload;
  const put = await fetch(url, { method, headers, body: photo });
  assert.ok(put.ok, await put.text());
  return api('submissions', {
    phone: `07120${digits}1`.slice(0, 10), receipt_id: receipt.id, consent: true, region: 'Mwanza',
    claimed: { items: [{ key: 'chai-250', qty: 2 }], branch: 'kko' },
  });
}

async function open(browser, link, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(link);
  await page.waitForURL((url) => url.pathname === '/');
  const loaded = [];
  page.on('response', (response) => loaded.push(response));
  await page.goto(new URL(`/campaigns/${CAMPAIGN}/live/review`, link).href);
  await page.locator('.card:visible').waitFor();
  return { page, complaints, loaded };
}

/** Presses a deciding key; returns the time until the next receipt is shown with its photo. */
async function press(page, key) {
  await page.evaluate(() => {
    const shown = () => document.querySelector('.card:not([hidden])');
    const before = shown()?.dataset.id;
    let pressedAt;
    addEventListener('keydown', (event) => (pressedAt = event.timeStamp), { capture: true });
    globalThis.took = new Promise((settle) => {
      const look = () => {
        const card = shown();
        const photo = card?.querySelector('img');
        const isAnother = card?.dataset.id !== before;
        if (isAnother && (!photo || photo.complete)) settle(performance.now() - pressedAt);
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  });
  await decideBy(page, key);
  return page.evaluate(() => globalThis.took);
}

/** Decides by keyboard until `all` has `count` receipts. */
async function decide(page, all, count) {
  const times = [];
  const decided = [];
  while (all.length < count) {
    const id = await page.evaluate(() => document.querySelector('.card:not([hidden])')?.dataset.id);
    if (id) {
      decided.push(id);
      all.push(id);
      times.push(await press(page, ['4', 'a', '1', '4'][decided.length % 4]));
    } else await pause(400);
  }
  return { times, decided };
}

const shown = (page) => page.evaluate(() => ({ ...document.querySelector('.card:not([hidden])').dataset }));
const said = (page, text) => page.locator('#said', { hasText: text }).waitFor();

/** Answers are written after eight seconds, or when the page is hidden or left. */
async function leaving(page, waiting) {
  const before = (await waiting()).length;
  for (const isHidden of [false, true]) {
    const { ref } = await decideBy(page, '4');
    const given = Date.now();
    await said(page, `${ref}: rejected, receipt_no_qualifying_product. Press u to undo.`);
    if (isHidden) {
      await page.evaluate(() => {
        Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
        delete document.visibilityState;
      });
    }
    await said(page, `${ref}: written.`);
    assert.equal(Date.now() - given >= 7_500, !isHidden);
    await page.keyboard.press('u');
    await said(page, 'There is nothing to undo.');
  }
  const { id } = await decideBy(page, '4');
  const path = page.url();
  await page.goto(new URL('/', path).href);
  const found = await until(async () => {
    const found = await waiting();
    return found.length === before - 3 && found;
  }, 'the answer of a page that was left');
  assert.ok(!found.some((one) => one.id === id));
  await page.goto(path);
  await page.locator('.card:visible').waitFor();
}

/** One key takes back two answers within a second. */
async function burst(page) {
  for (;;) {
    const { id } = await seen(page);
    const milliseconds = await page.evaluate(async () => {
      const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }));
      const begun = performance.now();
      press();
      await new Promise((settle) => setTimeout(settle, 550));
      press();
      return performance.now() - begun;
    });
    const text = await page.textContent('#said');
    await page.keyboard.press('u');
    // A busy machine is no fast reviewer.
    if (milliseconds > 950 || text.includes('did not count')) {
      await page.keyboard.press('u');
      continue;
    }
    assert.match(text, /2 answers within a second/);
    assert.equal((await shown(page)).id, id, 'the earlier one is shown again');
    assert.match(await page.textContent('#said'), /, .*: taken back/);
    return;
  }
}

/** Keys wait until the next receipt is painted. */
async function busy(page) {
  await seen(page);
  const [decided, front] = await page.evaluate(() => {
    const front = () => document.querySelector('.card:not([hidden])').dataset.id;
    const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }));
    press();
    const next = front();
    for (const until = performance.now() + 500; performance.now() < until;);
    press();
    return [next, front()];
  });
  assert.equal(front, decided, 'nothing was painted between the two keys');
  await page.keyboard.press('u');
}

/** An answer's failure is shown at its receipt, and decides no other. */
async function mishaps(page) {
  // Without a reply, the receipt comes back.
  const place = () => page.locator('.card:visible').evaluate((card) => card.getBoundingClientRect().top + scrollY);
  const top = await place();
  await page.route('**/answer', (route) => route.abort());
  const lost = await decideBy(page, '1');
  await said(page, 'does not answer');
  await page.unroute('**/answer');
  assert.equal((await shown(page)).id, lost.id, 'in front of the others');
  assert.equal(await place(), top, 'the message moved nothing');

  // An answer that is taken back is never sent.
  const sent = [];
  page.on('request', (request) => request.url().endsWith('/answer') && sent.push(new URLSearchParams(request.postData()).get('id')));
  const slow = await decideBy(page, '1');
  await page.keyboard.press('u');
  await said(page, `${slow.ref}: taken back`);
  assert.equal((await shown(page)).id, slow.id);
  await burst(page);
  await busy(page);

  // A failure while the form of another receipt is open.
  let failing = await decideBy(page, 'e');
  // Only a receipt with a tax record can be refused for another code.
  while (!(await page.inputValue('.card:visible [name=code]'))) {
    await page.keyboard.press('Escape');
    await decideBy(page, 's');
    failing = await decideBy(page, 'e');
  }
  await page.locator('.card:visible [name=code]').fill('ANOTHER0001');
  await page.keyboard.press('Enter');
  const other = await decideBy(page, 'e');
  assert.notEqual(other.id, failing.id);
  await page.keyboard.type('OTHER');
  // Keys meant for the form, which the failing receipt replaces.
  const typed = page.evaluate(async (id) => {
    const front = () => document.querySelector('.card:not([hidden])')?.dataset.id;
    while (front() !== id) await new Promise((settle) => requestAnimationFrame(settle));
    for (const key of '1a1') document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    return front();
  }, failing.id);
  await said(page, `${failing.ref}: The tax authority's record has another code`);
  assert.deepEqual(sent, [failing.id]);
  assert.equal(await typed, failing.id, 'no key decided the receipt that the message is about');
  assert.equal((await shown(page)).id, failing.id);
  await decideBy(page, 's');
  assert.equal((await shown(page)).id, other.id);
  assert.match(await page.inputValue('.card:visible [name=code]'), /OTHER$/);
  await page.keyboard.press('Escape');

  // Every key has a button, and keys can be turned off.
  await page.uncheck('#single-keys');
  const { id } = await seen(page);
  await page.keyboard.press('1');
  assert.equal((await shown(page)).id, id);
  await page.check('#single-keys');
  for (const name of ['Zoom', 'Rotate', 'Rotate', 'Rotate', 'Rotate', 'Zoom']) await page.getByRole('button', { name }).click();
}

/** Presses the accepting key and types a code; returns the accepted receipt, if the key counted. */
function typeCode(page, code, delay) {
  return page.evaluate(async ([code, delay]) => {
    const MAX_PAUSE_MS = 300;
    const front = () => document.querySelector('.card:not([hidden])')?.dataset.id;
    const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    const before = front();
    press('a');
    if (front() === before) return undefined;
    for (const key of code) {
      const begun = performance.now();
      await new Promise((settle) => setTimeout(settle, delay));
      // A busy machine makes a pause, after which keys count.
      if (performance.now() - begun > MAX_PAUSE_MS) break;
      press(key);
    }
    return before;
  }, [code, delay]);
}

/** Typed codes decide no unseen receipt. `twin` is refused when written. */
async function typeCodes(page, count, twin) {
  const looked = new Set();
  let isBack = false;
  const begun = Date.now();
  for (let number = 0; looked.size < count || !isBack; number += 1) {
    const { id } = await seen(page);
    if (looked.has(id)) {
      assert.equal(id, twin.id, 'no other comes back');
      await said(page, `${twin.ref}: not accepted: ${twin.first} was accepted with the same receipt`);
      await page.keyboard.press('5');
      isBack = (await shown(page)).id !== id;
      continue;
    }
    const code = `${CODES[number % CODES.length]}${String(number).padStart(2, '0')}`;
    const accepted = await typeCode(page, code, KEY_MS[number % KEY_MS.length]);
    if (accepted) looked.add(accepted);
  }
  console.log(`${count} receipts accepted with a code typed after each key in ${Math.round((Date.now() - begun) / 1_000)} s`);
  return looked;
}

const shoot = async (page, name) => {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) });
};

async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => (await globalThis.axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`));
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  if (screenshots) await mkdir(screenshots, { recursive: true });
  const stack = await startStack();
  const taken = await photos(browser, RECEIPTS);
  const entered = [];
  // Has an accepted receipt's code.
  const TWIN = 14;
  for (let number = 0; number <= TYPED + RECEIPTS; number += 1) {
    entered.push(await enter(stack, number, taken[number % taken.length], number === TWIN ? 0 : number));
  }
  const waiting = async () => {
    const { submissions } = await opsJson(stack, 'submission', 'list', '--campaign', CAMPAIGN, '--unsettled', '--limit', '200');
    return submissions.filter(({ review_status: status }) => status === 'under_review');
  };
  const untilWaiting = (count) => until(async () => {
    const found = await waiting();
    return found.length === count && found;
  }, `${count} receipts under review`);
  await untilWaiting(entered.length);
  await opsJson(stack, '--by', 'neema', 'submission', 'settle', entered[0].id, '--accept', '--why', 'first');

  const openConsole = async (by) => {
    const { link } = await startConsole(stack, by);
    const opened = await open(browser, link);
    await until(() => opened.page.evaluate(() => document.querySelectorAll('.card').length === 4), 'three ahead');
    return opened;
  };
  const asha = await openConsole('asha');
  const sizes = await Promise.all(asha.loaded.filter((reply) => !reply.url().includes('/photo/')).map(async (reply) => (await reply.body().catch(() => '')).length));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 300_000, `the page has ${bytes} bytes`);
  assert.deepEqual(await violations(asha.page), []);
  await shoot(asha.page, 'review-light-1280');
  await asha.page.keyboard.press('?');
  await shoot(asha.page, 'review-keys');
  assert.deepEqual(await violations(asha.page), []);
  await asha.page.keyboard.press('Escape');
  await decideBy(asha.page, 'e');
  await shoot(asha.page, 'review-accept');
  assert.deepEqual(await violations(asha.page), []);
  await asha.page.keyboard.press('Escape');
  for (const key of ['z', 'r', 'c']) await asha.page.keyboard.press(key);
  await shoot(asha.page, 'review-zoomed');
  for (const key of ['z', 'r', 'r', 'r', 'c']) await asha.page.keyboard.press(key);
  const first = await asha.page.locator('.card:visible').getAttribute('data-id');
  await press(asha.page, '1');
  await asha.page.keyboard.press('u');
  assert.equal(await asha.page.locator('.card:visible').getAttribute('data-id'), first, 'u brings it back');

  await leaving(asha.page, waiting);
  await mishaps(asha.page);
  const looked = await typeCodes(asha.page, TYPED, { ...entered[TWIN], first: entered[0].ref });
  const queued = await untilWaiting(entered.length - 4 - looked.size);
  const { rows: typed } = await opsJson(stack, 'audit', 'list');
  const decided = typed.filter(({ action, subject }) => action === 'submission.settle' && looked.has(subject));
  const accepted = decided.filter(({ details }) => JSON.parse(details).after === 'entered').map(({ subject }) => subject);
  assert.deepEqual([...new Set(accepted)].sort(), [...looked].sort(), 'each was accepted');
  assert.equal(decided.length, looked.size + 1, 'and only the twin was rejected');

  const juma = await openConsole('juma');
  await juma.page.emulateMedia({ colorScheme: 'dark' });
  await juma.page.setViewportSize({ width: 820, height: 1180 });
  assert.deepEqual(await violations(juma.page), []);
  await shoot(juma.page, 'review-dark-820');
  // The refused connection is the test's own.
  asha.complaints = asha.complaints.filter((text) => !text.includes('ERR_FAILED') && !/40[09]|422/.test(text));
  const started = Date.now();
  const all = [];
  const [one, other] = await Promise.all([asha, juma].map(({ page }) => decide(page, all, queued.length)));
  const seconds = Math.round((Date.now() - started) / 1_000);
  await until(async () => (await waiting()).length === 0, 'the last answers');
  assert.deepEqual([...all].sort(), queued.map(({ id }) => id).sort(), 'each was shown to one reviewer, once');
  const { rows } = await opsJson(stack, 'audit', 'list');
  const settled = rows.filter(({ action }) => action === 'submission.settle').map(({ subject }) => subject);
  assert.deepEqual([...new Set(settled)].sort(), entered.map(({ id }) => id).sort());
  assert.equal(settled.length, entered.length + 1, 'once each, and the twin twice');
  await asha.page.locator('#nothing:visible').waitFor({ timeout: PATIENCE_MS });
  await shoot(asha.page, 'review-nothing');
  assert.deepEqual([asha.complaints, juma.complaints], [[], []]);

  const times = [...one.times, ...other.times].sort((a, b) => a - b);
  const [median, p95, most] = [times[times.length >> 1], times[Math.floor(times.length * 0.95)], times.at(-1)].map(Math.round);
  console.log(`${queued.length} receipts decided by two reviewers in ${seconds} s (${one.decided.length} and ${other.decided.length}); the page has ${bytes} bytes`);
  console.log(`from a key to the next receipt with its photo: median ${median} ms, 95 % within ${p95} ms, at most ${most} ms`);
  if (median > MAX_MS) console.log(`the median is over ${MAX_MS} ms: was this machine busy?`);
} finally {
  await browser.close();
  for (const child of children) child.kill('SIGINT');
  await Promise.all(children.map((child) => child.ended));
  await rm(folder, { recursive: true });
}
