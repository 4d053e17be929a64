/** `submit`: queues a POST operation, sends it itself if no daemon owns the account, and waits for its outcome. */

import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { Stopped } from '@research-mirror/runtime/service';
import { sql } from 'kysely';
import { findAccounts, servableKeys, sortKeys } from '../account/account-keys.ts';
import type { Account } from '../account/account.ts';
import { asProcess } from '../account/process.ts';
import { ownedBy, withAccount } from '../account/with-account.ts';
import type { Config, ServiceConfig } from '../config/config.ts';
import { AccountRetired, KeyRefused, LeaseLost } from '../model/errors.ts';
import { type Db, onlyRow } from '../postgres/db.ts';
import { endpointHost } from '../postgres/fingerprint.ts';
import { ownIdentity } from '../postgres/heartbeat.ts';
import { createInstallation, openInstallation } from '../postgres/installation.ts';
import { DAEMON, daemonLives, livingOwner } from '../postgres/lease.ts';
import type { WorkOptions } from '../postgres/open-mirror.ts';
import type { Operator } from '../postgres/operator-log.ts';
import type { ConnectionOptions } from '../postgres/pool.ts';
import { isRefusedValue, sqlState } from '../postgres/sql-state.ts';
import { findSubmission, type StoredSubmission } from '../submissions/stored-submissions.ts';

interface SubmitOptions extends WorkOptions {
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  /** Past a pooler. */
  readonly direct: ConnectionOptions;
  readonly onProgress: (submission: StoredSubmission) => void;
}

/** How often (ms) the row is read. */
const LOOK_MS = 250;
/** The command of a process that sends a submission itself, as others see it. */
const SUBMIT = 'submit';
/** How long (ms) a daemon may take to take an account that can't be sent for from here. */
const TAKING_MS = 30_000;
/** How often (ms) it looks who owns the account. */
const OWNER_MS = 1_000;

/** Queues a POST operation. @returns its ID @throws SubmitRefused; AccountUnservable; the signal's reason */
export async function queueOperation(
  options: SubmitOptions,
  request: Readonly<
    Record<'operation' | 'payload', string> & Record<'target' | 'userId' | 'idempotencyKey', string | undefined>
  >,
): Promise<string> {
  const { config, db, signal } = options;
  const { operation, payload, target = null, userId = null, idempotencyKey = null } = request;
  const all = db.state.selectFrom('account').select('_user_id').limit(2);
  // Compared as text, since the user may have typed something that is no bigint.
  const named = userId === null ? all : all.where(sql`_user_id::text`, '=', userId);
  // If it is not clear which account is meant, the SQL function reports it.
  const [account, another] = await named.execute();
  if (account !== undefined && another === undefined) {
    if (config.service !== undefined) {
      const { byOwner } = await sortKeys(db, config.service.keys);
      const context = { db, config: { service: config.service } };
      await servableKeys(context, account._user_id, byOwner.get(account._user_id) ?? []);
    }
    // Before anything is queued: a database that was not used for long would put it on hold, as something old.
    const lives = await daemonLives(db, await ownIdentity());
    if (!lives) await openInstallation(installationOf(options), signal);
  }
  return refusing(async () => {
    const found = await db.sql<{ id: string }>`
      select ${db.table('submit')}(${operation}, ${payload}::text::jsonb, ${target},
        ${userId}::bigint, ${idempotencyKey}) as id`;
    return onlyRow(found).id;
  });
}

/**
 * Waits for the outcome. The daemon that owns the account sends it; without an owner, this process takes the account
 * and sends this submission only.
 * @returns `stuck`: why it has not ended; undefined: it has ended, or is on hold
 * @throws what keeps it from being sent (it stays queued); the signal's reason
 */
export async function followOperation(options: SubmitOptions, id: string) {
  const { config, db, clock } = options;
  const identity = await ownIdentity();
  let lookAt = Number.NEGATIVE_INFINITY;
  let ownedAt = clock.monotonic();
  /** Why it can't be sent from here; determined once. */
  let notHere: string | undefined;
  return followSubmission(id, options, async (userId) => {
    const now = clock.monotonic();
    if (now < lookAt) return undefined;
    lookAt = now + OWNER_MS;
    const owner = await livingOwner(db, userId, identity);
    if (owner !== undefined) {
      ownedAt = now;
      return [DAEMON, SUBMIT].includes(owner.command) ? undefined : ownedBy(userId, owner);
    }
    const lives = await daemonLives(db, identity);
    // A daemon that is about to take the account sends it all the same.
    const isExpected = lives && now - ownedAt < TAKING_MS;
    if (config.service !== undefined) {
      notHere ??= await sendHere({ ...config, service: config.service }, options, userId, id);
      return isExpected ? undefined : notHere;
    }
    if (!lives) return 'no daemon runs, and this command can’t send it without MIRROR_API_URL and MIRROR_API_KEY';
    if (isExpected) return undefined;
    return `the running daemon does not own account ${userId}. Check that its MIRROR_API_KEY has a key for it`;
  });
}

