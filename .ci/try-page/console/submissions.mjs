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
    await page.getByText('+255712000002', { exact: true }).waitFor();
  });

  const LIST = '/campaigns/soda-rush-2026/live/submissions';
  const MAX_PAGE_BYTES = 300_000;

  visit('what waits for a person is listed at once', '/campaigns/duka-kuu-2026/live/submissions?waiting=person', async (page) => {
    assert.match(await page.textContent('[role=status]'), /submissions?, newest first/);
    await page.locator('td a').first().click();
    await page.getByRole('link', { name: 'Review this one' }).waitFor();
    await look(page, 'submission-waiting');
  });

  visit('settled ones are listed by a filter, by keyboard', LIST, async (page) => {
    await page.selectOption('#state', 'rejected');
    await page.focus('#region');
    await page.keyboard.press('Enter');
    await page.waitForURL(/state=rejected/);
    assert.match(await page.textContent('[role=status]'), /\d+ submissions, newest first/);
    const states = await page.locator('td .pill').allTextContents();
    assert.deepEqual([...new Set(states)], ['rejected']);
    await look(page, 'submissions');
    const bytes = (await page.content()).length;
    assert.ok(bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    assert.equal(download.suggestedFilename(), 'submissions-soda-rush-2026-live.csv');
    assert.equal(await download.failure(), null);
  });

  visit('older submissions follow by a link', LIST, async (page) => {
    await page.selectOption('#state', 'accepted');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/state=accepted/);
    const first = await page.locator('td a').first().textContent();
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByText('51 to 100 of').waitFor();
    assert.notEqual(await page.locator('td a').first().textContent(), first);
    await page.locator('td a').first().click();
    await page.getByText('Revoke it …').focus();
    await page.keyboard.press('Enter');
    assert.ok(await page.getByRole('button', { name: 'Revoke' }).isVisible());
    await look(page, 'submission-revoke');
  });
}
