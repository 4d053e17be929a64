/**
 * From a checkout to a chart, by the clock: starts the demo, installs Apache Superset from PyPI (requirements.txt) into
 * a virtual environment, imports the dashboard that lies beside this file as the login that only reads, and opens it
 * in Chromium. Each chart's data must be asked for and come with rows; what was seen is in a screenshot. A dataset
 * that Superset makes itself, of a view that is not in the dashboard, must get a time of the service for its time axis.
 *
 *     npm exec -- node bi/superset/check.ts [--venv FOLDER] [--shots FOLDER] [--python python3]
 *
 * It needs python3 (3.10 or 3.11) with venv, PyPI, and Chromium. Ends with 1 where a chart does not show.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page, Response as PageResponse } from 'playwright-core';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { readFlags } from '../../bench/support/flags.ts';
import { Claims, print, printMachine, printTable } from '../../bench/support/report.ts';
import { startBrowser } from '../../test/support/processes/browser.ts';
import { LAUNCHER, runProgram, startProgram } from '../../test/support/processes/program.ts';
import { SupersetClient } from './superset-client.ts';

const HERE = import.meta.dirname;
const EXPORT = 'research_mirror';
/** Milliseconds: the machine may be busy. */
const PATIENCE = 600_000;
const run = promisify(execFile);

const flags = readFlags({
  venv: join(tmpdir(), 'research-mirror-superset'),
  shots: join(tmpdir(), 'research-mirror-superset-shots'),
  python: 'python3',
});
const claims = new Claims();
const steps: (readonly [step: string, seconds: number])[] = [];

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  steps.push([name, seconds]);
  print(`${name}: ${seconds.toFixed(0)} s`);
  return result;
}

