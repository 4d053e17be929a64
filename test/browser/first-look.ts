/**
 * The README's picture: the status page beside a session of psql, out of fixed data.
 *
 *     node test/browser/first-look.ts        writes docs/images/first-look.png
 */
import { join } from 'node:path';
import { startBrowser } from '../support/processes/browser.ts';
import { ASKED, firstLatestRows, firstLook } from './first-look-data.ts';
import { ROOT } from '../support/rules/source-files.ts';
import { servePage } from './served-page.ts';

const FILE = join(ROOT, 'docs', 'images', 'first-look.png');
const SIZE = { width: 1600, height: 850 };
const PAGE = { width: 1300, height: 1100 };

const browser = await startBrowser({ colorScheme: 'light' });
const server = await servePage(firstLook, { latestRows: firstLatestRows() });
const { page } = await browser.open(server.url());
await page.setViewportSize(PAGE);
await page.locator('#live', { hasText: /^live$/ }).waitFor();
const statusPage = await page.screenshot();
const picture = await browser.context.newPage();
await picture.setViewportSize(SIZE);
await picture.setContent(both(statusPage.toString('base64')));
await picture.screenshot({ path: FILE });
await server.stop();
await browser.close();
process.stdout.write(`${FILE}\n`);

/** The two in frames, side by side. @param picture PNG in base64 */
function both(picture: string): string {
  const session = ASKED.map(({ query, answer }) => {
    const typed = query.split('\n').map((line, index) => `${prompt(index)}<i>${escaped(line)}</i>\n`);
    return `${typed.join('')}${escaped(answer)}\n`;
  }).join('');
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; background: #e4e7ec; font: 14px 'DejaVu Sans', sans-serif; }
    figure { position: absolute; margin: 0; top: 20px; height: 810px; overflow: hidden; border-radius: 8px;
      box-shadow: 0 2px 10px #0004; }
    figcaption { height: 32px; line-height: 32px; text-align: center; font-size: 13px; background: #d3d7de; color: #333; }
    .page { left: 20px; width: 920px; background: #f4f6f8; }
    .page img { display: block; width: 920px; }
    .psql { left: 960px; width: 620px; background: #16191f; }
    .psql figcaption { background: #2a2f38; color: #c8ccd4; }
    pre { margin: 16px 18px; font: 14px/1.33 'DejaVu Sans Mono', monospace; color: #d7dae0; }
    b { font-weight: 400; color: #7fb98a; } i { font-style: normal; color: #fff; }
    </style>
    <figure class="page"><figcaption>http://127.0.0.1:8080/</figcaption>
      <img alt="" src="data:image/png;base64,${picture}"></figure>
    <figure class="psql"><figcaption>psql</figcaption><pre>${session}${prompt(0)}</pre></figure>`;
}

/** @param line of a statement, from 0 */
function prompt(line: number): string {
  return `<b>${line === 0 ? 'postgres=&gt;' : 'postgres-&gt;'}</b> `;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
