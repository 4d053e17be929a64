import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { messageOf } from '@research-mirror/runtime/message';
import { ROOT } from '../support/rules/source-files.ts';

/**
 * `npm run test:containers [-- WHAT…]`: what needs Docker. `15` to `18`: the tests that use a database, on that
 * PostgreSQL in a container; `compose`: the image and the compose file, really built and run; `kubernetes`: containers
 * that run as the manifests say, several at once. Without WHAT: all.
 * Everything is run, with one line each at the end. 0 all passed, 1 some failed, 2 no such WHAT, 3 no Docker.
 */
const MAJORS = ['15', '16', '17', '18'];
/** What has tests of its own beside this file, `<what>*.docker-test.ts`. */
const IMAGE_TESTS: Readonly<Record<string, string>> = {
  compose: 'image and compose file',
  kubernetes: 'containers as in the Kubernetes manifests',
};
const ALL = [...MAJORS, ...Object.keys(IMAGE_TESTS)];

const asked = process.argv.slice(2);
const unknown = asked.filter((what) => !ALL.includes(what));
if (unknown.length > 0) {
  process.stderr.write(`test:containers: there is no ${unknown.join(', ')}: ${ALL.join(', ')}\n`);
  process.exit(2);
}

try {
  await getContainerRuntimeClient();
} catch (error) {
  process.stderr.write(
    `test:containers: Docker does not answer, nothing was tested: start it, or set DOCKER_HOST to where it listens ` +
      `(${messageOf(error)})\n`,
  );
  process.exit(3);
}

const lines: string[] = [];
for (const what of asked.length > 0 ? asked : ALL) {
  const image = IMAGE_TESTS[what];
  const name = image ?? `PostgreSQL ${what}`;
  process.stdout.write(`\n${name}\n`);
  const begun = performance.now();
  const passed = (await (image === undefined ? databaseTests(what) : imageTests(what))) === 0;
  if (!passed) process.exitCode = 1;
  lines.push(`${name}: ${passed ? 'passed' : 'FAILED'} in ${Math.round((performance.now() - begun) / 1000)} s\n`);
}
process.stdout.write(`\n${lines.join('')}`);

function databaseTests(major: string): Promise<number | null> {
  const env = {
    TEST_POSTGRES: 'testcontainers',
    TEST_POSTGRES_IMAGE: `postgres:${major}`,
    TEST_DATABASE_URL: '',
  };
  // What else there is uses no database, or servers of its own.
  const folders = ['integration', 'hostile', 'grace-period', 'main-path'].map((name) => `test/${name}`);
  return vitest(['--project', 'db', '--project', 'deep', ...folders], env);
}

function imageTests(what: string): Promise<number | null> {
  return vitest(['--config', join(ROOT, 'test/containers/vitest.config.ts'), `test/containers/${what}`], {});
}

/** @returns its exit code */
function vitest(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number | null> {
  const command = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...args];
  const options = { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } } as const;
  const child = spawn(process.execPath, command, options);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
}
