import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

type ProjectConfig = NonNullable<TestProjectInlineConfiguration['test']>;

/** Longest first: what is begun last is what the run waits for in the end. */
const LONGEST_FIRST = [
  'test/model/',
  'test/attack/',
  'test/hostile/',
  'test/main-path/',
  'test/system/',
  'test/contract/',
  '.property.test.ts',
  'test/integration/sync/',
  'test/integration/',
];

class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects: string[] = PROJECTS.map(({ name }) => name);
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST_FIRST.findIndex((part) => moduleId.includes(part));
      return found === -1 ? LONGEST_FIRST.length : found;
    };
    return Promise.resolve(
      files.toSorted(
        (a, b) =>
          // Workers that are not isolated go on only with files of their own project.
          projects.indexOf(a.project.name) - projects.indexOf(b.project.name) ||
          rank(a) - rank(b) ||
          a.moduleId.localeCompare(b.moduleId),
      ),
    );
  }
}

/** Patience with a machine under load: what passes does not wait for it. */
const PATIENCE = { testTimeout: 120_000, hookTimeout: 120_000, restoreMocks: true };

/** A file of its own process: it keeps real processes and signals apart from its neighbours'. */
const ISOLATED = { ...PATIENCE, pool: 'forks', isolate: true } as const;

/**
 * Which project a test is of is told by its folder. `npm test` runs `gate`, `db` and `unit`, and says little of
 * properties and tables (test/support/effort.ts); `npm run verify` runs all of them, and all at length.
 */
const PROJECTS = [
  {
    // Every interleaving, every variant, every run of a property, a real browser.
    ...ISOLATED,
    name: 'deep',
    include: [
      'test/{attack,browser,containers,hostile,main-path,model}/**/*.test.ts',
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
    // The rules of the sources, and the program itself against service and Postgres.
    ...ISOLATED,
    name: 'gate',
    include: ['test/*.test.ts', 'test/main-path/**/*.test.ts'],
    provide: { effort: 'short' },
  },
  {
    // What leaves nothing behind but what it made in a database of its own: a worker loads the sources once.
    ...PATIENCE,
    name: 'db',
    include: ['test/integration/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    provide: { effort: 'short' },
  },
  {
    // Functions and small parts.
    ...PATIENCE,
    name: 'unit',
    include: ['{src,packages}/**/*.test.ts'],
    pool: 'threads',
    isolate: false,
    provide: { effort: 'short' },
  },
] as const satisfies readonly ProjectConfig[];

// Three workers on two cores: the longest wait for settle times and retries, not for a core.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres/postgres-server.ts'],
    maxWorkers: Number(process.env['HG_WORKERS'] ?? 3),
    sequence: { sequencer: LongestFirst },
    projects: PROJECTS.map((test) => ({ extends: true, test })),
  },
});
