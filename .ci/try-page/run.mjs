// Tests the try page of a local stack in headless Chromium.
// usage: run.mjs TOOLS LOCAL-STACK-PROGRAM [SCREENSHOTS]    (TOOLS is the folder with the packages of package.json)

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { networkVisits } from './network.mjs';
import { Visit, startBrowser, startStack } from './stage.mjs';

const [tools, program, screenshots] = process.argv.slice(2);
const CODES = 'chai-bora-2026';
const RECEIPTS = 'duka-kuu-2026';
const BOTH = 'risiti-na-namba-2026';
const DESKTOP = { width: 1280, height: 900 };

let stage;
let stack;

before(async () => {
  [stage, stack] = await Promise.all([startBrowser(tools), startStack(program)]);
  if (screenshots) await mkdir(screenshots, { recursive: true });
});
after(() => Promise.all([stage?.browser.close(), stack?.stop()]));

function visit(name, options, act) {
  test(name, { timeout: 60_000 }, async () => {
    const visit = await Visit.begin({ ...stage, stack, ...options });
    await act(visit, visit.page);
    await visit.end();
  });
}

const error = (page, field) => page.textContent(`#${field}-error`);
const keyOf = (request) => request.headers()['idempotency-key'];
const word = (page, language, name) => page.evaluate(async ([language, name]) => {
  const { LANGUAGES } = await import('/try/words.js');
  return LANGUAGES[language][name];
}, [language, name]);
const focused = (page) => page.evaluate(() => document.activeElement.id);

visit('a code enters, and the entry has a reference', { campaign: 'soda-rush-2026' }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-VALID' });
  const { title, message } = await visit.status('entered');
  assert.equal(title, 'Entered');
  assert.equal(message, (await visit.messages('soda-rush-2026', 'en')).entered);
  assert.match(await page.textContent('#result-facts'), /Reference[2-9A-Z]{4}-[2-9A-Z]{4}Entries2/);
  assert.equal(await focused(page), 'result', 'who cannot see it is told');
});

visit('a minted code enters with the live key, once for each phone', { campaign: CODES, key: 'live' }, async (visit, page) => {
  const [code] = (await page.textContent('#code-samples code')).split('\n');
  await visit.send({ code: code.toLowerCase().replaceAll('-', ' ') });
  await visit.status('entered');
  await page.click('#again');
  await visit.send({ code });
  await visit.status('entered');
  assert.ok(await page.isVisible('#result-earlier'), 'the same entry again');
  await page.click('#again');
  await visit.send({ code, phone: '+255 754 000 111' });
  assert.equal((await visit.status('not_accepted')).message, (await visit.messages(CODES, 'en')).already_used);
});

visit('a win looks like one', { campaign: 'soda-rush-2026' }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-INSTANT-WIN' });
  const { title } = await visit.status('entered');
  assert.equal(title, 'You have won!');
  assert.ok((await page.textContent('#result-prize')).length > 0);
  const sizes = await page.evaluate(() => ['#result-title', 'h1'].map((name) => parseFloat(getComputedStyle(document.querySelector(name)).fontSize)));
  assert.ok(sizes[0] > sizes[1], `nothing is larger: ${sizes}`);
});

visit('a late decision arrives as a webhook', { campaign: CODES }, async (visit, page) => {
  const event = (type) => page.locator('#calls code', { hasText: `POST ${type}` }).waitFor();
  await page.check('#events');
  await event('test.ping');
  await visit.send({ sample: 'TEST-0-SLOW' });
  await event('submission.accepted');
  await page.uncheck('#events');
});

visit('a refused code is said, and another one can be sent', { campaign: CODES }, async (visit, page) => {
  await visit.send({ code: 'AAAA-BBBB-CCCC', phone: '0712000001' });
  assert.equal((await visit.status('not_accepted')).message, (await visit.messages(CODES, 'en')).invalid);
  await page.click('#again');
  assert.equal(await focused(page), 'code');
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000001' });
  await visit.status('entered');
});

