// Draws and their winners.

import assert from 'node:assert/strict';

export default function ({ visit, look }) {
  visit('a draw leads to its winners, who are called', '/campaigns/chai-bora-2026/live/draws', async (page) => {
    await look(page, 'draws');
    await page.getByRole('link', { name: 'demo' }).click();
    await page.getByText('Every winner').or(page.getByText('To be called, or to get the prize')).waitFor();
    await look(page, 'draw');
    await page.getByRole('link', { name: 'Place 2 of Airtime' }).click();
    await page.getByRole('button', { name: 'Show the number' }).click();
    await page.getByText('+25571300').waitFor();
    await page.getByRole('button', { name: 'Called, no answer' }).click();
    await page.getByText('called, no answer, logged by asha').waitFor();
    const skip = page.getByRole('button', { name: 'Skip' });
    await page.fill('#typed', 'dem');
    assert.ok(await skip.isDisabled());
    await page.fill('#typed', 'demo');
    assert.ok(await skip.isEnabled());
    await look(page, 'winner');
  });
}
