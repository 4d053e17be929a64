import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { isTested } from '../optional.ts';

const KNOWN_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const path = process.env['CHROMIUM_PATH'] ?? KNOWN_PATHS.find((each) => existsSync(each)) ?? '';
const isThere = existsSync(path);
const MISSING =
  path === ''
    ? 'there is no browser: install chromium, or name one in CHROMIUM_PATH'
    : `there is no browser at ${path} (CHROMIUM_PATH)`;

export const isBrowserTested = (): boolean =>
  isTested('TEST_BROWSER', isThere, MISSING, 'the status page in a browser');

export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/** A real Chromium with an empty profile. @throws with the remedy: a test without its browser would prove nothing */
export async function startBrowser(options: { javaScriptEnabled?: boolean; colorScheme?: 'light' | 'dark' } = {}) {
  if (!isThere) throw new Error(MISSING);
  const profile = await mkdtemp(join(tmpdir(), 'research-mirror-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...options,
    executablePath: path,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return {
    context,
    /** A page that collects what a developer would see in red: errors of scripts, loads and content policy. */
    async open(url: string) {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
      await page.goto(url, { waitUntil: 'domcontentloaded' });
      return { page, complaints };
    },
    async close(): Promise<void> {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
