// Keys of a campaign.

import assert from 'node:assert/strict';

export default function ({ visit, look }) {
  visit('a key is issued, copied, and revoked once its id is typed', '/campaigns/soda-rush-2026/test/keys', async (page) => {
    await page.fill('#label', 'Browser');
    await page.getByRole('button', { name: 'Issue' }).click();
    const key = await page.textContent('#issued');
    assert.match(key, /^\w+$/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await look(page, 'key-issued');
    await page.goto(page.url());
    assert.doesNotMatch(await page.content(), new RegExp(key));
    await look(page, 'keys');
    const id = await page.locator('tr', { hasText: 'Browser' }).locator('code').textContent();
    await page.getByRole('link', { name: `Change ${id}` }).click();
    const button = page.getByRole('button', { name: 'Revoke the key' });
    assert.ok(await button.isDisabled());
    await look(page, 'key');
    await page.fill('#typed', id);
    await page.keyboard.press('Enter');
    await page.getByText('It is revoked; callers').waitFor();
  });
}
