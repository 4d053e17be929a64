import { ClassifiedError } from '@research-mirror/runtime/errors';
import { RequestRefused } from '../../model/errors.ts';
import type { ReadingContext } from './reading-context.ts';

/**
 * Proves whose data was read, by what is asked after the last of it.
 * @returns why that can't be told now; undefined: it is the account's own
 * @throws KeyRefused, LeaseLost; the signal's reason
 */
export async function whyNotProven(
  { source }: Pick<ReadingContext, 'source'>,
  signal: AbortSignal,
): Promise<Error | undefined> {
  try {
    const proven = await source.proveAll({ signal });
    return proven
      ? undefined
      : new RequestRefused('an API key was refused before it was proven whose data it read', 401);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClassifiedError) || error.remedy === 'stop') throw error;
    return error;
  }
}
