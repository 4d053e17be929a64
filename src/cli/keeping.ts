import { flagOf, SANDBOX_SWITCHES, SWITCH_NAMES } from '@research-mirror/sandbox/switches/sandbox-switches';
import { type Definition, DEMO, JSON_ON_STDOUT } from '../terminal/shell.ts';

export const KEEPING: Readonly<Record<string, Definition>> = {
  accounts: {
    summary: 'list, retire or move the accounts of this mirror',
    description:
      'Manages the accounts of this mirror. list shows each account, its state, and its keys (the beginning of each key’s ' +
      'SHA-256). retire takes an account out: no program mirrors it or sends for it any more. move accepts that the service ' +
      'is now at MIRROR_API_URL, and asks the service again which account each configured key belongs to. Stop the daemon ' +
      'before you run move.',
    actions: { list: ['removeData', 'undo'], retire: [], move: ['demo', 'removeData', 'undo'] },
    arguments: { '[user_id...]': 'account to retire or move' },
    options: {
      ...JSON_ON_STDOUT,
      '--remove-data': 'retire: also remove all its rows',
      '--undo': 'retire: take the account back',
      ...DEMO,
    },
    examples: [
      ['research-mirror accounts', 'the accounts and their keys'],
      ['research-mirror accounts retire 42', 'stop mirroring it; its data stays'],
      ['research-mirror accounts retire 42 --undo', 'mirror it again'],
      ['research-mirror accounts move 1001', 'after its service moved to MIRROR_API_URL'],
    ],
    load: async () => (await import('../operate/accounts.ts')).accountsAction,
  },
  migrate: {
    summary: "bring the database to this program's version",
    description:
      "Brings the database to this program's version. start and sync do this by themselves. Ends with 1, and changes " +
      'nothing, if the database belongs to a newer version that this program may not run on. Ends with 1, too, if something that ' +
      'a migration made is gone, or if a migration that drops what older programs use waits until none of them runs. Before ' +
      'such a migration it warns that the only way back is a restore. Make a backup first.',
    options: {
      '--check': 'only check; end with 1 if the database is behind',
      '--json': 'print JSON on stdout',
    },
    examples: [
      ['research-mirror migrate --check', 'would start change the schema?'],
      ['DATABASE_URL=postgres://owner@… research-mirror migrate', 'with another login than the daemon'],
    ],
    load: async () => (await import('./migrate.ts')).migrateAction,
  },
  doctor: {
    summary: 'check everything that start needs, and print the remedies',
    description:
      'Checks configuration, service, keys, database and webhook. Prints a line for each check: what is fine, what is ' +
      'broken, and how to fix it. Changes nothing, and works while a daemon runs. Sends a ping for each key and a request for ' +
      'each collection. Ends with 0 when nothing is broken, with 1 when something is, with 2 when the configuration is wrong, ' +
      'with 3 when something could not be found out.',
    options: {
      '--sql': 'print the SQL for a DBA to run in psql: logins, database, schemas, roles; connects to no database',
      '--reader <name>': 'with --sql: print the SQL for a login that reads one account instead',
      '--account <user_id>': 'account that this login reads',
      '--json': 'print JSON on stdout',
    },
    examples: [
      ['research-mirror doctor', 'what is wrong, and what to do'],
      ['research-mirror doctor --json | jq \'.checks[] | select(.state == "broken")\'', 'broken checks, for scripts'],
      ['research-mirror doctor --sql > dba.sql', 'for the DBA of your Postgres'],
      ['research-mirror doctor --sql --reader anna --account 42 > anna.sql', 'a login for one account'],
    ],
    load: async () => (await import('../operate/doctor.ts')).doctorAction,
  },
  sql: {
    summary: 'run a query in the mirror and print the result',
    description:
      'Runs one query in the mirror with a read-only login, and prints the result. Tables of the mirror need no schema ' +
      'name. Times are UTC. Works with and without a running daemon or demo. With DATABASE_URL, you make the login yourself: ' +
      'the command says how.',
    arguments: { '<query>': 'one statement, in quotes' },
    options: {
      '--csv': 'print CSV (RFC 4180) with a line of titles; NULL is empty; every row, every digit',
      '--json': 'print a JSON object whose "rows" are objects; every row, every digit',
      '--vertical': 'print a line for each column of each row; the default on a terminal too narrow for the titles',
      '--timeout <duration>': 'give up after this time (default: "60s")',
      ...DEMO,
    },
    examples: [
      ['research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh it is'],
      ['research-mirror sql --vertical "select * from research_jobs limit 1"', 'one whole row'],
      ['research-mirror sql --json "select * from lists_live" | jq \'.rows[]\'', 'for scripts'],
      ['research-mirror sql --csv "select * from lists_live" > lists.csv', 'for spreadsheets'],
    ],
    load: async () => (await import('../operate/sql.ts')).sqlAction,
  },
  columns: {
    summary: 'list columns made for new fields, change their types, accept waiting fields',
    description:
      'Manages the columns that the mirror made for fields of the items. list shows their types. If values did not fit (they ' +
      'are NULL in the column and whole in _raw), it shows how many, an example, and a type that fits all. set-type changes ' +
      'a type to text, numeric, bigint, boolean, timestamptz or jsonb. It first says what would not fit, and asks. Then every ' +
      'row and version gets its value from _raw, and nothing counts as changed. It works while a daemon runs and others read. ' +
      'If a view or an index of yours depends on the column, the command names it: drop it first. accept makes columns for ' +
      'fields that have none (MIRROR_SCHEMA_DRIFT=freeze); the daemon fills them from _raw.',
    actions: { list: ['dryRun', 'yes'], 'set-type': ['json'], accept: ['dryRun', 'yes', 'json'] },
    arguments: {
      '[table.column]': 'set-type: the column; accept: the table, or table.field',
      '[type]': 'set-type: its new type',
    },
    options: {
      '--dry-run': 'set-type: only print what would not fit',
      '--yes': 'set-type: do not ask',
      '--json': 'list: print JSON on stdout',
      ...DEMO,
    },
    examples: [
      ['research-mirror columns', 'the columns, and what did not fit'],
      ['research-mirror columns set-type research_jobs.score jsonb', 'change the type'],
      ['research-mirror columns accept research_jobs', 'columns for all its new fields'],
    ],
    load: async () => (await import('../operate/columns.ts')).columnsAction,
  },
  distribute: {
    summary: 'spread the mirror over the nodes of a Citus cluster',
    description:
      'Turns a plain mirror on the coordinator of a Citus cluster into a distributed one: it spreads the tables of accounts ' +
      'over the nodes by account, in one transaction. Daemons may keep running: their writes wait, and nothing is lost. A ' +
      'mirror that is already distributed stays as it is, and the command ends with 0. Tables of later versions are ' +
      'distributed automatically.',
    options: {
      '--dry-run': 'only check whether the cluster is ready, and print which tables with how many rows would be spread',
      '--shards <number>': 'number of shards over which accounts are spread; default: citus.shard_count',
      ...JSON_ON_STDOUT,
    },
    examples: [
      ['research-mirror distribute --dry-run', 'is the cluster ready? how much is there?'],
      ['research-mirror distribute', 'distribute it, while daemons run'],
    ],
    load: async () => (await import('../operate/distribute.ts')).distributeAction,
  },
  forget: {
    summary: "erase a person's or company's rows for good",
    description:
      'Erases rows by their keys: the row, its versions, the events and quarantined items about it, and what submissions ' +
      'about it sent and received. A list goes with its items. A hash of the key is kept, so that no walk and no event ' +
      'brings the row back. Works while a daemon runs. What was copied elsewhere (copies, backups, replicas) stays there.',
    arguments: {
      '[table]': 'research_jobs, bulk_research_jobs, lists, list_items or watchlist',
      '[key...]': 'keys as in the table; LIST:ID for an item of a list',
    },
    options: {
      '--user <user_id>': 'account, required if the mirror has several',
      '--yes': 'do not ask',
      '--dry-run': 'only print what would be erased',
      '--undo': 'let it be mirrored again; the next full walk brings back what the service still has',
      '--list': 'list what is forgotten, as hashes of keys',
      ...JSON_ON_STDOUT,
      ...DEMO,
    },
    examples: [
      ['research-mirror forget research_jobs 1017 --dry-run', 'what would be erased'],
      ['research-mirror forget list_items 7:abc 7:def --yes', 'two items of list 7'],
      ['research-mirror forget research_jobs 1017 --undo', 'let it come back'],
    ],
    load: async () => (await import('../operate/forget.ts')).forgetAction,
  },
  copy: {
    summary: 'copy the mirror into another PostgreSQL',
    description:
      'Copies the whole mirror into an empty database, with history, events and submissions. The copy is from one moment, all ' +
      'or nothing, and works while a daemon runs. Keys and secrets are not copied. The copy sends nothing that was queued, and ' +
      'registers no webhook, until you run "submissions release" in it. Its first start reads everything again. If the target ' +
      'already has a mirror, the command touches nothing and ends with 1.',
    usage: '[options]',
    // The target is a secret: one that is typed is refused.
    arguments: { '[nothing...]': '' },
    options: {
      '--data-dir <folder>': 'copy into an embedded Postgres in this folder, the MIRROR_DATA_DIR of the copy',
      '--json': 'print what was copied as JSON on stdout',
      ...DEMO,
    },
    examples: [
      ['MIRROR_COPY_TO_FILE=target research-mirror copy', 'into the server whose URL is in that file'],
      ['research-mirror copy --data-dir second', 'into an embedded Postgres'],
    ],
    load: async () => (await import('../operate/copy.ts')).copyAction,
  },
  mcp: {
    summary: 'serve the mirror to language models, by the Model Context Protocol on stdio',
    description:
      'Serves the Model Context Protocol on stdin and stdout, until stdin is closed: tables and columns with what they ' +
      'mean, queries, freshness, changes. It reads with the login of sql, at most 1,000 rows and 60 seconds a query. Meant for ' +
      'the configuration of a client, not for people.',
    options: DEMO,
    examples: [
      ['claude mcp add mirror -- npx research-mirror mcp', 'for one client; others take the same command'],
      ['DATABASE_URL=postgres://mirror_sql:…@host/db npx research-mirror mcp', 'with your own Postgres'],
    ],
    load: async () => (await import('../operate/mcp.ts')).mcpAction,
  },
  sandbox: {
    summary: 'run the emulated service, to try things out and to test against',
    description:
      'Runs the emulated service until Ctrl-C: the whole API, with made-up companies, and a switch for everything that ' +
      'may differ between services. The control API (truth, counters, changes, clock, faults) listens on another port.',
    // The sandbox validates its switches, so that all problems are reported at once.
    options: {
      '--json': 'print the addresses as JSON',
      ...Object.fromEntries(
        SWITCH_NAMES.map((name) => {
          const { choices, kind, help, default: usual } = SANDBOX_SWITCHES[name];
          const legal = choices === undefined ? '' : `${choices.join(', ')}; `;
          return [`--${flagOf(name)} <${kind}>`, `${help} (${legal}default: ${usual === '' ? 'none' : usual})`];
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
    summary: 'run emulated service, embedded Postgres and daemon together, to see it work',
    description:
      'Runs the emulated service, an embedded Postgres and the daemon together, until Ctrl-C. Needs no configuration, and ' +
      'touches neither your account nor your database. Picks free ports, the same ones at each start. Keeps its data in ' +
      'data/demo; remove that folder to start over. A second demo only prints where the first one runs.',
    examples: [
      ['npx research-mirror demo', 'then, in another terminal:'],
      ['npx research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh it is'],
    ],
    load: async () => (await import('./demo.ts')).demoAction,
  },
};
