import { writeFile } from 'node:fs/promises';
import { createServer, request, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SELF_SIGNED } from '../../support/network/self-signed.ts';
import { examine, settingOf, type DoctorSetting } from '../../support/processes/doctor.ts';
import { runProgram } from '../../support/processes/program.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
const servers: Server[] = [];

beforeAll(async () => {
  system = await createSystem({ keys: 'key-a=1001,key-b=1001,key-c=1002' });
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => system.close());

const setting = (env: Environment = {}): DoctorSetting => settingOf(system, env);

async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

const passOn: RequestListener = ({ headers, url = '' }, answer) => {
  request(`${system.sandbox.url}${url}`, { headers, agent: false }, (got) => {
    answer.writeHead(got.statusCode ?? 502, got.headers);
    got.pipe(answer);
  }).end();
};

/** A TLS server before the service, with a self-signed certificate. */
const tlsService = (host?: string): Promise<number> => listening(createTlsServer(SELF_SIGNED, passOn), host);

/** A service that answers so. */
const answering = async (answer: RequestListener): Promise<DoctorSetting> =>
  setting({ MIRROR_API_URL: `http://127.0.0.1:${await listening(createServer(answer))}` });

describe('doctor', () => {
  it('finds nothing wrong where nothing is, pings and reads each endpoint with each key, and writes no row', async () => {
    const before = await rowsOf(system);
    const keys = setting({ MIRROR_API_KEY: 'key-a,key-b,key-c' });
    await system.sandbox.control.resetCounters();
    const found = await examine(keys);
    expect(found).toMatchObject({ code: 0 });
    expect([...new Set(found.checks.map(({ state }) => state))]).toEqual(['ok']);
    expect(found.checks.filter(({ check }) => check === 'keys').map(({ found: words }) => words)).toEqual([
      "the 1st and 2nd of MIRROR_API_KEY are account 1001's",
      "the 3rd of MIRROR_API_KEY is account 1002's",
    ]);
    expect(await rowsOf(system)).toEqual(before);
    const { byRouteAndStatus } = await system.sandbox.control.counters();
    const routes = ['ping', 'account', 'research', 'research/bulk', 'lists', 'lists/{id}', 'watchlist'];
    expect(byRouteAndStatus).toEqual(Object.fromEntries(routes.map((route) => [`GET /v1/${route} 200`, 3])));
    expect(found.the('endpoints').found).toBe('all can be read with 3 of 3 good keys');
  });

  it('prints a line for each check, and no secret', async () => {
    const { env, cwd } = setting({ MIRROR_API_KEY: 'key-a,hunter-secret' });
    const { code, stdout } = await runProgram(['doctor'], { cwd, env: env as Record<string, string> });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken +keys +the 2nd of MIRROR_API_KEY is refused: .* → take it out/m);
    expect(stdout.split('\n').at(-2)).toMatch(/^1 broken(, \d warnings?)?$/);
    // Both say which security releases they lack, or that none is known.
    expect(stdout).toMatch(
      /^(ok|warning) +node +Node \d+\.\d+\.\d+.* (lacks the security fixes of|no security release) /m,
    );
    expect(stdout).toMatch(
      /^(ok|warning) +server +PostgreSQL 18\.\d+.* (lacks the security fixes of|no security release) /m,
    );
    expect(stdout).not.toContain('hunter');
  });
});