/** The demo, read to its end, and how a reader connects to it. */
async function startDemo(folder: string): Promise<{ stop(): Promise<unknown>; address: string; password: string }> {
  const demo = startProgram(['demo'], { cwd: folder, script: LAUNCHER });
  const command = (...args: string[]) => runProgram(args, { cwd: folder, script: LAUNCHER });
  const stop = (): Promise<unknown> => {
    demo.child.kill('SIGTERM');
    return demo.ended;
  };
  try {
    await demo.until('status page');
    // Makes the login that only reads, too.
    const left = `select 6 - count(*) as n from freshness where state = 'current'`;
    const isRead = async (): Promise<boolean> => /"n":\s*"?0\b/.test((await command('sql', left, '--json')).stdout);
    await eventually('the demo to be read', isRead, PATIENCE);
    return { stop, ...(await reader(folder, (await command('status', '--demo')).stdout)) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** How the login that only reads connects. @param status what the command `status` says */
async function reader(folder: string, status: string): Promise<{ address: string; password: string }> {
  const port = /port (\d+)/.exec(status)?.[1] ?? '';
  const password = await readFile(join(folder, 'data/demo/pg18-sql-password'), 'utf8');
  return { address: `127.0.0.1:${port}/postgres`, password: password.trim() };
}

async function install(): Promise<void> {
  if (!existsSync(join(flags.venv, 'bin/pip'))) await run(flags.python, ['-m', 'venv', flags.venv]);
  await run(join(flags.venv, 'bin/pip'), ['install', '-q', '-r', join(HERE, 'requirements.txt')]);
}

/** Starts Superset with a metadata database of its own. */
async function startSuperset(folder: string, password: string): Promise<{ url: string; server: ChildProcess }> {
  const home = join(folder, 'superset');
  await mkdir(home);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    SUPERSET_HOME: home,
    SUPERSET_SECRET_KEY: randomBytes(42).toString('base64'),
    FLASK_APP: 'superset',
  };
  const superset = join(flags.venv, 'bin/superset');
  const admin = ['fab', 'create-admin', '--username', 'admin', '--firstname', 'a', '--lastname', 'a'];
  await run(superset, ['db', 'upgrade'], { env, cwd: home });
  await run(superset, [...admin, '--email', 'admin@localhost', '--password', password], { env, cwd: home });
  await run(superset, ['init'], { env, cwd: home });
  const port = await nonEphemeralPort();
  await mkdir(flags.shots, { recursive: true });
  const log = await open(join(flags.shots, 'superset.log'), 'w');
  const server = spawn(superset, ['run', '-p', String(port), '--with-threads'], {
    env,
    cwd: home,
    stdio: ['ignore', log.fd, log.fd],
  });
  // The child has it now.
  await log.close();
  const url = `http://127.0.0.1:${port}`;
  await eventually('Superset to answer', async () => (await fetch(`${url}/health`)).ok, PATIENCE);
  return { url, server };
}

/** The export as a zip file, with the address of the database. */
async function packExport(folder: string, address: string): Promise<Buffer> {
  const copy = join(folder, EXPORT);
  await cp(join(HERE, EXPORT), copy, { recursive: true });
  const file = join(copy, 'databases/research_mirror.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/@\S+\/postgres/, `@${address}`));
  const zip = join(folder, 'dashboard.zip');
  await run(flags.python, ['-m', 'zipfile', '-c', zip, EXPORT], { cwd: folder });
  return readFile(zip);
}

/** What the frontend got for a chart. */
interface Shown {
  readonly status: number;
  readonly rows: number;
}

/** Opens the dashboard as somebody who has logged in, until every chart has its data. */
async function openDashboard(url: string, password: string, charts: number): Promise<readonly Shown[]> {
  const browser = await startBrowser();
  try {
    await browser.context.pages()[0]?.setViewportSize({ width: 1400, height: 1000 });
    const { page } = await browser.open(`${url}/login/`);
    await page.setViewportSize({ width: 1400, height: 1500 });
    await page.locator('input[name="username"], input#username').first().fill('admin');
    await page.locator('input[name="password"], input#password').first().fill(password);
    await page.keyboard.press('Enter');
    await page.waitForURL((to) => !to.pathname.startsWith('/login'));
    const shown: Promise<Shown>[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/v1/chart/data')) shown.push(readShown(response));
    });
    await page.goto(`${url}/superset/dashboard/research-mirror/?standalone=2`, {
      waitUntil: 'domcontentloaded',
    });
    await eventually(`the data of ${charts} charts`, async () => {
      await page.mouse.wheel(0, 400);
      return shown.length >= charts;
    });
    const answers = await Promise.all(shown);
    await drawn(page);
    await page.screenshot({ path: join(flags.shots, 'dashboard.png'), fullPage: true });
    print(`screenshot: ${join(flags.shots, 'dashboard.png')}`);
    return answers;
  } finally {
    await browser.close();
  }
}

/** Nothing is loading any more; what Superset says instead of a chart is an error. */
async function drawn(page: Page): Promise<void> {
  await eventually('the charts to be drawn', async () => (await page.locator('.loading').count()) === 0);
  const errors = await page.locator('.ant-alert-error, [data-test="error-message"]').allInnerTexts();
  claims.check(errors.length === 0, `no chart shows an error: ${errors.join('; ')}`);
}

async function readShown(response: PageResponse): Promise<Shown> {
  const body = (await response.json().catch(() => ({}))) as { result?: { rowcount?: number }[] };
  return { status: response.status(), rows: body.result?.[0]?.rowcount ?? 0 };
}

async function check(folder: string): Promise<void> {
  const demo = await step('the demo, until everything is mirrored', () => startDemo(folder));
  let server: ChildProcess | undefined;
  try {
    await step('pip install', install);
    const password = randomBytes(12).toString('hex');
    const superset = await step('Superset: database, administrator, start', () => startSuperset(folder, password));
    server = superset.server;
    const client = await SupersetClient.login(superset.url, 'admin', password);
    const charts = (await readdir(join(HERE, EXPORT, 'charts'))).length;
    await step('import of the dashboard', async () => {
      await client.importDashboard(await packExport(folder, demo.address), {
        [`${EXPORT}/databases/research_mirror.yaml`]: demo.password,
        'databases/research_mirror.yaml': demo.password,
      });
      for (const dataset of await client.datasets()) await client.refresh(dataset.id);
    });
    const shown = await step('the dashboard in a browser', () => openDashboard(superset.url, password, charts));
    printTable(
      ['chart’s data', 'HTTP', 'rows'],
      shown.map(({ status, rows }, index) => [String(index + 1), String(status), String(rows)]),
    );
    claims.check(shown.length >= charts, `${charts} charts ask for data (${shown.length})`);
    claims.check(
      shown.every(({ status, rows }) => status === 200 && rows > 0),
      'each chart gets rows',
    );
    const [database] = await client.databases();
    const made = await client.makeDataset(database?.id ?? 0, 'mirror', 'lists_live');
    print(
      `lists_live: Superset takes ${made.timeAxis ?? 'nothing'} for the time axis, columns ${made.columns.join(' ')}`,
    );
    claims.check(made.timeAxis === 'created_at', 'Superset takes a time of the service for the time axis');
  } finally {
    server?.kill('SIGTERM');
    await demo.stop();
  }
}

printMachine();
const folder = await mkdtemp(join(tmpdir(), 'research-mirror-bi-'));
try {
  await check(folder);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
const total = steps.reduce((sum, [, seconds]) => sum + seconds, 0);
print(`\nfrom the checkout to the charts: ${(total / 60).toFixed(1)} min`);
claims.tell('the dashboard is imported, every chart shows data, and new datasets get the service’s time axis');
