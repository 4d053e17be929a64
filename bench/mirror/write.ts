import { pageRecord } from '../../test/support/mirror/page-record.ts';
import { beginFull } from '../../src/walk/full.ts';
import { newMemory } from '../../src/walk/memory.ts';
import type { Db } from '../../src/postgres/db.ts';
/**
 * What a page costs to write (docs/design/writing-a-page.md, "Write"): first load, unchanged reload, and a reload in which 1 % of the rows changed,
 * against the naive ways, in one run. Ours are written as pages of a full walk in trusted order: each proves what its
 * interval holds, so that known rows inside it are looked at too.
 *
 *     node bench/mirror/write.ts [rows] [postgres URL]
 *
 * While it runs, autovacuum is off on the whole server (superuser): WAL is counted there.
 * Without a URL an embedded server is started in a temporary folder, with durable settings. The naive ways write a
 * tenth of the rows. WAL of the reload includes the full-page images that follow the checkpoint before it, some 16 KB.
 *
 * Figures: bench/mirror/README.md.
 *
 * Of an unchanged page's WAL, 54 bytes are the fence's lock, 34 the commit, some 157 the scope's row with a checkpoint
 * of 130 bytes, and 5 its pruning (pg_walinspect).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { programVersion } from '../../src/config/program.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { migrate, MIGRATION_BOUNDS } from '../../src/postgres/run-migrations.ts';
import { contentHash, contentRule } from '../../src/mirror/page-record.ts';
import { Mirror } from '../../src/mirror/mirror.ts';
import { openScope } from '../../src/mirror/scope-store.ts';
import type { Scope } from '../../src/model/collections.ts';
import { fieldSource, sliceElements } from '../../src/model/json-text.ts';
import { readKey } from '../../src/model/key.ts';
import { type Item, stateOf } from '../../src/model/page.ts';
import { noFields } from '../../test/support/mirror/mirrored-account.ts';
import { systemClock } from '@research-mirror/runtime/clock';

const EVERY_FIELD = contentRule([], []);

const PAGE = 500;
const SCHEMA = 'bench_mirror';
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** One way to write a page's body; called for every page, twice over. */
interface Way {
  readonly name: string;
  /** Table whose dead tuples are told. */
  readonly table: string;
  /** Slow ways get fewer pages. */
  readonly pages: number;
  write(body: string, page: number): Promise<void>;
}

/**
 * A page of research jobs of some 1.1 KB each.
 * @param round each further one changes 1 % of the rows
 */
function body(page: number, round = 0): string {
  const items = Array.from({ length: PAGE }, (_, index) => {
    const id = 10_000_000 - page * PAGE - index;
    return {
      job_id: id,
      status: index % 100 === 50 ? `completed-${round}` : 'completed',
      company_url: `https://www.company-${id}.example`,
      company_name: `Company ${id} Incorporated`,
      document_id: id * 7,
      created_at: new Date(1.7e12 + id * 1000).toISOString(),
      completed_at: new Date(1.7e12 + id * 1000 + 60_000).toISOString(),
      score: (id % 1000) / 1000,
      employee_count: id % 5000,
      tags: ['b2b', 'software', `segment-${id % 17}`],
      summary: `Company ${id} sells software to other companies. ${'It has grown every year since it began. '.repeat(15)}`,
      contact: { name: `Person ${id}`, role: 'Head of Sales', verified: id % 2 === 0 },
    };
  });
  return JSON.stringify({ object: 'list', data: items, has_more: true });
}

function itemsOf(text: string): Item[] {
  const { data } = JSON.parse(text) as { data: Record<string, unknown>[] };
  return sliceElements(text, ['data']).map((source, index) => {
    const reading = readKey('bigint', fieldSource(source, 'job_id'));
    return {
      source,
      state: stateOf(data[index] ?? {}),
      key: 'key' in reading ? reading.key : undefined,
      problem: 'problem' in reading ? reading.problem : undefined,
    };
  });
}

