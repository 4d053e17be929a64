import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/status/status-report.ts';
import type { StatusServer } from '../../src/status/server.ts';
import { isBrowserTested, startBrowser, type Browser } from '../support/processes/browser.ts';
import {
  sampleAccount,
  sampleCollection,
  sampleProblem,
  sampleReport,
} from '../support/processes/status-report.ts';
import { servePage } from './served-page.ts';

// The page as people see it: a real browser, with and without script, in the light and on a phone.

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
  const server = await servePage(status, { port });
  servers.push(server);
  return server;
}

const withRows = (liveRows: number): StatusReport =>
  sampleReport({ accounts: [sampleAccount({ collections: [sampleCollection({ liveRows })] })] });

describe.runIf(isBrowserTested())('the status page', () => {
  it('shows what is mirrored, how fresh, and what is going on', async () => {
    const { page, complaints } = await browser.open((await serve(() => sampleReport())).url());
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    const jobs = page.locator('.account').getByRole('row', { name: /^research_jobs/ });
    expect(await jobs.innerText()).toMatch(/current\s+48,210\s+20 s ago\s+11:59:40 UTC\s+2 h ago/);
    expect(await page.getByText('GET /v1/watchlist was answered 503: busy').isVisible()).toBe(true);
    const facts = (await page.locator('.facts').innerText()).replaceAll(/\s+/g, ' ');
    for (const fact of [
      'Full walk list_items, list 17: 6,000 rows in 12 pages, begun 10 s ago',
      'Webhook mirror.example.com: registered; last event 45 s ago; 2 to be read again',
      'Submissions 3 queued, 1 sending; in the last 24 h 40 accepted, 2 rejected',
      'Key 9f86d081…, other 31 of 48 requests in 60 s, of the service’s 60; 2 waiting',
    ])
      expect(facts).toContain(fact);
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
    expect(
      await page
        .locator('.account')
        .getByRole('row', { name: /^research_jobs/ })
        .innerText(),
    ).toContain('101');
    expect(complaints).toEqual([]);
  });

  it('of an account is a click away, and goes on by itself', async () => {
    let rows = 100;
    const report = (): StatusReport =>
      sampleReport({
        accounts: ['42', '43'].map((userId) =>
          sampleAccount({ userId, collections: [sampleCollection({ liveRows: rows })] }),
        ),
      });
    const { page, complaints } = await browser.open((await serve(report)).url());
    await page.getByRole('link', { name: '43' }).click();
    await page.getByRole('heading', { name: 'Account 43 is healthy' }).waitFor();
    rows = 101;
    await page.locator('.account').getByText('101').waitFor();
    expect(await page.getByRole('link', { name: 'research_jobs 48210' }).getAttribute('href')).toBe(
      '../rows?user=42&collection=research_jobs&key=48210',
    );
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
    await serve(() => withRows(102), Number(new URL(first.url()).port));
    await page
      .locator('.account')
      .getByRole('row', { name: /^research_jobs/ })
      .getByText('102')
      .waitFor();
    expect(await page.locator('#live').innerText()).toBe('live');
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
    expect(await page.locator('.headline').innerText()).toContain('What follows is old: as of 12:00:00 UTC');
    expect(await page.locator('.account').innerText()).toContain('100');
    answers = true;
    await page.locator('#live.on', { hasText: /^live$/ }).waitFor();
  });

  it('runs nothing that a service or a database wrote', async () => {
    const evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>';
    let email = 'ada@example.com';
    const report = (): StatusReport =>
      sampleReport({
        accounts: [sampleAccount({ email })],
        problems: [sampleProblem({ what: email })],
        healthy: false,
      });
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

describe.runIf(isBrowserTested())('without script', () => {
  let plain: Browser;
  beforeAll(async () => {
    plain = await startBrowser({ javaScriptEnabled: false, colorScheme: 'dark' });
  });
  afterAll(() => plain.close());

  it('the page is whole, and reloads by itself', async () => {
    const { page, complaints } = await plain.open((await serve(() => sampleReport())).url());
    expect(await page.locator('h1').innerText()).toBe('The mirror is healthy');
    expect(
      await page
        .locator('.account')
        .getByRole('row', { name: /^research_jobs/ })
        .innerText(),
    ).toContain('48,210');
    expect(await page.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
    expect(complaints).toEqual([]);
  });
});
