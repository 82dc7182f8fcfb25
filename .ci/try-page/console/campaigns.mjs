// Campaigns and the overview of one.

import assert from 'node:assert/strict';

const OVERVIEW = '/campaigns/soda-rush-2026/live';
const MAX_PAGE_BYTES = 300_000;

export default function ({ visit, look, screenshots }) {
  visit('the campaigns are listed with their numbers', '/', async (page) => {
    assert.match(await page.textContent('main'), /Soda Rush/);
    await look(page, 'campaigns');
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, 'it fits a phone');
    const table = await page.evaluate(() => document.querySelector('.cards .wide').scrollWidth - document.querySelector('.cards .wide').clientWidth);
    assert.ok(table <= 1, `a row is a card, ${table}`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/console-campaigns-390.png`, fullPage: true });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.selectOption('#status', 'ended');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'Mango' }).first().waitFor();
    assert.equal(await page.getByRole('link', { name: 'Soda Rush' }).count(), 0);
  });

  visit('an overview has plots and their numbers as tables', OVERVIEW, async (page) => {
    assert.ok((await page.locator('svg[role=img] rect').count()) > 30, 'columns');
    await page.locator('.plot summary').first().click();
    assert.ok(await page.locator('.plot details[open] td').first().isVisible());
    await look(page, 'overview');
    const sizes = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => entry.decodedBodySize));
    const bytes = (await page.content()).length + sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
    console.log(`the overview has ${bytes} bytes`);
  });

  visit('a campaign is made from the form, and changed', '/', async (page) => {
    await page.getByRole('link', { name: 'New campaign' }).click();
    await page.getByRole('heading', { name: 'New campaign' }).waitFor();
    await look(page, 'new-campaign');
    await page.getByLabel('Short name').fill('kahawa-2026');
    await page.locator('#name').fill('Kahawa Tamu');
    await page.getByLabel('Brand').fill('Kahawa');
    await page.locator('[id="window.start"]').fill('2026-01-01T00:00');
    await page.locator('[id="window.end"]').fill('2025-01-01T00:00');
    assert.ok(!(await page.locator('[id="consent.en"]').isVisible()), 'a switch shows its fields');
    await page.locator('#consent').check();
    await page.locator('[id="consent.en"]').fill('I agree.');
    await page.getByText('texts in each language').click();
    await page.locator('[id="messages.sw.entered"]').fill('Karibu!');
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByText('3 things are not right yet.').waitFor();
    assert.equal(await page.inputValue('[id="messages.sw.entered"]'), 'Karibu!');
    await look(page, 'campaign-problems');
    // A problem leads to its field by keyboard.
    await page.getByRole('link', { name: /^Ends: / }).press('Enter');
    await page.keyboard.press('Tab');
    await page.locator('[id="window.end"]').fill('2999-01-01T00:00');
    await page.locator('[id="consent.version"]').fill('1');
    await page.locator('[id="consent.sw"]').fill('Nakubali.');
    const bytes = (await page.content()).length;
    assert.ok(bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
    console.log(`the form of a campaign has ${bytes} bytes`);
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByRole('heading', { name: 'The campaign is new' }).waitFor();
    await look(page, 'campaign-check');
    await page.getByRole('button', { name: 'Back to the form' }).click();
    await page.getByRole('button', { name: 'As a file' }).click();
    await page.getByText('slug: kahawa-2026').waitFor();
    await look(page, 'campaign-file');
    await page.getByRole('button', { name: 'Back to the form' }).click();
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByRole('button', { name: 'Create the campaign' }).click();
    await page.getByRole('heading', { name: 'Kahawa Tamu' }).waitFor();
    await page.getByText('There are no codes').waitFor();
    await page.getByRole('link', { name: 'Change the campaign' }).click();
    await page.locator('[id="limits.phone_daily"]').fill('2');
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByText('Limits of one phone: Submissions a day').waitFor();
    await page.getByRole('button', { name: 'Apply the change' }).click();
    await page.getByRole('heading', { name: 'Kahawa Tamu' }).waitFor();
    await page.goBack();
    await page.getByText('Limits of one phone: Submissions a day').waitFor();
    await page.goto(new URL('/campaigns/kahawa-2026/edit', page.url()).href);
    await page.locator('[id="receipt"]').check();
    await page.locator('[id="receipt.branches"]').fill('x'.repeat(70_000));
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByText('This is longer than 64 kB').waitFor();
    assert.equal((await page.inputValue('[id="receipt.branches"]')).length, 70_000, 'what was typed stays');
  });

  visit('a form stays when its session ends', '/campaigns/soda-rush-2026/edit', async (page) => {
    await page.locator('#name').fill('Soda Rush Again');
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'See what changes' }).click();
    await page.getByRole('heading', { name: 'Not open here' }).waitFor();
    await page.context().addCookies(cookies);
    await page.reload();
    await page.getByText('Soda Rush → Soda Rush Again').waitFor();
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
