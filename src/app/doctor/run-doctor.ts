import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { countOf } from '@research-mirror/runtime/figures';
import type { ServiceConfig } from '../../config/config.ts';
import { LISTENER_ANSWER, whyAstray } from '../process/public-url.ts';
import { judgeVersion } from '../releases.ts';
import { broken, type Check, type Findings, type NamedFinding, ok, runChecks } from './check.ts';
import { DATABASE_CHECKS } from './check-database.ts';
import { ACCOUNT_CHECKS, SERVICE_CHECKS } from './check-service.ts';
import { type Context, type DoctorOptions, openContext } from './context.ts';

const UPDATE_NODE =
  'put an up-to-date Node 24 or newer on the PATH, which then runs the program; in a container: build the image again, on a new base image';

/** Milliseconds that all checks may take. An embedded server may have to start, after a crash recover. */
const BOUND_MS = 20_000;
const BOUND_WITH_START_MS = 60_000;

/** Everything that `start` needs, in the order in which it rests on each other. */
const CHECKS: readonly Check[] = [
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
  const context = await openContext(config, options);
  try {
    return await runChecks(CHECKS, context, context.server === 'stopped' ? BOUND_WITH_START_MS : BOUND_MS);
  } finally {
    await context.close();
  }
}

/** Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place. */
async function publicUrl({ config, signal }: Context): Promise<Findings> {
  const { publicUrl: url, host, port } = config.webhook;
  if (url === undefined) return [];
  // So that no other program's answer is taken for ours.
  const reply = randomBytes(16).toString('hex');
  const own = createServer((_, response) => void response.setHeader('content-type', 'text/plain').end(reply));
  try {
    const isOwn = await once(own.listen(port, host), 'listening').then(
      () => true,
      () => false,
    );
    const place = `${host}:${isOwn ? (own.address() as AddressInfo).port : port}`;
    const astray = await whyAstray(url, place, isOwn ? reply : LISTENER_ANSWER, signal);
    signal.throwIfAborted();
    if (astray === undefined) return ok(`${url} leads to ${place}, seen from here`);
    return broken(astray.found, { remedy: astray.remedy });
  } finally {
    own.close();
    own.closeAllConnections();
  }
}
