import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';
import { PROJECTS } from './test/support/projects.ts';

/** Longest first: what is begun last is what the run waits for in the end. */
const LONGEST_FIRST = [
  'test/system/surfaces/',
  'test/model/',
  'test/attack/',
  'test/hostile/',
  'test/grace-period/',
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
const PATIENCE = { testTimeout: 240_000, hookTimeout: 240_000, restoreMocks: true };

// Three workers on two cores, four for `test:long`: the longest wait for grace periods and retries, not for a core.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres/postgres-server.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: PROJECTS.map((project) => ({
      extends: true,
      test: { ...PATIENCE, ...project, include: [...project.include] },
    })),
  },
});
