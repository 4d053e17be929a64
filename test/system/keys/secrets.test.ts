import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createGateway } from '../../support/network/gateway.ts';
import type { StatusReport } from '../../../src/status/status-report.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

const KEY = 'sandbox-key-Zr8_a';
const WRONG_KEY = 'wrong-Qx5/key?b';
const DSN_PASSWORD = 'dsn-Wv2@pass:c';
const TOKEN = 'token-Lp9+status/d=';

const systems: System[] = [];
afterAll(() => Promise.all(systems.map((each) => each.close())));

async function create(faults = {}): Promise<System> {
  const system = await createSystem({ keys: `${KEY}=1001`, errorBody: 'text', ...faults });
  systems.push(system);
  return system;
}

/** Everything that a run shows. */
class Output {
  readonly #texts: string[] = [];

  add(...texts: readonly string[]): void {
    this.#texts.push(...texts);
  }

  /** Where a secret stands, with its surroundings; in any usual spelling. */
  leaks(secrets: readonly string[]): string[] {
    return secrets.flatMap((secret) => {
      const spellings = [
        secret,
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      ];
      return this.#texts.flatMap((text) =>
        spellings
          .filter((spelling) => text.includes(spelling))
          .map((spelling) => {
            const at = text.indexOf(spelling);
            return `${secret} in …${text.slice(Math.max(0, at - 200), at + 100)}`;
          }),
      );
    });
  }
}

const TRACE: Environment = { LOG_LEVEL: 'trace', MIRROR_STATUS_TOKEN: TOKEN };

