import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Unusable } from '@research-mirror/runtime/errors';
import { systemClock, type Clock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { control } from './control/control.ts';
import { SandboxState } from './sandbox-state.ts';
import { handle } from './service/api.ts';
import { readSandboxOptions } from './switches/read-options.ts';
import type { SandboxOptions } from './switches/sandbox-switches.ts';

export interface Sandbox {
  /** `{base_url}` of the service. */
  readonly url: string;
  readonly controlUrl: string;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the emulated service and its control API; resolves when both listen.
 * @param options left out: the default
 * @throws Unusable with every problem of the options, or where a port is taken
 */
export async function startSandbox(
  options: Partial<SandboxOptions> = {},
  clock: Clock = systemClock,
): Promise<Sandbox> {
  const reading = readSandboxOptions(options);
  if ('problems' in reading) throw new Unusable(`the sandbox can't start: ${reading.problems.join('; ')}`);
  const { host, port, controlPort } = reading.options;
  const state = new SandboxState(reading.options, clock);
  const stopping = new AbortController();

  const service = createServer((request, response) => {
    handle(request, response, state, stopping.signal).catch(() => response.destroy());
  });
  const controls = createServer((request, response) => {
    control(request, response, state).catch(() => response.destroy());
  });
  const publishing = state.publisher.run(stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  // Longer than any client keeps an idle connection: none is closed while a request is sent.
  service.keepAliveTimeout = 65_000;
  const stop = async (): Promise<void> => {
    stopping.abort(new Stopped('the sandbox'));
    await Promise.all([closed(service), closed(controls), state.publisher.deliveries.stop(), publishing]);
  };
  try {
    await listening(service, host, port);
    await listening(controls, '127.0.0.1', controlPort);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: urlOf(service), controlUrl: urlOf(controls), stop };
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw new Unusable(`the sandbox can't listen on ${host}:${port}`, { cause });
  });
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}

/** URL of a server; loopback where it listens on all interfaces. */
function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
  return `http://${family === 'IPv6' && host === address ? `[${host}]` : host}:${port}`;
}
