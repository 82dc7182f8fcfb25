// Verifies folders with the certificate's script: run_page.mjs CERTIFICATE FOLDER...
// Prints a line of JSON for each: the first difference, or null.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';

const [certificate, ...folders] = process.argv.slice(2);
const script = ['verify.js', 'verify_instant.js'].map((name) => readFileSync(join(certificate, name), 'utf8'));
const { verifyDraw, verifyPlan } = runInThisContext(`${script.join('')}; ({ verifyDraw, verifyPlan })`);
const NAMES = { entries: 'entries.csv', rows: 'rows.csv', header: 'header.json', commitment: 'commitment.txt', secret: 'secret.txt', result: 'result.json', log: 'log.json' };
for (const folder of folders) {
  const text = (name) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(join(folder, name)));
  const file = (name) => (existsSync(join(folder, name)) ? text(name) : null);
  const files = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, file(name)]));
  const verify = files.rows === null ? verifyDraw : verifyPlan;
  const difference = await verify(files, null).then(() => null, ({ message }) => message);
  console.log(JSON.stringify(difference));
}
