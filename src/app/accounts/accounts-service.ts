import type { Secret } from '../../config/secret.ts';
import { KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { type Service, service } from '@research-mirror/runtime/service';
import { accountRunner, type AccountRunner } from './account-runner.ts';
import type { RunnerContext } from './runner-context.ts';
import { askOwner, sortKeys } from './find-owners.ts';
import { hashOfKey } from './service-link.ts';
import { refusedKeyWait } from '../../sync/account/account-service.ts';

/** All accounts of the configured keys. A key that is refused or can't be asked holds up no other. */
export interface AccountsService extends Service {
  runners(): readonly AccountRunner[];
  /** Keys that nobody knows the owner of, by short hash, and why. */
  unknownKeys(): ReadonlyMap<string, string>;
  /** The owner of every key is known: there are no other accounts. */
  allKnown(): boolean;
}

/** Longest wait (ms) before a key is asked about again that was not answered. */
const LONGEST_WAIT_MS = 60_000;

export function accountsService(parts: RunnerContext, keys: readonly Secret[]): AccountsService {
  const { log, link, config, db } = parts;
  const register = { db, schema: config.schema, link };
  const runners = new Map<string, { runner: AccountRunner; keys: readonly Secret[] }>();
  const unknown = new Map<string, string>();
  const turns = new Mutex();
  /** Keys whose owner has to be asked for; undefined before they are sorted. */
  let strangers: number | undefined;

  /**
   * Runs the account; when it runs already, it begins again with one key more. One at a time: an account that two keys
   * began at once would have two runners, which would take it from each other for ever.
   */
  const run = (userId: string, more: readonly Secret[], signal: AbortSignal): Promise<void> =>
    turns.run(async () => {
      const before = runners.get(userId);
      await before?.runner.stop();
      signal.throwIfAborted();
      const all = [...(before?.keys ?? []), ...more];
      const runner = accountRunner(parts, userId, all);
      runners.set(userId, { runner, keys: all });
      await runner.start();
    });

  /** Asks until the key's owner is known. */
  const find = async (key: Secret, signal: AbortSignal): Promise<void> => {
    const name = hashOfKey(key).slice(0, 8);
    let refusals = 0;
    let failures = 0;
    for (;;) {
      try {
        const userId = await askOwner(register, key, signal);
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
        unknown.set(name, messageOf(error));
        const remedy = refused ? '; set a good MIRROR_API_KEY' : '';
        log[refused ? 'error' : 'warn'](
          `API key ${name}…: ${messageOf(error)}${remedy}; asked again in ${waitMs / 1000} s`,
        );
        await link.clock.sleep(waitMs, signal);
      }
    }
  };

  const body = service('accounts', async ({ signal, ready }) => {
    try {
      const { byOwner, unknown: toAsk } = await sortKeys(register, keys);
      strangers = toAsk.length;
      for (const [userId, own] of byOwner) await run(userId, own, signal);
      ready();
      // All of them end before the runners are stopped: none is begun after that.
      const ended = await Promise.allSettled(toAsk.map((key) => find(key, signal)));
      const rejected = ended.find((each) => each.status === 'rejected');
      if (rejected !== undefined) throw rejected.reason;
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        if (signal.aborted) reject(signal.reason as Error);
      });
    } finally {
      await Promise.all([...runners.values()].map(({ runner }) => runner.stop()));
    }
  });
  return {
    ...body,
    runners: () => [...runners.values()].map(({ runner }) => runner),
    unknownKeys: () => unknown,
    allKnown: () => strangers === 0,
  };
}
