// Review of the demo's receipts by keyboard.

import assert from 'node:assert/strict';

import { decideBy, seen } from '../stage.mjs';

// Demo receipts decided, of a hundred that wait for a person.
const DECIDED = 30;
const REVIEW = '/campaigns/duka-kuu-2026/live/review';
// A look at an answer, a little longer than the page asks for.
const UNSEEN_MS = 550;

export default function ({ visit, look, screenshots }) {
  /** The tax authority's record is shown before the decision, and forgotten with another code. */
  async function tryLookUp(page, form) {
    const looked = form.locator('.looked');
    // Bought before every receipt of the demo was sent.
    await form.locator('[name=code]').fill('GOOD01260102101530');
    await form.locator('[name=time]').fill('25:00');
    await page.keyboard.press('Enter');
    await form.locator('.missing', { hasText: 'hours and minutes' }).waitFor();
    await form.locator('[name=time]').fill('10:15:30');
    const entries = () => form.locator('[name=entries]').inputValue();
    const said = (text) => form.locator('.missing', { hasText: text }).waitFor();
    // A busy page saw the answer later.
    const enter = async (how) => {
      do {
        await page.keyboard.up('Enter');
        await page.waitForTimeout(UNSEEN_MS);
        await page.keyboard[how]('Enter');
      } while ((await form.locator('.missing').textContent()).includes('only just appeared'));
    };
    // A failure answers nothing, so Enter asks again.
    await page.route('**/lookup', (route) => route.fulfill({ status: 422, body: 'Busy just now.' }), { times: 1 });
    await page.keyboard.press('Enter');
    await looked.getByText('Busy just now.').waitFor();
    await enter('down');
    await looked.locator('[data-clear]', { hasText: 'DUKA KUU' }).waitFor();
    await page.waitForTimeout(UNSEEN_MS);
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    assert.ok(await form.isVisible(), 'a held key decides nothing');
    await look(page, 'review-accept');
    await form.locator('[name=code]').fill('MANY01260102101530');
    await form.evaluate(async (form) => {
      form.requestSubmit();
      while (!form.querySelector('[data-clear]')) await new Promise(requestAnimationFrame);
      form.requestSubmit();
    });
    await said('only just appeared');
    assert.ok(await form.isVisible(), 'nor does a press before the answer was seen');
    assert.notEqual(await entries(), '1');
    await form.locator('[name=code]').fill('VOID010099');
    assert.equal(await entries(), '1', 'the number was about another code');
    assert.equal(await looked.textContent(), '', 'and so was the answer');
    await page.keyboard.press('Enter');
    await looked.getByText('(cancelled)').waitFor();
    await enter('press');
    await said('Enter does not accept this receipt');
    assert.ok(await form.isVisible(), 'the button does');
    // The simulated portal turns away, and stays silent.
    for (const [code, words] of [['BUSY010099', 'turns look-ups away'], ['HANG010099', 'did not answer in time']]) {
      await form.locator('[name=code]').fill(code);
      await page.keyboard.press('Enter');
      await looked.getByText(words).waitFor({ timeout: 90_000 });
    }
    await form.locator('[name=code]').fill('NONE010099');
    await page.keyboard.press('Enter');
    await looked.getByText('does not know this code').waitFor();
    await form.locator('[name=time]').fill('');
    await form.locator('[name=code]').fill('READ010101');
    await page.keyboard.press('Enter');
    await said('Type the time too');
    await form.locator('[name=code]').fill('READ');
  }

  /** Beside the form, the photo's whole width is in sight, large enough to read. */
  async function isReadable(page) {
    const before = page.viewportSize();
    for (const colorScheme of ['light', 'dark']) {
      for (const [width, height] of [[1280, 800], [1366, 768], [820, 1180], [390, 844]]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        // The form scrolls where it belongs when it opens.
        for (const key of ['Escape', 'a']) await page.keyboard.press(key);
        const { cut, letter, top, bottom, right } = await page.locator('.card:visible .photo').evaluate((photo) => {
          const [image, frame] = [photo.querySelector('img'), photo.getBoundingClientRect()];
          const { width } = image.getBoundingClientRect();
          // The demo's letters are 18 pixels apart.
          return { cut: photo.scrollWidth - photo.clientWidth, letter: (18 * width) / image.naturalWidth, top: frame.top, bottom: frame.bottom, right: frame.right };
        });
        const time = await page.locator('.card:visible [name=time]').boundingBox();
        const name = `${width}x${height}`;
        assert.ok(cut <= 0, `${name}: ${cut} pixels of the photo are cut`);
        assert.ok(letter > 8, `${name}: letters are ${letter} pixels wide`);
        assert.ok(top > -1 && bottom <= height && time.y + time.height <= height && (time.x > right || time.y > bottom), `${name}: photo ${top} to ${bottom}, field ${JSON.stringify(time)}`);
        if (screenshots) await page.screenshot({ path: `${screenshots}/console-review-code-${width}-${colorScheme}.png` });
      }
    }
    await page.setViewportSize(before);
  }

  /** The form for accepting stays open until it can be sent. */
  async function tryForm(page) {
    const form = page.locator('.card:visible .accepting');
    const said = (text) => form.locator('.missing', { hasText: text }).waitFor();
    await form.waitFor();
    assert.ok(await page.locator('.card:visible .answers').isHidden(), 'in place of the buttons');
    const [photo, fields] = await Promise.all([page.locator('.card:visible .photo').boundingBox(), form.boundingBox()]);
    assert.ok(fields.x >= photo.x + photo.width, 'never over the photo');
    await isReadable(page);
    await page.keyboard.press('Enter');
    await said('Type the receipt’s code, or tick');
    await page.keyboard.type('READ/');
    await said('6 to 40 letters and digits');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
    await said('6 to 40 letters and digits');
    await tryLookUp(page, form);
    await page.keyboard.press('Escape');
    assert.ok(await form.isHidden());
    await page.keyboard.press('a');
    assert.equal(await form.locator('[name=code]').inputValue(), 'READ', 'what was typed is there again');
    await form.locator('[name=code]').fill('');
  }

  visit('what waits is listed by reason, and each is one click away', `${REVIEW}/waiting`, async (page) => {
    await look(page, 'waiting');
    const count = () => page.locator('tbody tr').count();
    const all = await count();
    await page.selectOption('[name=reason]', { index: 1 });
    await page.click('text=Show');
    await page.waitForURL(/reason=\w/);
    assert.ok((await count()) > 0 && (await count()) < all, 'some of them');
    const link = page.locator('tbody a').first();
    const reference = await link.textContent();
    await link.click();
    await page.locator('.card:visible', { hasText: reference }).waitFor();
    await page.locator('.card:visible').getByText('Waiting with the same basket').click();
    await page.getByText('or the same receipt or photo, among').waitFor();
    await page.click('text=Reject those ticked');
    await page.getByText('Each consumer will read').waitFor();
    await look(page, 'waiting-reject');
  });

  visit('waiting receipts are decided by keyboard alone', `${REVIEW}/waiting`, async (page) => {
    const waiting = async () => Number((await page.textContent('main')).match(/(\d+) wait/)?.[1]);
    const before = await waiting();
    assert.ok(before > DECIDED, `${before} wait`);
    const path = page.url();
    await page.goto(new URL(REVIEW, path).href);
    const started = Date.now();
    const card = page.locator('.card:visible');
    let [decided, second, direct, tried] = [0, 0, 0, 0];
    // The page's first heartbeat asks again by itself.
    let failures = 0;
    await page.route('**/review/next', (route) => (failures++, route.fulfill({ status: 502, body: 'No answer.' })), { times: 2 });
    await page.reload();
    while (failures < 2) await page.waitForTimeout(50);
    await page.getByText('could not be fetched').waitFor();
    assert.ok(await page.locator('#nothing').isHidden(), 'a failure is no empty list');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#progress', { hasText: ' waiting' }).waitFor();
    while (decided < DECIDED) {
      await card.or(page.locator('#failed:visible')).first().waitFor();
      const shown = await seen(page);
      assert.ok(shown.id, 'one waits');
      decided += 1;
      second += shown.secondLook === 'true';
      if (decided % 2) {
        await decideBy(page, 'a');
        if (shown.direct) direct += 1;
        else {
          if (!tried++) await tryForm(page);
          await page.keyboard.type(`READ${String(decided).padStart(6, '0')}`);
          for (const key of ['Tab', 'Tab', 'Space', 'Enter']) await page.keyboard.press(key);
        }
      } else await decideBy(page, '1');
      await page.waitForFunction((id) => document.querySelector('.card:not([hidden])')?.dataset.id !== id, shown.id);
    }
    const seconds = (Date.now() - started) / 1_000;
    assert.ok(direct > 0 && tried > 0, `${direct} accepted by one key, ${tried} with a code`);
    // Answers are sent when their page is left.
    for (const until = Date.now() + 60_000; ; await page.waitForTimeout(500)) {
      await page.goto(path);
      const left = await waiting();
      if (left === before - (decided - second)) break;
      assert.ok(Date.now() < until, `${left} of ${before} wait after ${decided} answers, ${second} of them second looks`);
    }
    console.log(`${decided} receipts of the demo decided by keyboard in ${seconds} s`);
  });
}
