// Tests the operator's console over a local stack with demo entries, in headless Chromium.
// usage: console.mjs TOOLS LOCAL-STACK-PROGRAM OPS-PROGRAM [SCREENSHOTS]    (TOOLS is the folder with the packages of package.json)

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { decideBy, seen, startBrowser, startStack } from './stage.mjs';

const [tools, localProgram, opsProgram, screenshots] = process.argv.slice(2);
const OVERVIEW = '/campaigns/soda-rush-2026/live';
const SIZES = { 1280: { width: 1280, height: 900 }, 820: { width: 820, height: 1180 } };
const MAX_PAGE_BYTES = 300_000;
const PATIENCE_MS = 300_000;
// Demo receipts that wait for a person.
const WAITING = 100;

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

visit('the campaigns are listed with their numbers', '/', async (page) => {
  assert.match(await page.textContent('main'), /Soda Rush/);
  await look(page, 'campaigns');
});

visit('an overview has plots and their numbers as tables', OVERVIEW, async (page) => {
  assert.ok((await page.locator('svg[role=img] rect').count()) > 30, 'columns');
  await page.locator('summary').first().click();
  assert.ok(await page.locator('details[open] td').first().isVisible());
  await look(page, 'overview');
  const sizes = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => entry.decodedBodySize));
  const bytes = (await page.content()).length + sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
  console.log(`the overview has ${bytes} bytes`);
});

