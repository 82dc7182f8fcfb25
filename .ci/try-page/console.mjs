// Tests the operator's console over a local stack with demo entries, in headless Chromium.
// usage: console.mjs TOOLS LOCAL-STACK-PROGRAM OPS-PROGRAM [SCREENSHOTS]    (TOOLS is the folder with the packages of package.json)

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import campaigns from './console/campaigns.mjs';
import submissions from './console/submissions.mjs';
import codes from './console/codes.mjs';
import keys from './console/keys.mjs';
import webhooks from './console/webhooks.mjs';
import draws from './console/draws.mjs';
import people from './console/people.mjs';
import receipts from './console/receipts.mjs';
import { startBrowser, startStack } from './stage.mjs';

const [tools, localProgram, opsProgram, screenshots] = process.argv.slice(2);
const OVERVIEW = '/campaigns/soda-rush-2026/live';
const SIZES = { 1280: { width: 1280, height: 900 }, 820: { width: 820, height: 1180 } };
const PATIENCE_MS = 300_000;

let stage;
let stack;
let ops;
let operator;

/** Starts the console; returns the printed link. */
async function startConsole() {
  const child = spawn(opsProgram, ['--env-file', stack.readyFile, '--by', 'asha', 'console', '--no-browser']);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
  const until = Date.now() + PATIENCE_MS;
  let link;
  while (!(link = printed.match(/http:\/\/127\.0\.0\.1:\d+\/open#\w+/)?.[0])) {
    assert.ok(child.exitCode === null && Date.now() < until, `the console did not start:\n${printed}`);
    await pause(20);
  }
  assert.equal(printed.trim().split('\n').length, 1, 'one line');
  const ended = new Promise((settle) => child.once('close', (code) => settle({ code, printed })));
  const stop = () => {
    child.kill('SIGINT');
    return ended;
  };
  return { link, origin: new URL(link).origin, ended, stop };
}

before(async () => {
  if (screenshots) await mkdir(screenshots, { recursive: true });
  stage = await startBrowser(tools);
  const started = Date.now();
  stack = await startStack(localProgram, '--demo-entries');
  const serving = Date.now();
  await stack.untilPrinted('The demo entries are in', PATIENCE_MS);
  const entered = Date.now();
  ops = await startConsole();
  console.log(`the stack served after ${serving - started} ms, its demo entries were in after ${entered - started} ms; the console was open after ${Date.now() - entered} ms`);
  operator = await stage.browser.newContext({ viewport: SIZES[1280] });
  const page = await operator.newPage();
  await page.goto(ops.link);
  await page.waitForURL(`${ops.origin}/`);
  // Numbers are counted from the streams.
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    await page.goto(`${ops.origin}${OVERVIEW}`);
    if (/Submissions1,400/.test((await page.textContent('main')).replaceAll(/\s/g, ''))) break;
    assert.ok(Date.now() < until, `the numbers are not counted: ${await page.textContent('main')}`);
    await pause(500);
  }
  await page.close();
});
after(async () => {
  await stage?.browser.close();
  await ops?.stop();
  await stack?.stop();
});

/** An operator's page, with traffic and errors checked at the end. */
function visit(name, path, act) {
  test(name, { timeout: PATIENCE_MS }, async () => {
    const page = await operator.newPage();
    page.setDefaultTimeout(20_000);
    const [asked, complaints] = [[], []];
    page.on('request', (request) => asked.push(request.url()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // An error page is not a script's fault.
      const isReply = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isReply) complaints.push(message.text());
    });
    await page.goto(`${ops.origin}${path}`);
    await act(page);
    await page.close();
    assert.deepEqual(complaints, []);
    assert.deepEqual(asked.filter((url) => !url.startsWith(`${ops.origin}/`)), [], 'nothing from elsewhere');
    assert.ok(!asked.some((url) => /345678|[?&](what|phone)=/.test(url)), 'no phone or code in an address');
  });
}

async function violations(page) {
  await page.evaluate(stage.axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

/** Checks light and dark, wide and narrow. */
async function look(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      assert.deepEqual(await violations(page), [], `${name}, ${colorScheme}, ${size}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${name} is too wide for ${size}`);
      if (screenshots) await page.screenshot({ path: `${screenshots}/console-${name}-${size}-${colorScheme}.png`, fullPage: true });
    }
  }
}

const heading = (page) => page.textContent('h1');

// In this order: the last of them look at what the others left.
const kit = {
  visit,
  look,
  heading,
  screenshots,
  /** The local stack, once a test runs. */
  get stack() {
    return stack;
  },
};
for (const tests of [campaigns, submissions, codes, keys, webhooks, draws, people, receipts]) tests(kit);

test('a link that was used ends the console for all', { timeout: PATIENCE_MS }, async () => {
  const again = await operator.newPage();
  await again.goto(ops.link);
  await again.waitForURL(`${ops.origin}/`);
  const other = await stage.browser.newContext();
  const page = await other.newPage();
  await page.goto(`${ops.origin}/`);
  assert.equal(await heading(page), 'Not open here');
  assert.deepEqual(await violations(page), []);
  await page.goto(ops.link);
  await page.getByText('This link was used before').waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the token leaves the address bar');
  const { code, printed } = await ops.ended;
  assert.equal(code, 1);
  assert.match(printed, /its link was used twice/);
  await other.close();
});