visit('an empty form says at once what is missing, at each field', { campaign: BOTH, language: 'sw' }, async (visit, page) => {
  const wrong = () => page.evaluate(() => [...document.querySelectorAll('#form [aria-invalid=true]')].map(({ id }) => id));
  await page.click('#send');
  assert.deepEqual(await wrong(), ['code', 'photo', 'phone', 'consent']);
  assert.equal(await focused(page), 'code');
  for (const [field, text] of [['code', /pakiti/], ['photo', /picha/], ['phone', /0712 345 678/], ['consent', /kubali/i]]) {
    assert.match(await error(page, field), text);
  }
  await page.fill('#code', 'TEST-0-VALID');
  assert.deepEqual(await wrong(), ['photo', 'phone', 'consent'], 'a change takes its own error back');
  await page.check('input[name=kind][value=typed]');
  await page.fill('#receipt-time', '25h');
  await page.click('#send');
  assert.deepEqual(await wrong(), ['receipt-code', 'receipt-time', 'phone', 'consent']);
  assert.equal(await focused(page), 'receipt-code');
  assert.match(await error(page, 'receipt-code'), /QR/);
  assert.match(await error(page, 'receipt-time'), /10:15:30/);
  await page.fill('#receipt-code', 'TEST0VERIFIED');
  await page.fill('#receipt-time', '10:15');
  await page.fill('#phone', '0712345678');
  await page.click('#send');
  assert.deepEqual(await wrong(), ['consent']);
  assert.equal(await focused(page), 'consent');
  assert.equal(visit.calls('POST', '/submissions').length + visit.calls('POST', '/receipts').length, 0);
});

visit('what only the service can tell is said at its field too', { campaign: CODES, key: 'live' }, async (visit, page) => {
  await visit.send({ code: 'AAAA-BBBB-CCCC', phone: '022 211 1111' });
  await page.locator('#phone-error:visible').waitFor();
  assert.match(await error(page, 'phone'), /Tanzanian mobile number/);
  await visit.send({ code: 'TEST-0-VALID', phone: '0712000002' });
  await page.locator('#form-error:visible').waitFor();
  assert.match(await error(page, 'form'), /test key only/);
});

/** As from a camera: large, and not encoded by the page. */
async function bigPhoto(page, code) {
  const png = await page.evaluate(async (code) => {
    const drawing = await (await fetch(`/try/receipt.png?code=${code}`)).blob();
    const image = new Image();
    image.src = URL.createObjectURL(drawing);
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: 2769, height: 4000 });
    canvas.getContext('2d').drawImage(image, 0, 0, 2769, 4000);
    return canvas.toDataURL('image/png').split(',')[1];
  }, code);
  return { name: 'IMG_0001.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') };
}

visit('a photo is made smaller, put to storage, read and judged', { campaign: RECEIPTS, key: 'live' }, async (visit, page) => {
  await page.setInputFiles('#photo', await bigPhoto(page, 'GOOD01777001'));
  await page.locator('#preview:visible').waitFor();
  assert.equal(await page.textContent('#preview'), 'The photo is ready.');
  const sizes = await page.evaluate(() => [...document.querySelectorAll('#preview img')].map((image) => [image.naturalWidth, image.naturalHeight]));
  assert.deepEqual(sizes, [[1385, 2000]]);
  await visit.send({ phone: '0712000003' });
  await visit.status('entered');
  assert.match(await page.textContent('#result-facts'), /Receipt\d{1,2} \w+ · Kariakoo · 1 x Chai Bora 250 g/);

  const [announced, put] = [visit.calls('POST', '/receipts')[0], visit.calls('PUT', 'storage')[0]];
  const [declared, { upload }] = [announced.postDataJSON(), await (await announced.response()).json()];
  assert.deepEqual([declared.type, declared.content_type], ['photo', 'image/jpeg']);
  assert.equal('qr_payload' in declared, false, 'the service reads the photo itself');
  const headers = await put.allHeaders();
  for (const [name, value] of Object.entries(upload.headers)) assert.equal(headers[name], value, name);
  assert.equal(headers['content-length'], String(declared.size_bytes));
  assert.equal((await put.response()).status(), 200);
});

