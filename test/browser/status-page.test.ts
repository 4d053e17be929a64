import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { rowPath } from '../../src/status/lookup-store.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import type { StatusServer } from '../../src/status/server.ts';
import { isBrowserTested, startBrowser, type Browser } from '../support/processes/browser.ts';
import {
  AT,
  sampleAccount,
  sampleCollection,
  sampleHit,
  sampleLookups,
  sampleProblem,
  sampleReport,
  sampleStory,
} from '../support/processes/status-report.ts';
import { servePage } from './served-page.ts';

// The page as people use it: in a real browser, with and without script; read, typed into, followed.

let browser: Browser;
beforeAll(async () => {
  if (isBrowserTested()) browser = await startBrowser();
});
afterAll(() => browser?.close());

const servers: StatusServer[] = [];
afterEach(async () => {
  for (const each of servers.splice(0)) await each.stop();
});

async function serve(status: () => StatusReport, port = 0): Promise<StatusServer> {
  const server = await servePage(status, { port, lookups });
  servers.push(server);
  return server;
}

/** The line of research jobs of the only account. */
const jobsOf = (page: Page) => page.locator('.account').getByRole('row', { name: /^research_jobs/ });

const withRows = (liveRows: number): StatusReport =>
  sampleReport({ accounts: [sampleAccount({ collections: [sampleCollection({ liveRows })] })] });

