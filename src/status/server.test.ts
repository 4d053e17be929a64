import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import {
  sampleAccount,
  sampleCollection,
  sampleLatestRows,
  sampleLookups,
  sampleProblem,
  sampleReport,
} from '../../test/support/processes/status-report.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { createMetrics } from './metrics.ts';
import { answersOf, createStatusServer, type StatusServer } from './server.ts';

type StatusServerOptions = Parameters<typeof createStatusServer>[0];

const open: StatusServer[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

const OPTIONS: StatusServerOptions = {
  host: '127.0.0.1',
  port: 0,
  token: undefined,
  status: async () => sampleReport(),
  latestRows: async () => sampleLatestRows(),
  ready: async () => ({ ok: true }),
  lookups: sampleLookups(),
  metrics: createMetrics('1.2.3'),
  clock: systemClock,
  log: pino({ level: 'silent' }),
};

async function start(options: Partial<StatusServerOptions> = {}): Promise<string> {
  const server = createStatusServer({ ...OPTIONS, metrics: createMetrics('1.2.3'), ...options });
  open.push(server);
  await server.start();
  return server.url();
}

/** A request with exactly these headers; fetch would set Host by itself. */
async function ask(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const request = httpRequest(url, { method, headers }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const LOOKUPS = ['search?q=1', 'rows?user=42&collection=lists', 'rows/42/lists/7'];

it('the status server answers health at once, and readiness by the database, which it asks once a second once it is ready', async () => {
  let [why, asked, now] = ['it is starting', 0, 0];
  const url = await start({
    token: 'secret',
    ready: async () => {
      asked += 1;
      return why === '' ? { ok: true } : { ok: false, why };
    },
    clock: { ...systemClock, monotonic: () => now },
  });
  const readyAt = async (ms: number) => {
    now = ms;
    return ask(`${url}readyz`);
  };
  expect(await readyAt(0)).toMatchObject({ status: 503, body: '{"ok":false,"why":"it is starting"}' });
  expect(await ask(`${url}healthz`)).toMatchObject({ status: 200, body: '{"ok":true}' });
  why = '';
  expect((await readyAt(40)).status).toBe(503);
  expect(await readyAt(60)).toMatchObject({ status: 200, body: '{"ok":true}' });
  expect([(await readyAt(1_000)).status, asked]).toEqual([200, 2]);
  expect([(await readyAt(1_060)).status, asked]).toEqual([200, 3]);
});

it('the status server answers the report as JSON, and its error as 503', async () => {
  const { status, body, headers } = await ask(`${await start()}api/status`);
  expect([status, JSON.parse(body)]).toEqual([200, sampleReport()]);
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  const broken = await start({ status: () => Promise.reject(new Error('connection refused')) });
  const error = '{"error":"connection refused"}';
  expect(await ask(`${broken}api/status`)).toMatchObject({ status: 503, body: error });
  expect(await ask(broken)).toMatchObject({
    status: 503,
    body: expect.stringContaining('connection refused'),
  });
  expect(await ask(`${broken}metrics`)).toMatchObject({ status: 200 });
});

it('the status server answers metrics in the text format of Prometheus', async () => {
  const answer = await ask(`${await start()}metrics`);
  expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(answer.body).toContain('research_mirror_live_rows{user_id="42",collection="research_jobs"} 48210');
});

it('the status server shows every value escaped, on a page that runs nothing foreign', async () => {
  const evil = '<img src=x onerror=alert(1)>"\'&';
  const collections = [sampleCollection({ state: 'failing', lastError: evil })];
  const report = sampleReport({
    healthy: false,
    problems: [sampleProblem({ what: evil, remedy: evil, affects: [evil], byItself: evil })],
    notes: [evil],
    service: evil,
    database: evil,
    schema: evil,
    accounts: [sampleAccount({ email: evil, error: evil, collections })],
    errors: [{ at: sampleReport().at, where: evil, message: evil }],
  });
  const page = await ask(await start({ status: async () => report }));
  expect(page.body.split('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;')).toHaveLength(14);
  expect(page.body).not.toContain('<img');
  const policy = String(page.headers['content-security-policy']);
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  expect(page.body).toContain(`<script type="module" nonce="${nonce}">`);
  expect(page.body).not.toMatch(/\sstyle="|\son\w+="|https?:\/\/(?!www\.w3\.org)[a-z]+\.(?!example)/);
  const again = await ask(await start());
  expect(String(again.headers['content-security-policy'])).not.toContain(nonce);
});

it('the status server asks for the token, but not for health', async () => {
  const url = await start({ token: 's3cret' });
  for (const path of ['', '?view', 'accounts/42', 'api/status', 'metrics', 'nothing', ...LOOKUPS]) {
    const answer = await ask(url + path);
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
    expect(answer.body).not.toContain('48,210');
  }
  expect(await ask(`${url}healthz`)).toMatchObject({ status: 200 });
  expect(await ask(url, { authorization: 'Bearer s3cret' })).toMatchObject({ status: 200 });
  const basic = `Basic ${Buffer.from('anyone:s3cret').toString('base64')}`;
  expect(await ask(url, { authorization: basic, host: 'mirror.example' })).toMatchObject({ status: 200 });
});

it('the status server answers without token to loopback’s own names only', async () => {
  const url = await start();
  for (const path of ['api/status', 'accounts/42', ...LOOKUPS])
    expect(await ask(url + path, { host: 'evil.example:8080' })).toMatchObject({ status: 403 });
  expect(await ask(`${url}api/status`, { host: 'localhost:9999' })).toMatchObject({ status: 200 });
  expect(() => createStatusServer({ ...OPTIONS, host: '0.0.0.0' })).toThrow(/needs a token/);
});

it('the status server answers HEAD like GET without body, unknown paths with 404, other methods with 405', async () => {
  const url = await start();
  const pages = ['', 'healthz', 'readyz', 'metrics', 'api/status', '?view', 'accounts/42', 'search'];
  for (const path of [...pages, 'rows?user=42&collection=lists'])
    expect(await ask(url + path, {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  const body = '{"error":"not found: see / or /api/status"}';
  expect(await ask(`${url}favicon.ico`)).toMatchObject({ status: 404, body });
  expect(await ask(url, {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

it('the status server answers whole addresses, as proxies send them, and refuses malformed ones', async () => {
  const { port } = new URL(await start({ token: 's3cret' }));
  const statusOf = async (target: string): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString().slice(9, 12);
  };
  for (const [status, ...targets] of [
    ['200', 'http://mirror.example/healthz'],
    ['401', 'http://mirror.example/api/status', '//healthz'],
    ['400', '*', 'a:constructor', 'a:__proto__', 'http://', 'http://['],
    ['401', '//', '///', '/\\', '/%', '/%00', '/rows/%/%', `/${'x'.repeat(10_000)}`],
    ['431', `/${'x'.repeat(100_000)}`],
    ['200', '/healthz'],
  ]) {
    for (const target of targets) expect([target, await statusOf(target)]).toEqual([target, status]);
  }
});

it('the status server answers a defect with 500, and logs it', async () => {
  const lines: string[] = [];
  const search = (): Promise<never> => Promise.reject(new TypeError('a defect'));
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const url = await start({ lookups: sampleLookups({ search }), log });
  expect(await ask(`${url}search?q=1`)).toMatchObject({ status: 500, body: '{"error":"internal error"}' });
  expect(lines).toEqual([expect.stringMatching(/a defect.*"path":"\/search".*could not answer/)]);
  expect((await ask(`${url}healthz`)).status).toBe(200);
});

it('the status server has a page of each account, gives open pages only the view, and makes a report a second', async () => {
  let [asked, now] = [0, 0];
  let report = sampleReport({ accounts: [sampleAccount(), sampleAccount({ userId: '43' })] });
  const clock = { ...systemClock, monotonic: () => now };
  const status = async () => {
    asked += 1;
    return report;
  };
  const url = await start({ status, clock });
  expect((await ask(`${url}accounts/43`)).body).toMatch(/<h1>Account 43 is healthy[\s\S]*Latest changes/);
  expect((await ask(`${url}accounts/43?view`)).body).toMatch(/^<main[\s\S]*Account 43 is healthy/);
  for (const path of ['44', 'x', '43/', '43%2f'])
    expect([path, (await ask(`${url}accounts/${path}`)).status]).toEqual([path, 404]);
  expect(asked).toBe(1);
  [report, now] = [sampleReport({ problems: [sampleProblem({ what: 'the disk is full' })] }), 1_000];
  expect((await ask(`${url}?view`)).body).toMatch(/^<main\n[\s\S]*the disk is full[\s\S]*<\/main>$/);
});

it('the status server shows the last report and its time while there is no new one', async () => {
  let [isAway, now] = [false, 0];
  const url = await start({
    status: async () => {
      if (isAway) throw new Error('the database is away');
      return sampleReport();
    },
    clock: { ...systemClock, monotonic: () => now },
  });
  expect((await ask(url)).status).toBe(200);
  [isAway, now] = [true, 1_000];
  for (const path of ['', 'accounts/42']) {
    const { status, body } = await ask(url + path);
    expect(status).toBe(503);
    expect(body.replaceAll(/<[^>]*>/g, '')).toMatch(
      /can’t be read right now\s+the database is away\s+The figures and ages below are from 12:00:00 UTC\.[\s\S]*research-mirror doctor[\s\S]*48,210/,
    );
    expect(body).not.toContain('is healthy');
    expect(body).toMatch(/class="chip idle">not known</);
    expect(body).not.toMatch(/class="chip \w+">current</);
  }
});

it('the status server says what to do when its port is taken', async () => {
  const taken = createStatusServer({ ...OPTIONS, port: Number(new URL(await start()).port) });
  await expect(taken.start()).rejects.toThrow(Unusable);
  await expect(taken.start()).rejects.toThrow(/Set MIRROR_HTTP_PORT/);
});

const sources = { ...OPTIONS, clock: new VirtualClock() };

it('answers have no latest rows if an account can’t be read', async () => {
  const answers = answersOf({ ...sources, latestRows: () => Promise.reject(new Error('away')) });
  expect(await answers.latestRows('1')).toBeUndefined();
});

it('answers come in time if the database hangs, which is asked once', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  const hang = () => {
    asked += 1;
    return new Promise<never>(() => {});
  };
  const answers = answersOf({ ...sources, clock, status: hang, ready: hang });
  expect(await clock.runUntil(answers.report())).toEqual({ why: 'the database did not answer within 4 s' });
  await clock.runUntil(answers.report());
  expect(asked).toBe(1);
  expect(await clock.runUntil(answers.ready())).toMatchObject({ ok: false });
  expect(clock.monotonic()).toBe(12_000);
});
