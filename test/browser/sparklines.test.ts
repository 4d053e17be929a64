import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/model/status/status-report.ts';
import type { StatusServer } from '../../src/status/server.ts';
import { isBrowserTested, startBrowser, type Browser } from '../support/processes/browser.ts';
import { sampleAccount, sampleActivity, sampleReport } from '../support/processes/status-report.ts';

import { servePage } from './served-page.ts';

// The charts of the last day, drawn by a real browser.

let server: StatusServer | undefined;
afterEach(() => server?.stop());

async function serve(status: () => StatusReport): Promise<string> {
  server = await servePage(status);
  return server.url();
}

/** Contrast (WCAG 2.2) of a color property of the first `selector` with the card that it lies on. */
const contrast = (selector: string, property: string): string => `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (color) => channels(color)
    .map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const found = document.querySelector(${JSON.stringify(selector)});
  const one = light(getComputedStyle(found).${property});
  const two = light(getComputedStyle(found.closest('section')).backgroundColor);
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
})()`;

const many = (): StatusReport =>
  sampleReport({
    accounts: Array.from({ length: 6 }, (_, index) =>
      sampleAccount({
        userId: String(9_000_000_000 + index),
        activity: index === 3 ? null : sampleActivity(),
      }),
    ),
  });

describe.runIf(isBrowserTested()).each(['light', 'dark'] as const)('the last day, %s', (colorScheme) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser({ colorScheme });
  });
  afterAll(() => browser.close());

  it('is drawn, is read out, can be told from its card, and breaks no rule of the content policy', async () => {
    const { page, complaints } = await browser.open(await serve(() => sampleReport()));
    const requests = page.getByRole('img', { name: /^requests in the last day: 30 to 47 per 5 min, now 30/ });
    const [box, line] = [await requests.boundingBox(), await requests.locator('path').boundingBox()];
    expect(box?.width).toBeGreaterThan(100);
    expect(line?.width).toBeGreaterThan((box?.width ?? 0) - 4);
    expect(line?.height).toBeGreaterThan(10);
    expect(await page.evaluate<number>(contrast('.sparks path', 'stroke'))).toBeGreaterThanOrEqual(3);
    expect(await page.evaluate<number>(contrast('.sparks small', 'color'))).toBeGreaterThanOrEqual(4.5);
    expect(await page.locator('svg[style], path[style]').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('has a place for each account, at every width', async () => {
    const { page } = await browser.open(await serve(many));
    for (const width of [320, 400, 735, 737, 900, 1_087, 1_089, 1_400]) {
      await page.setViewportSize({ width, height: 900 });
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect([width, await page.evaluate(overflow)]).toEqual([width, 0]);
    }
    const line = page.getByRole('row', { name: /^9000000000/ });
    expect(
      await line.getByRole('img', { name: /^freshness in the last day: 30 s to 2 h old/ }).isVisible(),
    ).toBe(true);
    expect(await line.getByRole('img', { name: /^changes in the last day/ }).isVisible()).toBe(true);
    expect(await page.getByRole('row', { name: /^9000000003/ }).innerText()).toMatch(/no data[\s\S]*no data/);
  });
});

describe.runIf(isBrowserTested())('the last day', () => {
  it('goes on in an open page', async () => {
    const browser = await startBrowser();
    let rows = 10;
    const report = (): StatusReport => {
      const liveRows = Array.from({ length: 288 }, (_, part) => part + rows);
      return sampleReport({ accounts: [sampleAccount({ activity: sampleActivity({ liveRows }) })] });
    };
    const { page, complaints } = await browser.open(await serve(report));
    await page.getByRole('img', { name: 'rows in the last day: 10 to 297, now 297' }).waitFor();
    await page.evaluate('window.drawn = document.querySelectorAll(".sparks svg")[1]');
    rows = 20;
    const later = page.getByRole('img', { name: 'rows in the last day: 20 to 307, now 307' });
    await later.waitFor();
    expect(await page.evaluate('window.drawn === document.querySelectorAll(".sparks svg")[1]')).toBe(true);
    expect((await later.locator('path').boundingBox())?.height).toBeGreaterThan(10);
    expect(complaints).toEqual([]);
    await browser.close();
  });
});
