import { randomBytes } from 'node:crypto';
import type { ServiceConfig } from '../../config/config.ts';
import type { ServerFacts } from '../../db/inspection/server-facts.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { databaseFolder, embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { STATUS_PAGE } from '../../status/server.ts';
import { DELIVERIES } from '../../webhooks/receive/webhook-server.ts';
import { daemonLives } from '../process/submit-carrier.ts';
import type { Pinged } from './ask-service.ts';
import { checkCredits, checkFailing, checkIdentity, checkRegistration, ownersOf } from './check-accounts.ts';
import { checkDataFolder, checkFirstStart, updateOf } from './check-data-folder.ts';
import { checkInside, INSIDE_CHECKS } from './check-database.ts';
import { checkToken, tryPort } from './check-listeners.ts';
import { checkPublicUrl } from './check-public-url.ts';
import { checkService, SERVICE_CHECKS } from './check-service.ts';
import { checked, runGroup, type Check } from './check.ts';
import { judgeVersion } from '../releases.ts';
import { checkDisk, checkPooler, reachChecked, reportSize, type CheckedDatabase } from './reach-checked.ts';

export interface DoctorOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly hide: (secret: string) => void;
  readonly scrub: (text: string) => string;
}

const UPDATE_NODE =
  'put an up-to-date Node 24 or newer on the PATH, which then runs the program; in a container: build the image anew, on a new base image';

/** Milliseconds that each group of checks may take. An embedded server may have to start, after a crash recover. */
const BOUNDS = { service: 20_000, database: 20_000, start: 60_000, accounts: 15_000, listeners: 15_000 };

/** What the database's checks leave for others. */
interface FoundDatabase {
  readonly database: CheckedDatabase | undefined;
  readonly migrated: boolean;
  readonly writable: boolean;
  readonly daemon: boolean;
}

/**
 * Looks at everything that `start` needs, side by side, and changes nothing: no row, no request but a ping for each
 * key (and what is registered, for each account that is to have a webhook). An embedded server that is stopped is
 * started meanwhile, as by any command.
 * @throws the signal's reason
 */
export async function runDoctor(config: ServiceConfig, options: DoctorOptions): Promise<readonly Check[]> {
  let database: CheckedDatabase | undefined;
  try {
    const service = checkTheService(config, options);
    const inside = checkTheDatabase(config, options).then((found) => {
      ({ database } = found.result);
      return found;
    });
    const both = Promise.all([service, inside]);
    const listeners = both.then(([, { result }]) => checkListeners(config, options, result));
    const accounts = both.then(([{ result: pings }, { result }]) =>
      checkAccounts(config, options, pings, result),
    );
    const all = await Promise.all([service, accounts, inside, listeners]);
    return [
      checked(
        'configuration',
        'ok',
        `valid; ${config.service.keys.length === 1 ? 'one key' : `${config.service.keys.length} keys`}`,
      ),
      checked('node', ...judgeVersion('Node', process.versions.node, UPDATE_NODE)),
      ...all.flatMap(({ checks }) => checks),
    ];
  } finally {
    await database?.close();
  }
}

/** What a group found, for people and for other groups. */
interface Found<T> {
  readonly checks: readonly Check[];
  readonly result: T;
}

async function checkTheService(
  config: ServiceConfig,
  options: DoctorOptions,
): Promise<Found<readonly Pinged[]>> {
  let result: readonly Pinged[] = [];
  const group = { checks: SERVICE_CHECKS, boundMs: BOUNDS.service };
  const checks = await runGroup(group, options, async (report, signal) => {
    result = await checkService(config, options, report, signal);
  });
  return { checks, result };
}

