// Fixtures for the tests of the try page and the console: a local stack, a browser, and pages whose traffic is recorded.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 60_000;
/** Includes adding demo entries. */
const ENTRIES_PATIENCE_MS = 300_000;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export async function startStack(program, ...options) {
  const folder = await mkdtemp(join(tmpdir(), 'try-page-'));
  const ready = join(folder, 'ready.json');
  const child = spawn(program, ['--port', '0', '--ready-file', ready, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((settle) => child.once('close', settle));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
  const until = Date.now() + (options.includes('--demo-entries') ? ENTRIES_PATIENCE_MS : PATIENCE_MS);
  while (!printed.includes('\nServing ')) {
    assert.ok(child.exitCode === null && Date.now() < until, `the local stack did not start:\n${printed}`);
    await pause(20);
  }
  const { base_url: baseUrl, env, campaigns } = JSON.parse(await readFile(ready));
  const stop = async () => {
    child.kill('SIGINT');
    await ended;
    await rm(folder, { recursive: true });
  };
  const untilPrinted = async (text, patience) => {
    const until = Date.now() + patience;
    while (!printed.includes(text)) {
      assert.ok(child.exitCode === null && Date.now() < until, `the local stack did not print ${text}:\n${printed}`);
      await pause(50);
    }
  };
  const keys = campaigns.flatMap(({ test, live }) => [test.key, live.key]);
  return { baseUrl, storage: env.AWS_ENDPOINT_URL_S3, keys, readyFile: ready, untilPrinted, stop };
}

/** Starts Chromium, with axe for accessibility. */
export async function startBrowser(tools) {
  const require = createRequire(`${resolve(tools)}/`);
  const { chromium } = require('playwright-core');
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  return { browser, axe: require('axe-core').source };
}

/** Waits until keys decide the receipt under review; returns its facts. */
export function seen(page) {
  return page.evaluate(async () => {
    const UNSEEN_MS = 550;
    const shown = () => document.querySelector('.card:not([hidden])');
    for (;;) {
      const card = shown();
      const photo = card?.querySelector('img');
      await new Promise((settle) => setTimeout(settle, card && (!photo || photo.complete) ? UNSEEN_MS : 20));
      if (card && card === shown() && (!photo || photo.complete)) return { ...card.dataset };
      if (!card && !document.getElementById('nothing').hidden) return {};
      if (!card && !document.getElementById('failed').hidden) document.getElementById('again').click();
    }
  });
}

/** Decides by key once the receipt was seen; returns its facts. */
export async function decideBy(page, key) {
  for (;;) {
    const card = await seen(page);
    await page.keyboard.press(key);
    // A busy page saw the photo later.
    if (!(await page.textContent('#said')).includes('did not count')) return card;
  }
}

/** A new visitor's page, with requests and responses checked at the end. */
export class Visit {
  static async begin({ browser, axe, stack, ...options }) {
    const { path, campaign, key = 'test', language = 'en', prepare, ...context } = options;
    const visit = new Visit();
    Object.assign(visit, { axe, stack, asked: [], got: [], complaints: [] });
    visit.context = await browser.newContext({ viewport: { width: 390, height: 844 }, ...context });
    visit.page = await visit.context.newPage();
    visit.page.setDefaultTimeout(20_000);
    visit.page.on('request', (request) => visit.asked.push(request));
    visit.page.on('response', (response) => visit.got.push(response));
    visit.page.on('pageerror', (error) => visit.complaints.push(error.message));
    visit.page.on('console', (message) => {
      // An error reply is not the page's fault.
      const isReply = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isReply) visit.complaints.push(message.text());
    });
    await prepare?.(visit.page);
    const search = new URLSearchParams({ ...(campaign && { campaign }), key, language });
    await visit.page.goto(`${stack.baseUrl}${path ?? `/try?${search}`}`);
    const loaded = path ? 'main' : '#form:visible, #notice:visible, #unreachable:visible';
    await visit.page.locator(loaded).first().waitFor();
    return visit;
  }

  /** Checks for script errors, foreign requests, and API keys in the browser. */
  async end() {
    // The page makes blobs itself.
    const replies = this.got.filter((response) => !response.url().startsWith('blob:'));
    const texts = await Promise.all(replies.map((response) => response.text().catch(() => '')));
    const sent = await Promise.all(this.asked.map(async (request) => JSON.stringify(await request.allHeaders().catch(() => ({})))));
    const dom = await this.page.content();
    await this.context.close();
    assert.deepEqual(this.complaints, []);
    const allowed = [this.stack.baseUrl, this.stack.storage, 'blob:'];
    const elsewhere = this.asked.map((request) => request.url()).filter((url) => !allowed.some((start) => url.startsWith(start)));
    assert.deepEqual(elsewhere, []);
    const seen = [...texts, ...sent, ...this.asked.map((request) => request.url()), dom].join('\n');
    assert.ok(texts.some((text) => text.length > 1_000), 'replies are looked at');
    assert.ok(!this.stack.keys.some((key) => seen.includes(key)) && !/svc_(test|live)_\w{8}/.test(seen), 'a key is in a browser');
  }

  /** Requests to the proxy or storage. */
  calls(method, path) {
    return this.asked.filter((request) => {
      const { pathname } = new URL(request.url());
      return request.method() === method && (path === 'storage' ? request.url().startsWith(this.stack.storage) : pathname.endsWith(path));
    });
  }

  async send({ code, sample, phone = '0712 345 678' }) {
    if (code) await this.page.fill('#code', code);
    if (sample) await this.clickSample(sample);
    await this.page.fill('#phone', phone);
    await this.page.check('#consent');
    await this.page.click('#send');
  }

  async clickSample(name) {
    const isReceipt = await this.page.locator('#receipt-samples button', { hasText: name }).count();
    const isPhoto = isReceipt && (await this.page.locator('input[name=kind][value=photo]').isChecked());
    await this.page.locator('.samples button', { hasText: name }).first().click();
    if (isPhoto) await this.page.locator('#preview').waitFor();
  }

  /** Waits for a status; returns title and message. */
  async status(status) {
    await this.page.locator(`#result[data-status=${status}]:visible`).waitFor();
    return {
      title: await this.page.textContent('#result-title'),
      message: await this.page.textContent('#result-message'),
    };
  }

  messages(campaign, language) {
    return this.page.evaluate(async ([path, language]) => {
      const headers = { 'X-Requested-With': 'try-page', 'Accept-Language': language };
      return (await (await fetch(path, { headers })).json()).messages;
    }, [`/try/api/${campaign}/test/campaign`, language]);
  }

  /** Violated rules of WCAG 2.1 AA and best practices. */
  async violations() {
    await this.page.evaluate(this.axe);
    return this.page.evaluate(async () => {
      // Colors are wrong during a fade-in.
      await Promise.all(document.getAnimations().map((animation) => animation.finished));
      const { violations } = await globalThis.axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    });
  }
}
