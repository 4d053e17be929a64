import type pg from 'pg';
import type { OperationRecord } from '@research-mirror/sandbox/request-log';
import type { Finding } from '../support/attack.ts';

/** A submission as its row says. */
export interface SubmissionRow {
  readonly id: string;
  /** By which its payload is known wherever it turns up. */
  readonly marker: string;
  readonly state: string;
  readonly requestId: string;
  readonly responseStatus: number | null;
}

export async function submissionRows(db: pg.Pool): Promise<SubmissionRow[]> {
  const { rows } = await db.query<SubmissionRow>(
    `select submission_id as id, payload ->> 'marker' as marker, state, _request_id as "requestId",
       response_status as "responseStatus"
     from mirror.submissions`,
  );
  return rows;
}

/** What the user of `submit` was told. */
export interface Told {
  /** Marker of each submission that was queued and committed, by the ID that was answered. */
  readonly queued: ReadonlyMap<string, string>;
  /** IDs of those that `cancel_submission` said will not be sent. */
  readonly cancelled: ReadonlySet<string>;
  /** Markers of those whose transaction was rolled back. */
  readonly rolledBack: ReadonlySet<string>;
}

/** States that nothing comes after, once the process that wrote them is gone. */
export const FINAL_STATES = ['accepted', 'rejected', 'unknown', 'cancelled'] as const;

/** How often a submission in each of them may have taken effect. */
const EFFECTS: Readonly<Record<(typeof FINAL_STATES)[number], readonly number[]>> = {
  accepted: [1],
  rejected: [0],
  unknown: [0, 1],
  cancelled: [0],
};

export type Effect = Pick<OperationRecord, 'idempotencyKey'> & { readonly marker: string };

/**
 * docs/design/operations-out.md, "What came of it", judged by what the service did: nothing took effect twice, nothing is lost, and every state is true.
 * The service of these games tells the truth: what it refuses by 4xx it has not done.
 * @param effects the operations that took effect at the service
 */
export function judge(rows: readonly SubmissionRow[], effects: readonly Effect[], told: Told): Finding[] {
  const findings: Finding[] = [];
  const find = (kind: Finding['kind'], text: string) => findings.push({ kind, text });
  const byMarker = Map.groupBy(effects, ({ marker }) => marker);
  const markers = new Map(rows.map(({ id, marker }) => [id, marker]));
  for (const [id, marker] of told.queued) {
    const stored = markers.get(id);
    if (stored === undefined) find('lost', `submission ${id} (${marker}) has no row`);
    else if (stored !== marker) find('false', `submission ${id} is ${stored}, not ${marker}`);
  }
  for (const row of rows) judgeRow(row, byMarker.get(row.marker) ?? [], told, find);
  const known = new Set(markers.values());
  for (const marker of byMarker.keys()) {
    if (told.rolledBack.has(marker)) find('false', `${marker} was rolled back, and took effect`);
    else if (!known.has(marker)) find('false', `${marker} took effect, and has no row`);
  }
  return findings;
}

function judgeRow(
  { id, marker, state, requestId, responseStatus }: SubmissionRow,
  effects: readonly Effect[],
  { cancelled }: Told,
  find: (kind: Finding['kind'], text: string) => void,
): void {
  const name = `submission ${id} (${marker})`;
  const took = `took effect ${effects.length} times`;
  const allowed = EFFECTS[state as keyof typeof EFFECTS] as readonly number[] | undefined;
  if (effects.length > 1) find('twice', `${name} ${took}`);
  if (allowed === undefined) find('lost', `${name} is still ${state}`);
  else if (effects.length < 2 && !allowed.includes(effects.length)) find('false', `${name} is ${state}, and ${took}`);
  if (cancelled.has(id) && state !== 'cancelled') find('false', `${name} was cancelled, and is ${state}`);
  if (effects.some(({ idempotencyKey }) => idempotencyKey !== requestId))
    find('claim', `${name} was sent with another Idempotency-Key than its own`);
  const isSuccess = responseStatus !== null && responseStatus >= 200 && responseStatus < 300;
  if (state === 'accepted' && !isSuccess) find('claim', `${name} is accepted with status ${responseStatus}`);
}
