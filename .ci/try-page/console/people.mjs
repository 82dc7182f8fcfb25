// A person's records, and the audit log of all that was done before.

import assert from 'node:assert/strict';

export default function ({ visit, look, heading }) {
  visit('a person is handed over', '/people', async (page) => {
    await page.fill('#phone', '0712000002');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Hand it over' }).waitFor();
    await look(page, 'people');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    assert.equal(download.suggestedFilename(), 'person.zip');
  });

  visit('every change is in the log, with who made it', '/changes', async (page) => {
    const text = await page.textContent('table');
    for (const action of ['campaign.pause', 'campaign.resume', 'code.void', 'submission.show', 'person.export']) assert.match(text, new RegExp(action));
    assert.match(text, /\(asha\)/);
    await look(page, 'changes');
    await page.selectOption('#action', 'key');
    await page.fill('#who', 'asha');
    await page.keyboard.press('Enter');
    await page.waitForURL(/action=key/);
    assert.match(await page.textContent('table'), /key\.issue/);
    assert.doesNotMatch(await page.textContent('tbody'), /person\.export/);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, 'it fits a phone');
  });
}
