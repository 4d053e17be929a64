import type { ServiceConfig } from '../../config/config.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { createInstallation } from '../../db/installation/installation-service.ts';
import { ensureAccount, type Holder, takeAccount } from '../../db/ownership/lease.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import type { RunnerContext } from '../accounts/runner-context.ts';
import { askOwner, sortKeys } from '../accounts/find-owners.ts';
import { notingRecovery } from '../accounts/note-recovery.ts';
import { openAccount, type OpenAccount } from '../accounts/open-account.ts';
import { servableKeys } from '../accounts/servable-keys.ts';
import { asProcess, type WorkOptions } from '../process/own-process.ts';
import type { MirrorProcess } from '../process/process.ts';
import type { Secret } from '../../config/secret.ts';
import { submitLoop } from '../accounts/submit-loop.ts';

/** What others see of a process that sends submissions itself. */
export const SUBMIT = 'submit';

export interface HereOptions<T> extends WorkOptions {
  readonly userId: string;
  /** Submissions are sent until this resolves. */
  readonly until: (signal: AbortSignal) => Promise<T>;
}

export type SentHere<T> =
  | { readonly state: 'done'; readonly result: T }
  /** Another process was faster. */
  | { readonly state: 'owned'; readonly by: Holder };

/**
 * Takes the account and sends what is queued of it, as the daemon does: under its lease, its budget and its rules.
 * @throws Unusable where no key is the account's; KeyRefused; the signal's reason, once what was on the wire has its
 *   answer
 */
export async function submitHere<T>(config: ServiceConfig, options: HereOptions<T>): Promise<SentHere<T>> {
  return asProcess(config, SUBMIT, options, [], async (running, { db, direct }) => {
    // Without its beats nothing would be sent after ten minutes: a queue may take longer.
    const installation = createInstallation({
      db,
      host: endpointHost(direct.url, direct.variables),
      submit: config.submit,
      clock: systemClock,
      log: options.log,
    });
    await installation.start();
    try {
      return await takeAndSend(config, running, options);
    } finally {
      await installation.stop();
    }
  });
}

async function takeAndSend<T>(
  config: ServiceConfig,
  running: MirrorProcess,
  options: HereOptions<T>,
): Promise<SentHere<T>> {
  const { parts } = running;
  const { db, processId, identity } = parts;
  const { userId, signal } = options;
  const keys = await keysOf(config, parts, userId, signal);
  await ensureAccount(db, userId, await databaseTime(db));
  const servable = await servableKeys(parts, userId, keys);
  if ('why' in servable) throw new Unusable(servable.why);
  const taken = await takeAccount(db, userId, processId, identity);
  if (taken.state === 'owned') return { state: 'owned', by: taken.by };
  const account = await openAccount(parts, taken.fence, servable.keys);
  try {
    const send = (): Promise<T> => sendUntil(account, running, options);
    return { state: 'done', result: await notingRecovery(parts, taken.fence, signal, send) };
  } finally {
    await account.close();
  }
}

/** Runs the loop until `until` resolves; whichever ends first ends the other. */
async function sendUntil<T>(
  account: OpenAccount,
  running: MirrorProcess,
  { signal, until }: HereOptions<T>,
): Promise<T> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const loop = submitLoop(account, running)(either);
  try {
    return await Promise.race([until(either), loop]);
  } finally {
    over.abort(new Stopped('the submissions'));
    await loop.catch(() => {}); // what ended it is thrown already
  }
}

/** The account's keys: those that are known, else what the service says of the others. */
async function keysOf(
  config: ServiceConfig,
  { db, link }: RunnerContext,
  userId: string,
  signal: AbortSignal,
): Promise<readonly Secret[]> {
  const register = { db, schema: config.schema, link };
  const { byOwner, unknown } = await sortKeys(register, config.service.keys);
  const known = byOwner.get(userId);
  if (known !== undefined) return known;
  for (const key of unknown) {
    if ((await askOwner(register, key, signal)) === userId) return [key];
  }
  throw new Unusable(`no key in MIRROR_API_KEY is one of account ${userId}`);
}
