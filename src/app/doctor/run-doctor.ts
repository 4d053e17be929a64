import type { ServiceConfig } from '../../config/config.ts';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { countOf } from '@research-mirror/runtime/figures';
import { judgeVersion } from '../releases.ts';
import { type Check, type NamedFinding, ok, runChecks } from './check.ts';
import { ACCOUNT_CHECKS } from './check-accounts.ts';
import { DATABASE_CHECKS } from './check-database.ts';
import { publicUrl } from './check-public-url.ts';
import { SERVICE_CHECKS } from './check-service.ts';
import { type Context, type DoctorOptions, openContext } from './context.ts';

const UPDATE_NODE =
  'put an up-to-date Node 24 or newer on the PATH, which then runs the program; in a container: build the image again, on a new base image';

/** Milliseconds that all checks may take. An embedded server may have to start, after a crash recover. */
const BOUND_MS = 20_000;
const BOUND_WITH_START_MS = 60_000;

/** Everything that `start` needs, in the order in which it rests on each other. */
const CHECKS: readonly Check<Context>[] = [
  {
    name: 'configuration',
    run: async ({ config }) => ok(`valid; ${countOf(config.service.keys.length, 'key')}`),
  },
  { name: 'node', run: async () => judgeVersion('Node', process.versions.node, UPDATE_NODE) },
  ...SERVICE_CHECKS,
  ...DATABASE_CHECKS,
  ...ACCOUNT_CHECKS,
  { name: 'public_url', run: publicUrl },
];

/**
 * Looks at everything that `start` needs, side by side, and changes nothing: no row, no request but a ping for each
 * key, and reading its endpoints. An embedded server that is stopped is started meanwhile, as by any command.
 * @throws the signal's reason
 */
export async function runDoctor(
  config: ServiceConfig,
  options: DoctorOptions,
): Promise<readonly NamedFinding[]> {
  const { database } = config;
  const server =
    database.kind === 'external'
      ? 'running'
      : await embeddedState(database.dataDir).catch(() => 'stopped' as const);
  const context = openContext(config, options, server);
  const boundMs = server === 'stopped' ? BOUND_WITH_START_MS : BOUND_MS;
  try {
    return await runChecks(CHECKS, context, { ...options, boundMs });
  } finally {
    await context.close();
  }
}
