import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createReaderLogin } from '../../support/postgres/reader-login.ts';
import { createGateway } from '../../support/network/gateway.ts';
import { ask } from '../../support/postgres/on-connection.ts';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { startProgram } from '../../support/processes/program.ts';
import { createFrozenSystem, type Environment, type System } from '../../support/processes/system.ts';

const NAMES = ['research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] as const;
const PRIVATE: Environment = {
  MIRROR_EXCLUDE_FIELDS: NAMES.flatMap((name) => [`${name}.top_secret`, `${name}.**.secret`]).join(','),
  MIRROR_HASH_FIELDS: NAMES.map((name) => `${name}.**.email`).join(','),
  MIRROR_HASH_KEY: 'a key of thirty-two characters!!',
};

let system: System | undefined;
afterEach(() => system?.close());

class Canaries {
  /** All that were planted. */
  readonly all: string[] = [];

  text(): string {
    return this.#planted(`canary-${this.all.length}-é✓-${randomBytes(8).toString('hex')}`);
  }

  number(): number {
    return this.#planted(700_000_000_000_000 + Math.floor(Math.random() * 1e13) * 10 + (this.all.length % 10));
  }

  #planted<T>(value: T): T {
    this.all.push(String(value));
    return value;
  }

  /** Seven, in fields of each kind and depth. */
  fields(): Record<string, unknown> {
    return {
      top_secret: this.text(),
      email: this.text(),
      secret: this.number(),
      nested: {
        plain: 1,
        secret: this.text(),
        more: [{ email: this.number() }, [{ secret: [this.text()] }]],
      },
      secrets: { email: { of: [this.text()] } },
    };
  }
}

