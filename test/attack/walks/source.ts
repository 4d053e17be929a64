import { systemClock } from '../../../src/runtime/clock.ts';
import { control } from '../../../src/sandbox/control/control.ts';
import { SandboxState } from '../../../src/sandbox/sandbox-state.ts';
import { handle } from '../../../src/sandbox/service/api.ts';
import { readSandboxOptions } from '../../../src/sandbox/switches/read-options.ts';
import type { SandboxOptions } from '../../../src/sandbox/switches/sandbox-switches.ts';
import { listen } from '../../support/loopback-server.ts';
import { SandboxControl } from '../../support/sandbox.ts';

/**
 * The emulated service in this process, with its state within reach: an operation on it is one synchronous call, so
 * that its moment is known exactly and it falls between two requests, or into one.
 */
export interface Source {
  readonly state: SandboxState;
  readonly url: string;
  readonly control: SandboxControl;
  /** Puts other switches in force at once. */
  change(options: Partial<SandboxOptions>): void;
  stop(): Promise<void>;
}

export async function openSource(options: Partial<SandboxOptions>): Promise<Source> {
  const state = new SandboxState(read(options), systemClock);
  const stopping = new AbortController();
  const service = await listen((request, response) => {
    void handle(request, response, state, stopping.signal);
  });
  // Longer than any client keeps an idle connection: none is cut under a request.
  service.server.keepAliveTimeout = 65_000;
  const publishing = state.publisher.run(stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  const controls = await listen((request, response) => {
    control(request, response, state).catch(() => response.destroy());
  });
  return {
    state,
    url: service.url,
    control: new SandboxControl(controls.url),
    change: (changed) => state.change(read(changed, state.options)),
    stop: async () => {
      stopping.abort(new Error('the sandbox stops'));
      await Promise.all([service.close(), controls.close(), state.publisher.courier.stop(), publishing]);
    },
  };
}

function read(options: Partial<SandboxOptions>, base?: SandboxOptions): SandboxOptions {
  const reading = readSandboxOptions(options, base);
  if ('problems' in reading) throw new RangeError(reading.problems.join('; '));
  return reading.options;
}
