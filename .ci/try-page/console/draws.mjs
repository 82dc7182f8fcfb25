// Draws and their winners.

import assert from 'node:assert/strict';

const DRAWS = '/campaigns/chai-bora-2026/live/draws';

/** A local time of the demo campaign, for its form. */
function inZone(millis) {
  const parts = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Africa/Dar_es_Salaam', dateStyle: 'short', timeStyle: 'medium' });
  return parts.format(millis).replace(' ', 'T');
}

export default function ({ visit, look, heading }) {
  visit('a draw leads to its winners, who are called', DRAWS, async (page) => {
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

  visit('a draw is frozen from its form, and waits for its round', DRAWS, async (page) => {
    await page.getByRole('link', { name: 'New draw' }).click();
    await look(page, 'new-draw');
    const now = Date.now();
    await page.getByLabel('Name, such as').fill('browser');
    await page.getByLabel('First day', { exact: true }).fill(inZone(now - 40 * 24 * 3600_000).slice(0, 10));
    await page.getByLabel('Last day', { exact: true }).fill(inZone(now - 24 * 3600_000).slice(0, 10));
    await page.getByLabel('Prize 1', { exact: true }).fill('Kettle');
    await page.getByRole('button', { name: 'Another prize' }).click();
    await page.getByLabel('Prize 4', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Prize 1', { exact: true }).inputValue(), 'Kettle');
    await page.getByLabel('Winners of prize 1').fill('2');
    await page.getByLabel("Time of the beacon's round").fill(inZone(now + 3600_000).slice(0, 16));
    // The Enter key does what the last button says.
    await page.getByLabel('Name, such as').press('Enter');
    await page.getByRole('heading', { name: 'Freeze it' }).waitFor();
    await look(page, 'freeze');
    await page.fill('#typed', 'browser');
    await page.getByRole('button', { name: 'Freeze', exact: true }).click();
    await page.waitForURL(/draws\/browser$/);
    assert.equal(await heading(page), 'Draw browser');
    assert.match(await page.textContent('#countdown'), /min/);
    await look(page, 'frozen');
    const [sheet] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'The sheet' }).click()]);
    assert.equal(sheet.suggestedFilename(), 'browser-sheet.html');
  });

  visit('winners are drawn after the round, and called up to the certificate', `${DRAWS}/week-2b`, async (page) => {
    await look(page, 'round-out');
    await page.getByRole('button', { name: 'Draw the winners' }).click();
    for (const place of [1, 2]) {
      await page.getByRole('link', { name: `Place ${place} of Kettle` }).click();
      for (const step of ['Called and reached', 'Has shown an identity card', 'Has the prize']) {
        await page.getByRole('button', { name: step }).click();
      }
      await page.waitForURL(/draws\/week-2b$/);
    }
    await page.getByText('Every winner has an outcome').waitFor();
    await page.getByRole('link', { name: 'The certificate' }).click();
    await look(page, 'certificate');
    const [zip] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download the certificate' }).click()]);
    assert.equal(zip.suggestedFilename(), 'week-2b-certificate.zip');
  });
}