describe('doctor says the cause and the remedy of', () => {
  it('one endpoint that a good key may not read, and not while the collection is left out', async () => {
    const wrong = await answering((incoming, answer) => {
      if (incoming.url?.startsWith('/v1/watchlist') !== true) return passOn(incoming, answer);
      answer.writeHead(403, { 'content-type': 'application/json' });
      answer.end('{"detail":"not in your plan"}');
    });
    const found = await examine(wrong);
    expect(found.code).toBe(1);
    expect(found.in('broken')).toEqual(['endpoints']);
    expect(found.the('endpoints')).toMatchObject({
      found: expect.stringMatching(
        /GET \/v1\/watchlist\?limit=1 was answered 403: .*not in your plan/,
      ) as string,
      remedy: expect.stringContaining('MIRROR_COLLECTIONS') as string,
    });
    const others = 'account,research_jobs,bulk_research_jobs,lists,list_items';
    expect(await examine({ ...wrong, env: { ...wrong.env, MIRROR_COLLECTIONS: others } })).toMatchObject({
      code: 0,
    });
  });

  it('a certificate of an unknown authority: with its file it is trusted', async () => {
    const port = await tlsService();
    const wrong = setting({ MIRROR_API_URL: `https://localhost:${port}` });
    const found = await examine(wrong);
    expect(found).toMatchObject({ code: 1 });
    expect(found.in('broken')).toEqual(['tls']);
    expect(found.the('tls').found).toContain('self-signed certificate');
    await writeFile(join(system.cwd, 'authority.pem'), SELF_SIGNED.cert);
    const mended = { ...wrong.env, NODE_EXTRA_CA_CERTS: 'authority.pem' };
    expect(await examine({ ...wrong, env: mended })).toMatchObject({ code: 0 });
  });

  it('a certificate for another name: with that name it is right', async () => {
    const port = await tlsService('0.0.0.0');
    await writeFile(join(system.cwd, 'authority.pem'), SELF_SIGNED.cert);
    const wrong = setting({
      MIRROR_API_URL: `https://127.0.0.2:${port}`,
      NODE_EXTRA_CA_CERTS: 'authority.pem',
    });
    const found = await examine(wrong);
    expect(found.in('broken')).toEqual(['tls']);
    expect(found.the('tls')).toMatchObject({
      found: expect.stringContaining('has a certificate for another name: it is for DNS:localhost') as string,
      remedy: expect.stringContaining('set MIRROR_API_URL to one of its names') as string,
    });
    const mended = { ...wrong, env: { ...wrong.env, MIRROR_API_URL: `https://localhost:${port}` } };
    expect(await examine(mended)).toMatchObject({ code: 0 });
  });

  it.each([
    ['answers HTML', '<html><title>Welcome</title></html>', 200, 'the body is HTML'],
    ['knows no such path', '{"detail":"Not Found"}', 404, 'was answered 404: Not Found'],
    ['is another service', '{"status":"up"}', 200, 'without a user_id'],
  ])('a wrong base URL, where what is there %s', async (_, body, status, words) => {
    const wrong = await answering((_request, answer) => {
      answer.writeHead(status, { 'content-type': 'text/plain' });
      answer.end(body);
    });
    const found = await examine(wrong);
    expect(found.code).toBe(1);
    expect(found.in('broken')).toEqual(['base_url']);
    expect(found.the('base_url').found).toContain(words);
    expect(found.the('base_url').remedy).toContain('set MIRROR_API_URL');
    expect(found.the('keys')).toMatchObject({
      state: 'unknown',
      found: 'not looked at: base_url failed',
    });
  });

  it('a service where nothing listens, or whose name is not known', async () => {
    const found = await examine(setting({ MIRROR_API_URL: 'http://127.0.0.1:1' }));
    expect(found).toMatchObject({ code: 1 });
    expect(found.the('network')).toMatchObject({
      found: 'GET /v1/ping: 127.0.0.1:1 refused the connection (ECONNREFUSED)',
      remedy: expect.stringMatching(/^does the service run at that address\?/) as string,
    });
    const unknown = await examine(setting({ MIRROR_API_URL: 'https://service.invalid' }));
    expect(unknown.the('network')).toMatchObject({
      state: 'broken',
      found: expect.stringContaining('service.invalid has no address') as string,
      remedy: expect.stringContaining('MIRROR_API_URL') as string,
    });
  });

  it('a proxy that is not there', async () => {
    const wrong = setting({ HTTP_PROXY: 'http://127.0.0.1:1' });
    const found = await examine(wrong);
    expect(found.the('network')).toMatchObject({
      state: 'broken',
      found: expect.stringContaining('by the proxy of HTTP_PROXY') as string,
    });
    expect(await examine(setting())).toMatchObject({ code: 0 });
  });

  it('a service in trouble, and leaves out what comes of it', async () => {
    const wrong = await answering((_, answer) => {
      answer.writeHead(503).end('{"error":{"message":"maintenance"}}');
    });
    const found = await examine(wrong);
    expect(found).toMatchObject({ code: 1 });
    expect(found.in('broken')).toEqual(['base_url']);
    expect(found.the('base_url')).toMatchObject({
      found: 'GET /v1/ping was answered 503: maintenance',
      remedy: expect.stringContaining('the service is in trouble') as string,
    });
    expect(found.the('failing')).toMatchObject({
      state: 'unknown',
      found: 'not looked at: base_url failed',
    });
  });

  it('a clock that differs', async () => {
    const wrong = await answering((incoming, answer) => {
      answer.setHeader('date', new Date(Date.now() - 3_600_000).toUTCString());
      answer.end('{"user_id":1001,"data":[],"has_more":false}');
      incoming.resume();
    });
    const found = await examine(wrong);
    expect(found).toMatchObject({ code: 0 });
    expect(found.the('service_clock')).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(/^the service's clock is (59|60) min behind this machine's$/) as string,
    });
  });

  it('an account that was mirrored from another address: the command accepts the new one', async () => {
    await system.sync([], { env: { MIRROR_API_KEY: 'key-a' } });
    const other = setting({ MIRROR_API_URL: system.sandbox.url.replace('127.0.0.1', 'localhost') });
    const found = await examine(other);
    expect(found).toMatchObject({ code: 1 });
    expect(found.the('accounts')).toMatchObject({
      state: 'broken',
      found: expect.stringContaining('account 1001 was mirrored from') as string,
      command: 'research-mirror accounts move 1001',
    });
    const args = found.the('accounts').command?.split(' ').slice(1) ?? [];
    expect(await system.run(args, other.env)).toMatchObject({ code: 0 });
    expect(await examine(other)).toMatchObject({ code: 0 });
  });
});

/** Of all tables of the mirror, how often each was written. */
async function rowsOf({ db }: System): Promise<unknown> {
  const { rows } = await db.query(
    `select relid::regclass::text as name, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables order by 1`,
  );
  return rows;
}
