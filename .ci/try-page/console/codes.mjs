// Codes of a campaign.

import assert from 'node:assert/strict';

export default function ({ visit, look, heading }) {
  visit('a batch is void only once its name is typed', '/campaigns/soda-rush-2026/test/codes', async (page) => {
    await look(page, 'codes');
    await page.getByRole('link', { name: 'Void batch-1' }).click();
    const button = page.getByRole('button', { name: 'Void the batch' });
    assert.ok(await button.isDisabled());
    await page.fill('#typed', 'batch');
    assert.ok(await button.isDisabled());
    await look(page, 'void');
    await page.fill('#typed', 'batch-1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Codes' }).waitFor();
    assert.equal(await page.locator('tr', { hasText: 'batch-1' }).locator('.pill').textContent(), 'void');
  });
}