/** Plants canaries in a full life, and searches all that can be read. @returns places, and what was found where */
async function life(settings: Environment): Promise<{ places: string[]; found: Set<string>; planted: number }> {
  const made = await createFrozenSystem({ jobs: 40, lists: 2, itemsPerList: 3, watchlist: 5 });
  system = made;
  const {
    db,
    run,
    sandbox: { control },
  } = made;
  const canaries = new Canaries();
  const ids: Record<string, string> = {};
  const lists = await control.truth({ collection: 'lists' });
  const list = String((JSON.parse(lists[0] ?? '') as { list_id: number }).list_id);
  for (const collection of NAMES) {
    const where = collection === 'list_items' ? { collection, list } : { collection };
    const [id = ''] = await control.mutate({ op: 'insert', ...where, fields: canaries.fields() });
    ids[collection] = id;
  }
  const quarantined = JSON.stringify({ job_id: {}, ...canaries.fields() });
  await control.mutate({ op: 'insert', collection: 'research_jobs', source: quarantined });
  const port = await nonEphemeralPort();
  const service = await createGateway(made.sandbox.url);
  const env = {
    ...settings,
    MIRROR_API_URL: service.url,
    MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
    MIRROR_WEBHOOK_PORT: String(port),
    LOG_LEVEL: 'trace',
    MIRROR_SETTLE: '1s',
  };
  const daemon = await made.daemon(env);
  const rows = async (of: string): Promise<number> => (await db.query(`select from ${of}`)).rows.length;
  const until = (what: string, least = 1) => eventually(what, async () => (await rows(what)) >= least);
  await until(`mirror_sync.registration where state = 'registered'`);
  await until('mirror.freshness where complete_as_of is not null', 6);
  await until('mirror.quarantine');

  const job = ids['research_jobs'] ?? '';
  const changed = { ...canaries.fields(), score: 3 };
  await control.mutate({ op: 'update', collection: 'research_jobs', id: job, fields: changed });
  await control.emit({ type: 'research.completed', data: { job_id: Number(job), ...canaries.fields() } });
  await control.emit({ type: 'something.else', data: { of: canaries.fields() } });
  const operation = async (name: string, ...more: string[]): Promise<void> => {
    const data = JSON.stringify({ company: 'Acme', domain: 'acme.example', ...canaries.fields() });
    await run(['submit', name, '--data', data, ...more], env);
  };
  await operation('research');
  await operation('enrich');
  await operation('list');
  await operation('sequence', '--id', 'none');
  const said = canaries.text();
  service.refuse(({ url }) =>
    url?.startsWith('/v1/lists') === true ? { status: 503, message: `no ${said}` } : undefined,
  );
  await run(['sync', 'lists'], env);
  service.refuse(undefined);
  expect(await rows('mirror.sync_log where error is not null')).toBeGreaterThan(0);
  await control.mutate({ op: 'delete', collection: 'watchlist', id: ids['watchlist'] ?? '' });
  await run(['sync', '--full', '--accept-deletions'], env);
  await until('mirror.events', 2);
  await until(`mirror.research_jobs where job_id::text = '${job}' and _raw ->> 'score' = '3'`);
  expect(await rows('mirror.submissions where done_at is not null')).toBe(4);

  const places = new Map<string, string>();
  for (const path of ['/', '/api/status', '/metrics', `/?q=${job}`]) {
    places.set(`page ${path}`, await (await fetch(daemon.statusUrl + path)).text());
  }
  for (const command of ['status', 'events', 'submissions', 'quarantine', 'verify']) {
    const { stdout, stderr } = await run([command, '--json'], env);
    places.set(command, stdout + stderr);
  }
  const reader = await createReaderLogin(made.databaseUrl);
  const asReader = { DATABASE_URL: reader.url };
  const asked = await run(['sql', 'select * from mirror.research_jobs', '--csv'], { ...env, ...asReader });
  expect(asked).toMatchObject({ code: 0 });
  places.set('sql', asked.stdout + asked.stderr);
  const mcp = startProgram(['mcp'], { cwd: made.cwd, env: asReader, stdin: 'open' });
  const sql = `select _raw from research_jobs where job_id::text = '${job}'`;
  const call = { name: 'query', arguments: { sql } };
  mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: call })}\n`);
  places.set('mcp', await eventually('its answer', () => /^.*"id":7\b.*\n/m.exec(mcp.output())?.[0]));
  expect(places.get('mcp')).toContain(job);
  mcp.child.kill('SIGTERM');
  await mcp.ended;
  await reader.drop();
  const copied = await createTestDatabase();
  const copy = await run(['copy'], { ...env, MIRROR_COPY_TO: copied.url });
  expect(copy).toMatchObject({ code: 0 });
  places.set('copy', copy.stdout + copy.stderr);
  const stopped = await daemon.stop();
  places.set('log', stopped.stdout + stopped.stderr + daemon.output());
  for (const [of, url] of [
    ['', made.databaseUrl],
    ['copied ', copied.url],
  ] as const) {
    const relations = await ask<{ name: string }>(
      url,
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'v', 'm') and n.nspname in ('mirror', 'mirror_sync') order by 1`,
    );
    for (const { name } of relations) {
      const found = await ask<{ row: string }>(url, `select t::text as row from ${name} as t`);
      places.set(`${of}table ${name}`, found.map(({ row }) => row).join('\n'));
    }
  }
  await copied.drop();
  await service.close();
  for (const entry of await readdir(made.cwd, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    places.set(`file ${path.slice(made.cwd.length)}`, await readFile(path, 'latin1'));
  }
  // Of texts the end, which is random, and has one spelling in whatever it is quoted.
  const needles = canaries.all.map((value) => value.split('✓-').at(-1) ?? value);
  const found = [...places].filter(([, text]) => needles.some((needle) => text.includes(needle)));
  return {
    places: [...places.keys()],
    found: new Set(found.map(([name]) => name)),
    planted: canaries.all.length,
  };
}

it('finds no byte of what is not to be stored, in any row, file, page or answer, after a full life', async () => {
  const { places, found, planted } = await life(PRIVATE);
  process.stdout.write(`${planted} canaries; searched:\n${places.join('\n')}\n`);
  expect(planted).toBeGreaterThanOrEqual(40);
  expect([...found]).toEqual([]);
});

it('finds it in tables and answers where nothing is set: the search works', async () => {
  const { found } = await life({});
  const tables = 'research_jobs research_jobs_history events submissions quarantine watchlist sync_log'.split(' ');
  for (const table of tables) expect(found).toContain(`table mirror.${table}`);
  for (const place of ['log', 'copied table mirror.lists', 'sql', 'mcp']) expect(found).toContain(place);
});
