// Search and submissions.

import assert from 'node:assert/strict';

export default function ({ visit, look, heading }) {
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
}
