import { askDaemon } from '../commands/ask-daemon.ts';
import type { ServiceConfig } from '../config/config.ts';
import { databaseTime } from '../db/database-time.ts';
import { ensureAccount, type Holder, livingHolder, takeAccount } from '../db/lease.ts';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { messageOf } from '../runtime/message.ts';
import { startAll, stopAll } from '../runtime/service.ts';
import { heldBy, type RunnerParts } from './account-runner.ts';
import { askOwner, sortKeys } from './find-owners.ts';
import { logObserver } from './log-observer.ts';
import { openAccount } from './open-account.ts';
import { openMirror } from './open-mirror.ts';
import { type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';
import { createProcess, DAEMON } from './process.ts';
import { hashOfKey, type LinkedKey } from './service-link.ts';
import type { SyncRequest } from './sync-handler.ts';
import type { Secret } from '../config/secret.ts';

export interface SyncOptions {
  readonly collections: readonly CollectionName[];
  readonly full: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly scrub: (text: string) => string;
  readonly onProgress?: (progress: PassProgress) => void;
}

export interface SyncReport {
  readonly collections: readonly CollectionPass[];
  /** Keys whose account nobody knows: refused by the service, or not answered. */
  readonly unknownKeys: readonly UnknownKey[];
  /** Requests sent, and how many of them were answered with 429. */
  readonly requests: number;
  readonly rateLimited: number;
}

export interface UnknownKey {
  /** By which logs name it: the beginning of its hash. */
  readonly key: string;
  readonly error: string;
}

/** Accounts that a running daemon holds. */
interface Held {
  readonly holder: Holder;
  readonly userIds: readonly string[];
}

/** An account's keys; `linked` where one was pinged just now. */
interface Candidate {
  readonly userId: string;
  readonly keys: readonly Secret[];
  readonly linked: LinkedKey | undefined;
}

/**
 * One pass over the collections: by this process, or carried out by the daemon that holds the accounts.
 * @throws what keeps all of it from being read; the signal's reason when it is aborted (what was committed is kept)
 */
export async function runSync(config: ServiceConfig, options: SyncOptions): Promise<SyncReport> {
  const { signal, log, hide, scrub, onProgress = () => {} } = options;
  const clock = systemClock;
  const mirror = await openMirror(config, { program: 'research-mirror sync', clock, log, signal, hide });
  try {
    const running = await createProcess({
      command: 'sync',
      config,
      mirror,
      clock,
      log,
      scrub,
      onExchange: () => {},
      observers: [logObserver(log), sumUp(onProgress)],
    });
    const services = [running.heartbeat, running.notifications];
    await startAll(services);
    try {
      const { found, unknownKeys } = await candidates(running.parts, config, signal);
      const passes: CollectionPass[] = [];
      const held = new Map<string, Held>();
      for (const candidate of found) {
        const { userId } = candidate;
        const outcome = await syncOne(running.parts, candidate, options);
        if ('passes' in outcome) {
          passes.push(...outcome.passes);
        } else if (outcome.holder.command === DAEMON) {
          const { processId } = outcome.holder;
          const before = held.get(processId)?.userIds ?? [];
          held.set(processId, { holder: outcome.holder, userIds: [...before, userId] });
        } else {
          const why = heldBy(userId, outcome.holder);
          passes.push(...options.collections.map((name) => noPass(userId, name, why)));
        }
      }
      for (const each of held.values()) passes.push(...(await byDaemon(running.parts, each, options)));
      return reportOf(passes, unknownKeys);
    } finally {
      await stopAll(services);
      await running.close();
    }
  } finally {
    await mirror.close();
  }
}

function reportOf(collections: readonly CollectionPass[], unknownKeys: readonly UnknownKey[]): SyncReport {
  return {
    collections,
    unknownKeys,
    requests: collections.reduce((sum, each) => sum + each.requests, 0),
    rateLimited: collections.reduce((sum, each) => sum + each.rateLimited, 0),
  };
}

/**
 * Accounts of all keys that have one. A key that is refused, or can't be asked for, holds up no other.
 * @throws what the first key was answered with, when no account is known at all
 */
async function candidates(
  { db, link }: RunnerParts,
  config: ServiceConfig,
  signal: AbortSignal,
): Promise<{ readonly found: readonly Candidate[]; readonly unknownKeys: readonly UnknownKey[] }> {
  const register = { db, schema: config.schema, link };
  const { byOwner, unknown } = await sortKeys(register, config.service.keys);
  const found = new Map<string, Candidate>(
    [...byOwner].map(([userId, keys]) => [userId, { userId, keys, linked: undefined }]),
  );
  const unknownKeys: UnknownKey[] = [];
  let first: unknown;
  for (const key of unknown) {
    try {
      const { userId, linked } = await askOwner(register, key, signal);
      const before = found.get(userId);
      found.set(userId, { userId, keys: [...(before?.keys ?? []), key], linked: before?.linked ?? linked });
    } catch (error) {
      signal.throwIfAborted();
      first ??= error;
      unknownKeys.push({ key: hashOfKey(key).slice(0, 8), error: messageOf(error) });
    }
  }
  if (found.size === 0) throw first;
  return { found: [...found.values()], unknownKeys };
}

/** The daemon that holds the accounts reads them, under its lease and its budget. */
async function byDaemon(
  { db, config, identity, link }: RunnerParts,
  { holder: { processId }, userIds }: Held,
  { collections, full, signal, onProgress }: SyncOptions,
): Promise<readonly CollectionPass[]> {
  const { schema } = config;
  const asked: SyncRequest = { userIds, collections, full };
  const request = { kind: 'sync', arguments: asked, to: processId };
  const result = await askDaemon({ db, schema }, request, {
    clock: link.clock,
    signal,
    onProgress: (progress) => {
      for (const each of progress as PassProgress[]) onProgress?.(each);
    },
    lives: async () => (await livingHolder(db, schema, processId, identity)) !== undefined,
  });
  return result as CollectionPass[];
}

async function syncOne(
  parts: RunnerParts,
  { userId, keys, linked }: Candidate,
  options: SyncOptions,
): Promise<{ readonly passes: CollectionPass[] } | { readonly holder: Holder }> {
  const { db, config } = parts;
  await ensureAccount(db, config.schema, userId, await databaseTime(db));
  const taken = await takeAccount(db, config.schema, userId, parts.processId, parts.identity);
  if (taken.state === 'held') return { holder: taken.by };
  const account = await openAccount(parts, taken.fence, keys, linked);
  try {
    const passes = await passOver(account.reader, { ...options, clock: parts.link.clock });
    while (await account.mirror.backfill(taken.fence)) options.signal.throwIfAborted();
    await account.store.saveState('active', null);
    return { passes };
  } catch (error) {
    // A refused key stops its account only: the others' passes go on.
    if (!(error instanceof KeyRefused)) throw error;
    await account.store.saveState('stopped', messageOf(error));
    return { passes: options.collections.map((name) => noPass(userId, name, messageOf(error))) };
  } finally {
    await account.close();
  }
}
