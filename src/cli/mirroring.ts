import { COLLECTION_NAMES } from '../model/collections.ts';
import { OPERATION_NAMES, SUBMISSION_STATES } from '../model/submission.ts';
import { USUAL_LIMITS } from '../terminal/given.ts';
import { type Definition, DEMO, JSON_ON_STDOUT } from '../terminal/shell.ts';

const COLLECTIONS = {
  '[collection...]': `which ones; default: MIRROR_COLLECTIONS (${COLLECTION_NAMES.join(', ')})`,
};
const RUNNING_DEMO = { '--demo': "the demo's mirror, while it runs" };

export const MIRRORING: Readonly<Record<string, Definition>> = {
  start: {
    summary: 'the daemon: mirror, and keep the mirror current',
    description:
      'The daemon: brings the database to this version, checks the keys, registers the webhooks, polls the service, sends what ' +
      'is queued and serves the status page. ' +
      'Needs MIRROR_API_URL and MIRROR_API_KEY, in the environment or in .env. Its log goes to stdout.',
    examples: [
      ['MIRROR_API_URL=https://api.example.com MIRROR_API_KEY=… research-mirror start', 'embedded Postgres'],
      ['DATABASE_URL=postgres://… research-mirror start', 'your own Postgres; the rest from .env'],
    ],
    load: async () => (await import('./start.ts')).startAction,
  },
  sync: {
    summary: 'one pass over the service now, with progress',
    description:
      'One pass now. Ends with 0 when the mirror holds all new rows, and all changes of rows that may still change, ' +
      'as of its beginning; with --full everything, deletions included (less MIRROR_SETTLE, by which the service’s ' +
      'replicas may lag): what is missing is read again after that time; 1 tells that the brake holds deletions back, or that Postgres refuses rows, ' +
      '3 that it could not be made sure. Beside a running daemon, the daemon does the work.',
    arguments: COLLECTIONS,
    options: {
      '--full': 'read everything, not only what can be new',
      '--accept-deletions': 'with --full: lets go what the brake holds back, however much it is',
      '--json': 'the result as JSON on stdout',
      ...RUNNING_DEMO,
    },
    examples: [
      ['research-mirror sync', 'what is new, of all collections'],
      ['research-mirror sync lists --full --accept-deletions', 'when most lists were deleted on purpose'],
      ['research-mirror sync --json | jq .requests', 'for scripts'],
    ],
    load: async () => (await import('../operate/sync.ts')).syncAction,
  },
  verify: {
    summary: 'read the service again and compare the mirror with it, row by row',
    description:
      'Reads the service again and compares the mirror with it in every row and field; writes no row. What differs is ' +
      'read a second time before it is told. Ends with 0 when they are equal, with 1 when they are not. It takes as ' +
      'many requests as a full walk, and says at its beginning how many that are; with --sample a few. Beside a running ' +
      'daemon, the daemon does the work.',
    arguments: COLLECTIONS,
    options: {
      '--sample <rows>':
        'compare only so many rows of each collection, chosen at random, and what else is on their pages: no proof that all are equal',
      '--json': 'the result as JSON on stdout, with up to 1,000 discrepancies of each collection',
      ...RUNNING_DEMO,
    },
    examples: [
      ['research-mirror verify', 'everything'],
      ["research-mirror verify --json | jq '.collections[].discrepancies'", 'for scripts'],
    ],
    load: async () => (await import('../operate/verify.ts')).verifyAction,
  },
  status: {
    summary: 'what is mirrored, how fresh it is, and what is wrong',
    description:
      'What is mirrored, how fresh it is, what is due, and what is wrong. Ends with 0 when the mirror is healthy, with 1 ' +
      'when it is not. Asks the database only: works beside a running daemon, and without one.',
    options: { '--json': 'as JSON, for monitoring', ...DEMO },
    examples: [
      ['research-mirror status', 'for people'],
      ['research-mirror status > /dev/null || echo "look at the mirror"', 'for scripts'],
      ["research-mirror status --json | jq '.problems'", 'for monitoring'],
    ],
    load: async () => (await import('../status/status.ts')).statusAction,
  },
  submit: {
    summary: 'queue one of the service’s POST operations, and wait for its answer',
    description:
      'Queues a POST operation and waits for what comes of it; the daemon sends it, within its rate limit and at most ' +
      'once. Where no daemon has the account, this command sends it itself, and nothing else. Ends with 0 when the ' +
      'service accepted it, with 1 when it refused it, with 4 when the outcome is unknown: never repeat it then.',
    arguments: { '<operation>': `one of ${OPERATION_NAMES.join(', ')}` },
    options: {
      '--id <id>': 'of list_analyze the list, of sequence the research job',
      '--user <id>': 'the account; needed where there are several',
      '--data <json>':
        'the payload, a JSON object: as text, @file, or - for standard input; needed unless there is an --id (an empty payload may cost credits)',
      '--key <key>': 'idempotency key: the same key gives the same submission, whenever it is repeated',
      '--no-wait': 'queue it and end',
      '--json': 'the submission as JSON on stdout',
      ...DEMO,
    },
    examples: [
      [`research-mirror submit research --data '{"company_url": "https://example.com"}'`, 'one job'],
      ['research-mirror submit list_analyze --id 17', 'an operation on a list'],
      ['research-mirror submit bulk_research --data @companies.json --key 2026-03', 'once, however often it is run'],
    ],
    load: async () => (await import('../operate/submissions.ts')).submitAction,
  },
  submissions: {
    summary: 'queued operations: list them, cancel them, release those that are held',
    description:
      'The queue of POST operations. list tells the newest first; cancel takes back those that have not been sent, and ' +
      'ends with 1 where one has; release lets go what a restore or copy of the database holds back: only once you ' +
      'know that no other copy of this database sends it.',
    actions: { list: [], cancel: ['state', 'limit', 'show'], release: ['state', 'limit', 'show'] },
    arguments: { '[id...]': 'of cancel: which submissions' },
    options: {
      '--state <state>': `only those ${SUBMISSION_STATES.join(', ')}`,
      '--limit <n>': `how many to list (${USUAL_LIMITS.submissions})`,
      '--show <id>': 'print what the service answered to one',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror submissions', 'what is queued, and what came of it'],
      ['research-mirror submissions list --state unknown', 'what may have taken effect'],
      ['research-mirror submissions cancel 12 13', 'take back what was not sent'],
      ['research-mirror submissions release', 'after a restore, once it is safe'],
    ],
    load: async () => (await import('../operate/submissions.ts')).submissionsAction,
  },
  events: {
    summary: 'received events: list them, show them, take them up again',
    description:
      'Deliveries of the webhook whose signature was right. list tells the newest first; replay takes events up again ' +
      'as if they had just come: the daemon reads what they name, and the command shows how far it is.',
    actions: { list: [], replay: ['type', 'limit', 'show'] },
    arguments: { '[id...]': 'of replay: which events' },
    options: {
      '--type <type>': 'only events of this type, such as research.completed',
      '--limit <n>': `how many to list (${USUAL_LIMITS.events})`,
      '--show <id>': 'print one as it was delivered',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror events', 'what came last'],
      ['research-mirror events list --show evt_1', 'one of them, verbatim'],
      ['research-mirror events replay evt_1 evt_2', 'read again what these name'],
    ],
    load: async () => (await import('../operate/events.ts')).eventsAction,
  },
  quarantine: {
    summary: 'items that could not be mirrored: list them, show them',
    description:
      'Items that could not be mirrored are kept verbatim, with the reason. list tells them, the newest first. Full walks ' +
      'and sync --full try them again, for example when a constraint that refused them is gone.',
    actions: { list: [] },
    arguments: { '[collection...]': `only of these (${COLLECTION_NAMES.join(', ')})` },
    options: {
      '--show <id>': 'print one item as the service sent it',
      '--limit <n>': `how many to list (${USUAL_LIMITS.quarantine})`,
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror quarantine', 'what is there, and why'],
      ['research-mirror quarantine list --show 3f786850e387550f', 'one of them, verbatim'],
    ],
    load: async () => (await import('../operate/quarantine.ts')).quarantineAction,
  },
};
