/** What a check of `doctor` is, how checks run side by side, and what they look at. */

import { TESTED } from '@research-mirror/embedded-postgres/binaries';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import type { ServiceConfig } from '../config/config.ts';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { KeyRefused, RateLimited } from '../model/errors.ts';
import { isCopy } from '../model/page.ts';
import { openDatabase } from '../postgres/pool.ts';
import type { Db } from '../postgres/db.ts';
import { type DatabaseReach, reachDatabase } from '../postgres/open-mirror.ts';
import { neededMigrations } from '../postgres/run-migrations.ts';
import { type Api, createApi, pingedOwner, RETRY_LIMITS } from '../service/api.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { createTransport } from '../service/transport.ts';

/**
 * A finding of a check, without secrets. `check`: its name, the same in every version (`rights`); `remedy`: what to do,
 * in words, null if `found` says it; `command`: for a shell; `sql`: for psql on the mirror's database.
 */
export interface NamedFinding
  extends Readonly<Record<'check' | 'found', string>>, Readonly<Record<'remedy' | 'command' | 'sql', string | null>> {
  /** `broken` keeps the mirror from its work; `unknown` could not be found out; `ok` also means not in use. */
  readonly state: 'ok' | 'warning' | 'broken' | 'unknown';
}

type CheckFinding = Omit<NamedFinding, 'check'>;

const finding =
  (state: NamedFinding['state']) =>
  (found: string, mend: Partial<CheckFinding> = {}): CheckFinding => {
    return { state, found, remedy: null, command: null, sql: null, ...mend };
  };
export const ok = finding('ok');
export const warning = finding('warning');
export const broken = finding('broken');
export const unknown = finding('unknown');

export interface Check<C = Context> {
  readonly name: string;
  /** Names of earlier checks. If one of them fails, this one is skipped. */
  readonly after?: readonly string[];
  /** Returns no finding where there is nothing to check. @throws Unusable: broken; any other error: unknown */
  readonly run: (context: C) => Promise<CheckFinding | readonly CheckFinding[]>;
}

/**
 * Runs checks concurrently; each waits for those in its `after`. After `boundMs` the rest is `unknown`.
 * @throws the reason of the context's signal, which also ends the wait for `boundMs`
 */
export async function runChecks<C extends Pick<Context, 'clock' | 'signal'>>(
  checks: readonly Check<C>[],
  context: C,
  boundMs: number,
): Promise<readonly NamedFinding[]> {
  const late = context.clock.sleep(boundMs, context.signal).then(
    () => unknown(`no answer within ${boundMs / 1000} s`),
    () => unknown('interrupted'),
  );
  const thrown = (error: unknown): CheckFinding => (error instanceof Unusable ? broken : unknown)(messageOf(error));
  const looks = new Map<string, Promise<readonly NamedFinding[]>>();
  /** By check that failed or was skipped: the check that failed. */
  const failed = new Map<string, string>();
  const look = async ({ name, after = [], run }: Check<C>): Promise<readonly NamedFinding[]> => {
    await Promise.all(after.flatMap((each) => looks.get(each) ?? []));
    const [cause] = after.flatMap((each) => failed.get(each) ?? []);
    const told =
      cause === undefined
        ? await Promise.race([run(context).catch(thrown), late])
        : unknown(`skipped: ${cause} failed`);
    const findings = [told].flat();
    if (findings.some(({ state }) => state === 'broken' || state === 'unknown')) failed.set(name, cause ?? name);
    return findings.map((each) => ({ check: name, ...each }));
  };
  for (const check of checks) looks.set(check.name, look(check));
  const found = (await Promise.all(looks.values())).flat();
  context.signal.throwIfAborted();
  return found;
}

/** In ms: a user waits for the answer. */
const REQUEST_LIMITS = { connectMs: 5_000, headersMs: 8_000, totalMs: 10_000 };
const STATEMENT_BOUNDS = { statement: 5_000, idle: 5_000 };
/** Keys used concurrently. */
export const AT_A_TIME = 5;
const PING = '/v1/ping';

