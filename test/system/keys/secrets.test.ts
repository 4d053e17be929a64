import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createGateway } from '../../support/network/gateway.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

const KEY = 'sandbox-key-Zr8_a';
const WRONG_KEY = 'wrong-Qx5/key?b';
const DSN_PASSWORD = 'dsn-Wv2@pass:c';
const TOKEN = 'token-Lp9+status/d=';
const TRACE: Environment = { LOG_LEVEL: 'trace', MIRROR_STATUS_TOKEN: TOKEN };

let system: System;
/** Everything that was shown. */
let shown: string[];
beforeEach(() => void (shown = []));
afterEach(() => system.close());

const create = (faults: Partial<SandboxOptions> = {}): Promise<System> =>
  createSystem({ keys: `${KEY}=1001`, errorBody: 'text', ...faults });

async function run(args: readonly string[], env: Environment) {
  const outcome = await system.run(args, { ...TRACE, MIRROR_API_KEY: KEY, ...env });
  shown.push(outcome.stdout, outcome.stderr);
  return outcome;
}

async function showRows(...tables: readonly string[]): Promise<void> {
  for (const table of tables)
    shown.push(await system.one(`select coalesce(string_agg(row_to_json(t)::text, ' '), '') from ${table} as t`));
}

/** Where a secret stands, with its surroundings; in any usual spelling. */
function leaks(...secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) =>
    [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    ].flatMap((spelling) =>
      shown
        .filter((text) => text.includes(spelling))
        .map((text) => {
          const at = text.indexOf(spelling);
          return `${secret} in …${text.slice(Math.max(0, at - 200), at + 100)}`;
        }),
    ),
  );
}

describe('no secret is in any output, at LOG_LEVEL=trace:', () => {
  it('of commands with wrong keys, wrong databases and a service that fails', async () => {
    system = await create({ fault500: 0.3, faultReset: 0.2, faultHtml: 0.2 });
    const url = new URL(system.databaseUrl);
    const wrongPassword = Object.assign(new URL(url), { username: 'nobody', password: DSN_PASSWORD });
    const nowhere = Object.assign(new URL(wrongPassword), { port: '1' });
    const spelt = encodeURIComponent(DSN_PASSWORD);
    const outcomes = await Promise.all(
      [
        { MIRROR_API_KEY: `${KEY},${WRONG_KEY}` },
        { MIRROR_API_KEY: WRONG_KEY, LOG_FORMAT: 'pretty' },
        { DATABASE_URL: wrongPassword.href },
        { DATABASE_URL: nowhere.href },
        { DATABASE_URL: `postgres://x:${spelt}@[bad/` },
        { HTTP_PROXY: `http://proxy:${spelt}@127.0.0.1:1` },
        { MIRROR_API_URL: `http://user:${spelt}@127.0.0.1:1` },
        { MIRROR_API_KEY_FILE: '/nowhere', MIRROR_POLL_CRON: WRONG_KEY.slice(0, 5) },
      ].map((env) => run(['sync', 'lists'], env)),
    );
    for (const { stderr, code } of outcomes) {
      expect(stderr).not.toBe('');
      expect(code).not.toBe(null);
    }
    for (const args of [['status'], ['status', '--json'], ['sql', 'select * from freshness, data_quality']])
      await run(args, {});
    await showRows('mirror_sync.api_key', 'mirror.sync_log', 'mirror.freshness');
    expect(leaks(KEY, WRONG_KEY, DSN_PASSWORD, TOKEN, url.password)).toEqual([]);
  });

  it('of runs against a service that answers with what it was sent, nor in any table', async () => {
    system = await create();
    const gateway = await createGateway(system.sandbox.url);
    const env = { MIRROR_API_URL: gateway.url };
    expect(await run(['sync', 'lists'], env)).toMatchObject({ code: 0 });
    for (const status of [401, 404, 500]) {
      gateway.refuse(({ headers }) => ({ status, message: `no: ${JSON.stringify(headers)}` }));
      const { code, stdout } = await run(['sync', 'lists'], env);
      expect(code).toBe(3);
      expect(stdout).toContain('no: ');
      await run(['status'], env);
    }
    await gateway.close();
    await showRows('mirror.freshness');
    // And nowhere in the database: of a key there is only a hash.
    const tables = await system.one<string>(`select string_agg(schemaname || '.' || tablename, ' ') from pg_tables
      where schemaname in ('mirror', 'mirror_sync')`);
    expect(tables).toContain('mirror_sync.api_key');
    await showRows(...tables.split(' '));
    expect(leaks(KEY)).toEqual([]);
  });

  it('of a daemon: its log, its pages, its metrics, its command line, its files but the password’s own', async () => {
    system = await create({ fault500: 0.1, faultTruncated: 0.1 });
    const env = { DATABASE_URL: undefined, MIRROR_PG_PORT: '0', MIRROR_API_KEY: `${KEY},${WRONG_KEY}` };
    const daemon = await system.daemon({ ...TRACE, ...env });
    await daemon.until('Set a working key in MIRROR_API_KEY');
    await run(['sql', 'select * from freshness'], env);
    const data = join(system.cwd, 'data');
    const passwords = ['pg18-password', 'pg18-sql-password'].map((name) =>
      readFileSync(join(data, name), 'utf8').trim(),
    );
    for (const password of passwords) expect(password.length).toBeGreaterThan(10);
    const page = async (path: string, headers = { authorization: `Bearer ${TOKEN}` }): Promise<string> =>
      (await fetch(`${daemon.statusUrl}${path}`, { headers })).text();
    await eventually('the mirror', async () => (await page('/api/status')).includes('"liveRows":300'));

    for (const path of ['/', '/accounts/1001', '/api/status', '/metrics', '/readyz']) shown.push(await page(path));
    shown.push(await page('/api/status', { authorization: '' }));
    await run(['sync'], env);
    // Where it is Linux.
    for (const file of [`/proc/${daemon.child.pid}/cmdline`, `/proc/${daemon.child.pid}/comm`])
      if (existsSync(file)) shown.push(readFileSync(file, 'utf8'));
    const { code, stdout, stderr } = await daemon.stop();
    expect(code).toBe(0);
    shown.push(stdout, stderr);
    for (const name of readdirSync(data)) if (name.includes('.log')) shown.push(readFileSync(join(data, name), 'utf8'));
    expect(stdout.length).toBeGreaterThan(1_000);
    expect(leaks(KEY, WRONG_KEY, TOKEN, ...passwords)).toEqual([]);
  });
});