visit('a campaign is paused and resumed by keyboard', '/campaigns/bahati-2026/live', async (page) => {
  await page.getByRole('button', { name: 'Pause the campaign' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Resume the campaign' }).waitFor();
  assert.ok(await page.locator('.pill.paused').isVisible());
  await page.getByRole('button', { name: 'Resume the campaign' }).press('Enter');
  await page.getByRole('button', { name: 'Pause the campaign' }).waitFor();
});

visit('a phone leads to its submissions, and a reference to the whole story', '/', async (page) => {
  await page.keyboard.press('/');
  await page.waitForURL(/search$/);
  await page.fill('#what', '0712 000 002');
  await page.keyboard.press('Enter');
  const first = page.locator('td a').first();
  const reference = await first.textContent();
  await look(page, 'search');
  await page.fill('#what', reference);
  await page.keyboard.press('Enter');
  await page.waitForURL(/submissions/);
  assert.equal(await heading(page), `Submission ${reference}`);
  assert.ok((await page.locator('.timeline li').count()) > 0);
  await look(page, 'submission');
  await page.getByRole('button', { name: 'Show the phone' }).click();
  await page.getByText('+255712000002').waitFor();
});

visit('a batch is void only once its name is typed', '/campaigns/soda-rush-2026/test/codes', async (page) => {
  await look(page, 'codes');
  await page.getByRole('link', { name: 'Void batch-1' }).click();
  const button = page.getByRole('button', { name: 'Void the batch' });
  assert.ok(await button.isDisabled());
  await page.fill('#typed', 'batch');
  assert.ok(await button.isDisabled());
  await look(page, 'void');
  await page.fill('#typed', 'batch-1');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Codes' }).waitFor();
  assert.equal(await page.locator('tr', { hasText: 'batch-1' }).locator('.pill').textContent(), 'void');
});

visit('a webhook is added, tested and stopped', '/campaigns/soda-rush-2026/test/webhooks', async (page) => {
  await page.fill('#url', `${stack.baseUrl}/docs`);
  await page.getByRole('button', { name: 'Add and test' }).click();
  await page.getByText(/^whsec_/).waitFor();
  await look(page, 'webhooks');
  await page.getByRole('button', { name: 'Test 127.0.0.1' }).click();
  await page.getByText('127.0.0.1 did not take the test event').waitFor();
  await page.getByRole('button', { name: 'Stop 127.0.0.1' }).click();
  assert.equal(await page.locator('tr', { hasText: '127.0.0.1' }).locator('.pill').textContent(), 'stopped');
});

visit('a draw leads to its winners, who are called', '/campaigns/chai-bora-2026/live/draws', async (page) => {
  await look(page, 'draws');
  await page.getByRole('link', { name: 'demo' }).click();
  await page.getByText('Every winner').or(page.getByText('To be called, or to get the prize')).waitFor();
  await look(page, 'draw');
  await page.getByRole('link', { name: 'Place 2 of Airtime' }).click();
  await page.getByRole('button', { name: 'Show the number' }).click();
  await page.getByText('+25571300').waitFor();
  await page.getByRole('button', { name: 'Called, no answer' }).click();
  await page.getByText('called, no answer, logged by asha').waitFor();
  const skip = page.getByRole('button', { name: 'Skip' });
  await page.fill('#typed', 'dem');
  assert.ok(await skip.isDisabled());
  await page.fill('#typed', 'demo');
  assert.ok(await skip.isEnabled());
  await look(page, 'winner');
});

visit('a person is handed over', '/people', async (page) => {
  await page.fill('#phone', '0712000002');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Hand it over' }).waitFor();
  await look(page, 'people');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'person.zip');
});

visit('every change is in the log, with who made it', '/changes', async (page) => {
  const text = await page.textContent('table');
  for (const action of ['campaign.pause', 'campaign.resume', 'code.void', 'submission.show', 'person.export']) assert.match(text, new RegExp(action));
  assert.match(text, /\(asha\)/);
  await look(page, 'changes');
});

/** The form for accepting stays open until it can be sent. */
async function tryForm(page) {
  const form = page.locator('.card:visible .accepting');
  const said = (text) => form.locator('.missing', { hasText: text }).waitFor();
  await form.waitFor();
  assert.ok(await page.locator('.card:visible .answers').isHidden(), 'in place of the buttons');
  const [photo, fields] = await Promise.all([page.locator('.card:visible .photo').boundingBox(), form.boundingBox()]);
  assert.ok(fields.x >= photo.x + photo.width, 'never over the photo');
  const frame = await page.locator('.card:visible .photo').evaluate((photo) => ({ ...photo.dataset, wide: photo.scrollWidth / photo.clientWidth, top: photo.scrollTop }));
  assert.ok(frame.wide > 1.5 && frame.top > 0, `zoomed to the code: ${JSON.stringify(frame)}`);
  if (screenshots) await page.screenshot({ path: `${screenshots}/console-review-code.png` });
  await page.keyboard.press('Enter');
  await said('Type the receipt’s code, or tick');
  await page.keyboard.type('READ/');
  await said('6 to 40 letters and digits');
  await page.keyboard.press('Backspace');
  await page.keyboard.press('Enter');
  await said('6 to 40 letters and digits');
  await look(page, 'review-accept');
  await page.keyboard.press('Escape');
  assert.ok(await form.isHidden());
  await page.keyboard.press('a');
  assert.equal(await form.locator('[name=code]').inputValue(), 'READ', 'what was typed is there again');
  await form.locator('[name=code]').fill('');
}

visit('a hundred waiting receipts are decided by keyboard alone', '/campaigns/duka-kuu-2026/live/review', async (page) => {
  const started = Date.now();
  const card = page.locator('.card:visible');
  let decided = 0;
  let tried = 0;
  for (;;) {
    await card.or(page.locator('#nothing:visible')).first().waitFor();
    const shown = await seen(page);
    if (!shown.id) break;
    decided += 1;
    if (decided % 2) {
      await decideBy(page, 'a');
      if (!shown.direct) {
        if (!tried++) await tryForm(page);
        await page.keyboard.type(`READ${String(decided).padStart(6, '0')}`);
        await page.keyboard.press('Enter');
      }
    } else await decideBy(page, '1');
    await page.waitForFunction((id) => document.querySelector('.card:not([hidden])')?.dataset.id !== id, shown.id);
  }
  const seconds = (Date.now() - started) / 1_000;
  assert.ok(decided >= WAITING && tried, `${decided} decided, ${tried} with a code`);
  await page.waitForFunction(() => document.getElementById('progress').textContent.startsWith('0 waiting'), null, { timeout: 120_000 });
  console.log(`${decided} receipts of the demo decided by keyboard in ${seconds} s: ten minutes leave ${(600 - seconds) / decided} s to look at each`);
});

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
