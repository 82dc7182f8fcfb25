// Endpoints of a brand's server.

import assert from 'node:assert/strict';

export default function (kit) {
  const { visit, look } = kit;
  visit('a webhook is added, tested and stopped', '/campaigns/soda-rush-2026/test/webhooks', async (page) => {
    await page.fill('#url', `${kit.stack.baseUrl}/docs`);
    await page.getByRole('button', { name: 'Add and test' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await look(page, 'webhooks');
    await page.getByRole('button', { name: 'Test 127.0.0.1' }).click();
    await page.getByText('127.0.0.1 did not take the test event').waitFor();
    await page.getByRole('button', { name: 'Stop 127.0.0.1' }).click();
    assert.equal(await page.locator('tr', { hasText: '127.0.0.1' }).locator('.pill').textContent(), 'stopped');
  });
}
