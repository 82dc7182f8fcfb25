// Campaigns and the overview of one.

import assert from 'node:assert/strict';

const OVERVIEW = '/campaigns/soda-rush-2026/live';
const MAX_PAGE_BYTES = 300_000;

export default function ({ visit, look }) {
  visit('the campaigns are listed with their numbers', '/', async (page) => {
    assert.match(await page.textContent('main'), /Soda Rush/);
    await look(page, 'campaigns');
  });

  visit('an overview has plots and their numbers as tables', OVERVIEW, async (page) => {
    assert.ok((await page.locator('svg[role=img] rect').count()) > 30, 'columns');
    await page.locator('summary').first().click();
    assert.ok(await page.locator('details[open] td').first().isVisible());
    await look(page, 'overview');
    const sizes = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => entry.decodedBodySize));
    const bytes = (await page.content()).length + sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
    console.log(`the overview has ${bytes} bytes`);
  });

  visit('a campaign is paused and resumed by keyboard', '/campaigns/bahati-2026/live', async (page) => {
    await page.getByText('Pause the campaign…').focus();
    await page.keyboard.press('Enter');
    await page.getByText('Kampeni imesimamishwa').waitFor();
    await look(page, 'pause');
    await page.fill('#why', 'printing error');
    await page.keyboard.press('Enter');
    await page.getByText(/^Paused by asha.*, printing error\.$/).waitFor();
    assert.ok(await page.locator('.pill.paused').isVisible());
    await look(page, 'paused');
    await page.getByText('Resume the campaign…').click();
    await page.fill('#why', 'reprinted');
    await page.getByRole('button', { name: 'Resume the campaign' }).click();
    await page.getByText(/^Resumed by asha.*, reprinted\.$/).waitFor();
  });
}
