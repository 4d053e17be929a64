import { defineConfig } from 'vitest/config';

// Forks keep a test's real processes and signals apart from its neighbours'. Three on two cores: the longest wait for
// settle times and retries, not for a core.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres-server.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 3,
    // Patience with a machine under load: what passes does not wait for it.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    restoreMocks: true,
  },
});