function installationOf({ config, db, direct, clock }: SubmitOptions) {
  return { db, host: endpointHost(direct.url, direct.variables), submit: config.submit, clock };
}

/** Sends as the daemon does. @returns why that can't be done here; undefined: it was, or another has the account */
async function sendHere(config: ServiceConfig, options: SubmitOptions, userId: string, id: string) {
  const { signal, log } = options;
  try {
    return await asProcess(config, SUBMIT, options, async ({ context }, { db }) => {
      const { byOwner } = await sortKeys(context.db, config.service.keys);
      // The owners of other keys are asked for only if no known key is the account's.
      const { accounts, unknownKeys } = byOwner.has(userId)
        ? { accounts: byOwner, unknownKeys: [] }
        : await findAccounts(context, signal);
      const keys = accounts.get(userId);
      if (keys === undefined) {
        const others = unknownKeys.map(({ key, error }) => `; the owner of ${key}… is unknown: ${error}`);
        return `no key in MIRROR_API_KEY is known to belong to account ${userId}${others.join('')}`;
      }
      // Without this service's heartbeat nothing would be sent after ten minutes, and its turn may take longer.
      const installation = createInstallation({ ...installationOf(options), db, log });
      await installation.start();
      try {
        await withAccount(context, { userId, keys, signal }, (account) => sendOne(account, options, id));
        return undefined;
      } finally {
        await installation.stop();
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    // Another process may have taken the account; the next look shows who sends it now.
    if (error instanceof LeaseLost && !(error instanceof AccountRetired)) return undefined;
    if (error instanceof AccountRetired || error instanceof KeyRefused || error instanceof Unusable)
      return messageOf(error);
    throw error;
  }
}

/** Runs the account's submit loop until the submission has ended. */
async function sendOne(account: Account, options: SubmitOptions, id: string): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const loop = account.submitLoop(new Doorbell(), id)(signal);
  try {
    await Promise.race([followSubmission(id, { ...options, signal }), loop]);
  } finally {
    over.abort(new Stopped('the submission'));
    await loop.catch(() => {}); // its error was thrown already
  }
}

/** A submission on hold does not end by itself either: a person has to release it. */
export function isFinal({ state }: StoredSubmission): boolean {
  return state !== 'queued' && state !== 'sending';
}

/** Waits for the end, or a hold. @param whyStuck called at each look @throws the signal's reason; RangeError: gone */
async function followSubmission(
  id: string,
  { db, clock, signal, onProgress }: SubmitOptions,
  whyStuck?: (userId: string) => Promise<string | undefined>,
) {
  for (;;) {
    const { submission } = await currentOutcome(db, id);
    if (isFinal(submission)) return { submission, stuck: undefined };
    onProgress(submission);
    const stuck = await whyStuck?.(submission.userId);
    if (stuck !== undefined) {
      const last = await currentOutcome(db, id);
      return { ...last, stuck: isFinal(last.submission) ? undefined : stuck };
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

/** @throws RangeError */
export async function currentOutcome(db: Db, id: string) {
  const submission = await findSubmission(db, id);
  if (submission === undefined) throw new RangeError(`submission ${id} no longer exists`);
  return { submission, stuck: undefined };
}

/** `<schema>.submit` or `<schema>.cancel_submission` refused. */
export class SubmitRefused extends Error {
  override readonly name = 'SubmitRefused';
  /** The request itself is wrong; false: it is refused at the moment, or by the settings. */
  readonly wrong: boolean;

  constructor(error: Error, wrong: boolean) {
    const { hint } = error as { readonly hint?: string };
    super(hint === undefined ? messageOf(error) : `${messageOf(error)}. ${hint}`, { cause: error });
    this.wrong = wrong;
  }
}

/** The queue is full, or off: the request is not wrong. */
const NOT_NOW = new Set(['RM014', 'RM015']);

/** Cancels a submission that has not been sent. @param id decimal digits @throws SubmitRefused */
export async function cancelSubmission(db: Db, id: string, by: Operator): Promise<void> {
  await refusing(() =>
    db.transaction(async (trx) => {
      // The function records who did it; by itself it knows the login only.
      await trx.sql`
        select set_config('research_mirror.os_user', ${by.osUser}, true),
          set_config('research_mirror.program', ${by.program}, true)`;
      await trx.sql`select ${trx.table('cancel_submission')}(${id}::bigint)`;
    }),
  );
}

async function refusing<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const state = sqlState(error);
    if (state === undefined || !(error instanceof Error)) throw error;
    if (state.startsWith('RM')) throw new SubmitRefused(error, !NOT_NOW.has(state));
    if (isRefusedValue(error)) throw new SubmitRefused(error, true);
    throw error;
  }
}
