/** A file of its own process: it keeps real processes and signals apart from its neighbours'. */
const ISOLATED = { pool: 'forks', isolate: true } as const;

/**
 * Vitest's projects, those with the longest files first. Which one a test is of is told by its folder. `npm test` runs
 * `gate`, `db` and `unit`, with few runs of each property (effort.ts); `npm run verify` runs all of them, and properties
 * at length.
 */
export const PROJECTS = [
  {
    // Every interleaving, every variant, every run of a property, real grace periods, a real browser.
    ...ISOLATED,
    name: 'deep',
    include: [
      'test/{attack,browser,containers,hostile,main-path,model,grace-period}/**/*.test.ts',
      '{src,packages,test}/**/*.property.test.ts',
    ],
    provide: { effort: 'long' },
  },
  {
    // Real processes and signals, of the program and of database servers.
    ...ISOLATED,
    name: 'process',
    include: ['test/{contract,support,system}/**/*.test.ts'],
    provide: { effort: 'long' },
  },
  {
    // dbt, DuckDB, Kubernetes' schemas and linters, which need Python: neither `npm test` nor `npm run verify` has them,
    // `npm run test:python` does.
    ...ISOLATED,
    name: 'python',
    include: ['test/{dbt,duckdb,kubernetes,workflows}/**/*.test.ts'],
    globalSetup: 'test/dbt/dbt-python.ts',
    provide: { effort: 'long' },
  },
  {
    // On a Citus cluster, which `npm run test:citus` starts where it can: neither of the two has it.
    ...ISOLATED,
    name: 'citus',
    include: ['test/citus/**/*.test.ts'],
    globalSetup: 'test/citus/cluster-server.ts',
    // One file kills a worker of the cluster, which is the others' too.
    fileParallelism: false,
    provide: { effort: 'long' },
  },
  {
    // The rules of the sources, and the program itself against service and Postgres.
    ...ISOLATED,
    name: 'gate',
    include: ['test/*.test.ts', 'test/main-path/**/*.test.ts'],
    provide: { effort: 'short' },
  },
  {
    // What leaves nothing behind but what it made in a database of its own: a worker loads the sources once.
    name: 'db',
    include: ['test/integration/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    provide: { effort: 'short' },
  },
  {
    // Functions and small parts.
    name: 'unit',
    include: ['{src,packages}/**/*.test.ts'],
    pool: 'threads',
    isolate: false,
    provide: { effort: 'short' },
  },
] as const;
