import { COLLECTION_NAMES } from '../model/collections.ts';
import { OPERATION_NAMES, SUBMISSION_STATES } from '../model/submission.ts';
import { USUAL_LIMITS } from '../terminal/given.ts';
import { type Definition, DEMO, JSON_ON_STDOUT } from '../terminal/shell.ts';

const COLLECTIONS = {
  '[collection...]': `collections (${COLLECTION_NAMES.join(', ')}); default: MIRROR_COLLECTIONS`,
};
const RUNNING_DEMO = { '--demo': "use the demo's mirror, while the demo runs" };

export const MIRRORING: Readonly<Record<string, Definition>> = {
  start: {
    summary: 'start the daemon: mirror the account, and keep the mirror current',
    description:
      'Brings the database to this version, checks the keys, registers the webhooks, polls the service, sends queued ' +
      'submissions and serves the status page, until it is stopped. Needs MIRROR_API_URL and MIRROR_API_KEY, in the ' +
      'environment or in .env. The log goes to stdout.',
    examples: [
      ['MIRROR_API_URL=https://api.example.com MIRROR_API_KEY=… research-mirror start', 'embedded Postgres'],
      ['DATABASE_URL=postgres://… research-mirror start', 'your own Postgres, other settings from .env'],
    ],
    load: async () => (await import('./start.ts')).startAction,
  },
  sync: {
    summary: 'run one pass over the service now, with progress',
    description:
      'Reads the service once, for every account with a key in MIRROR_API_KEY. Without --full it reads new rows, and ' +
      'rows that may still change. With --full it reads everything, finds deletions, and reads missing rows again after ' +
      'MIRROR_SETTLE, because replicas of the service may lag. Ends with 0 when all of that is mirrored as of the ' +
      'beginning of the pass; with --full, as of MIRROR_SETTLE before it. Ends with 1 when the brake blocks deletions or Postgres ' +
      'refuses rows, with 3 when something could not be read or proven. If a daemon runs, the pass runs in the daemon.',
    arguments: COLLECTIONS,
    options: {
      '--full': 'read everything, not only what can be new',
      '--accept-deletions': 'with --full: delete what the brake blocks, however much, for each of these accounts',
      '--json': 'print the result as JSON on stdout',
      ...RUNNING_DEMO,
    },
    examples: [
      ['research-mirror sync', 'new rows of all collections'],
      ['research-mirror sync lists --full --accept-deletions', 'after most lists were deleted on purpose'],
      ['research-mirror sync --json | jq .requests', 'for scripts'],
    ],
    load: async () => (await import('../operate/sync.ts')).syncAction,
  },
  verify: {
    summary: 'compare the mirror with the service, row by row',
    description:
      'Reads the service again and compares every row and field with the mirror. Writes no row. A difference is read a ' +
      'second time before it is reported. Ends with 0 when they are equal, with 1 when they are not. It takes as many ' +
      'requests as a full walk, and says at the beginning how many; with --sample it takes a few. If a daemon runs, the ' +
      'comparison runs in the daemon.',
    arguments: COLLECTIONS,
    options: {
      '--sample <rows>':
        'compare only this many random rows of each collection, and other rows on the same pages: no proof that all rows are equal',
      '--json': 'print the result as JSON on stdout, with up to 1,000 discrepancies of each collection',
      ...RUNNING_DEMO,
    },
    examples: [
      ['research-mirror verify', 'everything'],
      ["research-mirror verify --json | jq '.collections[].discrepancies'", 'for scripts'],
    ],
    load: async () => (await import('../operate/verify.ts')).verifyAction,
  },
  status: {
    summary: 'show what is mirrored, how fresh it is, and what is wrong',
    description:
      'Shows what is mirrored, how fresh it is, what is due, and what is wrong. Ends with 0 when the mirror is healthy, ' +
      'with 1 when it is not. Reads only the database, so it works with and without a running daemon.',
    options: { '--json': 'print JSON, for monitoring', ...DEMO },
    examples: [
      ['research-mirror status', 'for people'],
      ['research-mirror status > /dev/null || echo "look at the mirror"', 'for scripts'],
      ["research-mirror status --json | jq '.problems'", 'for monitoring'],
    ],
    load: async () => (await import('../status/status.ts')).statusAction,
  },
  submit: {
    summary: 'queue a POST operation of the service, and wait for its answer',
    description:
      'Queues a POST operation and waits for its outcome. The daemon sends it at most once and within the rate limit. If no ' +
      'daemon has the account, this command sends it, and nothing else. Ends with 0 when the service accepted it, with 1 ' +
      'when the service refused it, with 4 when the outcome is unknown. Never repeat a submission whose outcome is unknown.',
    arguments: { '<operation>': `one of ${OPERATION_NAMES.join(', ')}` },
    options: {
      '--id <id>': 'target: the list for list_analyze, the research job for sequence',
      '--user <id>': 'account, required if the mirror has several',
      '--data <json>':
        'payload, a JSON object: as text, @file, or - for standard input; required without --id (an empty payload may cost credits)',
      '--key <key>': 'idempotency key: a repetition with the same key gives the same submission',
      '--no-wait': 'queue the operation and end',
      '--json': 'print the submission as JSON on stdout',
      ...DEMO,
    },
    examples: [
      [`research-mirror submit research --data '{"company_url": "https://example.com"}'`, 'one job'],
      ['research-mirror submit list_analyze --id 17', 'an operation on a list'],
      [
        'research-mirror submit bulk_research --data @companies.json --key 2026-03',
        'sent once, however often you run this',
      ],
    ],
    load: async () => (await import('../operate/submissions.ts')).submitAction,
  },
  submissions: {
    summary: 'list, cancel or release queued operations',
    description:
      'Manages the queue of POST operations. list shows the newest first. cancel takes back submissions that have not been ' +
      'sent, and ends with 1 if one has been. release sends the submissions that are on hold after a restore or copy of the ' +
      'database. Release them only when you know that no other copy of this database sends them.',
    actions: { list: [], cancel: ['state', 'limit', 'show'], release: ['state', 'limit', 'show'] },
    arguments: { '[id...]': 'submissions to cancel' },
    options: {
      '--state <state>': `only submissions in this state: ${SUBMISSION_STATES.join(', ')}`,
      '--limit <n>': `how many to list (default: ${USUAL_LIMITS.submissions})`,
      '--show <id>': 'print the answer of the service to a submission',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror submissions', 'the queue, with the outcomes'],
      ['research-mirror submissions list --state unknown', 'what may have taken effect'],
      ['research-mirror submissions cancel 12 13', 'take back what was not sent'],
      ['research-mirror submissions release', 'after a restore, once it is safe'],
    ],
    load: async () => (await import('../operate/submissions.ts')).submissionsAction,
  },
  events: {
    summary: 'list, show or replay received events',
    description:
      'Shows webhook deliveries whose signature was right. list shows the newest first. replay handles events again as if ' +
      'they had just arrived: the daemon reads the rows that they name, and the command shows the progress.',
    actions: { list: [], replay: ['type', 'limit', 'show'] },
    arguments: { '[id...]': 'events to replay' },
    options: {
      '--type <type>': 'only events of this type, such as research.completed',
      '--limit <n>': `how many to list (default: ${USUAL_LIMITS.events})`,
      '--show <id>': 'print an event as it was delivered',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror events', 'the latest events'],
      ['research-mirror events list --show evt_1', 'one event, verbatim'],
      ['research-mirror events replay evt_1 evt_2', 'read again what these events name'],
    ],
    load: async () => (await import('../operate/events.ts')).eventsAction,
  },
  quarantine: {
    summary: 'list or show items that could not be mirrored',
    description:
      'Items that could not be mirrored are kept verbatim, with the reason. list shows the newest first. Full walks and ' +
      'sync --full try these items again, for example when a constraint that refused them is gone.',
    actions: { list: [] },
    arguments: { '[collection...]': `only these collections (${COLLECTION_NAMES.join(', ')})` },
    options: {
      '--show <id>': 'print an item as the service sent it',
      '--limit <n>': `how many to list (default: ${USUAL_LIMITS.quarantine})`,
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror quarantine', 'the items and the reasons'],
      ['research-mirror quarantine list --show 3f786850e387550f', 'one item, verbatim'],
    ],
    load: async () => (await import('../operate/quarantine.ts')).quarantineAction,
  },
};
