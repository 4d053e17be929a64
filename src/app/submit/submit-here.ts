import type { ServiceConfig } from '../../config/config.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { createInstallation } from '../../db/installation/installation-service.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { askOwner, sortKeys } from '../accounts/find-owners.ts';
import type { OpenAccount, RunnerContext } from '../accounts/open-account.ts';
import { type LeaseUse, withAccount } from '../accounts/with-account.ts';
import { asProcess } from '../process/own-process.ts';
import type { WorkOptions } from '../process/process.ts';
import type { Secret } from '../../config/secret.ts';
import { submitLoop } from '../accounts/submit-loop.ts';

/** What others see of a process that sends submissions itself. */
export const SUBMIT = 'submit';

export interface HereOptions<T> extends WorkOptions {
  readonly userId: string;
  /** Submissions are sent until this resolves. */
  readonly until: (signal: AbortSignal) => Promise<T>;
}

/**
 * Takes the account and sends its queued submissions as the daemon does: under its lease, its budget and its rules.
 * @throws Unusable where no key is the account's; KeyRefused; the signal's reason, when requests that were sent have
 *   their answers
 */
export async function submitHere<T>(config: ServiceConfig, options: HereOptions<T>): Promise<LeaseUse<T>> {
  return asProcess(config, SUBMIT, options, [], async ({ context }, { db, direct }) => {
    // Without this service's beats nothing would be sent after ten minutes, and a queue may take longer.
    const installation = createInstallation({
      db,
      host: endpointHost(direct.url, direct.variables),
      submit: config.submit,
      clock: systemClock,
      log: options.log,
    });
    await installation.start();
    try {
      return await takeAndSend(context, options);
    } finally {
      await installation.stop();
    }
  });
}

async function takeAndSend<T>(context: RunnerContext, options: HereOptions<T>): Promise<LeaseUse<T>> {
  const { userId, signal } = options;
  const keys = await keysOf(context, userId, signal);
  const send = (account: OpenAccount): Promise<T> => sendUntil(account, context, options);
  const used = await withAccount(context, { userId, keys, signal }, send);
  if (used.state === 'unservable') throw new Unusable(used.why);
  return used;
}

/** Runs the loop until `until` resolves; whichever ends first ends the other. */
async function sendUntil<T>(
  account: OpenAccount,
  context: RunnerContext,
  { signal, until }: HereOptions<T>,
): Promise<T> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const loop = submitLoop(account, context)(either);
  try {
    return await Promise.race([until(either), loop]);
  } finally {
    over.abort(new Stopped('the submissions'));
    await loop.catch(() => {}); // its error is thrown already
  }
}

/** The account's keys: those that are known, else one of the others whose owner the service says is the account. */
async function keysOf(
  context: RunnerContext,
  userId: string,
  signal: AbortSignal,
): Promise<readonly Secret[]> {
  const { byOwner, unknown } = await sortKeys(context, context.config.service.keys);
  const known = byOwner.get(userId);
  if (known !== undefined) return known;
  for (const key of unknown) {
    if ((await askOwner(context, key, signal)) === userId) return [key];
  }
  throw new Unusable(`no key in MIRROR_API_KEY is one of account ${userId}`);
}
