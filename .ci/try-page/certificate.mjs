// Tries certificates of a draw in headless Chromium, as files: whole ones and changed ones.
// usage: certificate.mjs TOOLS FOLDER WALKED
// FOLDER is what the example `sample_draw` wrote, WALKED has the certificate of a draw that was walked with `ops`.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { startBrowser } from './stage.mjs';

const [tools, folder, walked] = process.argv.slice(2);
const whole = await readFile(join(folder, 'certificate.html'), 'utf8');
const openings = JSON.parse(await readFile(join(folder, 'openings.json'), 'utf8'));
const commitment = (await readFile(join(folder, 'commitment.txt'), 'utf8')).trim();

let stage;
before(async () => (stage = await startBrowser(tools)));
after(() => stage?.browser.close());

/** Opens a page from disk, which must request nothing and log no error. */
function visit(name, html, act, { complaint, ...options } = {}) {
  test(name, { timeout: 60_000 }, async () => {
    const file = resolve(folder, `tried-${name.replaceAll(/\W+/g, '-')}.html`);
    await writeFile(file, html);
    const context = await stage.browser.newContext({ offline: true, viewport: { width: 390, height: 844 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const [asked, complaints] = [[], []];
    page.on('request', (request) => asked.push(request.url()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.goto(pathToFileURL(file).href);
    await act(page);
    await context.close();
    assert.deepEqual(asked, [pathToFileURL(file).href]);
    assert.deepEqual(complaints.filter((text) => !complaint?.test(text)), []);
  });
}

async function verdict(page, state) {
  await page.locator('#verdict[data-state=follows], #verdict[data-state=different]').waitFor();
  const text = await page.textContent('#verdict');
  assert.equal(await page.getAttribute('#verdict', 'data-state'), state, text);
  return text;
}

async function violations(page) {
  // Evaluated by the browser's tools, which the page's policy does not bind.
  await page.evaluate(stage.axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

visit('a whole certificate holds', whole, async (page) => {
  assert.match(await verdict(page, 'follows'), /60 entrants with \d+ entries, and from the signature of round 657413/);
  assert.equal(await page.locator('#checks li[data-state=holds]').count(), 7);
  assert.match(await page.textContent('#checks'), /657413 was given at 2023-09-15T11:00:03.000Z: your copy of the commitment has to be older/);
  assert.ok(await page.isHidden('#rehearsal'));
  assert.equal(await page.textContent('h1'), 'Chai Bora: <b>shinda</b> kila wiki', 'a name is no markup');
  assert.match(await page.textContent('header'), /Kampuni ya Chai Bora.*Drawn on 15 September 2023 Droo ya 15 Septemba 2023/s);
  assert.match(await page.textContent('#winners'), /<b>muda wa maongezi<\/b>: 5/);
  assert.doesNotMatch(await page.textContent('#orders'), /result.json ends/);
  assert.match(await page.textContent('#facts'), /2023-09-04: 100; 2023-09-10: \d+/);
  assert.ok(!(await page.evaluate(() => document.getElementById('proof').open)), 'the proof is folded');
  const [passed, winner] = await page.locator('#winners tbody').first().locator('tr').all();
  assert.match(await passed.textContent(), /Passed over: did not answer three calls Amepitwa: hakupokea simu tatu.*before A. Inspector.*called 15 September 2023, 14:01:09, 14:02:09/s);
  assert.equal(await passed.locator('s').count(), 4);
  assert.match(await winner.textContent(), /has the prize amepewa zawadi/);
  assert.equal(await winner.getAttribute('class'), 'winner');
  assert.equal((await page.textContent('#commitment')).replaceAll(' ', ''), commitment);
});

for (const colorScheme of ['light', 'dark']) {
  visit(`it can be read, ${colorScheme}`, whole, async (page) => {
    await verdict(page, 'follows');
    assert.deepEqual(await violations(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it scrolls sideways');
    await page.screenshot({ path: join(folder, `certificate-${colorScheme}.png`), fullPage: true });
    if (colorScheme === 'light') await page.pdf({ path: join(folder, 'certificate.pdf'), format: 'A4' });
  }, { colorScheme });
}

const signature = JSON.parse(await readFile(join(folder, 'result.json'), 'utf8')).signature;
const compareSignature = async (page, text) => {
  await page.fill('#given-signature', text);
  await page.click('#signature-form button');
  return [await page.textContent('#signature-answer'), await page.getAttribute('#verdict', 'data-state')];
};

visit('it holds once its signature is compared', whole, async (page) => {
  await verdict(page, 'follows');
  assert.match((await compareSignature(page, signature.replace(/^b/, 'a')))[0], /^It is NOT the same/);
  const reply = JSON.stringify({ round: 657413, randomness: '0'.repeat(64), signature });
  assert.deepEqual(await compareSignature(page, reply), ['It is the same signature.', 'holds']);
  assert.match(await page.textContent('#verdict'), /if your copy of the commitment is older than 15 September 2023, 14:00:03/);
});

visit('a forged signature does not hold', await readFile(join(folder, 'certificate-forged.html'), 'utf8'), async (page) => {
  assert.match(await verdict(page, 'follows'), /Now compare both below/);
  const [said, state] = await compareSignature(page, signature);
  assert.match(said, /^It is NOT the same/);
  assert.equal(state, 'follows');
});

visit('a copied commitment is compared', whole, async (page) => {
  await verdict(page, 'follows');
  const compare = async (text) => {
    await page.fill('#copied', text);
    await page.click('#copied-form button');
    return page.textContent('#copied-answer');
  };
  assert.match(await compare(` ${commitment.toUpperCase().match(/.{4}/g).join(' ')}\n`), /^It is the same/);
  assert.match(await compare(`${commitment.slice(0, -1)}x`), /^It is NOT the same/);
  assert.match(await compare(''), /^It is NOT the same/);
});

visit('an entrant finds the own row', whole, async (page) => {
  await verdict(page, 'follows');
  const lookUp = async (reference, opening) => {
    await page.fill('#reference', reference);
    await page.fill('#opening', opening);
    await page.click('#inclusion-form button');
    await page.locator('#inclusion-answer:not(:empty)').waitFor();
    const answer = await page.textContent('#inclusion-answer');
    await page.evaluate(() => document.getElementById('inclusion-answer').replaceChildren());
    return answer;
  };
  const references = (row) => openings[row].split('\n')[1].split(',');
  const [reference] = references(17);
  assert.match(await lookUp(reference.toLowerCase(), `\n${openings[17].replaceAll('\n', ' \r\n')}\n`), /was in the draw: line 18, with \d+ of \d+ tickets/);
  assert.match(await lookUp(references(18)[0], openings[17]), /does not name/);
  assert.match(await lookUp('ZZZZ-ZZZZ', openings[17].replace(reference, 'ZZZZ-ZZZZ')), /No line of the list/);
  assert.match(await lookUp(reference, 'svc-draw-entry-v1'), /not an opening/);
  const winner = await page.locator('#winners tbody').first().locator('tr:nth-child(2) td:nth-child(2)').textContent();
  assert.match(await lookUp(winner, ''), /was drawn: place 2 of grand-prize \(has the prize\)/);
  assert.match(await lookUp('ZZZZ-ZZZZ', ''), /not among the winners/);
});

const lines = whole.slice(whole.indexOf('id="entries">') + 'id="entries">'.length).split('</script>')[0].split('\n');
for (const [what, html, expected] of JSON.parse(await readFile(join(folder, 'forgeries.json'), 'utf8'))) {
  visit(`${what} is refused`, html, async (page) => {
    const text = await verdict(page, 'different');
    assert.match(text, /^This draw does NOT hold. First difference: /);
    for (const part of expected) assert.ok(text.includes(part), `${part}: ${text}`);
    assert.ok(await page.isVisible('#checks'));
    assert.ok(await page.isHidden('#winners'), 'nothing of it is shown');
  });
}

visit('another chain is a rehearsal', whole.replace(/\\"chain\\":\\"52db/, '\\"chain\\":\\"00db'), async (page) => {
  await verdict(page, 'different');
  assert.ok(await page.isVisible('#rehearsal'));
});

visit('a changed script does not run', whole.replace("'use strict';", "'use strict'; /**/"), async (page) => {
  assert.equal(await page.getAttribute('#verdict', 'data-state'), 'computing');
}, { complaint: /Content Security Policy/ });

visit('without the list, its reader chooses the file', await readFile(join(folder, 'certificate-without-entries.html'), 'utf8'), async (page) => {
  assert.match(await page.textContent('#verdict'), /Choose entries.csv/);
  await page.setInputFiles('#entries-file', { name: 'entries.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.toSpliced(7, 1).join('\n')) });
  assert.match(await verdict(page, 'different'), /entries.csv, line 8 starts at/);
  await page.setInputFiles('#entries-file', join(folder, 'entries.csv'));
  await page.locator('#verdict[data-state=follows]').waitFor();
});

visit('a draw that was walked with ops holds, and is a rehearsal', await readFile(join(walked, 'public.html'), 'utf8'), async (page) => {
  assert.match(await verdict(page, 'follows'), /30 entrants/);
  assert.ok(await page.isVisible('#rehearsal'));
  assert.match(await page.textContent('#rehearsal'), /The holder of its chain's key knows the winners in advance/);
  const log = await page.textContent('#winners');
  assert.match(log, /Passed over: did not answer three calls.*before A. Inspector/s);
  assert.match(log, /has the prize/);
  assert.match(log, /called 1 of 3 times/);
});

visit('the sheet fits on one page', await readFile(join(folder, 'sheet.html'), 'utf8'), async (page) => {
  assert.equal((await page.textContent('.commitment')).replaceAll(' ', ''), commitment);
  assert.match(await page.textContent('main'), /I opened https:\/\/api.drand.sh\/52db.*\/public\/657413 before I signed, and the round was not there yet/);
  const pdf = await page.pdf({ path: join(folder, 'sheet.pdf'), preferCSSPageSize: true });
  assert.equal(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length, 1);
  assert.deepEqual(await violations(page), []);
});

const plan = await readFile(join(folder, 'plan.html'), 'utf8');

for (const colorScheme of ['light', 'dark']) {
  visit(`a plan of instant prizes holds and can be read, ${colorScheme}`, plan, async (page) => {
    assert.match(await verdict(page, 'follows'), /^Each of \d prizes went to the first eligible entry .* among 144 entries/);
    assert.equal(await page.locator('#checks li[data-state=holds]').count(), 7);
    assert.equal(await page.textContent('h1'), 'Chai <b>Bora</b>', 'a name is no markup');
    assert.match(await page.textContent('#prizes'), /\d of 6 × Airtime <b>1,000<\/b>, 1 of 1 × Simu/);
    assert.ok(await page.isHidden('#rehearsal'));
    assert.deepEqual(await violations(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it scrolls sideways');
    await page.screenshot({ path: join(folder, `plan-${colorScheme}.png`), fullPage: true });
  }, { colorScheme });
}

visit('an entrant finds what the own entry won', plan, async (page) => {
  await verdict(page, 'follows');
  const lookUp = async (time) => {
    await page.fill('#accepted-at', time);
    await page.click('#inclusion-form button');
    return page.textContent('#inclusion-answer');
  };
  assert.match(await lookUp('2026-12-23T21:00:00.000Z'), /^Line 1 of the list was accepted then, and won nothing/);
  const [won, prize] = await page.locator('#winners tbody tr').first().locator('td').allTextContents();
  assert.ok((await lookUp(won.replace(' UTC', 'Z').replace(' ', 'T'))).endsWith(`won ${prize}.`));
  assert.match(await lookUp('2026-12-23T21:00:00.001Z'), /^No entry of the list/);
  assert.match(await lookUp('yesterday'), /is not a time/);
  assert.deepEqual(await compareSignature(page, signature), ['It is the same signature.', 'holds']);
});

for (const [what, html, expected] of JSON.parse(await readFile(join(folder, 'forged-plans.json'), 'utf8'))) {
  visit(`a plan with ${what} is refused`, html, async (page) => {
    const text = await verdict(page, 'different');
    assert.ok(text.startsWith('These instant prizes do NOT hold. First difference: ') && text.includes(expected), text);
    assert.ok(await page.isHidden('#winners'), 'nothing of it is shown');
  });
}
