/**
 * Pictures of the status page in each of its states, to be looked at: in the light, in the dark, on a phone.
 *
 *     node test/browser/screenshots.ts FOLDER
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startBrowser } from '../support/processes/browser.ts';
import { PAGE_STATES } from './page-states.ts';
import { serveState } from './served-page.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('say into which folder: node test/browser/screenshots.ts FOLDER\n');
  process.exit(2);
}
await mkdir(folder, { recursive: true });

for (const colorScheme of ['light', 'dark'] as const) {
  const browser = await startBrowser({ colorScheme });
  for (const name of Object.keys(PAGE_STATES)) {
    const { server, url } = await serveState(name);
    for (const width of [1400, 400]) {
      const { page } = await browser.open(url);
      await page.setViewportSize({ width, height: 900 });
      const file = join(folder, `${name}-${colorScheme}-${width}.png`);
      await page.screenshot({ path: file, fullPage: true });
      await page.close();
      process.stdout.write(`${file}\n`);
    }
    await server.stop();
  }
  await browser.close();
}
