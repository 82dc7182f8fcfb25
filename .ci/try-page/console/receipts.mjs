// Review of the demo's receipts by keyboard.

import assert from 'node:assert/strict';

import { decideBy, seen } from '../stage.mjs';

// Demo receipts that wait for a person.
const WAITING = 100;

export default function ({ visit, look, screenshots }) {
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
}
