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
  const byMarker = Map.groupBy(effects, ({ marker }) => marker);
  const known = new Map(rows.map((row) => [row.marker, row]));
  const byId = new Map(rows.map((row) => [row.id, row]));

  for (const [id, marker] of told.queued) {
    const row = byId.get(id);
    if (row === undefined) findings.push({ kind: 'lost', text: `submission ${id} (${marker}) has no row` });
    else if (row.marker !== marker)
      findings.push({ kind: 'false', text: `submission ${id} is ${row.marker}, not ${marker}` });
  }
  for (const row of rows) findings.push(...judgeRow(row, byMarker.get(row.marker) ?? [], told));
  for (const marker of byMarker.keys()) {
    if (told.rolledBack.has(marker))
      findings.push({ kind: 'false', text: `${marker} was rolled back, and took effect` });
    else if (!known.has(marker))
      findings.push({ kind: 'false', text: `${marker} took effect, and has no row` });
  }
  return findings;
}

function judgeRow(row: SubmissionRow, effects: readonly Effect[], told: Told): Finding[] {
  const name = `submission ${row.id} (${row.marker})`;
  const findings: Finding[] = [];
  if (effects.length > 1)
    findings.push({ kind: 'twice', text: `${name} took effect ${effects.length} times` });
  const allowed = EFFECTS[row.state as keyof typeof EFFECTS] as readonly number[] | undefined;
  if (allowed === undefined) findings.push({ kind: 'lost', text: `${name} is still ${row.state}` });
  else if (effects.length < 2 && !allowed.includes(effects.length))
    findings.push({
      kind: 'false',
      text: `${name} is ${row.state}, and took effect ${effects.length} times`,
    });
  if (told.cancelled.has(row.id) && row.state !== 'cancelled')
    findings.push({ kind: 'false', text: `${name} was cancelled, and is ${row.state}` });
  if (effects.some(({ idempotencyKey }) => idempotencyKey !== row.requestId))
    findings.push({ kind: 'claim', text: `${name} was sent with another Idempotency-Key than its own` });
  if (row.state === 'accepted' && !isSuccess(row.responseStatus))
    findings.push({ kind: 'claim', text: `${name} is accepted with status ${row.responseStatus}` });
  return findings;
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
