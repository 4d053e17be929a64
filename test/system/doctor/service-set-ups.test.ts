import { writeFile } from 'node:fs/promises';
import { createServer, request, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SELF_SIGNED } from '../../support/network/self-signed.ts';
import { examine, settingOf, type DoctorSetting } from '../../support/processes/doctor.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
const servers: Server[] = [];

beforeAll(async () => {
  system = await createSystem({ keys: 'key-a=1001,key-b=1001,key-c=1002' });
  await writeFile(join(system.cwd, 'authority.pem'), SELF_SIGNED.cert);
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

/** A TLS server before the service, with a self-signed certificate for `localhost`. */
const tlsService = (host?: string): Promise<number> => listening(createTlsServer(SELF_SIGNED, passOn), host);

/** A service that answers so. */
const answering = async (answer: RequestListener): Promise<DoctorSetting> =>
  setting({ MIRROR_API_URL: `http://127.0.0.1:${await listening(createServer(answer))}` });

const wrongAt = async (where: DoctorSetting, env: Environment = {}): Promise<string> =>
  (await examine({ ...where, env: { ...where.env, ...env } })).wrong;

describe('doctor', () => {
  it('finds nothing wrong where nothing is, pings and reads each endpoint with each key, and writes no row', async () => {
    const rowsWritten = `select relid::regclass::text as name, n_tup_ins, n_tup_upd, n_tup_del
      from pg_stat_user_tables order by 1`;
    const { rows: before } = await system.db.query(rowsWritten);
    await system.sandbox.control.resetCounters();
    const found = await examine(setting({ MIRROR_API_KEY: 'key-a,key-b,key-c' }));
    expect([...new Set(found.checks.map(({ state }) => state))]).toEqual(['ok']);
    expect(found.checks.filter(({ check }) => check === 'keys').map(({ found: words }) => words)).toEqual([
      'the 1st and 2nd key in MIRROR_API_KEY belong to account 1001',
      'the 3rd key in MIRROR_API_KEY belongs to account 1002',
    ]);
    expect((await system.db.query(rowsWritten)).rows).toEqual(before);
    const { byRouteAndStatus } = await system.sandbox.control.counters();
    const routes = ['ping', 'account', 'research', 'research/bulk', 'lists', 'lists/{id}', 'watchlist'];
    expect(byRouteAndStatus).toEqual(Object.fromEntries(routes.map((route) => [`GET /v1/${route} 200`, 3])));
    expect(found.the('endpoints').found).toBe('all can be read with 3 of 3 good keys');
  });

  it('prints a line for each check, and no secret', async () => {
    const { env } = setting({ MIRROR_API_KEY: 'key-a,hunter-secret' });
    const { code, stdout } = await system.run(['doctor'], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken +keys +the 2nd key in MIRROR_API_KEY is refused: .* → remove it/m);
    // Both say which security releases they lack, or that none is known.
    for (const version of ['node +Node', 'server +PostgreSQL 18']) {
      const line = `^(ok|warning) +${version}.* (lacks the security fixes of|no later security release) `;
      expect(stdout).toMatch(new RegExp(line, 'm'));
    }
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
    expect(await wrongAt(wrong)).toMatch(
      /^endpoints broken: .*GET \/v1\/watchlist\?limit=1 returned 403: .*not in your plan.* → .*MIRROR_COLLECTIONS.*$/,
    );
    const others = 'account,research_jobs,bulk_research_jobs,lists,list_items';
    expect(await wrongAt(wrong, { MIRROR_COLLECTIONS: others })).toBe('');
  });

  it('a certificate of an unknown authority: with its file it is trusted', async () => {
    const wrong = setting({ MIRROR_API_URL: `https://localhost:${await tlsService()}` });
    expect(await wrongAt(wrong)).toMatch(/^tls broken: .*self-signed certificate.*$/);
    expect(await wrongAt(wrong, { NODE_EXTRA_CA_CERTS: 'authority.pem' })).toBe('');
  });

  it('a certificate for another name: with that name it is right', async () => {
    const port = await tlsService('0.0.0.0');
    const trusting = setting({ NODE_EXTRA_CA_CERTS: 'authority.pem' });
    expect(await wrongAt(trusting, { MIRROR_API_URL: `https://127.0.0.2:${port}` })).toMatch(
      /^tls broken: .*has a certificate for another name: it is for DNS:localhost.* → .*set MIRROR_API_URL to a name in its certificate.*$/,
    );
    expect(await wrongAt(trusting, { MIRROR_API_URL: `https://localhost:${port}` })).toBe('');
  });

  it.each([
    ['answers HTML', '<html><title>Welcome</title></html>', 200, /the body is HTML.* → .*set MIRROR_API_URL/],
    ['knows no such path', '{"detail":"Not Found"}', 404, /returned 404: Not Found.* → .*set MIRROR_API_URL/],
    ['is another service', '{"status":"up"}', 200, /returned no user_id.* → .*set MIRROR_API_URL/],
    [
      'is in trouble',
      '{"error":{"message":"maintenance"}}',
      503,
      /ping returned 503: maintenance → mirroring continues by itself/,
    ],
  ])('a base URL at which what is there %s, and leaves out what comes of it', async (_, body, status, words) => {
    const wrong = await answering((_request, answer) => {
      answer.writeHead(status, { 'content-type': 'text/plain' });
      answer.end(body);
    });
    const found = await examine(wrong);
    expect(found.wrong).toMatch(/^base_url broken: .*$/);
    expect(found.wrong).toMatch(words);
    for (const later of ['keys', 'failing'])
      expect(found.the(later)).toMatchObject({ state: 'unknown', found: 'skipped: base_url failed' });
  });

  it.each([
    [
      'where nothing listens',
      { MIRROR_API_URL: 'http://127.0.0.1:1' },
      /^network broken: GET \/v1\/ping: 127\.0\.0\.1:1 refused the connection \(ECONNREFUSED\) → check the service, the host in MIRROR_API_URL.*$/,
    ],
    [
      'whose name is not known',
      { MIRROR_API_URL: 'https://service.invalid' },
      /^network broken: .*service\.invalid has no address.* → .*MIRROR_API_URL.*$/,
    ],
    [
      'behind a proxy that is not there',
      { HTTP_PROXY: 'http://127.0.0.1:1' },
      /^network broken: .*through the proxy in HTTP_PROXY.*$/,
    ],
  ])('a service %s', async (_, env, words) => {
    expect(await wrongAt(setting(env))).toMatch(words);
  });

  it('a clock that differs', async () => {
    const wrong = await answering((incoming, answer) => {
      answer.setHeader('date', new Date(Date.now() - 3_600_000).toUTCString());
      answer.end('{"user_id":1001,"data":[],"has_more":false}');
      incoming.resume();
    });
    expect(await wrongAt(wrong)).toMatch(
      /^service_clock warning: the service's clock is (59|60) min behind this machine's( → .*)?$/,
    );
  });

  it('an account that was mirrored from another address: the command accepts the new one', async () => {
    await system.sync([], { env: { MIRROR_API_KEY: 'key-a' } });
    const other = setting({ MIRROR_API_URL: system.sandbox.url.replace('127.0.0.1', 'localhost') });
    const found = await examine(other);
    const { command } = found.the('accounts');
    expect(found.wrong).toMatch(/^accounts broken: .*account 1001 was mirrored from/);
    expect(command).toBe('research-mirror accounts move 1001');
    expect(await system.run(command?.split(' ').slice(1) ?? [], other.env)).toMatchObject({ code: 0 });
    expect(await wrongAt(other)).toBe('');
  });
});
