import { formatAge } from '@research-mirror/runtime/figures';

/** What may be wrong: labels of a metric, and headings of the runbook (docs/operations.md, "Problems"). */
export const PROBLEM_CAUSES = [
  'database_unready',
  'database_refuses',
  'database_behind',
  'database_went_back',
  'service_down',
  'key_refused',
  'account_moved',
  'account_stopped',
  'nothing_mirrored',
  'collection_failing',
  'polls_late',
  'full_walks_late',
  'deletions_blocked',
  'deletions_refused',
  'rows_stale',
  'webhook_refused',
  'webhook_displaced',
  'webhook_astray',
  'submissions_held',
] as const;
export type ProblemCause = (typeof PROBLEM_CAUSES)[number];

/** One cause, and everything that it affects. */
export interface Problem {
  readonly cause: ProblemCause;
  /** What is wrong, without a full stop. */
  readonly what: string;
  /** When it began, ISO 8601, as far as it is known. */
  readonly since: string | null;
  /** `42`, `42/lists`: accounts and collections; empty: the whole mirror. */
  readonly affects: readonly string[];
  /** What happens without anybody. */
  readonly byItself: string;
  /** What mends it: a command or what to set. Null: `what` says it. */
  readonly remedy: string | null;
}

/** So many are named; of more it is counted what they are. */
const NAMED = 4;

/** What a problem affects, in a few words: `42/lists, 43`, or `36 collections of 12 accounts`; '' for the whole mirror. */
export function affectedBy({ affects }: Pick<Problem, 'affects'>): string {
  if (affects.length <= NAMED) return affects.join(', ');
  const accounts = new Set(affects.map((each) => each.split('/')[0]));
  const collections = affects.filter((each) => each.includes('/')).length;
  const plural = accounts.size === 1 ? `account ${[...accounts].join()}` : `${accounts.size} accounts`;
  return collections === 0 ? plural : `${collections} collections of ${plural}`;
}

/** The problem as one line for people: what, what it affects, since when, what happens by itself, what mends it. */
export function problemLine(problem: Problem, now: number): string {
  const { what, since, byItself, remedy } = problem;
  const affected = affectedBy(problem);
  return [
    what,
    ...(affected === '' ? [] : [`affects ${affected}`]),
    ...(since === null ? [] : [`since ${formatAge(now - Date.parse(since))}`]),
    `by itself: ${byItself}`,
    ...(remedy === null ? [] : [`do: ${remedy}`]),
  ].join('; ');
}