/** The result of one key's ping. */
interface Ping {
  /** The key's place in MIRROR_API_KEY, from 0. */
  readonly at: number;
  readonly keyHash: string;
  /** Sends each request once and without a slot. */
  readonly api: Api;
  readonly owner?: string;
  /** Classified (src/model/errors.ts). */
  readonly error?: unknown;
  /** Of the service's clock; undefined if the answer has no date. */
  readonly skew?: number;
}

export type Context = Awaited<ReturnType<typeof openContext>>;

/** What the checks look at. Requests are sent and connections opened once, when they are first needed. */
export async function openContext(
  config: ServiceConfig,
  given: Omit<DatabaseReach, 'command'> & { readonly scrub: (text: string) => string },
) {
  const { clock } = given;
  const ended = new AbortController();
  /** Aborted when the user interrupts the program, and at the end. */
  const signal = AbortSignal.any([given.signal, ended.signal]);
  const transport = createTransport({
    baseUrl: config.service.url,
    clock,
    userAgent: `research-mirror/${programVersion()}`,
    limits: REQUEST_LIMITS,
    proxy: config.proxy,
  });
  const closers = [() => transport.close()];
  /** Of the embedded server; `running` if the database is DATABASE_URL's. */
  const server =
    config.database.kind === 'external'
      ? 'running'
      : await embeddedState(config.database.dataDir).catch(() => 'stopped' as const);

  async function ping(at: number, key: Secret): Promise<Ping> {
    const api = createApi({
      transport,
      key: key.reveal(),
      // No slot is reserved, since nothing may be written: MIRROR_BUDGET_SHARE leaves room for others.
      budget: { run: ({ signal }, send) => send(signal) },
      retries: { ...RETRY_LIMITS, attempts: 1, rateLimitedMs: 0 },
      clock,
      random: () => 0,
      scrub: given.scrub,
    });
    const asked = { at, keyHash: hashOfKey(key), api };
    const askedAt = clock.now();
    try {
      const answer = await api.object({ path: PING, route: PING, priority: PRIORITY.POLL, signal });
      const owner = pingedOwner(answer);
      const date = isCopy(answer.served) ? undefined : answer.served?.date;
      // HTTP dates have whole seconds.
      const skew = date === undefined ? {} : { skew: clockSkew(date, 1_000, askedAt, clock.now()) };
      return { ...asked, owner, ...skew };
    } catch (error) {
      signal.throwIfAborted();
      return { ...asked, error };
    }
  }

  /** One for each key, in their order; only the first if it does not reach the service. */
  const pings = once(async (): Promise<readonly Ping[]> => {
    const [first, ...others] = config.service.keys.map((key, at) => () => ping(at, key));
    const all: Ping[] = first === undefined ? [] : [await first()];
    if (isAnswered(all[0]?.error))
      await forEachConcurrently(others, AT_A_TIME, async (each) => void all.push(await each()));
    return all.toSorted((a, b) => a.at - b.at);
  });

  const open = async () => {
    const reached = await reachDatabase(config.database, { ...given, signal, command: 'doctor' });
    closers.push(reached.leave);
    const { schema } = config;
    const opened = await openDatabase({ ...reached.connection, schema, max: 2, bounds: STATEMENT_BOUNDS });
    closers.push(() => opened.close());
    return { ...reached, db: opened.db };
  };
  let opening: ReturnType<typeof open> | undefined;
  /** The mirror's database. @throws DatabaseUnavailable, Unusable */
  const database = (): ReturnType<typeof open> => (opening ??= open());

  /** Migrations that the next start applies. @throws Unusable if this program may not run on the database */
  async function pending(): Promise<readonly string[]> {
    const { db } = await database();
    return neededMigrations({ db, folder: MIGRATIONS, version: programVersion() });
  }

  /** The database, if it has a mirror of this version. */
  const mirror = once(async (): Promise<Db | undefined> => {
    if (server === 'absent' || (await pending()).length > 0) return undefined;
    return (await database()).db;
  });

  async function close(): Promise<void> {
    ended.abort(new Error('the time for the checks is over'));
    await opening?.catch(() => {});
    for (const each of closers.toReversed()) await each();
  }
  return { config, clock, signal, server, pings, database, pending, mirror, close };
}