describe.runIf(isBrowserTested())('the status page', () => {
  it('shows what is mirrored, how fresh, and what is going on', async () => {
    const { page, complaints } = await browser.open((await serve(sampleReport)).url());
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    expect(await jobsOf(page).innerText()).toMatch(/current\s+48,210\s+20 s ago\s+11:59:40 UTC\s+2 h ago/);
    expect(await page.getByText('GET /v1/watchlist returned 503: busy').isVisible()).toBe(true);
    expect((await page.locator('.facts').innerText()).replaceAll(/\s+/g, ' ')).toMatch(
      /Full walk list_items, list 17: 6,000 .* Webhook mirror.example.com: .* Submissions 3 queued, .* Key 9f86d081…, other 31 /,
    );
    await page.locator('#live', { hasText: /^live$/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('follows changes in place: what the reader selected stays', async () => {
    let report = withRows(100);
    const { page, complaints } = await browser.open((await serve(() => report)).url());
    await page.evaluate('window.heading = document.querySelector("h1")');
    report = { ...withRows(101), healthy: false, problems: [sampleProblem({ what: 'the disk is full' })] };
    await page.getByText('the disk is full').waitFor();
    expect(await page.title()).toBe('The mirror needs attention – research-mirror');
    expect(await page.evaluate('window.heading === document.querySelector("h1")')).toBe(true);
    expect(await jobsOf(page).innerText()).toContain('101');
    expect(complaints).toEqual([]);
  });

  it('of an account is a click away, and goes on by itself', async () => {
    let rows = 100;
    const report = (): StatusReport =>
      sampleReport({
        accounts: ['42', '43'].flatMap((userId) => withRows(rows).accounts.map((account) => ({ ...account, userId }))),
      });
    const { page, complaints } = await browser.open((await serve(report)).url());
    await page.getByRole('link', { name: '43' }).click();
    await page.getByRole('heading', { name: 'Account 43 is healthy' }).waitFor();
    rows = 101;
    await page.locator('.account').getByText('101').waitFor();
    const link = page.getByRole('link', { name: 'research_jobs 48210' });
    expect(await link.getAttribute('href')).toBe('../rows?user=42&collection=research_jobs&key=48210');
    await page.getByRole('link', { name: 'All accounts' }).click();
    await page.getByRole('heading', { name: '2 accounts' }).waitFor();
    // Leaving a page may cut what it has just asked for.
    expect(complaints.filter((each) => !each.endsWith('?view failed'))).toEqual([]);
  });

  it('says that it is not live when the daemon is gone, and goes on when it is back', async () => {
    const first = await serve(() => withRows(100));
    const { page } = await browser.open(first.url());
    await page.locator('#live', { hasText: /^live$/ }).waitFor();
    await first.stop();
    await page.getByText('connection lost, trying again').waitFor();
    await page.getByRole('heading', { name: 'The daemon does not answer. This is its last report' }).waitFor();
    expect(await page.locator('.headline.good').count()).toBe(0);
    await serve(() => withRows(102), Number(new URL(first.url()).port));
    await jobsOf(page).getByText('102').waitFor();
    expect(await page.locator('#live').innerText()).toBe('live');
    expect(await page.locator('.headline.good').count()).toBe(1);
  });

  it('is not live while the database does not answer, and is again when it does', async () => {
    let answers = true;
    const report = (): StatusReport => {
      if (!answers) throw new Error('away');
      return withRows(100);
    };
    const { page } = await browser.open((await serve(report)).url());
    const live = page.locator('#live');
    await page.locator('#live.on', { hasText: /^live$/ }).waitFor();
    answers = false;
    await page.locator('#live.off', { hasText: 'the status can’t be read' }).waitFor();
    expect(await live.innerText()).toMatch(
      /^not live since \d\d:\d\d:\d\d UTC: the status can’t be read, trying again$/,
    );
    // Loaded again meanwhile, it says the same.
    await page.reload();
    await page.locator('#live.off').waitFor();
    expect(await page.locator('.headline').innerText()).toContain('The figures and ages below are from 12:00:00 UTC');
    expect(await page.locator('.account').innerText()).toContain('100');
    answers = true;
    await page.locator('#live.on', { hasText: /^live$/ }).waitFor();
  });

  it('runs nothing that a service or a database wrote', async () => {
    const evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>';
    let email = 'ada@example.com';
    const report = (): StatusReport => {
      const problems = [sampleProblem({ what: email })];
      return sampleReport({ accounts: [sampleAccount({ email })], problems, healthy: false });
    };
    const { page, complaints } = await browser.open((await serve(report)).url());
    await page.locator('#live', { hasText: /^live$/ }).waitFor();
    email = evil;
    await page.locator('.account').getByText(evil).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate('window.evil')).toBeUndefined();
    // Even markup that got in would not run.
    await page.evaluate('document.querySelector("main").innerHTML += `<img src=x onerror="window.evil=1">`');
    await expect.poll(() => complaints.join('\n')).toContain('Content Security Policy');
    expect(await page.evaluate('window.evil')).toBeUndefined();
  });
});

const ID = `../it's "a"/50%?#~ 名`;
const row = { userId: '42', collection: 'list_items', key: `7:${ID}` } as const;
const found = sampleHit({ row });
const lookups = sampleLookups({
  search: async (query) => ({ at: AT, found: query === ID ? [found] : [], more: false }),
  rows: async () => ({ at: AT, found: [found], next: undefined }),
  row: async (address) => (rowPath(address) === rowPath(row) ? sampleStory() : undefined),
});

it.runIf(isBrowserTested()).each([
  ['with script', true],
  ['without script', false],
])(
  'an ID that is typed into the status page leads to its row, and from there back, by the keyboard alone, %s',
  async (_, javaScriptEnabled) => {
    const browser = await startBrowser({ javaScriptEnabled });
    onTestFinished(() => browser.close());
    const url = (await serve(sampleReport)).url();
    const { page, complaints } = await browser.open(url);
    // Without script the page loads itself again.
    expect(await page.locator('noscript meta[http-equiv=refresh]').count()).toBe(javaScriptEnabled ? 0 : 1);
    expect(await jobsOf(page).innerText()).toContain('48,210');
    // Past the skip link and the name.
    for (let stop = 0; stop < 3; stop += 1) await page.keyboard.press('Tab');
    await page.keyboard.type(ID);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 result' }).waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe(ID);
    const result = page.getByRole('link', { name: ID });
    await result.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    expect(await page.locator('h1').innerText()).toBe(`list_items ${ID} of list 7`);
    const story = await page.locator('.story > li').allInnerTexts();
    const told = story.map((text) => /(\w+)( |:|$)/.exec(text.split('\n').at(2) ?? '')?.[1]);
    expect(told).toEqual(['Next', 'Changed', 'Event', 'Mirrored', 'Answered', 'Sent', 'Queued']);
    const long = page.locator('details').first();
    await long.locator('summary').focus();
    await page.keyboard.press('Enter');
    expect(await long.getAttribute('open')).toBe('');
    await page.getByRole('link', { name: 'all list_items' }).click();
    await page.getByRole('heading', { name: 'list_items of account 42' }).waitFor();
    await page.getByRole('link', { name: 'completed' }).first().click();
    await page.getByText('state completed').waitFor();
    await page.getByRole('link', { name: 'research-mirror' }).click();
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    await page.goto(`${url}rows?user=42&collection=lists&key=999`);
    await page.getByRole('link', { name: 'Back to the status page' }).click();
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    // Leaving the status page may cut what it has just asked for.
    expect(complaints.filter((each) => !each.endsWith('?view failed') && !each.includes('404'))).toEqual([]);
  },
);
