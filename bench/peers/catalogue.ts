import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ARENAS, OLD_HEAP, YOUNG_HEAP } from '../../bin/heap.js';
import { ROOT } from '../../test/support/rules/source-files.ts';
import { programVersion } from '../../src/config/program.ts';
import { npmPackages, pythonPackages } from './packages.ts';
import type { Order, Peer } from './peer.ts';

/** All of them, in the order of the tables. */
export const PEERS: readonly Peer[] = [
  ours(
    'ours',
    'ours, built',
    'the bundle, with the heap and the compile cache of the launcher; `sync research_jobs --full`, for new rows `sync research_jobs`; columns, raw and history; MIRROR_SETTLE=1s (time between the two proofs of a deletion, 60s by default)',
    async () => {
      await promisify(execFile)(process.execPath, [join(ROOT, 'build', 'program.ts')]);
      return join(ROOT, 'dist', 'program', 'main.js');
    },
  ),
  ours('ours-sources', 'ours, from sources', 'the same, from unbuilt sources', async () =>
    join(ROOT, 'src', 'main.ts'),
  ),
  script('copy', 'COPY + raw jsonb (floor)', 'copy-raw.ts', {
    raw: 'raw',
    tell: 'pg-copy-streams',
    settings: 'truncate and COPY in one transaction; no columns, no history; reads all for new rows, too',
  }),
  script('naive', 'upsert of 500 by hand, with raw', 'upsert-by-hand.ts', {
    raw: 'raw',
    settings: 'one statement a page, the next page under way meanwhile; new rows: until the first known one',
  }),
  script('naive-guarded', 'the same, where raw differs', 'upsert-by-hand.ts', {
    raw: 'raw',
    args: ['--guarded'],
    settings: 'as before, with `where t.raw is distinct from excluded.raw`',
  }),
  python('dlt-arrow', 'dlt, Arrow → parquet → MERGE, no raw', 'dlt', 'dlt_arrow.py', {
    tell: 'dlt, pyarrow, adbc-driver-postgresql',
    settings: 'merge strategy upsert, parquet by ADBC, nested fields as JSON; new rows: `incremental` on job_id',
  }),
  python('dlt', 'dlt merge, no raw', 'dlt', 'dlt_plain.py', {
    tell: 'dlt',
    settings: 'REST source, defaults (delete-insert by insert_values), no child tables; new rows: `incremental`',
  }),
  python('singer', 'Singer, no raw', 'singer', 'singer_sync.py', {
    tell: 'singer-sdk, meltanolabs-target-postgres',
    settings:
      'load_method upsert, use_copy, 10,000 rows a batch, no metadata columns, no validation; new rows: until the newest known one',
  }),
  python('pyairbyte', 'PyAirbyte, no raw', 'pyairbyte', 'pyairbyte_sync.py', {
    tell: 'airbyte, airbyte-cdk',
    settings: 'low-code source, cache in Postgres, write strategy merge; reads all for new rows, too',
  }),
  script('stripe', 'Stripe’s sync engine v0, no raw', 'stripe-upsert.ts', {
    key: 'id',
    mostRows: 20_000,
    tell: '@supabase/stripe-sync-engine',
    settings:
      'its upsert with timestamp protection, a pool of 10, behind our reader of pages; new rows: until the first known one',
  }),
];

/** Those that were asked for, and why they are not in the tables. */
export const NOT_MEASURED: readonly string[] = [
  'CloudQuery: its program fetches plugins from CloudQuery Hub, which needs a login.',
  'Nango: the edition that you may run free of charge has no syncs; all others need an account.',
  'Stripe’s sync engine since its rewrite: npm has only older ones: version 0 (measured here) and a deprecated 1.',
];

interface Setup {
  readonly settings: string;
  /** Packages whose versions count. */
  readonly tell?: string;
  readonly key?: string;
  readonly raw?: string;
  readonly mostRows?: number;
  readonly args?: readonly string[];
}

function ours(name: string, title: string, settings: string, find: () => Promise<string>): Peer {
  return {
    name,
    title,
    settings,
    table: ['mirror', 'research_jobs'],
    key: 'job_id',
    raw: '_raw',
    live: '_deleted_at is null',
    isOurs: true,
    async prepare() {
      const main = await find();
      return {
        versions: `research-mirror ${programVersion()}, Node ${process.version}`,
        command: (order) => ({
          file: process.execPath,
          args: [
            YOUNG_HEAP,
            OLD_HEAP,
            main,
            'sync',
            'research_jobs',
            ...(order.mode === 'all' ? ['--full'] : []),
            '--json',
          ],
          env: {
            ...ARENAS,
            NODE_COMPILE_CACHE: join(ROOT, 'dist', 'compile-cache'),
            DATABASE_URL: order.databaseUrl,
            MIRROR_API_URL: order.serviceUrl,
            MIRROR_API_KEY: order.key,
            MIRROR_COLLECTIONS: 'research_jobs',
            MIRROR_BUDGET_SHARE: '1',
            MIRROR_SETTLE: '1s',
          },
        }),
      };
    },
  };
}

/** A program in `scripts`, for Node. */
function script(name: string, title: string, file: string, { tell, args = [], ...setup }: Setup): Peer {
  return {
    table: ['peer', 'jobs'],
    key: 'job_id',
    ...setup,
    name,
    title,
    async prepare(scratch) {
      const { from, version } = await npmPackages(scratch, tell);
      return {
        versions: [...version, `Node ${process.version}`].join(', '),
        command: (order) => ({
          file: process.execPath,
          args: [join(import.meta.dirname, 'scripts', file), ...args],
          env: { ...variables(order), PEER_PACKAGES: from },
        }),
      };
    },
  };
}

/** A program in `python`, with the packages of `python/requirements-<environment>.txt`. */
function python(name: string, title: string, environment: string, file: string, { tell = '', ...setup }: Setup): Peer {
  return {
    table: ['peer', 'jobs'],
    key: 'job_id',
    ...setup,
    name,
    title,
    async prepare(scratch) {
      const { python, versions } = await pythonPackages(scratch, environment, tell.split(', '));
      return {
        versions,
        command: (order) => ({
          file: python,
          args: [join(import.meta.dirname, 'python', file)],
          env: { ...variables(order), ...QUIET, AIRBYTE_LOGGING_ROOT: order.state },
        }),
      };
    },
  };
}

/** Nothing is reported to anybody, nor written beside the scripts. */
const QUIET = {
  PYTHONDONTWRITEBYTECODE: '1',
  DO_NOT_TRACK: '1',
  AIRBYTE_OFFLINE_MODE: '1',
  RUNTIME__DLTHUB_TELEMETRY: 'false',
  RUNTIME__LOG_LEVEL: 'WARNING',
};

function variables({ mode, serviceUrl, key, databaseUrl, state }: Order): Record<string, string> {
  return {
    PEER_MODE: mode,
    SERVICE_URL: serviceUrl,
    SERVICE_KEY: key,
    DATABASE_URL: databaseUrl,
    PEER_STATE: state,
  };
}
