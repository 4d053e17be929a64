import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../support/source-files.ts';

/**
 * `npm run test:containers [-- MAJOR…]`: the tests that use a database, on each supported PostgreSQL in a container
 * (testcontainers, Docker needed). Ends with 1 when any of them fails; all are run.
 */
const SUPPORTED = ['15', '16', '17', '18'];

const asked = process.argv.slice(2);
const unknown = asked.filter((major) => !SUPPORTED.includes(major));
if (unknown.length > 0) {
  process.stderr.write(`PostgreSQL ${unknown.join(', ')} is not supported: ${SUPPORTED.join(', ')} are\n`);
  process.exit(2);
}

const results: { readonly major: string; readonly passed: boolean }[] = [];
for (const major of asked.length > 0 ? asked : SUPPORTED) {
  process.stdout.write(`\nPostgreSQL ${major}\n`);
  results.push({ major, passed: (await vitest(major)) === 0 });
}
for (const { major, passed } of results) {
  process.stdout.write(`PostgreSQL ${major}: ${passed ? 'passed' : 'FAILED'}\n`);
}
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;

function vitest(major: string): Promise<number | null> {
  const child = spawn(
    process.execPath,
    // The embedded server's own tests use no other.
    [
      join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      'test/integration',
      '--exclude',
      '**/embedded.test.ts',
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: {
        ...process.env,
        TEST_POSTGRES: 'testcontainers',
        TEST_POSTGRES_IMAGE: `postgres:${major}`,
        TEST_DATABASE_URL: '',
      },
    },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
}
