import { pino } from 'pino';
import { systemClock } from '@research-mirror/runtime/clock';
import type { StatusReport } from '../../src/model/status/status-report.ts';
import { createMetrics } from '../../src/status/metrics.ts';
import { sampleLookups } from '../support/processes/sample-lookups.ts';
import type { Lookups } from '../../src/status/lookup/lookup-routes.ts';
import { createStatusServer, type StatusServer } from '../../src/status/server.ts';

/** The status page as a daemon serves it, of what `status` and `lookups` give. @param port 0: a free one */
export async function servePage(
  status: () => StatusReport,
  { port = 0, lookups = sampleLookups() }: { readonly port?: number; readonly lookups?: Lookups } = {},
): Promise<StatusServer> {
  const server = createStatusServer({
    host: '127.0.0.1',
    port,
    token: undefined,
    status: async () => status(),
    ready: async () => ({ ok: true }),
    lookups,
    metrics: createMetrics('1.2.3'),
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  await server.start();
  return server;
}
