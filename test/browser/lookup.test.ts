import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rowPath } from '../../src/status/lookup-store.ts';
import type { StatusServer } from '../../src/status/server.ts';
import { isBrowserTested, startBrowser, type Browser } from '../support/processes/browser.ts';
import { sampleLookups, sampleStory } from '../support/processes/sample-lookups.ts';
import { AT, sampleHit, sampleReport } from '../support/processes/status-report.ts';
import { servePage } from './served-page.ts';

// Search and rows as people use them: typed, followed, read, in a real browser.

const ID = `../it's "a"/50%?#~ 名`;
const row = { userId: '42', collection: 'list_items', key: `7:${ID}` } as const;
const found = sampleHit({ row });

const servers: StatusServer[] = [];
afterEach(async () => {
  for (const each of servers.splice(0)) await each.stop();
});

async function serve(): Promise<string> {
  const lookups = sampleLookups({
    search: async (query) => ({ at: AT, found: query === ID ? [found] : [], more: false }),
    rows: async () => ({ at: AT, found: [found], next: undefined }),
    row: async (address) => (rowPath(address) === rowPath(row) ? sampleStory() : undefined),
  });
  const server = await servePage(() => sampleReport(), { lookups });
  servers.push(server);
  return server.url();
}

describe.runIf(isBrowserTested()).each([
  ['with script', true],
  ['without script', false],
])('%s', (_, javaScriptEnabled) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser({ javaScriptEnabled });
  });
  afterAll(() => browser.close());

  it('an ID that is typed into the status page leads to its row, and from there back, by the keyboard alone', async () => {
    const { page, complaints } = await browser.open(await serve());
    // Past the skip link and the name.
    for (let stop = 0; stop < 3; stop += 1) await page.keyboard.press('Tab');
    await page.keyboard.type(ID);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 found' }).waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe(ID);
    const result = page.getByRole('link', { name: ID });
    await result.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    expect(await page.locator('h1').innerText()).toBe(`list_items ${ID} of list 7`);
    const story = await page.locator('.story > li').allInnerTexts();
    expect(story.map((text) => /(\w+)( |:|$)/.exec(text.split('\n').at(2) ?? '')?.[1])).toEqual([
      'Next',
      'Changed',
      'Event',
      'Mirrored',
      'Answered',
      'Sent',
      'Queued',
    ]);
    const long = page.locator('details').first();
    await long.locator('summary').focus();
    await page.keyboard.press('Enter');
    expect(await long.getAttribute('open')).toBe('');
    await page.getByRole('link', { name: 'all list_items' }).click();
    await page.getByRole('heading', { name: 'list_items of account 42' }).waitFor();
    await page.getByRole('link', { name: 'completed' }).first().click();
    await page.getByText('with the state completed').waitFor();
    await page.getByRole('link', { name: 'research-mirror' }).click();
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    // Leaving the status page may cut what it has just asked for.
    expect(complaints.filter((each) => !each.endsWith('?view failed'))).toEqual([]);
  });

  it('what there is none of has a way back', async () => {
    const url = await serve();
    const { page } = await browser.open(`${url}search?q=nobody.example`);
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await page.goto(`${url}rows?user=42&collection=lists&key=999`);
    await page.getByRole('link', { name: 'back to the status page' }).click();
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
  });

  it('fits a phone, and a wide screen', async () => {
    const url = await serve();
    for (const path of [
      '',
      `search?q=${encodeURIComponent(ID)}`,
      'search',
      'rows?user=42&collection=lists&key=9',
      rowPath(row),
      'rows?user=42&collection=research_jobs',
    ]) {
      const { page } = await browser.open(url + path);
      for (const width of [360, 400, 760, 1400]) {
        await page.setViewportSize({ width, height: 800 });
        expect([path, width, await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)]).toEqual([
          path,
          width,
          width,
        ]);
      }
      await page.close();
    }
  });
});
