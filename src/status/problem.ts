import { formatAge } from '@research-mirror/runtime/figures';

const RETRIED = 'it is retried within 5 minutes';
const POLLS_ONLY = 'only polls find changes';

/**
 * Causes of problems, the worst first: labels of a metric, and headings of the runbook (docs/problems.md,
 * "Causes"). Each with what happens by itself and the remedy, unless a finding says more.
 */
export const PROBLEMS = {
  database_unready: ['the daemon keeps trying', 'run "research-mirror doctor" to find the reason'],
  database_refuses: [
    RETRIED,
    'run "research-mirror doctor" to find what refuses the writes (a trigger, a rule or the like), then remove it',
  ],
  database_behind: ['the next start migrates it', 'run "research-mirror migrate"'],
  database_went_back: [
    'full walks are due; they read everything again',
    'run "research-mirror sync --full" to read it now',
  ],
  service_down: [
    'the daemon tries one request at a time; mirroring continues as soon as the service answers',
    'run "research-mirror doctor" to find the reason',
  ],
  key_refused: [
    'it is retried at growing intervals; the other keys continue',
    'replace the key in MIRROR_API_KEY, then restart the daemon',
  ],
  account_moved: ['the other keys continue', null],
  account_stopped: [
    'its keys are retried within 15 minutes, and it continues as soon as one works; its rows stay as they are',
    'set a working key in MIRROR_API_KEY, then restart the daemon',
  ],
  nothing_mirrored: ['mirroring begins as soon as the service says which accounts the keys belong to', null],
  collection_failing: [RETRIED, 'run "research-mirror doctor" to find the reason'],
  polls_late: ['the daemon catches up as soon as it can', null],
  full_walks_late: ['the daemon catches up as soon as it can', null],
  fields_waiting: ['their values stay in _raw; everything else is mirrored', null],
  deletions_blocked: ['they are deleted once fewer are missing, or once the deletion volume of a day falls', null],
  deletions_refused: ['each full walk tries them again; all other deletions are carried out', null],
  rows_stale: [
    'each full walk tries them again',
    'remove what refuses them (a constraint, a NOT NULL column, a trigger), then run "research-mirror sync --full"',
  ],
  webhook_refused: [`${POLLS_ONLY}; the daemon registers it again, at most once an hour`, null],
  webhook_displaced: [POLLS_ONLY, null],
  webhook_astray: ['the daemon checks it again every 15 minutes; polls find changes', null],
  submissions_held: [
    'nothing is sent; mirroring continues',
    'make sure that no other copy of this database sends them, then run "research-mirror submissions release"',
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
  /** What to do, a sentence without a full stop. Null: `what` says it. */
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

/** The problem as one line of sentences, the remedy last, without the last full stop. */
export function problemLine(problem: Problem, now: number): string {
  const { what, since, byItself, remedy } = problem;
  const affected = affectedBy(problem);
  return [
    what,
    ...(affected === '' ? [] : [`Affects ${affected}`]),
    ...(since === null ? [] : [`Began ${formatAge(now - Date.parse(since))}`]),
    `Meanwhile: ${byItself}`,
    ...(remedy === null ? [] : [`Fix: ${remedy}`]),
  ].join('. ');
}
