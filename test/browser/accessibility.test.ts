import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AccountStatus, StatusReport } from '../../src/status/status-report.ts';
import type { StatusServer } from '../../src/status/server.ts';
import { type Browser, isBrowserTested, startBrowser } from '../support/processes/browser.ts';
import {
  AT,
  sampleAccount,
  sampleLookups,
  sampleProblem,
  sampleReport,
  sampleStory,
} from '../support/processes/status-report.ts';
import { LATEST_ROWS, PAGE_STATES } from './page-states.ts';
import { servePage, serveState } from './served-page.ts';

// The page for who uses no mouse, hears it, or has a narrow screen: judged by axe-core in each state, and by hand.

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
const servers: StatusServer[] = [];
beforeAll(async () => {
  if (isBrowserTested()) browser = await startBrowser();
});
afterAll(() => browser?.close());
afterEach(async () => {
  for (const each of servers.splice(0)) await each.stop();
});

const lookups = sampleLookups({
  search: async (query) => ({ at: AT, found: query === 'nothing' ? [] : LATEST_ROWS, more: false }),
  rows: async () => ({ at: AT, found: LATEST_ROWS, next: '7' }),
  row: async (address) => (address.key === '404' ? undefined : sampleStory()),
});

async function open(report: () => StatusReport): Promise<Page> {
  const server = await servePage(report, { lookups });
  servers.push(server);
  return (await browser.open(server.url())).page;
}

async function openState(state: string, path = ''): Promise<Page> {
  const { server, url } = await serveState(state, { lookups });
  servers.push(server);
  return (await browser.open(`${url}${path}`)).page;
}

/** Each rule that is broken, and where; best practices among them. */
async function violations(page: Page): Promise<string[]> {
  // Not as a script of the page: its content policy would refuse it.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run(document)');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, html }) => `${id}: ${help}: ${target.join(' ')} ${html.slice(0, 120)}`),
  );
}

describe.runIf(isBrowserTested())('axe-core finds nothing', () => {
  it.each<readonly [state: string, path: string]>([
    ...Object.keys(PAGE_STATES).map((state) => [state, ''] as const),
    ['found', 'search?q=7'],
    ['nothing found', 'search?q=nothing'],
    ['a row', 'rows?user=42&collection=research_jobs&key=7'],
    ['no such row', 'rows?user=42&collection=research_jobs&key=404'],
    ['rows', 'rows?user=42&collection=research_jobs&state=completed'],
    ['what can be found', 'search'],
  ])('in the state %s, light and dark; and it fits, wide and narrow', async (state, path) => {
    const page = await openState(state, path);
    for (const width of [1400, 760, 400, 360]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
      if (width !== 1400 && width !== 400) continue;
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect([colorScheme, width, ...(await violations(page))]).toEqual([colorScheme, width]);
      }
    }
  });
});

describe.runIf(isBrowserTested())('by keyboard', () => {
  it('everything that does something is reached, in the order of the page, and seen to be', async () => {
    const page = await openState('deletions');
    const wanted = await page.locator('a[href], input, button, select').count();
    expect(wanted).toBeGreaterThan(5);
    for (let turn = 0; turn < wanted; turn += 1) {
      await page.keyboard.press('Tab');
      const reached = await page.evaluate(`(() => {
        const all = [...document.querySelectorAll('a[href], input, button, select')];
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return [all.indexOf(document.activeElement), outlineStyle + ' ' + outlineWidth];
      })()`);
      expect(reached).toEqual([turn, 'solid 3px']);
    }
  });

  it('the first stop leads past what stands above', async () => {
    const page = await open(() => sampleReport());
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
  });
});

describe.runIf(isBrowserTested())('for who hears it', () => {
  it('only the headline and the connection are announced, not each figure', async () => {
    let report = sampleReport();
    const page = await open(() => report);
    const announced = page.locator('[aria-live], [role=status], [role=alert], [role=log]');
    expect(await announced.allInnerTexts()).toEqual([expect.stringMatching(/^(?:live)?$/), 'The mirror is healthy']);
    await page.evaluate('window.region = document.querySelector("main [role=status]")');
    report = sampleReport({ healthy: false, problems: [sampleProblem()] });
    await page.locator('.problems').waitFor();
    // The same element says the new words: a new one would not be announced.
    const said = await page.evaluate('window.region.isConnected && window.region.innerText');
    expect(said).toBe('The mirror needs attention');
  });

  it('a phone, too, has tables: cells with their rows and columns', async () => {
    const page = await open(() => sampleReport());
    await page.setViewportSize({ width: 400, height: 900 });
    const session = await page.context().newCDPSession(page);
    const { nodes } = (await session.send('Accessibility.getFullAXTree')) as {
      readonly nodes: readonly { readonly ignored: boolean; readonly role?: { readonly value: string } }[];
    };
    const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value);
    expect(roles).toEqual(expect.arrayContaining(['table', 'row', 'rowheader', 'cell', 'main', 'banner']));
  });
});

/** Elements with a word that stands in two lines. Chips, figures and moments are words; keys and values may break. */
const BROKEN_WORDS = `(() => {
  const broken = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.parentElement.closest('.long, .key, tbody th small, .problems, .errors, .headline, .deletions, .unseen, code')) continue;
    for (const { index, 0: word } of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (tops.size > 1 && !word.includes('-')) broken.push(word);
    }
  }
  return broken;
})()`;

describe.runIf(isBrowserTested())('no word is broken', () => {
  const lastError = `25 lists could not be read: ${'GET /v1/lists/1068 was refused; '.repeat(10)}`;
  const failing = { state: 'failing', lastError, liveRows: 1_234_567 } as const;
  const collections = sampleAccount().collections.map((each) => ({ ...each, ...failing }));
  const long = sampleAccount({ email: `${'a'.repeat(64)}@${'b'.repeat(60)}.example.com`, collections });
  const LONG: Readonly<Record<string, AccountStatus[]>> = {
    long: [long],
    'long ones': [long, { ...long, userId: '43' }],
  };

  it.each([...Object.keys(PAGE_STATES), ...Object.keys(LONG)])('at any width: %s', async (state) => {
    const accounts = LONG[state];
    const page = accounts ? await open(() => sampleReport({ accounts })) : await openState(state);
    for (let width = 400; width <= 1400; width += 50) {
      await page.setViewportSize({ width, height: 900 });
      const scrolls = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect([scrolls, await page.evaluate(BROKEN_WORDS)]).toEqual([width, []]);
    }
  });
});
