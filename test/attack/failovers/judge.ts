import type { DeliveryRecord } from '@research-mirror/sandbox/deliveries/delivery-queue';
import type { OperationRecord } from '@research-mirror/sandbox/request-log';
import { type EventRow, judge as judgeDeliveries } from '../deliveries/judge.ts';
import { judge as judgeSubmissions, type SubmissionRow } from '../submissions/judge.ts';
import type { Finding } from '../support/attack.ts';

export interface Sent {
  readonly rows: readonly SubmissionRow[];
  readonly operations: readonly OperationRecord[];
  /** Markers of what was queued, by ID. */
  readonly queued: readonly { readonly id: string; readonly marker: string }[];
}

/**
 * Nothing is sent twice, whatever the database forgot. What it forgot has no row; where it keeps what is committed
 * durably, every row is there, and true. What is held waits for a person who knows whether it was sent.
 * @param kept the database lost nothing that was committed durably
 */
export function judgeSent({ rows, operations, queued }: Sent, kept: boolean): Finding[] {
  const effects = operations.map(({ idempotencyKey, payload }) => ({
    idempotencyKey,
    marker: (JSON.parse(payload ?? '{}') as { marker?: string }).marker ?? '',
  }));
  const held = new Set(rows.filter(({ state }) => state === 'held').map(({ marker }) => marker));
  const known = new Set(rows.map(({ marker }) => marker));
  const judged = judgeSubmissions(
    rows.filter(({ marker }) => !held.has(marker)),
    effects.filter(({ marker }) => !held.has(marker) && (kept || known.has(marker))),
    {
      queued: new Map(
        queued
          .filter(({ marker }) => !held.has(marker) && (kept || known.has(marker)))
          .map(({ id, marker }) => [id, marker]),
      ),
      cancelled: new Set(),
      rolledBack: new Set(),
    },
  );
  const twice = [...Map.groupBy(effects, ({ idempotencyKey }) => idempotencyKey)]
    .filter(([, sent]) => sent.length > 1)
    .map(([key, sent]): Finding => ({
      kind: 'twice',
      text: `${sent[0]?.marker ?? ''} took effect ${sent.length} times under the key ${key ?? ''}`,
    }));
  return [...twice, ...judged.filter(({ kind }) => kind !== 'twice')];
}

/** Events that were answered with 200 are there where the database keeps durable commits; none is there twice or false. */
export function judgeReceived(
  rows: readonly EventRow[],
  attempts: readonly DeliveryRecord[],
  kept: boolean,
): Finding[] {
  return judgeDeliveries(rows, attempts).filter(({ kind }) => kept || kind === 'twice' || kind === 'false');
}