visit('a file that is no photo is refused before anything is sent', { campaign: RECEIPTS }, async (visit, page) => {
  await page.setInputFiles('#photo', { name: 'receipt.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('no picture') });
  await page.locator('#photo-error:visible').waitFor();
  assert.match(await error(page, 'photo'), /not a photo/);
  assert.equal(visit.calls('POST', '/receipts').length, 0);
});

visit('a typed receipt is judged', { campaign: RECEIPTS, key: 'live' }, async (visit, page) => {
  await page.check('input[name=kind][value=typed]');
  await visit.send({ sample: 'GOOD01', phone: '0712000004' });
  await visit.status('entered');
  assert.equal(visit.calls('POST', '/receipts')[0].postDataJSON().time, '10:15:30');
  assert.equal(visit.calls('PUT', 'storage').length, 0);
});

visit('trying again after a wrong code keeps everything else', { campaign: CODES }, async (visit, page) => {
  await visit.send({ code: 'AAAA-BBBB-CCCC', phone: '0712000015' });
  const { message } = await visit.status('not_accepted');
  await page.click('#correct');
  assert.equal(await error(page, 'code'), message);
  assert.equal(await page.getAttribute('#code', 'aria-invalid'), 'true');
  assert.equal(await focused(page), 'code');
  assert.deepEqual([await page.inputValue('#code'), await page.inputValue('#phone')], ['AAAA-BBBB-CCCC', '0712000015']);
  assert.ok(await page.isChecked('#consent'));
  await page.click('[data-language=sw]');
  const translated = (await visit.messages(CODES, 'sw')).invalid;
  await page.locator('#code-error', { hasText: translated }).waitFor();
  await page.fill('#code', 'TEST-0-VALID');
  assert.ok(await page.isHidden('#code-error'));
  await page.click('#send');
  await visit.status('entered');
  assert.ok(await page.isHidden('#correct'), 'there is nothing to correct');
  assert.equal(new Set(visit.calls('POST', '/submissions').map(keyOf)).size, 2, 'another code is another attempt');
});

visit('who has to wait does not type everything again', { campaign: CODES }, async (visit, page) => {
  await visit.send({ code: 'TEST-0-RATE-LIMITED', phone: '0712000023' });
  const { message } = await visit.status('not_accepted');
  await page.click('#correct');
  assert.equal(await error(page, 'form'), message);
  assert.deepEqual([await page.inputValue('#code'), await page.inputValue('#phone')], ['TEST-0-RATE-LIMITED', '0712000023']);
});

visit('a photo is kept while the code is corrected, and sent once', { campaign: BOTH }, async (visit, page) => {
  await visit.clickSample('TEST0VERIFIED');
  await visit.send({ sample: 'TEST-0-INVALID', phone: '0712000016' });
  await visit.status('not_accepted');
  await page.click('#correct');
  assert.ok(await page.isVisible('#preview'));
  await page.fill('#code', 'TEST-0-VALID.corrected');
  await page.click('#send');
  await visit.status('entered');
  assert.equal(visit.calls('PUT', 'storage').length, 1);
});

visit('a receipt that does not count can be exchanged under the same code', { campaign: BOTH }, async (visit, page) => {
  await visit.clickSample('TEST0WRONGSTORE');
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000017' });
  const { message } = await visit.status('needs_attention');
  const code = visit.calls('POST', '/submissions')[0].postDataJSON().code;
  await page.click('#correct');
  assert.equal(await error(page, 'photo'), message);
  await page.fill('#qr', 'TEST0VERIFIED.better');
  await page.click('#send');
  await visit.status('entered');
  assert.equal(visit.calls('POST', '/submissions')[1].postDataJSON().code, code);
});

visit('a wrong time is corrected at its field', { campaign: RECEIPTS, key: 'live' }, async (visit, page) => {
  await page.check('input[name=kind][value=typed]');
  await page.fill('#receipt-code', 'TIME01777002');
  await page.fill('#receipt-time', '0915');
  await visit.send({ phone: '0712000018' });
  await page.locator('#correct:visible').waitFor();
  await page.click('#correct');
  assert.equal(await focused(page), 'receipt-time');
  assert.equal(await page.inputValue('#receipt-code'), 'TIME01777002');
  await page.fill('#receipt-time', '10.15.30');
  await page.click('#send');
  await visit.status('entered');
  assert.deepEqual(visit.calls('POST', '/receipts').map((request) => request.postDataJSON().time), ['09:15', '10:15:30']);
});

visit('a time is understood however it is typed', { campaign: RECEIPTS }, async (visit, page) => {
  await page.check('input[name=kind][value=typed]');
  for (const [typed, understood] of [['1015', '10:15'], ['10.15', '10:15'], ['10h15', '10:15'], ['915', '9:15'],
    ['101530', '10:15:30'], ['10:15:30', '10:15:30'], ['10 15', '10:15'], ['noon', 'noon']]) {
    await page.fill('#receipt-time', typed);
    await page.focus('#phone');
    assert.equal(await page.inputValue('#receipt-time'), understood, typed);
  }
});

visit('the form is there in two rounds, and photos cost nothing where there are none', { campaign: CODES }, async (visit, page) => {
  const paths = visit.asked.map((request) => new URL(request.url()).pathname);
  assert.ok(paths.length <= 13, paths.join(' '));
  assert.ok(!paths.some((path) => path.endsWith('/photo.js') || path.endsWith('/campaign')), paths.join(' '));
  const named = await page.evaluate(() => [...document.querySelectorAll('link[href], script[src], img[src]')].map((from) => new URL(from.href ?? from.src).pathname));
  assert.deepEqual(paths.slice(1).filter((path) => !named.includes(path)), [], 'fetched once another file is there');
  const sizes = await Promise.all(visit.got.map(async (response) => (await response.request().sizes()).responseBodySize));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 32_000, `${bytes} bytes`);
});

test('before the scripts are there the page shows no empty field', { timeout: 60_000 }, async () => {
  const page = await (await stage.browser.newContext()).newPage();
  await page.route('**/page.js', (route) => route.abort());
  await page.goto(`${stack.baseUrl}/try`);
  assert.equal(await page.locator('select:visible, input:visible, #calls:visible').count(), 0);
  assert.match(await page.textContent('#name'), /Inapakia/);
  await page.context().close();
});

const OTHER = '**/soda-rush-2026/test/campaign';
const unanswered = (page) => page.route(OTHER, (route) => route.abort());
visit('a campaign that cannot be asked for is said, and asked for again once there is a network', { prepare: unanswered, campaign: CODES, language: 'sw' }, async (visit, page) => {
  await page.selectOption('#campaign', 'soda-rush-2026');
  await page.locator('#unreachable:visible').waitFor();
  assert.match(await page.textContent('#unreachable-text'), /mtandao/);
  assert.equal(await page.textContent('#name'), 'Hakuna mtandao');
  await page.click('[data-language=en]');
  await page.locator('#unreachable-text', { hasText: 'no connection' }).waitFor();
  assert.deepEqual(await visit.violations(), []);
  await page.unroute(OTHER);
  await page.evaluate(() => window.dispatchEvent(new Event('online')));
  await page.locator('#form:visible').waitFor();
  assert.ok(await page.isHidden('#unreachable'));
  assert.equal(await page.textContent('#name'), 'Soda Rush');
});

visit('a language that is chosen offline is shown, and the rest comes later', { campaign: CODES }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000019' });
  await visit.status('entered');
  await visit.context.setOffline(true);
  await page.click('[data-language=sw]');
  await page.locator('#result-title', { hasText: 'Umeingia' }).waitFor();
  assert.equal(await page.textContent('#name'), 'Chai Bora Shinda');
  await page.locator('#unreachable:visible').waitFor();
  assert.equal(await page.textContent('#name'), 'Chai Bora Shinda');
  await visit.context.setOffline(false);
  const translated = (await visit.messages(CODES, 'sw')).entered;
  await page.locator('#result-message', { hasText: translated }).waitFor();
  assert.ok(await page.isHidden('#unreachable'));
});