async function ours(db: Db, userId: string, pages: number, history: boolean): Promise<Way> {
  await sql`insert into ${sql.id(`${SCHEMA}_sync`, 'account')} (_user_id, owner, token, created_at)
    values (${userId}::bigint, 'bench', 1, now())`.execute(db);
  const mirror = new Mirror(db, {
    schemaDrift: 'add',
    ignoreFields: noFields(),
    excludeFields: noFields(),
    gracePeriodMs: 60_000,
    deletes: 'soft',
    history,
    clock: systemClock,
  });
  const scope: Scope = { userId, collection: 'research_jobs', parent: '' };
  let obs = (await openScope(db, scope)).lastObs;
  return {
    name: `read the (key, hash), write what differs${history ? ', history' : ''}`,
    table: `${SCHEMA}.research_jobs`,
    pages,
    write: async (text, page) => {
      const items = itemsOf(text);
      obs += 1;
      const walk = {
        ...beginFull(MEMORY, { liveRows: 0, now: 1_767_322_245_123 }).walk,
        first: '10000000',
        recent: items.slice(-6).flatMap(({ key }) => key ?? []),
        pages: page,
        items: page * PAGE,
      };
      await mirror.applyPage(
        { userId, owner: 'bench', token: '1' },
        pageRecord(
          { scope, obs, after: obs - 1 },
          {
            items,
            walk,
            proof: {
              kind: 'interval',
              direction: 'falling',
              after: page === 0 ? null : String(10_000_001 - page * PAGE),
              through: items.at(-1)?.key ?? null,
            },
            sentAfter: systemClock.monotonic(),
          },
        ),
      );
    },
  };
}

const MEMORY = newMemory('bigint');

const NAIVE_COLUMNS = (
  'user_id job_id status company_url company_name document_id created_at completed_at score employee_count tags ' +
  'summary contact changed_at change_id hash raw'
).split(' ');

/** The naive ways write the same columns of a table of the same shape. */
async function naive(db: Db, table: string, name: string, pages: number, unit: number, guard: string): Promise<Way> {
  const id = sql.id(SCHEMA, table);
  await sql`create table ${id} (user_id bigint, job_id bigint, status text, company_url text, company_name text,
    document_id bigint, created_at timestamptz, completed_at timestamptz, score numeric, employee_count bigint,
    tags jsonb, summary text, contact jsonb, changed_at timestamptz, change_id bigint, hash bytea, raw jsonb,
    primary key (user_id, job_id))`.execute(db);
  await sql`create index on ${id} (user_id, change_id)`.execute(db);
  let changeId = 0;
  return {
    name,
    table: `${SCHEMA}.${table}`,
    pages,
    write: async (text) => {
      const { data } = JSON.parse(text) as { data: Record<string, unknown>[] };
      const rows = sliceElements(text, ['data']).map((source, index) => {
        changeId += 1;
        const fields = data[index] ?? {};
        const own: Record<string, unknown> = {
          ...fields,
          user_id: '1',
          tags: JSON.stringify(fields['tags']),
          contact: JSON.stringify(fields['contact']),
          changed_at: new Date(),
          change_id: changeId,
          hash: Buffer.from(contentHash(source, EVERY_FIELD), 'hex'),
          raw: source,
        };
        return NAIVE_COLUMNS.map((column) => own[column]);
      });
      await db.transaction(async (trx) => {
        for (let start = 0; start < rows.length; start += unit) {
          const values = rows.slice(start, start + unit).map((row) => sql`(${sql.join(row)})`);
          await sql`insert into ${id} as t (${sql.join(NAIVE_COLUMNS.map((column) => sql.id(column)))})
            values ${sql.join(values)}
            on conflict (user_id, job_id) do update
            set ${sql.join(NAIVE_COLUMNS.slice(2).map((column) => sql`${sql.id(column)} = excluded.${sql.id(column)}`))}
            ${sql.raw(guard)}`.execute(trx);
        }
      });
    },
  };
}

interface Measure {
  readonly rowsPerSecond: number;
  readonly walPerPage: number;
}

