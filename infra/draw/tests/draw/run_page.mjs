// Verifies folders with the certificate's script: run_page.mjs SCRIPT FOLDER...
// Prints a line of JSON for each: the first difference, or null.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';

const [script, ...folders] = process.argv.slice(2);
const verifyDraw = runInThisContext(`${readFileSync(script, 'utf8')}; verifyDraw`);
for (const folder of folders) {
  const text = (name) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(join(folder, name)));
  const log = existsSync(join(folder, 'log.json')) ? text('log.json') : null;
  const files = { entries: text('entries.csv'), header: text('header.json'), commitment: text('commitment.txt'), result: text('result.json'), log };
  const difference = await verifyDraw(files, null).then(() => null, ({ message }) => message);
  console.log(JSON.stringify(difference));
}