visit('an entry that is not settled is there again after a reload, and its data nowhere', { campaign: CODES }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-CHECKING', phone: '0712000020' });
  await visit.status('checking');
  const { id } = await (await visit.calls('POST', '/submissions')[0].response()).json();
  assert.match(await page.textContent('#result-wait'), /in rare cases a day/);
  await page.reload();
  const { message } = await visit.status('checking');
  assert.equal(message, (await visit.messages(CODES, 'en')).checking);
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + location.href);
  assert.ok(kept.includes(id) && !kept.includes('712000020') && !kept.includes('TEST-0'), kept);
  await page.click('#again');
  await page.reload();
  await page.locator('#form:visible').waitFor();
});

visit('an upload can be cancelled, and sent after all', { campaign: RECEIPTS }, async (visit, page) => {
  let release;
  const held = new Promise((settle) => (release = settle));
  await page.route(`${stack.storage}/**`, (route) => held.then(() => route.continue().catch(() => {})), { times: 1 });
  await visit.send({ sample: 'TEST0VERIFIED', phone: '0712000021' });
  await page.click('#cancel');
  await page.locator('#form-error:visible').waitFor();
  assert.match(await error(page, 'form'), /not sent/);
  assert.ok(await page.isHidden('#progress'));
  assert.ok(await page.isVisible('#preview'), 'the photo is still there');
  release();
  assert.equal(visit.calls('POST', '/submissions').length, 0);
  await page.click('#send');
  await visit.status('entered');
  assert.equal(new Set(visit.calls('POST', '/receipts').map(keyOf)).size, 1);
});

