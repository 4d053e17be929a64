import { pino } from 'pino';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Hit } from '../../src/status/lookup-store.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { createMetrics } from '../../src/status/metrics.ts';
import type { Lookups } from '../../src/status/lookup-routes.ts';
import { createStatusServer, type StatusServer } from '../../src/status/server.ts';
import { sampleLookups, sampleReport } from '../support/processes/status-report.ts';
import { LATEST_ROWS, PAGE_STATES, PATHS } from './page-states.ts';

interface Served {
  /** 0: a free one. */
  readonly port?: number;
  readonly lookups?: Lookups;
  readonly latestRows?: readonly Hit[];
}

/** The status page as a daemon serves it, of what `status` and the others give. */
export async function servePage(
  status: () => StatusReport,
  { port = 0, lookups = sampleLookups(), latestRows = LATEST_ROWS }: Served = {},
): Promise<StatusServer> {
  const server = createStatusServer({
    host: '127.0.0.1',
    port,
    token: undefined,
    status: async () => status(),
    latestRows: async () => latestRows,
    ready: async () => ({ ok: true }),
    lookups,
    metrics: createMetrics('1.2.3'),
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  await server.start();
  return server;
}

/** The same in one of the states that it may be in. @returns with the page that shows it */
export async function serveState(
  name: string,
  served: Served = {},
): Promise<{ readonly server: StatusServer; readonly url: string }> {
  let asked = 0;
  const server = await servePage(() => {
    asked += 1;
    if (name === 'old' && asked > 1) throw new Error('the database did not answer within 4 s');
    return (PAGE_STATES[name] ?? sampleReport)();
  }, served);
  const url = `${server.url()}${PATHS[name] ?? ''}`;
  if (name === 'old') await eventually('an old page', async () => (await fetch(url)).status === 503);
  return { server, url };
}