async function checkTheDatabase(
  config: ServiceConfig,
  options: DoctorOptions,
): Promise<Found<FoundDatabase>> {
  const { database: where } = config;
  const embedded = where.kind === 'embedded';
  const state = embedded ? await embeddedState(where.dataDir).catch(() => 'stopped' as const) : 'running';
  const names = [
    ...(embedded ? ['data_folder'] : []),
    'database',
    ...(state === 'absent' ? ['server'] : INSIDE_CHECKS),
    ...(embedded ? [] : ['pooler']),
    'disk',
  ];
  let database: CheckedDatabase | undefined;
  let migrated = false;
  let writable = false;
  let daemon = false;
  const boundMs = state === 'stopped' ? BOUNDS.start : BOUNDS.database;
  const checks = await runGroup({ checks: names, boundMs }, options, async (report, signal) => {
    const folder = embedded ? await checkDataFolder(where.dataDir, report) : undefined;
    if (embedded) {
      if (folder === undefined) return;
      // Of a database that is not there yet: the nearest folder above it.
      await checkDisk(state === 'absent' ? folder : await databaseFolder(where.dataDir), report);
      if (state === 'absent') return checkFirstStart(where, report);
    }
    const opened = await reachChecked(config, { ...options, command: 'doctor', signal }, report);
    // The time may be over, and nobody would close it.
    if (signal.aborted) await opened?.close();
    if (opened === undefined || signal.aborted) return;
    database = opened;
    const update = embedded ? updateOf(where.pgBin) : 'update the server';
    const facts: ServerFacts = await checkInside(
      opened.db,
      options.clock,
      update,
      (check, state, ...rest) => {
        report(check, state, ...rest);
        if (check === 'migrations') migrated = state === 'ok';
        if (check === 'writable') writable = state !== 'broken';
        if (check === 'objects') migrated &&= state === 'ok';
      },
    );
    if (!embedded) reportSize(facts, report);
    if (migrated) daemon = await daemonLives(opened.db, await ownIdentity());
    await checkPooler(config, opened, facts, options.clock, report, signal);
  }).catch(async (error: unknown) => {
    await database?.close();
    throw error;
  });
  return { checks, result: { database, migrated, writable, daemon } };
}

async function checkAccounts(
  config: ServiceConfig,
  options: DoctorOptions,
  pings: readonly Pinged[],
  { database, migrated, writable, daemon }: FoundDatabase,
): Promise<Found<undefined>> {
  const { publicUrl } = config.webhook;
  const reached = migrated && database !== undefined;
  const known = reached && ownersOf(pings).length > 0;
  const names = [
    ...(reached ? ['failing'] : []),
    ...(known ? ['accounts', 'credits'] : []),
    ...(publicUrl !== undefined && ownersOf(pings).length > 0 ? ['registration'] : []),
  ];
  const checks = await runGroup(
    { checks: names, boundMs: BOUNDS.accounts },
    options,
    async (report, signal) => {
      if (reached) await checkFailing(database.db, writable, report);
      if (known) {
        await checkIdentity(database.db, config, pings, report);
        await checkCredits(database.db, config, pings, report);
      }
      if (publicUrl !== undefined) {
        const wanted = { ...config, webhook: { ...config.webhook, publicUrl } };
        await checkRegistration(wanted, pings, options, daemon, report, signal);
      }
    },
  );
  return { checks, result: undefined };
}

async function checkListeners(
  config: ServiceConfig,
  options: DoctorOptions,
  { daemon }: FoundDatabase,
): Promise<Found<undefined>> {
  const { http, webhook } = config;
  const { publicUrl } = webhook;
  const names = [
    'status_port',
    'status_token',
    ...(publicUrl === undefined ? [] : ['webhook_port', 'public_url']),
  ];
  const checks = await runGroup(
    { checks: names, boundMs: BOUNDS.listeners },
    options,
    async (report, signal) => {
      // So that no other program's answer is taken for ours.
      const reply = randomBytes(16).toString('hex');
      const page = await tryPort('status_port', http, STATUS_PAGE, daemon, reply, report);
      if (page.state === 'free') await page.close();
      await checkToken(config, report);
      if (publicUrl === undefined) return;
      const listener = await tryPort('webhook_port', webhook, DELIVERIES, daemon, reply, report);
      try {
        await checkPublicUrl({ ...webhook, publicUrl }, listener, reply, report, signal);
      } finally {
        if (listener.state === 'free') await listener.close();
      }
    },
  );
  return { checks, result: undefined };
}
