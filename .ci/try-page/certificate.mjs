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

/** Opens a page from disk; at the end, it has asked for nothing and complained about nothing. */
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

/** Rules of WCAG 2.1 AA, and good practice, that the page breaks. */
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
  assert.ok(await page.isHidden('#rehearsal'));
  assert.match(await page.textContent('#tiers'), /<b>muda wa maongezi<\/b>: 5/, 'a name is no markup');
  assert.doesNotMatch(await page.textContent('#tiers'), /result.json ends/);
  assert.match(await page.textContent('#facts'), /2023-09-04: 100; 2023-09-10: \d+/);
  assert.match(await page.textContent('#tiers tbody'), /no answer to three calls \(A. Inspector\)/);
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
});

visit('a forged signature does not hold', await readFile(join(folder, 'certificate-forged.html'), 'utf8'), async (page) => {
  assert.match(await verdict(page, 'follows'), /Now compare that signature/);
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
    // Until the hash is there.
    await page.locator('#inclusion-answer:not(:empty)').waitFor();
    const answer = await page.textContent('#inclusion-answer');
    await page.evaluate(() => document.getElementById('inclusion-answer').replaceChildren());
    return answer;
  };
  const references = (row) => openings[row].split('\n')[1].split(',');
  const [reference] = references(17);
  assert.match(await lookUp(reference.toLowerCase(), `\n${openings[17].replaceAll('\n', ' \r\n')}\n`), /was in the draw: row 17, with \d+ of \d+ tickets/);
  assert.match(await lookUp(references(18)[0], openings[17]), /does not name/);
  assert.match(await lookUp('ZZZZ-ZZZZ', openings[17].replace(reference, 'ZZZZ-ZZZZ')), /No row of the list/);
  assert.match(await lookUp(reference, 'svc-draw-entry-v1'), /not an opening/);
  const winner = await page.textContent('#tiers tbody tr:nth-child(2) td:nth-child(4)');
  assert.match(await lookUp(winner, ''), /was drawn: place 2 of grand-prize \(prize handed over\)/);
  assert.match(await lookUp('ZZZZ-ZZZZ', ''), /not among the winners/);
});

const lines = whole.slice(whole.indexOf('id="entries">') + 'id="entries">'.length).split('</script>')[0].split('\n');
/** The page with other lines. */
const withLines = (change) => {
  const changed = change([...lines]);
  return whole.replace(lines.join('\n'), () => changed.join('\n'));
};
/** The page with other data. */
const withDraw = (change) => whole.replace(/(id="draw">)(.*?)(<\/script>)/s, (_, start, data, end) => {
  const draw = JSON.parse(data);
  change(draw);
  return start + JSON.stringify(draw).replaceAll('<', '\\u003c') + end;
});
const flip = (digit) => (digit === '0' ? '1' : '0');
const swap = (list, one, other) => ([list[one], list[other]] = [list[other], list[one]]);

const tamperings = {
  'a changed byte': [withLines((all) => all.with(7, all[7].slice(0, 63) + flip(all[7][63]) + all[7].slice(64))), /the lines lead to the root/],
  'a changed count': [withLines((all) => all.with(7, `${all[7]}0`)), /entries.csv, line 9 starts at/],
  'swapped lines': [withLines((all) => (swap(all, 7, 8), all)), /entries.csv, line 8 starts at/],
  'a missing line': [withLines((all) => all.toSpliced(7, 1)), /entries.csv, line 8 starts at/],
  'a missing last line': [withLines((all) => all.toSpliced(59, 1)), /59 lines, but the header says 60/],
  'a missing end': [withLines((all) => all.toSpliced(-1)), /does not end with a line feed/],
  'another header': [withDraw((draw) => (draw.header = draw.header.replace('grand-prize', 'Grand-prize'))), /lead to the commitment/],
  'another commitment': [withDraw((draw) => (draw.commitment = flip(draw.commitment[0]) + draw.commitment.slice(1))), /lead to the commitment/],
  'another root': [withDraw((draw) => (draw.root = flip(draw.root[0]) + draw.root.slice(1))), /lead to the root/],
  'another round': [withDraw((draw) => draw.result.round++), /is of round 657414/],
  'another time of the round': [withDraw((draw) => (draw.round_at = '2023-09-16T11:00:03Z')), /round 657413 was at 2023-09-15T11:00:03/],
  'a late commitment': [withDraw((draw) => (draw.published_at = '2023-09-15T11:00:03Z')), /the round was at .* already/],
  'another seed': [withDraw((draw) => (draw.result.randomness = flip(draw.result.randomness[0]) + draw.result.randomness.slice(1))), /randomness/],
  'a longer signature': [withDraw((draw) => (draw.result.signature = `00${draw.result.signature}`)), /not 48 bytes/],
  'another signature': [withDraw((draw) => (draw.result.signature = `a${draw.result.signature.slice(1)}`)), /randomness/],
  'another winner': [withDraw((draw) => swap(draw.result.tiers[0].order, 0, 3)), /place 1 of grand-prize is row/],
  'a cut order': [withDraw((draw) => draw.result.tiers[1].order.pop()), /only 25 places/],
  'a missing prize': [withDraw((draw) => draw.result.tiers.pop()), /the header has 2 prizes, the result 1/],
  'a winner left out': [withDraw((draw) => draw.contacts.shift()), /the log leaves out place 1 of grand-prize/],
  'an entrant who was not drawn': [withDraw((draw) => draw.contacts[1].row++), /the log has row/],
  'another reference': [withDraw((draw) => (draw.contacts[1].reference = 'ZZZZ-ZZZZ')), /no opening of place 2 of grand-prize names ZZZZ-ZZZZ/],
  'another reference without an opening': [withDraw((draw) => Object.assign(draw.contacts[1], { reference: 'ZZZZ-ZZZZ', opening: null })), /names ZZZZ-ZZZZ/],
  'two winners of one prize': [withDraw((draw) => (draw.contacts[0].is_skipped = false)), /2 winners of grand-prize/],
  'another opening': [withDraw((draw) => (draw.contacts[1].opening = draw.contacts[1].opening.replace(/.$/, (last) => flip(last)))), /is not of row/],
};
for (const [what, [html, expected]] of Object.entries(tamperings)) {
  visit(`${what} is named`, html, async (page) => {
    assert.notEqual(html, whole);
    const text = await verdict(page, 'different');
    assert.match(text, /^This draw does NOT hold. First difference: /);
    assert.match(text, expected);
  });
}

visit('another chain is a rehearsal', withDraw((draw) => (draw.header = draw.header.replace('52db', '00db'))), async (page) => {
  await verdict(page, 'different');
  assert.ok(await page.isVisible('#rehearsal'));
});

visit('a changed script does not run', whole.replace("'use strict';", "'use strict'; /**/"), async (page) => {
  assert.equal(await page.textContent('#title'), '…');
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
  const log = await page.textContent('#tiers');
  assert.match(log, /skipped: did not answer three calls \(A. Inspector\)/);
  assert.match(log, /prize handed over/);
  assert.match(log, /called 1 of 3 times/);
});

visit('the sheet fits on one page', await readFile(join(folder, 'sheet.html'), 'utf8'), async (page) => {
  assert.equal((await page.textContent('.commitment')).replaceAll(' ', ''), commitment);
  const pdf = await page.pdf({ path: join(folder, 'sheet.pdf'), preferCSSPageSize: true });
  assert.equal(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length, 1);
  assert.deepEqual(await violations(page), []);
});
