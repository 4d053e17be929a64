import { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { service, untilAborted } from '@research-mirror/runtime/service';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { KeyRefused, ServiceDown } from '../model/errors.ts';
import { createFleetStore } from '../postgres/lease.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import { askOwner, sortKeys } from './account-keys.ts';
import { accountRunner, type AccountRunner } from './account-runner.ts';
import { refusedKeyWait } from './account-service.ts';
import type { ProcessContext } from './process.ts';
import { shareKeeper } from './share-keeper.ts';

export type AccountsService = ReturnType<typeof accountsService>;

/** Longest delay before the owner of a key is asked for again after no answer, ms. */
const LONGEST_WAIT_MS = 60_000;

/**
 * All accounts of the configured keys. A refused key or one without an answer does not delay others.
 * @param onBegun called when an account begins to be read
 */
export function accountsService(context: ProcessContext, keys: readonly Secret[], onBegun = (): void => {}) {
  const { log, link } = context;
  const runners = new Map<string, { runner: AccountRunner; keys: readonly Secret[] }>();
  const unknown = new Map<string, string>();
  const turns = new Mutex();
  const bell = new Doorbell();
  const all = (): readonly AccountRunner[] => Array.from(runners.values(), ({ runner }) => runner);
  /** Number of keys without a known owner; undefined before they are sorted. */
  let strangers: number | undefined;

  /**
   * Runs the account; a running one is restarted with more keys. One call at a time, or two keys of one account would
   * make two runners, which take it from each other for ever.
   */
  const run = (userId: string, more: readonly Secret[], signal: AbortSignal): Promise<void> =>
    turns.run(async () => {
      const before = runners.get(userId);
      await before?.runner.stop();
      signal.throwIfAborted();
      const known = [...(before?.keys ?? []), ...more];
      const runner = accountRunner(context, userId, known, () => bell.ring(), onBegun);
      runners.set(userId, { runner, keys: known });
      await runner.start();
    });

  const find = async (key: Secret, signal: AbortSignal): Promise<void> => {
    const name = hashOfKey(key).slice(0, 8);
    /** Reasons that were logged. */
    const said = new Set<string>();
    let refusals = 0;
    let failures = 0;
    for (;;) {
      try {
        const userId = await askOwner(context, key, signal);
        unknown.delete(name);
        strangers = (strangers ?? 1) - 1;
        log.info(`API key ${name}… is account ${userId}'s`);
        await run(userId, [key], signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const refused = error instanceof KeyRefused;
        const waitMs = refused
          ? refusedKeyWait(refusals++)
          : Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** failures++);
        const message = messageOf(error);
        unknown.set(name, message);
        const remedy = refused ? '; set a good MIRROR_API_KEY' : '';
        const told = said.has(message) || error instanceof ServiceDown || isDatabaseDown(error);
        said.add(message);
        log[told ? 'debug' : refused ? 'error' : 'warn'](
          `API key ${name}…: ${message}${remedy}; asked again in ${waitMs / 1000} s`,
        );
        await link.clock.sleep(waitMs, signal);
      }
    }
  };

  const store = createFleetStore(context.urgentDb, context.processId, context.identity);
  const sharing = shareKeeper(context, log, context.failures, store, all, bell);

  const body = service('accounts', async ({ signal, ready }) => {
    try {
      const { byOwner, unknown: toAsk } = await sortKeys(context.db, keys);
      strangers = toAsk.length;
      await sharing.start();
      for (const [userId, known] of byOwner) await run(userId, known, signal);
      ready();
      // They end before the runners are stopped, so that no runner is started after that.
      const ended = await Promise.allSettled(toAsk.map((key) => find(key, signal)));
      const rejected = ended.find((each) => each.status === 'rejected');
      if (rejected !== undefined) throw rejected.reason;
      await untilAborted(signal);
    } finally {
      await Promise.all([sharing.stop(), ...all().map((runner) => runner.stop())]);
    }
  });
  return {
    ...body,
    runners: all,
    /** Keys without a known owner, by short hash, with the reason. */
    unknownKeys: (): ReadonlyMap<string, string> => unknown,
    /** Whether the owner of every key is known, so that there are no other accounts. */
    allKnown: () => strangers === 0,
    /** Checks at once which accounts to take or give up, after news from another process. */
    lookAround: () => bell.ring(),
  };
}
