import type pg from 'pg';
import type { Finding } from '../support/findings.ts';
import type { AnswerLog, Answered } from './answer-log.ts';
import { keysOf, type ListName, scopeOf } from './mirrored.ts';
import { rowName, type SourceScope, type TruthLog } from './truth-log.ts';

interface Deletion {
  readonly list: string;
  readonly id: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: string;
}

export interface DeletionCheck {
  readonly findings: Finding[];
  readonly deletions: number;
  /** Deletions by two equal walks of a row that moved or came and went three times meanwhile: design 4, P2. */
  readonly beyondP2: number;
}

/** Presence or place of a row may change this often before two equal walks can err (design 4, P2). */
const P2_CHANGES = 3;

/**
 * Judges every deletion that the mirror ever made of the account, by the source's own log: it is false where the row
 * was in the source at each moment of the second proof; and it needs two proofs, the second one asked for at least the
 * settle time after the first one was answered, in which no answer showed the row in between.
 * @param given.lagMs an answer may be as old as this
 * @param given.slackMs an answer may have been made so long after the moment that is known of it
 */
export async function checkDeletions(
  db: pg.Pool,
  names: readonly ListName[],
  user: string,
  given: {
    readonly log: TruthLog;
    readonly answers: AnswerLog;
    readonly lagMs: number;
    readonly slackMs: number;
    readonly settleMs: number;
    readonly history: boolean;
  },
): Promise<DeletionCheck> {
  const findings: Finding[] = [];
  let deletions = 0;
  let beyondP2 = 0;
  for (const name of names) {
    for (const { list, id, at } of await deletionsOf(db, name, user, given.history)) {
      deletions += 1;
      const verdict = judge(scopeOf(name, list), id, Number(at), given);
      if (verdict === 'beyond P2') beyondP2 += 1;
      else if (verdict !== undefined) findings.push(verdict);
    }
  }
  return { findings, deletions, beyondP2 };
}

async function deletionsOf(db: pg.Pool, name: ListName, user: string, history: boolean): Promise<Deletion[]> {
  const at = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint::text as at`;
  const { rows } = await db.query<Deletion>(
    history
      ? `select ${keysOf(name)}, ${at('_valid_to')} from mirror.${name}_history
         where _user_id = $1 and _op = 'delete'`
      : `select ${keysOf(name)}, ${at('_deleted_at')} from mirror.${name}
         where _user_id = $1 and _deleted_at is not null`,
    [user],
  );
  return rows;
}

function judge(
  scope: SourceScope,
  id: string,
  deletedAt: number,
  {
    log,
    answers,
    lagMs,
    slackMs,
    settleMs,
  }: {
    readonly log: TruthLog;
    readonly answers: AnswerLog;
    readonly lagMs: number;
    readonly slackMs: number;
    readonly settleMs: number;
  },
): Finding | 'beyond P2' | undefined {
  // A list's items go with it: then the answers about the lists are the proofs.
  const ways: [SourceScope, string][] = [[scope, id]];
  if (scope.collection === 'list_items') ways.push([{ collection: 'lists', list: '' }, scope.list]);
  let best = 0;
  for (const [of, key] of ways) {
    const asked = answers.of(of).filter(({ answeredAt }) => answeredAt <= deletedAt + 1);
    const since = asked.slice(asked.findLastIndex(({ ids }) => ids.has(key)) + 1);
    const absent = ({ sentAt, answeredAt }: Answered): boolean =>
      log.absentWithin(of, key, sentAt - lagMs - 1, answeredAt + slackMs + 1);
    const proofs = since.filter(absent);
    if (proofs.length > 0) best = Math.max(best, 1);
    const [first] = proofs;
    // The database told the time of the first answer when it was written: a little later than it came.
    if (first !== undefined && proofs.some(({ sentAt }) => sentAt >= first.answeredAt + settleMs - 1))
      best = 2;
  }
  if (best === 2) return undefined;
  const name = rowName(scope, id);
  const when = new Date(deletedAt).toISOString();
  const asked = answers.of(scope).filter(({ answeredAt }) => answeredAt <= deletedAt + 1);
  const seen = asked.findLastIndex(({ ids }) => ids.has(id));
  const from = asked[seen]?.sentAt ?? 0;
  if (log.changesWithin(scope, id, from - lagMs, deletedAt) >= P2_CHANGES) return 'beyond P2';
  return best === 1
    ? { kind: 'false', text: `${name} was deleted at ${when} without two proofs ${settleMs} ms apart` }
    : {
        kind: 'false',
        text: `${name} was deleted at ${when}, but it was there at every request since it was seen`,
      };
}
