/** A room of a folder of src: what may live there, and which other rooms of the same folder it may import. */
interface Room {
  readonly holds: string;
  readonly imports: readonly string[];
}

/**
 * The rooms of each folder that has some. Files that lie in the folder itself are what its rooms have in common, or
 * what joins them: any room may import them, and they may import any room. Arrows between rooms never lead back.
 */
export const ROOMS: Readonly<Record<string, Readonly<Record<string, Room>>>> = {
  app: {
    accounts: { holds: 'what one account consists of, and the accounts that this process owns', imports: [] },
    process: {
      holds:
        'what any process of the program consists of; how a command works on accounts, or asks the daemon to',
      imports: ['accounts'],
    },
    status: { holds: 'the status report, and what is wrong', imports: ['accounts'] },
    events: { holds: 'stored events: shown, replayed', imports: ['process'] },
    quarantine: { holds: 'items in quarantine: listed, tried again', imports: ['accounts', 'process'] },
    submit: {
      holds: 'one submission: queued, sent here or by the daemon, followed',
      imports: ['accounts', 'process'],
    },
    sync: {
      holds: 'one pass over collections: by this process or by the daemon',
      imports: ['accounts', 'process'],
    },
    verify: {
      holds: 'one comparison of both sides: by this process or by the daemon',
      imports: ['accounts', 'process'],
    },
    daemon: {
      holds: 'the daemon: its services, and what wakes them',
      imports: ['accounts', 'process', 'quarantine', 'status', 'sync', 'verify'],
    },
  },
  cli: {
    terminal: { holds: 'streams, tables, progress, exit codes: no word of the mirror', imports: [] },
    steps: {
      holds: 'what several commands do: reach the database, choose, log, fail',
      imports: ['terminal'],
    },
    accounts: { holds: 'accounts list, move, retire', imports: ['steps', 'terminal'] },
    daemon: { holds: 'start and migrate', imports: ['steps', 'terminal'] },
    demo: { holds: 'demo and sandbox: the emulated service', imports: ['steps', 'terminal'] },
    submissions: { holds: 'submit and submissions, with their texts', imports: ['steps', 'terminal'] },
    events: { holds: 'events, with its texts', imports: ['steps', 'submissions', 'terminal'] },
    sync: {
      holds: 'sync and verify, with their texts: commands that read the service',
      imports: ['steps', 'terminal'],
    },
    quarantine: { holds: 'quarantine, with its texts', imports: ['steps', 'sync', 'terminal'] },
    sql: { holds: 'sql, and how its rows are printed', imports: ['steps', 'terminal'] },
    status: { holds: 'status, with its texts', imports: ['steps', 'terminal'] },
  },
  db: {
    connection: { holds: 'reaching Postgres: address, pool, types, tables, errors, its clock', imports: [] },
    notify: { holds: 'LISTEN and NOTIFY', imports: ['connection'] },
    roles: { holds: 'group roles, their rights, logins that only read', imports: ['connection'] },
    migrations: { holds: 'bringing a schema to this version', imports: ['connection', 'roles'] },
    ownership: { holds: 'processes, leases and fences: who may write', imports: ['connection'] },
    accounts: {
      holds: 'accounts and keys: identity, what is asked of them, what is due',
      imports: ['connection', 'ownership'],
    },
    budget: { holds: 'the stores that budget declares', imports: ['connection', 'ownership'] },
    events: { holds: 'deliveries as rows, and their hints', imports: ['connection', 'notify', 'ownership'] },
    webhook: {
      holds: 'the registration as a row, and what receivers know',
      imports: ['connection', 'ownership'],
    },
    installation: {
      holds: 'which database this is: what tells it from its copies, and what follows when it went back',
      imports: ['connection', 'ownership', 'webhook'],
    },
    submissions: {
      holds: 'POST operations as rows',
      imports: ['connection', 'events', 'installation', 'ownership'],
    },
    status: { holds: 'what the status report reads', imports: ['connection', 'webhook'] },
  },
  mirror: {
    history: { holds: 'superseded versions: archive, coverage, retention', imports: [] },
    rows: { holds: 'rows: classified, hashed, written, counted', imports: ['history'] },
    columns: {
      holds: 'fields to columns: names, types, views, filling late ones',
      imports: ['history', 'rows'],
    },
    quarantine: {
      holds: 'items that can’t be mirrored: found one by one, kept, tried again',
      imports: ['rows'],
    },
    scope: { holds: 'a scope’s row, its log of walks, what is complete as of when', imports: ['quarantine'] },
    deletion: {
      holds: 'suspected deletions: what is missing, what is proven, the brake, deleting',
      imports: ['history', 'quarantine', 'rows', 'scope'],
    },
    page: {
      holds: 'one page: what is stored under its keys, writing it, comparing it',
      imports: ['columns', 'deletion', 'quarantine', 'rows', 'scope'],
    },
  },
  sync: {
    ownership: { holds: 'whose data a key answers with: proofs, claims that rest on them', imports: [] },
    reader: { holds: 'what reading takes: the source, the store, who is told', imports: ['ownership'] },
    scope: { holds: 'one scope while it is read: its session, what it has seen', imports: ['reader'] },
    'walk-run': { holds: 'one walk: asks, takes, writes, ends', imports: ['reader', 'scope'] },
    'second-proofs': {
      holds: 'suspected deletions are read again',
      imports: ['reader', 'scope', 'walk-run'],
    },
    account: {
      holds: 'one account: which scope is read next, and its loop',
      imports: ['ownership', 'reader', 'scope', 'second-proofs', 'walk-run'],
    },
    hints: {
      holds: 'what events and answers named: which request covers it, when it is due again',
      imports: ['account', 'reader'],
    },
    verify: { holds: 'both sides read and compared', imports: ['reader', 'walk-run'] },
  },
  walk: {
    memory: { holds: 'what is learnt of a scope: order, frontier, page size, cooling rows', imports: [] },
    absence: { holds: 'what a page proves absent', imports: ['memory'] },
    kinds: { holds: 'poll, refresh, full and confirming walks', imports: ['memory'] },
  },
  budget: {
    slots: { holds: 'slots: when each is free again, who gets it', imports: [] },
    evidence: { holds: 'what answers tell of the limits', imports: ['slots'] },
    store: { holds: 'the store that the budget needs, and its time', imports: ['slots'] },
  },
  model: {
    json: { holds: 'JSON text, from which no digit is lost', imports: [] },
    webhook: { holds: 'words of events and of the registration', imports: [] },
  },
  status: { page: { holds: 'the status page', imports: [] } },
  webhooks: {
    signature: { holds: 'schemes and their strength', imports: [] },
    receive: { holds: 'a delivery: read, judged, stored, answered', imports: ['signature'] },
    registration: { holds: 'what to do next about the account’s webhook', imports: [] },
  },
};