visit('each sample comes with a fresh phone, so that the limits of a day do not answer for it', { campaign: CODES }, async (visit, page) => {
  for (let sent = 0; sent < 5; sent += 1) {
    await page.locator('.samples button', { hasText: 'TEST-0-VALID' }).click();
    await page.check('#consent');
    await page.click('#send');
    await visit.status('entered');
  }
});

visit('the list of calls shows bodies, times and no key', { campaign: CODES }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000022' });
  await visit.status('entered');
  const call = page.locator('#calls li').first();
  assert.match(await call.textContent(), /POST \/submissions.* · \d+ ms/);
  await call.locator('summary').first().click();
  assert.match(await call.locator('pre').first().textContent(), /"phone": "0712000022"/);
  await call.locator('summary').last().click();
  assert.match(await call.locator('pre').last().textContent(), /"display_status": "entered"/);
});

visit('the reference is one click away', { campaign: CODES }, async (visit, page) => {
  assert.equal(await page.getAttribute('header a', 'href'), '/docs');
});

visit('on a phone the form can be sent without scrolling, and the row of samples shows that it goes on', { campaign: CODES }, async (visit, page) => {
  const { bottom } = await page.evaluate(() => document.getElementById('send').getBoundingClientRect());
  assert.ok(bottom <= 844, `Send ends at ${bottom}`);
  const row = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.querySelector('.samples');
    return { scrollWidth, clientWidth, mask: getComputedStyle(document.querySelector('.samples')).maskImage };
  });
  assert.ok(row.scrollWidth > row.clientWidth && row.mask.includes('gradient'), JSON.stringify(row));
});

// Every status, in both languages, and how long it can take.
const STATUSES = [
  ['entered', 'entered', { campaign: CODES, sample: 'TEST-0-VALID' }, 'Entered', 'Umeingia'],
  ['checking', 'checking', { campaign: CODES, sample: 'TEST-0-CHECKING', wait: 'wait_code' }, 'Being checked', 'Inahakikiwa'],
  ['checking', 'receipt_received', { campaign: RECEIPTS, typed: 'TEST0RECEIVED', wait: 'wait_receipt' }, 'Being checked', 'Inahakikiwa'],
  ['receipt_in_review', 'receipt_received', { campaign: RECEIPTS, sample: 'TEST0REVIEW', wait: 'wait_review' }, 'In review', 'Risiti inakaguliwa na mtu'],
  ['not_accepted', 'invalid', { campaign: CODES, sample: 'TEST-0-INVALID' }, 'Not accepted', 'Haikukubaliwa'],
  ['needs_attention', 'receipt_wrong_store', { campaign: RECEIPTS, sample: 'TEST0WRONGSTORE' }, 'Action needed', 'Tafadhali angalia hapa'],
];
for (const [index, [status, key, { campaign, sample, typed, wait }, en, sw]] of STATUSES.entries()) {
  for (const [language, other, title, otherTitle] of [['en', 'sw', en, sw], ['sw', 'en', sw, en]]) {
    visit(`${status} with ${key} is shown in ${language}, and in ${other} once asked for`, { campaign, language, viewport: DESKTOP }, async (visit, page) => {
      const phone = `0713${String(index).padStart(5, '0')}${language === 'en' ? 1 : 2}`;
      if (typed) {
        await page.check('input[name=kind][value=typed]');
        await page.fill('#receipt-code', typed);
        await page.fill('#receipt-time', '10:15');
      }
      await visit.send({ sample, phone });
      assert.deepEqual(await visit.status(status), { title, message: (await visit.messages(campaign, language))[key] });
      assert.equal(await page.textContent('#result-wait'), wait ? await word(page, language, wait) : '');
      assert.equal(await page.getAttribute('html', 'lang'), language);
      await page.click(`[data-language=${other}]`);
      const translated = (await visit.messages(campaign, other))[key];
      await page.locator('#result-message', { hasText: translated }).waitFor();
      assert.deepEqual(await visit.status(status), { title: otherTitle, message: translated });
      assert.deepEqual(await visit.violations(), []);
    });
  }
}

