import { flagOf, SANDBOX_SWITCHES, SWITCH_NAMES } from '@research-mirror/sandbox/switches/sandbox-switches';
import { type Definition, DEMO, JSON_ON_STDOUT } from '../terminal/shell.ts';

export const KEEPING: Readonly<Record<string, Definition>> = {
  accounts: {
    summary: 'the accounts that are mirrored here',
    description:
      'The accounts of this mirror. list tells who is mirrored, in which state, and by which keys (the beginning of ' +
      'each key’s SHA-256). retire takes an account out: no program mirrors it or sends for it any more. move accepts ' +
      'that the service is at MIRROR_API_URL now, and has the configured keys asked anew whose they are: run it while ' +
      'no daemon runs.',
    actions: { list: ['removeData', 'undo'], retire: [], move: ['demo', 'removeData', 'undo'] },
    arguments: { '[user_id...]': 'of which account' },
    options: {
      ...JSON_ON_STDOUT,
      '--remove-data': 'retire: removes all its rows, too',
      '--undo': 'retire: takes the account back',
      ...DEMO,
    },
    examples: [
      ['research-mirror accounts', 'who is mirrored, and by which keys'],
      ['research-mirror accounts retire 42', 'mirrors it no more; its data stay'],
      ['research-mirror accounts retire 42 --undo', 'takes it back'],
      ['research-mirror accounts move 1001', 'its service has moved to MIRROR_API_URL'],
    ],
    load: async () => (await import('../operate/accounts.ts')).accountsAction,
  },
  migrate: {
    summary: "bring the database to this program's version",
    description:
      "Brings the database to this program's version; start and sync do so by themselves. A database of a newer " +
      'program, on which this one may not run, is left alone, and the command ends with 1. So it does where something ' +
      'that a migration made is gone, and where a migration that drops what older programs use waits until none runs. ' +
      'It says before such a migration that the way back is a restore: make a backup first.',
    options: {
      '--check': 'only tell: ends with 1 when the database is behind',
      '--json': 'the answer as JSON',
    },
    examples: [
      ['research-mirror migrate --check', 'would start change the schema?'],
      ['DATABASE_URL=postgres://owner@… research-mirror migrate', 'as another user than the daemon'],
    ],
    load: async () => (await import('./migrate.ts')).migrateAction,
  },
  doctor: {
    summary: 'what start needs: configuration, service, keys, database, webhook; with the remedy',
    description:
      'Looks at everything that start needs, and says in a line each what is fine, what is broken, and what mends it. ' +
      'Changes nothing, and works beside a running daemon; it sends a ping for each key and a request for each collection. ' +
      'Ends with 0 when nothing is broken, with 1 when something is, with 2 for a wrong configuration, with 3 when ' +
      'something could not be found out.',
    options: {
      '--sql': 'print what a DBA has to run by psql: logins, database, schemas, roles; asks no database',
      '--reader <name>': 'with --sql: print what makes a login that reads one account, instead',
      '--account <user_id>': 'the account that the login reads',
      '--json': 'as JSON',
    },
    examples: [
      ['research-mirror doctor', 'what is wrong, and what to do'],
      ['research-mirror doctor --json | jq \'.checks[] | select(.state == "broken")\'', 'for programs'],
      ['research-mirror doctor --sql > dba.sql', 'for the DBA of your Postgres'],
      ['research-mirror doctor --sql --reader anna --account 42 > anna.sql', 'a login for one account'],
    ],
    load: async () => (await import('../operate/doctor.ts')).doctorAction,
  },
  sql: {
    summary: 'run a query in the mirror and print the answer',
    description:
      'Runs one query in the mirror, as a login that can only read, and prints the answer. Tables of the mirror need ' +
      'no schema before their names; times are UTC. Works beside a running daemon or demo, and without one. With ' +
      'DATABASE_URL, the login is one that you make: the command says how.',
    arguments: { '<query>': 'one statement, in quotes' },
    options: {
      '--csv': 'rows as CSV (RFC 4180), with a line of titles; NULL is empty; every row, every digit',
      '--json': 'a JSON object whose "rows" are objects; every row, every digit',
      '--vertical': 'a line for each column instead of each row; a terminal too narrow for the titles gets it anyhow',
      '--timeout <duration>': 'give up after that long (default: "60s")',
      ...DEMO,
    },
    examples: [
      ['research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
      ['research-mirror sql --vertical "select * from research_jobs limit 1"', 'one row, whole'],
      ['research-mirror sql --json "select * from lists_live" | jq \'.rows[]\'', 'for programs'],
      ['research-mirror sql --csv "select * from lists_live" > lists.csv', 'for spreadsheets'],
    ],
    load: async () => (await import('../operate/sql.ts')).sqlAction,
  },
  columns: {
    summary: 'columns made for fields, values that did not fit, and fields that wait for a column',
    description:
      'Columns that the mirror made for fields of the items. list shows their types, and of values that did not fit ' +
      '(they are NULL in the column, whole in _raw) how many there were, an example, and a type that would take all. ' +
      'set-type gives a column another type (text, numeric, bigint, boolean, timestamptz or jsonb): it says first what ' +
      'would not fit, and asks; then every row and version gets its value from _raw, and nothing counts as changed. Works ' +
      'beside a running daemon and readers. What others built on the column (a view, an index) has to go first: it is named. ' +
      'accept makes columns for fields that have none (MIRROR_SCHEMA_DRIFT=freeze); the daemon fills them from _raw.',
    actions: { list: ['dryRun', 'yes'], 'set-type': ['json'], accept: ['dryRun', 'yes', 'json'] },
    arguments: {
      '[table.column]': 'set-type: which column; accept: which table, or table.field',
      '[type]': 'set-type: its new type',
    },
    options: {
      '--dry-run': 'set-type: only say what would not fit',
      '--yes': 'set-type: without a question',
      '--json': 'list: as JSON on stdout',
      ...DEMO,
    },
    examples: [
      ['research-mirror columns', 'what there is, and what did not fit'],
      ['research-mirror columns set-type research_jobs.score jsonb', 'do it'],
      ['research-mirror columns accept research_jobs', 'columns for all its new fields'],
    ],
    load: async () => (await import('../operate/columns.ts')).columnsAction,
  },
  distribute: {
    summary: 'spread the mirror over the nodes of a Citus cluster',
    description:
      'Makes a plain mirror on the coordinator of a Citus cluster a distributed one: the tables of accounts are spread over ' +
      'the nodes by account, in one transaction. Daemons may run on: their writes wait meanwhile, and nothing is lost. ' +
      'A mirror that is distributed stays as it is, and the command ends with 0. Tables of later versions follow by themselves.',
    options: {
      '--dry-run': 'only look: is the cluster ready, and which tables with how many rows would be spread',
      '--shards <number>': 'into how many parts accounts are spread; default: citus.shard_count',
      ...JSON_ON_STDOUT,
    },
    examples: [
      ['research-mirror distribute --dry-run', 'is the cluster ready? how much is there?'],
      ['research-mirror distribute', 'do it, while daemons run'],
    ],
    load: async () => (await import('../operate/distribute.ts')).distributeAction,
  },
  forget: {
    summary: "erases a person's or company's rows for good",
    description:
      'Erases rows by their keys: the row, its versions, events and quarantined items about it, what submissions sent ' +
      'and got that names it; a list with its items. A hash of the key is kept, so that no walk and no event ' +
      'brings it back. Works beside a running daemon. What was copied elsewhere (copies, backups, replicas) stays there.',
    arguments: {
      '[table]': 'research_jobs, bulk_research_jobs, lists, list_items or watchlist',
      '[key...]': 'keys as in the table; of an item of a list LIST:ID',
    },
    options: {
      '--user <user_id>': 'of which account, where there are several',
      '--yes': 'without a question',
      '--dry-run': 'only say what would go',
      '--undo': 'let it be mirrored again: what the service still has comes with the next full walk',
      '--list': 'what is forgotten, by hashes of keys',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror forget research_jobs 1017 --dry-run', 'what would go'],
      ['research-mirror forget list_items 7:abc 7:def --yes', 'two items of list 7'],
      ['research-mirror forget research_jobs 1017 --undo', 'let it come back'],
    ],
    load: async () => (await import('../operate/forget.ts')).forgetAction,
  },
  copy: {
    summary: 'a second mirror, in another PostgreSQL',
    description:
      'Copies the whole mirror, history, events and submissions included, into an empty database, from one moment, beside ' +
      'a running daemon too, all or nothing. Keys and secrets stay behind. The copy sends nothing that was queued, and ' +
      'registers no webhook, until "submissions release"; its first start reads everything again. Ends with 1, nothing ' +
      'touched, where there is a mirror already.',
    usage: '[options]',
    // The target is a secret: one that is typed is refused.
    arguments: { '[nothing...]': '' },
    options: {
      '--data-dir <folder>': 'into an embedded Postgres in that folder, as MIRROR_DATA_DIR names one',
      '--json': 'what was copied, as JSON on stdout',
      ...DEMO,
    },
    examples: [
      ['MIRROR_COPY_TO_FILE=target research-mirror copy', 'into the server whose URL that file has'],
      ['research-mirror copy --data-dir second', 'into an embedded Postgres'],
    ],
    load: async () => (await import('../operate/copy.ts')).copyAction,
  },
  mcp: {
    summary: 'the mirror for language models: Model Context Protocol on stdio',
    description:
      'Serves the Model Context Protocol on stdin and stdout, until stdin is closed: tables and columns with what they ' +
      'mean, queries, freshness, changes. All of it is read by the login by which sql reads, 1,000 rows and 60 seconds ' +
      'at most. For the configuration of a client, not for people.',
    options: DEMO,
    examples: [
      ['claude mcp add mirror -- npx research-mirror mcp', 'for one client; others take the same command'],
      ['DATABASE_URL=postgres://mirror_sql:…@host/db npx research-mirror mcp', 'beside a server of yours'],
    ],
    load: async () => (await import('../operate/mcp.ts')).mcpAction,
  },
  sandbox: {
    summary: 'the emulated service, to try and to test against',
    description:
      'The emulated service: the whole interface with made-up companies, until Ctrl-C, with switches for everything that may ' +
      'differ between services. Its control API (truth, counters, changes, clock, faults) listens on another port.',
    // The sandbox validates its switches, so that all problems are reported at once.
    options: {
      '--json': 'addresses as JSON',
      ...Object.fromEntries(
        SWITCH_NAMES.map((name) => {
          const { choices, kind, help, default: usual } = SANDBOX_SWITCHES[name];
          const legal = choices === undefined ? '' : `: ${choices.join(', ')}`;
          return [`--${flagOf(name)} <${kind}>`, `${help}${legal} (default: ${usual})`];
        }),
      ),
    },
    examples: [
      ['research-mirror sandbox', 'small, with the real rate limits'],
      ['research-mirror sandbox --jobs 10000000 --limits off', 'large and fast'],
      ['research-mirror sandbox --fault-500 0.05 --fault-reset 0.02', 'a bad day'],
    ],
    load: async () => (await import('./sandbox.ts')).sandboxAction,
  },
  demo: {
    summary: 'see it work: emulated service, embedded Postgres and daemon in one',
    description:
      'Emulated service, embedded Postgres and daemon in one, until Ctrl-C. Needs no configuration, uses none of your ' +
      'account or database, takes free ports (the same ones at each start), and keeps its data in ' +
      'data/demo: remove that folder to begin anew. A second one tells where the first one runs.',
    examples: [
      ['npx research-mirror demo', 'then, in another terminal:'],
      ['npx research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
    ],
    load: async () => (await import('./demo.ts')).demoAction,
  },
};
