/** A room of a folder of src: what may live there, and which other rooms of the same folder it may import. */
interface Room {
  readonly has: string;
  readonly imports: readonly string[];
}

/**
 * The rooms of each folder that has some. Files that lie in the folder itself are what its rooms have in common, or
 * what joins them: any room may import them, and they may import any room. Arrows between rooms never lead back.
 */
export const ROOMS: Readonly<Record<string, Readonly<Record<string, Room>>>> = {
  app: {
    fleet: { has: 'accounts are shared out among daemons', imports: [] },
    accounts: {
      has: 'what one account consists of, and the accounts that this process owns',
      imports: ['fleet'],
    },
    process: {
      has: 'what any process of the program consists of; how a command works on accounts, or asks the daemon to',
      imports: ['accounts'],
    },
    status: { has: 'the status report, and what is wrong', imports: ['accounts'] },
    copy: { has: 'the whole mirror into another database', imports: [] },
    forget: { has: 'rows that are erased on request, from all tables', imports: [] },
    events: { has: 'stored events: shown, replayed', imports: ['process'] },
    quarantine: { has: 'items in quarantine: listed', imports: [] },
    submit: {
      has: 'one submission: queued, sent here or by the daemon, followed',
      imports: ['accounts', 'process'],
    },
    sync: {
      has: 'one pass over collections: by this process or by the daemon',
      imports: ['accounts', 'process'],
    },
    verify: {
      has: 'one comparison of both sides: by this process or by the daemon',
      imports: ['accounts', 'process'],
    },
    columns: { has: 'columns made for fields: listed, given another type', imports: [] },
    distribute: { has: 'a plain mirror becomes a distributed one', imports: [] },
    daemon: {
      has: 'the daemon: its services, and what wakes them',
      imports: ['accounts', 'process', 'status', 'sync', 'verify'],
    },
    doctor: {
      has: 'what start needs, looked at one by one, each with its remedy',
      imports: ['accounts', 'daemon', 'process'],
    },
  },
  config: {
    values: { has: 'how the text of one value is read, and why it is refused', imports: [] },
  },
  cli: {
    terminal: { has: 'streams, tables, progress, exit codes: no word of the mirror', imports: [] },
    steps: {
      has: 'what several commands do: reach the database, choose, log, fail',
      imports: ['terminal'],
    },
    accounts: { has: 'accounts list, move, retire', imports: ['steps', 'terminal'] },
    daemon: { has: 'start and migrate', imports: ['steps', 'terminal'] },
    demo: { has: 'demo and sandbox: the emulated service', imports: ['steps', 'terminal'] },
    submissions: { has: 'submit and submissions, with their texts', imports: ['steps', 'terminal'] },
    events: { has: 'events, with its texts', imports: ['steps', 'submissions', 'terminal'] },
    sync: {
      has: 'sync and verify, with their texts: commands that read the service',
      imports: ['steps', 'terminal'],
    },
    quarantine: { has: 'quarantine, with its texts', imports: ['steps', 'terminal'] },
    sql: {
      has: 'sql, and how rows are printed: text, CSV, JSON',
      imports: ['steps', 'terminal'],
    },
    columns: { has: 'columns, with its texts', imports: ['steps', 'terminal'] },
    distribute: { has: 'distribute, with its text', imports: ['steps', 'terminal'] },
    status: { has: 'status, with its texts', imports: ['steps', 'terminal'] },
    doctor: { has: 'doctor, with its text', imports: ['steps', 'terminal'] },
    mcp: { has: 'the mirror for language models', imports: ['sql', 'terminal'] },
    copy: { has: 'copy, with its text', imports: ['steps', 'terminal'] },
    forget: { has: 'forget, with its texts', imports: ['steps', 'terminal'] },
  },
  db: {
    connection: { has: 'reaching Postgres: address, pool, types, tables, errors, its clock', imports: [] },
    notify: { has: 'LISTEN and NOTIFY', imports: ['connection'] },
    roles: { has: 'group roles, their rights, logins that only read', imports: ['connection'] },
    copy: { has: 'what of each table is copied, and COPY between two servers', imports: ['connection'] },
    distribution: {
      has: 'tables of accounts on Citus: which, whether they can be spread, spreading them',
      imports: ['connection', 'copy'],
    },
    migrations: {
      has: 'bringing a schema to this version',
      imports: ['connection', 'distribution', 'roles'],
    },
    ownership: { has: 'processes, leases and fences: who may write', imports: ['connection', 'notify'] },
    accounts: {
      has: 'accounts and keys: identity, what is asked of them, what is due',
      imports: ['connection', 'ownership'],
    },
    budget: { has: 'the stores that budget declares', imports: ['connection', 'ownership'] },
    events: { has: 'deliveries as rows, and their hints', imports: ['connection', 'notify', 'ownership'] },
    webhook: {
      has: 'the registration as a row, and what receivers know',
      imports: ['connection', 'ownership'],
    },
    installation: {
      has: 'which database this is: what tells it from its copies, and what follows when it went back',
      imports: ['connection', 'ownership', 'webhook'],
    },
    submissions: {
      has: 'POST operations as rows',
      imports: ['connection', 'events', 'installation', 'ownership'],
    },
    inspection: {
      has: 'what doctor and readiness look at: what the user may do, what is missing, what is in the way',
      imports: ['connection', 'migrations'],
    },
    status: {
      has: 'what the status report reads, and what is kept for it alone',
      imports: ['budget', 'connection', 'ownership', 'webhook'],
    },
  },
  mirror: {
    history: { has: 'superseded versions: archive, coverage, retention', imports: [] },
    rows: { has: 'rows: classified, hashed, written, counted', imports: ['history'] },
    views: { has: 'the views upon a table: their columns, in which order', imports: [] },
    columns: {
      has: 'fields to columns: names, types, filling late ones, another type, what follows them',
      imports: ['history', 'rows', 'views'],
    },
    quarantine: {
      has: 'items that can’t be mirrored: found one by one, kept, tried again',
      imports: ['rows'],
    },
    scope: { has: 'a scope’s row, its log of walks, what is complete as of when', imports: ['quarantine'] },
    deletion: {
      has: 'suspected deletions: what is missing, what is proven, the brake, deleting',
      imports: ['history', 'quarantine', 'rows', 'scope'],
    },
    page: {
      has: 'one page: what is stored or forgotten under its keys, writing it, comparing it',
      imports: ['columns', 'deletion', 'quarantine', 'rows', 'scope'],
    },
    lookup: {
      has: 'what the status page finds: rows by ID and domain, the newest of a collection, one with its story',
      imports: [],
    },
  },
  sync: {
    ownership: { has: 'whose data a key answers with: proofs, claims that rest on them', imports: [] },
    reader: { has: 'what reading takes: the source, the store, who is told', imports: ['ownership'] },
    scope: { has: 'one scope while it is read: its session, what it has seen', imports: ['reader'] },
    'walk-run': { has: 'one walk: asks, takes, writes, ends', imports: ['reader', 'scope'] },
    'second-proofs': {
      has: 'suspected deletions are read again',
      imports: ['reader', 'scope', 'walk-run'],
    },
    account: {
      has: 'one account: which scope is read next',
      imports: ['ownership', 'reader', 'scope', 'second-proofs', 'walk-run'],
    },
    loops: { has: 'what keeps an account read: loops, their rings, their waits', imports: ['account'] },
    hints: {
      has: 'what events and answers named: which request covers it, when it is due again',
      imports: ['account', 'loops', 'reader'],
    },
    verify: { has: 'both sides read and compared', imports: ['reader', 'walk-run'] },
  },
  walk: {
    memory: { has: 'what is learnt of a scope: order, frontier, page size, cooling rows', imports: [] },
    absence: { has: 'what a page proves absent', imports: ['memory'] },
    kinds: { has: 'poll, refresh, full and confirming walks', imports: ['memory'] },
  },
  budget: {
    slots: { has: 'slots: when each is free again, who gets it', imports: [] },
    evidence: { has: 'what answers tell of the limits', imports: ['slots'] },
    store: { has: 'the store that the budget needs, and its time', imports: ['slots'] },
  },
  model: {
    database: { has: 'libpq’s words, which configuration and connection share', imports: [] },
    json: { has: 'JSON text, from which no digit is lost', imports: [] },
    memo: { has: 'what was computed of a text before, within a bound of bytes', imports: [] },
    webhook: { has: 'words of events and of the registration', imports: [] },
    status: { has: 'words of the status report, and of what is wrong', imports: ['webhook'] },
    lookup: {
      has: 'what may be looked up, and what is found: a row, its address, its story',
      imports: ['json'],
    },
  },
  status: {
    http: { has: 'requests taken, answers written', imports: [] },
    page: { has: 'the status page', imports: [] },
    lookup: { has: 'the search, lists of rows, and the page of a row', imports: ['http', 'page'] },
  },
  webhooks: {
    signature: { has: 'schemes and their strength', imports: [] },
    receive: { has: 'a delivery: read, judged, stored, answered', imports: ['signature'] },
    registration: { has: 'what to do next about the account’s webhook', imports: [] },
  },
};