networkVisits({ visit, stack: () => stack, error, keyOf, CODES, RECEIPTS });

visit('it can be used by keyboard alone', { campaign: CODES, viewport: DESKTOP }, async (visit, page) => {
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  for (const typed of ['TEST-0-VALID.keys', '0712000011']) {
    await page.keyboard.press('Tab');
    await page.keyboard.type(typed);
  }
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await visit.status('entered');
});

visit('both languages have a word for everything', { campaign: CODES }, async (visit, page) => {
  const names = await page.evaluate(async () => {
    const { LANGUAGES } = await import('/try/words.js');
    return Object.values(LANGUAGES).map((words) => Object.keys(words));
  });
  assert.equal(names.length, 2);
  assert.deepEqual(names[0], names[1]);
});

visit('entries of a phone are listed', { campaign: CODES }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000012' });
  await visit.status('entered');
  await page.click('#entries summary');
  await page.fill('#lookup-phone', '0712 000 012');
  await page.click('#lookup button');
  await page.locator('#found li').waitFor();
  assert.match(await page.textContent('#found'), /Entries in all: 1.*Entered\d{1,2} \w{3,4} · /s);
});

visit('a win is a win in the list of entries too', { campaign: 'soda-rush-2026', language: 'sw' }, async (visit, page) => {
  await visit.send({ sample: 'TEST-0-INSTANT-WIN', phone: '0712000024' });
  await visit.status('entered');
  const prize = await page.textContent('#result-prize');
  await page.click('#again');
  await visit.send({ sample: 'TEST-0-VALID', phone: '0712000024' });
  await visit.status('entered');
  await page.click('#entries summary');
  await page.fill('#lookup-phone', '0712000024');
  await page.click('#lookup button');
  await page.locator('#found li').first().waitFor();
  const [entered, won] = await page.locator('#found li').allTextContents();
  assert.match(entered, /^Umeingia\d/);
  assert.ok(won.startsWith(`Umeshinda! ${prize}`), won);
});

visit('a campaign that is over has no form', { campaign: 'mango-2025', language: 'sw' }, async (visit, page) => {
  assert.ok(await page.isHidden('#form'));
  assert.equal(await page.textContent('#notice'), (await visit.messages('mango-2025', 'sw')).campaign_ended);
  assert.ok(await page.isHidden('#samples'), 'samples would do nothing');
  assert.ok(await page.isVisible('#samples-closed'), 'and why');
});

test('without demo campaigns the page says so', async () => {
  const empty = await startStack(program, '--no-demo');
  try {
    const visit = await Visit.begin({ ...stage, stack: empty });
    assert.match(await visit.page.textContent('#notice'), /--no-demo/);
    assert.ok(await visit.page.isHidden('#form'));
    await visit.end();
  } finally {
    await empty.stop();
  }
});

// Layout and accessibility, with every kind of content.
for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of [['small phone', { width: 320, height: 640 }], ['phone', { width: 390, height: 844 }], ['desktop', DESKTOP]]) {
    visit(`it can be read on a ${size}, ${colorScheme}`, { campaign: BOTH, viewport, colorScheme, language: 'sw' }, async (visit, page) => {
      const look = async (name) => {
        assert.deepEqual(await visit.violations(), []);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it scrolls sideways');
        const file = `${size.replace(' ', '-')}-${colorScheme}-${name}.png`;
        if (screenshots) await page.screenshot({ path: `${screenshots}/${file}`, fullPage: true });
      };
      await visit.clickSample('TEST0WRONGSTORE');
      await page.click('#send');
      await page.locator('#code-error:visible').waitFor();
      await look('form');
      const phone = `07140000${colorScheme === 'light' ? 1 : 2}${viewport.width % 7}`;
      await visit.send({ sample: 'TEST-0-VALID', phone });
      await visit.status('needs_attention');
      await look('result');
    });
  }
}
