import { defineConfig } from 'vitest/config';

// Tests run side by side on two cores with one database server each at most: forks keep a test's real
// processes and signals apart from its neighbours'.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres-server.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    restoreMocks: true,
  },
});
