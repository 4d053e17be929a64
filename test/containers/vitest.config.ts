import { defineConfig } from 'vitest/config';

// Tests that need Docker, and a while: test/containers/run.ts runs them, `npm test` does not.
export default defineConfig({
  test: {
    include: ['test/containers/*.docker-test.ts'],
    pool: 'forks',
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
