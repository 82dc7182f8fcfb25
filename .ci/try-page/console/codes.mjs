// Codes of a campaign.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

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
    await page.getByRole('heading', { name: 'Codes', exact: true }).waitFor();
    assert.equal(await page.locator('tr', { hasText: 'batch-1' }).locator('.pill').textContent(), 'void');
  });

  const CODES = '/campaigns/soda-rush-2026/test/codes';

  visit('codes are minted, downloaded once, and made valid', CODES, async (page) => {
    await page.fill('#count', '5');
    await page.fill('#batch', 'browser');
    await page.fill('#prize', 'A mug');
    await page.getByRole('button', { name: 'Mint' }).click();
    await page.getByRole('heading', { name: 'Batch browser' }).waitFor();
    await look(page, 'mint');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the codes' }).click()]);
    assert.equal(download.suggestedFilename(), 'browser.csv');
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    assert.equal(lines.length, 6);
    await page.reload();
    await page.getByText('is not handed out again').waitFor();
    await page.getByRole('button', { name: 'make the codes valid' }).click();
    await page.getByText('These codes count').waitFor();
    await look(page, 'minted');
  });

  visit('an Excel file is named as such, and a list is imported', CODES, async (page) => {
    const choose = (name, content) => page.setInputFiles('#file', { name, mimeType: 'text/csv', buffer: Buffer.from(content) });
    await choose('codes.xlsx', 'PK\x03\x04rest');
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('this is an Excel workbook').waitFor();
    await look(page, 'import-refused');
    await page.goBack();
    const code = (number) => `${(number * 7919) % 9999991}`.padStart(7, '0') + `${(number * 104729) % 10000}`.padStart(4, '0');
    await choose('codes.csv', Array.from({ length: 200 }, (_, index) => code(index + 1)).join('\n'));
    await page.fill('#import-batch', 'printed');
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('The file has 200 codes').waitFor();
    await look(page, 'import');
    await page.getByRole('button', { name: 'Import 200 codes' }).click();
    await page.getByText('Imported 200 codes as batch printed').waitFor();
    await look(page, 'imported');
  });
}