/** Whether the service answered a ping. A refused key is an answer, too. */
export function isAnswered(error: unknown): boolean {
  return error === undefined || error instanceof KeyRefused || error instanceof RateLimited;
}

/**
 * By how many ms another clock is certainly ahead of ours (positive) or behind (negative) (Cristian 1989).
 * @param said its answer; its true time was up to `resolutionMs` later
 */
export function clockSkew(said: number, resolutionMs: number, askedAt: number, answeredAt: number): number {
  return Math.max(0, said - answeredAt) + Math.min(0, said + resolutionMs - askedAt);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

// `npm run -s versions-table -- --write` writes these versions into SECURITY.md.

/** When nodejs.org/en/blog/vulnerability and postgresql.org/support/security were last read. */
export const LOOKED_UP = '2026-11-26';

/** Versions that npm installs, with their dates. */
export const PINNED = {
  Node: { version: '26.10.0', on: '2026-09-22' },
  PostgreSQL: { version: '18.4', on: '2026-05-14' },
};

export type Runtime = keyof typeof PINNED;

/** Security releases, oldest first: one version for each supported line. */
type Releases = readonly { readonly on: string; readonly versions: readonly string[] }[];
export const SECURITY_RELEASES: Readonly<Record<Runtime, Releases>> = {
  Node: [
    { on: '2026-06-18', versions: ['24.17.0', '26.3.1'] },
    { on: '2026-07-29', versions: ['24.18.1', '26.5.1'] },
    { on: '2026-10-21', versions: ['24.22.1', '26.12.1'] },
    { on: '2026-11-11', versions: ['24.22.3', '26.13.1'] },
  ],
  PostgreSQL: [
    { on: '2026-05-14', versions: ['15.18', '16.14', '17.10', '18.4'] },
    { on: '2026-08-13', versions: ['15.19', '16.15', '17.11', '18.6'] },
    { on: '2026-11-12', versions: ['15.20', '16.16', '17.12', '18.7'] },
  ],
};

/** The known security releases that a version lacks: `18.6 (2026-08-13)`. */
export function lacking(runtime: Runtime, version: string): readonly string[] {
  const isNewer = (each: string): boolean =>
    majorOf(each) === majorOf(version) && version.localeCompare(each, 'en', { numeric: true }) < 0;
  return SECURITY_RELEASES[runtime].flatMap(({ on, versions }) =>
    versions.filter(isNewer).map((each) => `${each} (${on})`),
  );
}

/** Judges a version in use. @param update how to get a newer one */
export function judgeVersion(runtime: Runtime, version: string, update: string): CheckFinding {
  const { on } =
    [PINNED[runtime]].find((pinned) => pinned.version === version) ??
    SECURITY_RELEASES[runtime].find(({ versions }) => versions.includes(version)) ??
    {};
  const found = `${runtime} ${version}${on === undefined ? '' : ` of ${on}`}`;
  if (runtime === 'PostgreSQL' && majorOf(version) > TESTED.newest)
    return warning(`${found}: ${TESTED.oldest} to ${TESTED.newest} are tested, this one is not`);
  const missing = lacking(runtime, version);
  if (missing.length > 0)
    return warning(`${found} lacks the security fixes of ${missing.join(', ')}`, { remedy: update });
  const lines = SECURITY_RELEASES[runtime].flatMap(({ versions }) => versions.map(majorOf));
  if (majorOf(version) < Math.max(...lines) && !lines.includes(majorOf(version)))
    return warning(`${found} no longer gets security fixes`, { remedy: update });
  return ok(`${found}; no later security release known (as of ${LOOKED_UP})`);
}

function majorOf(version: string): number {
  return Number.parseInt(version);
}
