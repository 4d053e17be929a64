import { formatAge } from '@research-mirror/runtime/figures';

const RETRIED = 'it is tried again, at the latest after 5 minutes';
const POLLS_ONLY = 'only polls find changes';

/**
 * Causes of problems, the worst first: labels of a metric, and headings of the runbook (docs/problems.md,
 * "Causes"). Each with what happens by itself and the remedy, unless a finding says more.
 */
export const PROBLEMS = {
  database_unready: ['it is tried again all the time', '"research-mirror doctor" says what is in the way'],
  database_refuses: [
    RETRIED,
    'take away what refuses it: "research-mirror doctor" names triggers, rules and their like',
  ],
  database_behind: ['the next start brings it up', '"research-mirror migrate"'],
  database_went_back: [
    'what it may have lost is read again by full walks, which are due',
    '"research-mirror sync --full" does it now',
  ],
  service_down: [
    'one request at a time tries it; mirroring goes on as soon as it answers',
    '"research-mirror doctor" finds out why',
  ],
  key_refused: [
    'it is asked again, later and later; the other keys go on',
    'put the right key in its place, and start again',
  ],
  account_moved: ['the other keys go on', null],
  account_stopped: [
    'its keys are asked again, at the latest after 15 minutes, and it goes on as soon as one is good; its data stay as they are',
    'set a good key in MIRROR_API_KEY, and start again',
  ],
  nothing_mirrored: ['mirroring begins as soon as it is known whose the keys are', null],
  collection_failing: [RETRIED, '"research-mirror doctor" finds out why'],
  polls_late: ['they are made up as soon as the daemon comes to it', null],
  full_walks_late: ['they are made up as soon as the daemon comes to it', null],
  fields_waiting: ['they stay in _raw, and everything else is mirrored', null],
  deletions_blocked: ['they are deleted as soon as fewer are missing, or the share falls within a day', null],
  deletions_refused: ['they are tried again with each full walk; all others go', null],
  rows_stale: [
    'they are tried again with each full walk',
    'take away what refuses them (a constraint, a column that may not be null, a trigger); then "research-mirror sync --full"',
  ],
  webhook_refused: [`${POLLS_ONLY}; it is registered again, at most hourly`, null],
  webhook_displaced: [POLLS_ONLY, null],
  webhook_astray: ['it is tried again each quarter of an hour; polls find changes', null],
  submissions_held: [
    'nothing is sent; mirroring goes on',
    'once you know that no other copy of this database sends them: "research-mirror submissions release"',
  ],
} as const satisfies Record<string, readonly [byItself: string, remedy: string | null]>;
export type ProblemCause = keyof typeof PROBLEMS;
export const PROBLEM_CAUSES = Object.keys(PROBLEMS) as readonly ProblemCause[];

export interface Problem {
  readonly cause: ProblemCause;
  /** What is wrong, without a full stop. */
  readonly what: string;
  /** When it began, ISO 8601, if known. */
  readonly since: string | null;
  /** Accounts (`42`), their collections (`42/lists`), collections of all accounts (`lists (…)`); empty: everything. */
  readonly affects: readonly string[];
  readonly byItself: string;
  /** A command, or what to set. Null: `what` says it. */
  readonly remedy: string | null;
}

/** The scope, the request, its cursor, and numbers: what differs between places where one cause shows. */
const OF_ONE_PLACE = /\d+\/[a-z_]+(?:\/\S+)?: |\b[A-Z]{3,7} \/\S*|\((?:after "[^"]*"|from the top)\)|\d+/g;

/** Equal for all messages of one cause. */
export function withoutPlace(why: string): string {
  return why.replaceAll(OF_ONE_PLACE, '');
}

/** Most places that are named; more are counted. */
const NAMED = 4;

/** `42/lists, 43`, or `36 collections of 12 accounts`; '' for the whole mirror. */
export function affectedBy({ affects }: Pick<Problem, 'affects'>): string {
  if (affects.length <= NAMED) return affects.join(', ');
  const accounts = new Set(affects.map((each) => each.split('/')[0]));
  const collections = affects.filter((each) => each.includes('/')).length;
  const plural = accounts.size === 1 ? `account ${[...accounts].join()}` : `${accounts.size} accounts`;
  return collections === 0 ? plural : `${collections} collections of ${plural}`;
}

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
