// Endpoints of a brand's server.

import assert from 'node:assert/strict';

export default function (kit) {
  const { visit, look } = kit;
  const webhooks = '/campaigns/soda-rush-2026/test/webhooks';

  async function add(page) {
    await page.fill('#url', `${kit.stack.baseUrl}/docs`);
    await page.getByRole('button', { name: 'Add' }).click();
    return page.getByText(/^whsec_/).textContent();
  }

  visit('a webhook is added, tested and stopped', webhooks, async (page) => {
    await add(page);
    await look(page, 'webhooks');
    await page.getByRole('button', { name: 'Test 127.0.0.1' }).click();
    await page.getByText('127.0.0.1 did not take the test event').waitFor();
    await page.getByRole('button', { name: 'Stop 127.0.0.1' }).click();
    assert.equal(await page.locator('tr', { hasText: '127.0.0.1' }).locator('.pill').textContent(), 'stopped');
  });

  visit('a webhook gets a new secret, and is removed once its id is typed', webhooks.replace('/test/', '/live/'), async (page) => {
    const first = await add(page);
    await page.getByText('Rotate 127.0.0.1').click();
    await page.getByRole('button', { name: 'Make a new secret 127.0.0.1' }).click();
    await page.getByText('For 24 hours events are signed with the old one too').waitFor();
    assert.notEqual(await page.getByText(/^whsec_/).textContent(), first);
    await page.getByRole('link', { name: 'Remove 127.0.0.1' }).click();
    const button = page.getByRole('button', { name: 'Remove the endpoint' });
    assert.ok(await button.isDisabled());
    await look(page, 'webhook-removal');
    await page.fill('#typed', await page.locator('code').textContent());
    await page.keyboard.press('Enter');
    await page.getByText('No events are sent.').waitFor();
  });
}
