import { KeyRefused } from '../../../../src/model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { GameRecord } from '../../support/attack.ts';
import type { MirrorAccount } from '../mirror-account.ts';
import type { ListName } from '../checks/mirrored.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

/** What a reading may take, ms, also on a busy machine: then the game is broken off. */
const PATIENCE_MS = 900_000;

export interface PassOptions {
  /** Deletions that the brake blocks are accepted. */
  readonly accept?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * As `sync` reads: collections side by side, those that hang on others after them. An error is no finding by itself:
 * faults are on, the account may be lost.
 * @returns errors
 */
export async function pass(
  account: MirrorAccount,
  names: readonly ListName[],
  record: GameRecord,
  what: 'full' | 'current',
  { accept = false, signal }: PassOptions = {},
): Promise<string[]> {
  const { reader } = account.current;
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const stop = signal === undefined ? patience : AbortSignal.any([signal, patience]);
  const errors: string[] = [];
  let refused = false;
  const read = async (name: ListName): Promise<void> => {
    const error: unknown = await reader.read(name, { what, accept: accept && OPERATOR, signal: stop }).then(
      (outcome) => outcome.error,
      (thrown: unknown) => thrown,
    );
    if (error !== undefined) errors.push(`${name}: ${messageOf(error)}`);
    if (error instanceof KeyRefused) refused = true;
  };
  await Promise.all(names.filter((name) => name !== 'list_items').map(read));
  if (names.includes('list_items')) await read('list_items');
  await fillColumns(account).catch((error: unknown) => record.tell(messageOf(error)));
  if (refused) await ping(account, record, patience);
  if (patience.aborted) throw new Error(`a reading took more than ${PATIENCE_MS / 1000} s: ${errors.join('; ')}`);
  if (errors.length > 0) record.tell(`pass ended: ${errors.join('; ')}`);
  return errors;
}

/** As the daemon does between readings, for fields that waited for a column while other accounts' games used the table. */
export async function fillColumns({ current }: MirrorAccount): Promise<void> {
  while (await current.mirror.backfill(current.fence));
}

/** A stopped account stays stopped until a key is good again: the daemon asks until it is, here once a pass. */
export async function ping(
  { current }: MirrorAccount,
  record: GameRecord,
  signal = AbortSignal.timeout(PATIENCE_MS),
): Promise<void> {
  try {
    await current.source.ping({ signal });
    record.count('keys good again');
  } catch (error) {
    record.tell(`the key stays refused: ${messageOf(error)}`);
  }
}
