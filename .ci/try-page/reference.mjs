// Tests the reference pages of a local stack in headless Chromium, as on a phone.
// usage: reference.mjs TOOLS LOCAL-STACK-PROGRAM [SCREENSHOTS]    (TOOLS is the folder with the packages of package.json)

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { Visit, startBrowser, startStack } from './stage.mjs';

const [tools, program, screenshots] = process.argv.slice(2);
/** Pages with samples, tables and fields, each with a place to go to. */
const PAGES = ['/docs#enter', '/docs/errors#phone_invalid', '/docs/endpoints/submissions#createSubmission'];
const TRANSPARENT = 'rgba(0, 0, 0, 0)';

let stage;
let stack;

before(async () => {
  [stage, stack] = await Promise.all([startBrowser(tools), startStack(program, '--no-demo')]);
  if (screenshots) await mkdir(screenshots, { recursive: true });
});
after(() => Promise.all([stage?.browser.close(), stack?.stop()]));

const look = (page) => page.evaluate(() => {
  const style = (element) => getComputedStyle(element);
  const all = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const covered = all('figure.sample').filter((figure) => {
    const button = figure.querySelector('figcaption button').getBoundingClientRect();
    return button.width === 0 || button.bottom > figure.querySelector('pre').getBoundingClientRect().top;
  });
  return {
    isWide: document.documentElement.scrollWidth > innerWidth,
    samples: all('figure.sample').length,
    covered: covered.map((figure) => figure.textContent),
    sizes: [...new Set(all('pre code').map((code) => style(code).fontSize))],
    underlined: all('main a:has(> code)').filter((link) => style(link).textDecorationLine !== 'none')
      .map((link) => style(link).textDecorationColor),
    page: style(document.body).backgroundColor,
    target: style(document.querySelector(':target')).backgroundColor,
  };
});

for (const colorScheme of ['light', 'dark']) {
  for (const path of PAGES) {
    test(`${path} can be read on a phone, ${colorScheme}`, { timeout: 120_000 }, async () => {
      const visit = await Visit.begin({ ...stage, stack, path, colorScheme });
      const { isWide, samples, covered, sizes, underlined, page, target } = await look(visit.page);
      assert.ok(!isWide, 'it scrolls sideways');
      assert.deepEqual(covered, [], 'a button is over code');
      assert.deepEqual(sizes, samples ? ['13px'] : []);
      assert.deepEqual(underlined.filter((color) => color !== TRANSPARENT), [], 'a line hides underscores');
      assert.ok(target !== page && target !== TRANSPARENT, `the place that a link leads to is not marked: ${target}`);
      assert.deepEqual(await visit.violations(), []);
      const name = `reference-${path.split('#')[0].split('/').at(-1)}-${colorScheme}.png`;
      if (screenshots) await visit.page.screenshot({ path: `${screenshots}/${name}` });
      await visit.end();
    });
  }
}

test('the search shows the words that it found', { timeout: 120_000 }, async () => {
  const visit = await Visit.begin({ ...stage, stack, path: '/docs#enter', colorScheme: 'light' });
  const { page } = visit;
  const behaviour = await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
  assert.equal(behaviour, 'auto', 'a page that is opened at a place stands still at once');
  for (const word of ['webhook', 'already']) {
    await page.fill('#search', word);
    await page.waitForSelector('#results li[data-url]');
    const shown = (typed) => [...document.querySelectorAll('#results li')].every((item) => item.textContent.toLowerCase().includes(typed));
    await page.waitForFunction(shown, word);
  }
  await visit.end();
});