async function measure(db: Db, way: Way, round: number): Promise<Measure> {
  // Hint bits are set, as autovacuum would do: with data checksums the first reader pays for them in WAL.
  await sql`vacuum ${sql.raw(way.table)}`.execute(db);
  await sql`checkpoint`.execute(db);
  const before = await walPosition(db);
  let milliseconds = 0;
  for (let page = 0; page < way.pages; page += 1) {
    const text = body(page, round);
    const began = performance.now();
    await way.write(text, page);
    milliseconds += performance.now() - began;
  }
  const seconds = milliseconds / 1000;
  const wal = (await walPosition(db)) - before;
  return { rowsPerSecond: (way.pages * PAGE) / seconds, walPerPage: wal / way.pages };
}

async function walPosition(db: Db): Promise<number> {
  const { rows } = await sql<{ bytes: string }>`select pg_current_wal_insert_lsn() - '0/0' as bytes`.execute(db);
  return Number(rows[0]?.bytes);
}

async function deadTuples(db: Db, table: string): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ updated: string }>`
    select n_tup_upd + n_tup_del as updated from pg_stat_all_tables where relid = ${table}::regclass`.execute(db);
  return Number(rows[0]?.updated);
}

async function run(url: string, rows: number): Promise<void> {
  const admin = await openDatabase({ url, schema: SCHEMA, program: 'bench', bounds: MIGRATION_BOUNDS });
  await migrate({
    db: admin.db,
    folder: join(import.meta.dirname, '../../migrations'),
    version: programVersion(),
    clock: systemClock,
  });
  await admin.close();
  // One connection: its statistics are all of them.
  const database = await openDatabase({ url, schema: SCHEMA, program: 'bench', max: 1 });
  const { db } = database;
  const pages = Math.ceil(rows / PAGE);
  const few = Math.max(1, Math.round(pages / 10));
  print(`${pages * PAGE} rows, pages of ${PAGE}, ${Math.round(body(0).length / PAGE)} bytes an item`);
  const phases = ['first load', 'unchanged', '1 % changed'];
  print(`${'way'.padEnd(50)}${phases.map((phase) => `${phase} rows/s  WAL/page  dead`.padStart(35)).join('')}`);
  const hashDiffers = 'where t.hash is distinct from excluded.hash';
  const ways = [
    await naive(db, 'row_at_a_time', 'row at a time', few, 1, ''),
    await naive(db, 'upsert', '500 rows, on conflict do update', few, PAGE, ''),
    await naive(db, 'upsert_where', 'the same, where the hash differs', few, PAGE, hashDiffers),
    await ours(db, '1', pages, false),
    await ours(db, '2', pages, true),
  ];
  // WAL is counted for the whole server: nobody else may write any.
  await sql`alter system set autovacuum = off`.execute(db);
  await sql`select pg_reload_conf()`.execute(db);
  for (const way of ways) {
    let line = way.name.padEnd(50);
    // The last way is an account that statistics do not know: they have seen the one before it only.
    await db.sql`analyze`;
    for (const round of [0, 0, 1]) {
      const dead = await deadTuples(db, way.table);
      const { rowsPerSecond, walPerPage } = await measure(db, way, round);
      line += `${Math.round(rowsPerSecond)}`.padStart(19) + `${Math.round(walPerPage)}`.padStart(10);
      line += `${(await deadTuples(db, way.table)) - dead}`.padStart(6);
    }
    print(line);
  }
  await sql`alter system reset autovacuum`.execute(db);
  await sql`select pg_reload_conf()`.execute(db);
  await sql`drop schema ${sql.id(SCHEMA)} cascade`.execute(db);
  await sql`drop schema ${sql.id(`${SCHEMA}_sync`)} cascade`.execute(db);
  await database.close();
}

const [rows = '100000', url] = process.argv.slice(2);
if (url !== undefined) await run(url, Number(rows));
else {
  const folder = await mkdtemp(join(tmpdir(), 'bench-write-'));
  const server = await startEmbedded({
    dataDir: folder,
    port: 'free',
    program: 'bench',
    log: { info: () => {}, warn: print },
    clock: systemClock,
  });
  try {
    await run(server.url, Number(rows));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
