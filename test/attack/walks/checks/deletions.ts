import type pg from 'pg';
import type { Finding } from '../../support/attack.ts';
import type { AnswerLog } from '../source/answer-log.ts';
import { keysOf, type ListName, scopeOf } from './mirrored.ts';
import { rowName, type SourceScope, type TruthLog } from '../source/truth-log.ts';

/** A deletion, with the times (ms since the epoch, by the database's clock) when the deleted version came, and went. */
type Deletion = Readonly<Record<'list' | 'id' | 'came' | 'went', string>>;

interface Evidence {
  readonly log: TruthLog;
  readonly answers: AnswerLog;
  /** Greatest age of an answer. */
  readonly lagMs: number;
  /** How much later than its known moment an answer may have been made. */
  readonly slackMs: number;
  readonly gracePeriodMs: number;
  readonly history: boolean;
  /** No order by key: two equal walks are the proof. */
  readonly byPairs: boolean;
}

/** Presence or place of a row may change this often before two equal walks can err (docs/design/deletions.md, "P2"). */
const P2_CHANGES = 3;
/**
 * A page that shows the row counts from when it is written. It is answered earlier: on a busy machine by more than one
 * would think, and a deletion that was proven before may be committed meanwhile.
 */
const IN_HAND_MS = 3_000;

/**
 * Judges every deletion that the mirror ever made of the account, by the source's own log: it is false where the row
 * was in the source at each moment of the second proof; and it needs two proofs, the second one asked for at least the
 * grace period after the first one was answered, in which no page showed the row in between.
 * @returns `beyondP2`: deletions by two equal walks of a row that moved or came and went three times meanwhile
 *   (docs/design/deletions.md, "P2"); `toldEmpty`: those for which the service said, untruly, that the whole list is
 *   empty (docs/design/walks.md, "The end of a list")
 */
export async function checkDeletions(db: pg.Pool, names: readonly ListName[], user: string, evidence: Evidence) {
  const findings: Finding[] = [];
  const counts = { deletions: 0, beyondP2: 0, toldEmpty: 0 };
  for (const name of names) {
    for (const deletion of await deletionsOf(db, name, user, evidence.history)) {
      counts.deletions += 1;
      const problem = problemOf(scopeOf(name, deletion.list), deletion, evidence);
      if (problem === 'beyond P2') counts.beyondP2 += 1;
      else if (problem === 'told empty') counts.toldEmpty += 1;
      else if (problem !== undefined) findings.push({ kind: 'false', text: problem });
    }
  }
  return { findings, ...counts };
}

/** Every deletion that the mirror ever made of the account's rows. */
export async function deletionsOf(db: pg.Pool, name: ListName, user: string, history: boolean): Promise<Deletion[]> {
  const ms = (column: string): string => `floor(extract(epoch from ${column}) * 1000)::text`;
  const { rows } = await db.query<Deletion>(
    history
      ? `select ${keysOf(name)}, ${ms('_valid_from')} as came, ${ms('_valid_to')} as went from mirror.${name}_history
         where _user_id = $1 and _op = 'delete'`
      : `select ${keysOf(name)}, '0' as came, ${ms('_deleted_at')} as went from mirror.${name}
         where _user_id = $1 and _deleted_at is not null`,
    [user],
  );
  return rows;
}

function problemOf(scope: SourceScope, { id, came, went }: Deletion, evidence: Evidence): string | undefined {
  const { log, lagMs, gracePeriodMs, byPairs } = evidence;
  // A list's items go with it: then the answers about the lists are the proofs.
  const ways: [SourceScope, string][] = [[scope, id]];
  if (scope.collection === 'list_items') ways.push([{ collection: 'lists', list: '' }, scope.list]);
  const most = (of: (scope: SourceScope, key: string) => number): number =>
    Math.max(...ways.map(([scope, key]) => of(scope, key)));
  const span = { from: shownAt(scope, id, Number(came), evidence) - lagMs, to: Number(went) + 1 };
  const best = most((of, key) => proofsOf(of, key, span, evidence, false));
  if (best === 2) return undefined;
  if (most((of, key) => proofsOf(of, key, span, evidence, true)) === 2) return 'told empty';
  const changes = most((of, key) => log.changesWithin(of, key, span.from - lagMs, span.to));
  if (byPairs && changes >= P2_CHANGES) return 'beyond P2';
  const what = `${rowName(scope, id)} was deleted at ${new Date(Number(went)).toISOString()}`;
  return best === 1
    ? `${what} without two proofs ${gracePeriodMs} ms apart`
    : `${what}, but it was there at every request since it was seen`;
}

/**
 * When the answer came that brought a version: earlier than that was written, on a busy machine by so much that a proof
 * of absence was answered in between. Pages count in the order of their answers.
 */
function shownAt(scope: SourceScope, id: string, came: number, { answers }: Evidence): number {
  const shown = answers.of(scope).filter(({ ids, answeredAt }) => ids.has(id) && answeredAt <= came);
  return shown.length === 0 ? came : Math.max(...shown.map(({ answeredAt }) => answeredAt));
}

/**
 * How many proofs, the grace period apart, answers within a version's time can have been: 2 stands for more.
 * @param lies an empty first page counts also where the list was not empty
 */
function proofsOf(
  scope: SourceScope,
  id: string,
  { from, to }: { readonly from: number; readonly to: number },
  { log, answers, lagMs, slackMs, gracePeriodMs }: Evidence,
  lies: boolean,
): number {
  const asked = answers.of(scope).filter(({ sentAt, answeredAt }) => sentAt <= to && answeredAt >= from);
  const seen = asked.findLastIndex(({ ids, answeredAt }) => ids.has(id) && answeredAt < to - IN_HAND_MS);
  const proofs = asked
    .slice(seen + 1)
    .filter(
      ({ path, ids, sentAt, answeredAt }) =>
        (lies && ids.size === 0 && !path.includes('starting_after')) ||
        log.absentWithin(scope, id, sentAt - lagMs - 1, answeredAt + slackMs + 1),
    );
  const [first] = proofs;
  if (first === undefined) return 0;
  return proofs.some(({ sentAt }) => sentAt >= first.answeredAt + gracePeriodMs - 1) ? 2 : 1;
}
