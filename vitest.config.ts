import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';

/** Longest first: what is begun last is what the run waits for in the end. */
const LONGEST_FIRST = ['test/model/', 'test/attack/', 'test/system/', 'test/contract/', 'test/integration/'];

class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST_FIRST.findIndex((folder) => moduleId.includes(`/${folder}`));
      return found === -1 ? LONGEST_FIRST.length : found;
    };
    return Promise.resolve(
      files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId)),
    );
  }
}

/** Patience with a machine under load: what passes does not wait for it. */
const PATIENCE = { testTimeout: 120_000, hookTimeout: 120_000, restoreMocks: true };

// Three workers on two cores: the longest wait for settle times and retries, not for a core.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres/postgres-server.ts'],
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        // Functions and small parts, which leave nothing behind: a worker loads the sources once.
        test: {
          ...PATIENCE,
          name: 'unit',
          include: ['{src,packages}/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
        },
      },
      {
        extends: true,
        // Forks keep a test's real processes and signals apart from its neighbours'.
        test: { ...PATIENCE, name: 'parts', include: ['test/**/*.test.ts'], pool: 'forks' },
      },
    ],
  },
});
