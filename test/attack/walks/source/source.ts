import { systemClock } from '@research-mirror/runtime/clock';
import { control } from '@research-mirror/sandbox/control/control';
import { SandboxState } from '@research-mirror/sandbox/sandbox-state';
import { handle } from '@research-mirror/sandbox/service/api';
import { readSandboxOptions } from '@research-mirror/sandbox/switches/read-options';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { SandboxControl } from '@research-mirror/sandbox/testing/control-client';

export type Source = Awaited<ReturnType<typeof openSource>>;

/**
 * The emulated service in this process, with its state within reach: an operation on it is one synchronous call, so
 * that its moment is known exactly and it falls between two requests, or into one.
 */
export async function openSource(options: Partial<SandboxOptions>) {
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
    /** Puts other switches in force at once. */
    change: (changed: Partial<SandboxOptions>): void => state.change(read(changed, state.options)),
    stop: async (): Promise<void> => {
      stopping.abort(new Error('the sandbox stops'));
      await Promise.all([service.close(), controls.close(), state.publisher.deliveries.stop(), publishing]);
    },
  };
}

function read(options: Partial<SandboxOptions>, base?: SandboxOptions): SandboxOptions {
  const reading = readSandboxOptions(options, base);
  if ('problems' in reading) throw new RangeError(reading.problems.join('; '));
  return reading.options;
}
