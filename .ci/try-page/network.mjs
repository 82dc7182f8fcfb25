// Visits with failures: lost replies, refusals, uploads that do not arrive, late replies.

import assert from 'node:assert/strict';

/** `stack` returns the local stack once it runs. */
export function networkVisits({ visit, stack, error, keyOf, CODES, RECEIPTS }) {
  visit('an entry that is not settled is followed until it is', { campaign: CODES }, async (visit) => {
    await visit.send({ sample: 'TEST-0-SLOW', phone: '0712000005' });
    await visit.status('checking');
    await visit.status('entered');
    const [created] = visit.calls('POST', '/submissions');
    const { id, poll_after_seconds: seconds } = await (await created.response()).json();
    assert.ok(seconds > 0);
    assert.ok(visit.calls('GET', `/submissions/${id}`).length > 0);
  });

  visit('a reply that is lost is asked for again with the same key, and enters once', { campaign: CODES }, async (visit, page) => {
    let lost = 0;
    await page.route('**/submissions', async (route) => {
      lost += 1;
      if (lost > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await visit.send({ sample: 'TEST-0-VALID', phone: '0712000006' });
    await visit.status('entered');
    const [first, second, ...more] = visit.calls('POST', '/submissions');
    assert.equal(more.length, 0);
    assert.match(keyOf(first), /^[\x21-\x7e]{16,128}$/);
    assert.equal(keyOf(second), keyOf(first));
    assert.equal(second.postData(), first.postData());
    assert.equal((await second.response()).headers()['idempotent-replayed'], 'true');
  });

  visit('trying again by hand keeps the key; a change makes a new one', { campaign: CODES }, async (visit, page) => {
    await page.route('**/submissions', (route) => route.abort());
    await visit.send({ sample: 'TEST-0-VALID', phone: '0712000007' });
    await page.locator('#form-error:visible').waitFor();
    assert.match(await error(page, 'form'), /no connection/);
    assert.equal(await page.textContent('#send'), 'Try again');
    const tried = visit.calls('POST', '/submissions').length;
    await page.unroute('**/submissions');
    await page.route('**/submissions', (route) => route.abort(), { times: 1 });
    await page.click('#send');
    await visit.status('entered');
    assert.equal(visit.calls('POST', '/submissions').length, tried + 2);
    assert.equal(new Set(visit.calls('POST', '/submissions').map(keyOf)).size, 1);
    await page.click('#again');
    await visit.send({ sample: 'TEST-0-VALID', phone: '0712000007' });
    await visit.status('entered');
    assert.equal(new Set(visit.calls('POST', '/submissions').map(keyOf)).size, 2);
  });

  visit('what was sent offline goes out when the network is back', { campaign: CODES, language: 'sw' }, async (visit, page) => {
    await page.fill('#code', 'TEST-0-VALID.offline');
    await visit.context.setOffline(true);
    await visit.send({ phone: '0712000025' });
    await page.locator('#form-error:visible').waitFor();
    assert.match(await error(page, 'form'), /itatumwa mtandao ukirudi/);
    await visit.context.setOffline(false);
    await visit.status('entered');
    assert.equal(new Set(visit.calls('POST', '/submissions').map(keyOf)).size, 1);
  });

  visit('a change takes back what waits for the network', { campaign: CODES }, async (visit, page) => {
    await visit.context.setOffline(true);
    await visit.send({ code: 'TEST-0-VALID.first', phone: '0712000026' });
    await page.locator('#form-error', { hasText: 'will be sent when the network is back' }).waitFor();
    await page.fill('#code', 'TEST-0-VALID.second');
    assert.ok(await page.isHidden('#form-error'));
    await visit.context.setOffline(false);
    await page.click('#send');
    await visit.status('entered');
    const codes = visit.calls('POST', '/submissions').map((request) => request.postDataJSON().code);
    assert.deepEqual([codes.at(0), codes.at(-1)], ['TEST-0-VALID.first', 'TEST-0-VALID.second']);
    assert.equal(codes.filter((code) => code.endsWith('second')).length, 1);
  });

  visit('what was typed survives a reload', { campaign: CODES }, async (visit, page) => {
    await page.fill('#code', 'TEST-0-VALID.typed');
    await page.fill('#phone', '0712000027');
    await page.check('#consent');
    await page.reload();
    await page.locator('#form:visible').waitFor();
    assert.deepEqual([await page.inputValue('#code'), await page.inputValue('#phone')], ['TEST-0-VALID.typed', '0712000027']);
    await page.click('#send');
    await visit.status('entered');
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    assert.ok(!kept.includes('0712000027'), kept);
  });

  visit('an attempt whose reply was lost goes on after a reload, and is one entry', { campaign: CODES }, async (visit, page) => {
    let first;
    await page.route('**/submissions', async (route) => {
      const reply = await route.fetch();
      first ??= await reply.json();
      return route.abort();
    });
    await visit.send({ code: 'TEST-0-VALID.reloaded', phone: '0712000028' });
    await page.locator('#form-error:visible').waitFor();
    await page.unroute('**/submissions');
    await page.reload();
    await visit.status('entered');
    const sent = visit.calls('POST', '/submissions');
    assert.equal(new Set(sent.map(keyOf)).size, 1);
    const reply = await sent.at(-1).response();
    assert.equal((await reply.json()).id, first.id);
    assert.equal(reply.headers()['idempotent-replayed'], 'true');
  });

  visit('a photo that was sent is not asked for again after a reload', { campaign: RECEIPTS }, async (visit, page) => {
    await page.route('**/submissions', (route) => route.abort());
    await visit.send({ sample: 'TEST0VERIFIED', phone: '0712000029' });
    await page.locator('#form-error:visible').waitFor();
    await page.unroute('**/submissions');
    await page.reload();
    await visit.status('entered');
    assert.equal(visit.calls('PUT', 'storage').length, 1);
    assert.equal(new Set(visit.calls('POST', '/receipts').map(keyOf)).size, 1);
  });

  visit('a photo that was not sent is asked for again after a reload', { campaign: RECEIPTS }, async (visit, page) => {
    await page.route(`${stack().storage}/**`, (route) => route.abort());
    await visit.send({ sample: 'TEST0VERIFIED', phone: '0712000030' });
    await page.locator('#form-error:visible').waitFor();
    await page.unroute(`${stack().storage}/**`);
    await page.reload();
    await page.locator('#photo-error:visible').waitFor();
    assert.match(await error(page, 'photo'), /Choose the photo again/);
    await visit.clickSample('TEST0VERIFIED');
    await page.click('#send');
    await visit.status('entered');
  });

  visit('what a network in front of the service refuses is said too', { campaign: CODES }, async (visit, page) => {
    let status = 429;
    await page.route('**/submissions', (route) => route.fulfill({ status, json: { message: 'Too Many Requests' } }));
    await visit.send({ sample: 'TEST-0-VALID', phone: '0712000014' });
    await page.locator('#form-error:visible').waitFor();
    assert.equal(await error(page, 'form'), 'Too many tries. Wait a while and try again.');
    status = 413;
    await page.click('#send');
    await page.locator('#form-error', { hasText: 'HTTP 413' }).waitFor();
  });

  const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' };

  visit('a target that is too old is exchanged for a fresh one', { campaign: RECEIPTS }, async (visit, page) => {
    await page.route(`${stack().storage}/**`, (route) => route.fulfill({ status: 403, headers: ANY_ORIGIN }), { times: 1 });
    await visit.send({ sample: 'TEST0VERIFIED', phone: '0712000008' });
    await visit.status('entered');
    assert.equal(visit.calls('POST', '/upload-url').length, 1);
    assert.equal(visit.calls('PUT', 'storage').length, 2);
  });

  visit('a photo that did not arrive is put again, under the same key', { campaign: RECEIPTS }, async (visit, page) => {
    await page.route(`${stack().storage}/**`, (route) => route.fulfill({ status: 200, headers: ANY_ORIGIN }), { times: 1 });
    await visit.send({ sample: 'TEST0VERIFIED', phone: '0712000009' });
    await visit.status('entered');
    const submitted = visit.calls('POST', '/submissions');
    const codes = await Promise.all(submitted.map(async (request) => (await (await request.response()).json()).error?.code));
    assert.deepEqual(codes, ['receipt_not_uploaded', undefined]);
    assert.equal(keyOf(submitted[0]), keyOf(submitted[1]));
  });

  visit('a corrected phone does not send the photo again', { campaign: RECEIPTS }, async (visit, page) => {
    await visit.send({ sample: 'TEST0VERIFIED', phone: '022 211 1111' });
    await page.locator('#phone-error:visible').waitFor();
    await page.fill('#phone', '0712000010');
    await page.click('#send');
    await visit.status('entered');
    assert.equal(visit.calls('PUT', 'storage').length, 1);
    const submitted = visit.calls('POST', '/submissions');
    assert.notEqual(keyOf(submitted[0]), keyOf(submitted[1]), 'another body is another attempt');
  });

  visit('a reply that comes after another campaign was chosen does not disturb it', { campaign: CODES }, async (visit, page) => {
    let release;
    const held = new Promise((settle) => (release = settle));
    await page.route(`**/${CODES}/test/submissions`, (route) => held.then(() => route.continue()));
    await visit.send({ sample: 'TEST-0-VALID', phone: '0712000013' });
    await page.selectOption('#campaign', 'soda-rush-2026');
    await page.locator('#name', { hasText: 'Soda Rush' }).waitFor();
    const reply = page.waitForResponse(`**/${CODES}/test/submissions`);
    release();
    await (await reply).finished();
    await visit.send({ sample: 'TEST-0-INVALID', phone: '0712000013' });
    await visit.status('not_accepted');
    assert.equal(await page.textContent('#brand'), 'Soda Safi');
    assert.equal(visit.calls('POST', '/submissions').length, 2);
  });
}