describe('no secret is in any output, at LOG_LEVEL=trace:', () => {
  it('of commands with wrong keys, wrong databases and a service that fails', async () => {
    const system = await create({ fault500: 0.3, faultReset: 0.2, faultHtml: 0.2 });
    const url = new URL(system.databaseUrl);
    const wrongPassword = new URL(url);
    wrongPassword.password = DSN_PASSWORD;
    wrongPassword.username = 'nobody';
    const nowhere = new URL(wrongPassword);
    nowhere.port = '1';
    const output = new Output();
    const runs: readonly Environment[] = [
      { MIRROR_API_KEY: `${KEY},${WRONG_KEY}` },
      { MIRROR_API_KEY: WRONG_KEY, LOG_FORMAT: 'pretty' },
      { MIRROR_API_KEY: KEY, DATABASE_URL: wrongPassword.href },
      { MIRROR_API_KEY: KEY, DATABASE_URL: nowhere.href },
      { MIRROR_API_KEY: KEY, DATABASE_URL: `postgres://x:${encodeURIComponent(DSN_PASSWORD)}@[bad/` },
      { MIRROR_API_KEY: KEY, HTTP_PROXY: `http://proxy:${encodeURIComponent(DSN_PASSWORD)}@127.0.0.1:1` },
      { MIRROR_API_KEY: KEY, MIRROR_API_URL: `http://user:${encodeURIComponent(DSN_PASSWORD)}@127.0.0.1:1` },
      { MIRROR_API_KEY: KEY, MIRROR_API_KEY_FILE: '/nowhere', MIRROR_POLL_CRON: WRONG_KEY.slice(0, 5) },
    ];
    const outcomes = await Promise.all(
      runs.map((env) => system.run(['sync', 'lists'], { ...TRACE, ...env })),
    );
    for (const { stdout, stderr, code } of outcomes) {
      expect(stderr).not.toBe('');
      expect(code).not.toBe(null);
      output.add(stdout, stderr);
    }
    for (const args of [['status'], ['status', '--json'], ['sql', 'select * from freshness, data_quality']]) {
      const { stdout, stderr } = await system.run(args, { ...TRACE, MIRROR_API_KEY: KEY });
      output.add(stdout, stderr);
    }
    const stored = await system.db.query<{ text: string }>(
      `select row_to_json(t)::text as text from mirror_sync.api_key t
       union all select row_to_json(t)::text from mirror.sync_log t
       union all select row_to_json(t)::text from mirror.freshness t`,
    );
    output.add(...stored.rows.map(({ text }) => text));
    expect(output.leaks([KEY, WRONG_KEY, DSN_PASSWORD, TOKEN, url.password])).toEqual([]);
  });

  it('of runs against a service that answers with what it was sent', async () => {
    const system = await create();
    const gateway = await createGateway(system.sandbox.url);
    const env = { ...TRACE, MIRROR_API_URL: gateway.url, MIRROR_API_KEY: KEY };
    const output = new Output();
    await system.sync(['lists'], { env });
    for (const status of [401, 404, 500]) {
      gateway.refuse(({ headers }) => ({ status, message: `no: ${JSON.stringify(headers)}` }));
      const { code, stdout, stderr } = await system.run(['sync', 'lists'], env);
      expect(code).toBe(3);
      expect(stdout).toContain('no: ');
      const told = await system.run(['status'], env);
      output.add(stdout, stderr, told.stdout, told.stderr);
    }
    await gateway.close();
    const stored = await system.db.query<{ text: string }>(
      `select row_to_json(t)::text as text from mirror.sync_log t
       union all select row_to_json(t)::text from mirror.freshness t
       union all select row_to_json(t)::text from mirror_sync.scope t`,
    );
    output.add(...stored.rows.map(({ text }) => text));
    expect(output.leaks([KEY])).toEqual([]);
  });

  it('of a daemon: its log, its pages, its metrics, its command line, its files but the password’s own', async () => {
    const system = await create({ fault500: 0.1, faultTruncated: 0.1 });
    const env: Environment = {
      ...TRACE,
      DATABASE_URL: undefined,
      MIRROR_PG_PORT: '0',
      MIRROR_API_KEY: `${KEY},${WRONG_KEY}`,
    };
    const daemon = await system.daemon(env);
    await daemon.until('set a good MIRROR_API_KEY');
    const asked = await system.run(['sql', 'select * from freshness'], env);
    const passwords = ['pg18-password', 'pg18-sql-password'].map((name) =>
      readFileSync(join(system.cwd, 'data', name), 'utf8').trim(),
    );
    for (const password of passwords) expect(password.length).toBeGreaterThan(10);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const page = async (path: string): Promise<string> =>
      (await fetch(`${daemon.statusUrl}${path}`, { headers })).text();
    await eventually('the mirror', async () => (await page('/api/status')).includes('"liveRows":300'));

    const output = new Output();
    output.add(asked.stdout, asked.stderr);
    const report = await page('/api/status');
    const { accounts } = JSON.parse(report) as StatusReport;
    for (const { userId } of accounts) output.add(await page(`/accounts/${userId}`));
    output.add(await page('/'), report, await page('/metrics'), await page('/readyz'));
    output.add(await (await fetch(`${daemon.statusUrl}/api/status`)).text());
    const beside = await system.run(['sync'], env);
    output.add(beside.stdout, beside.stderr);
    const { pid } = daemon.child;
    for (const file of [`/proc/${pid}/cmdline`, `/proc/${pid}/comm`]) {
      try {
        output.add(readFileSync(file, 'utf8'));
      } catch (error) {
        // Not Linux.
        expect(error).toMatchObject({ code: 'ENOENT' });
      }
    }
    const outcome = await daemon.stop();
    expect(outcome.code).toBe(0);
    output.add(outcome.stdout, outcome.stderr);
    const data = join(system.cwd, 'data');
    for (const name of readdirSync(data)) {
      if (name.includes('.log')) output.add(readFileSync(join(data, name), 'utf8'));
    }
    expect(outcome.stdout.length).toBeGreaterThan(1_000);
    expect(output.leaks([KEY, WRONG_KEY, TOKEN, ...passwords])).toEqual([]);
  });

  it('of a daemon without terminal that makes its status token: the log says in which file it is', async () => {
    const system = await create();
    const env = { LOG_LEVEL: 'trace', MIRROR_API_KEY: KEY, MIRROR_HTTP_HOST: '0.0.0.0' };
    const daemon = await system.daemon(env);
    await daemon.until('made just now: it is in ');
    const token = readFileSync(join(system.cwd, 'data', 'status-token'), 'utf8').trim();
    const asked = (bearer: string): Promise<Response> =>
      fetch(`${daemon.statusUrl}/metrics`, { headers: { authorization: `Bearer ${bearer}` } });
    expect([(await asked(token)).status, (await asked('another')).status]).toEqual([200, 401]);
    const { stdout, stderr } = await daemon.stop();
    const output = new Output();
    output.add(stdout, stderr);
    expect(output.leaks([token])).toEqual([]);
  });
});
