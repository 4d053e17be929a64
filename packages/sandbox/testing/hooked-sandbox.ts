import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import { startTestSandbox, STILL, type TestSandbox } from './sandbox.ts';
import { startReceiver, type Receiver } from './webhook-receiver.ts';

/** A sandbox that tells only of what a test does, and somebody to whom it delivers. */
export interface HookedSandbox {
  readonly sandbox: TestSandbox;
  readonly receiver: Receiver;
  /** Asks the service; the body of its answer, {} for none. */
  call(path: string, method?: string, body?: unknown): Promise<Record<string, unknown>>;
  /** Registers the receiver. @returns the service's answer */
  register(types?: readonly string[]): Promise<Record<string, unknown>>;
}

/** What a test file starts, restores between its tests, and closes. */
interface Started extends HookedSandbox {
  /** As it was in the beginning: the switches that are about webhooks, no registration, nothing received. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** One for all tests of a file; each finds it as it was in the beginning. */
export function hookedSandbox(): HookedSandbox {
  let hooked: Started;
  beforeAll(async () => {
    hooked = await start();
  });
  afterEach(() => hooked.restore());
  afterAll(() => hooked.close());
  return {
    get sandbox() {
      return hooked.sandbox;
    },
    get receiver() {
      return hooked.receiver;
    },
    call: (path, method, body) => hooked.call(path, method, body),
    register: (types) => hooked.register(types),
  };
}

async function start(): Promise<Started> {
  const sandbox = await startTestSandbox({
    ...STILL,
    // Long ago: all that is there is finished.
    epoch: '2020-01-01T00:00:00Z',
    limits: 'off',
    jobs: 50,
    lists: 3,
    itemsPerList: 2,
  });
  const receiver = await startReceiver();
  const usual: Partial<SandboxOptions> = Object.fromEntries(
    Object.entries(await sandbox.control.options()).filter(([name]) =>
      /^(delivery|register|signature|retryOn4xx|eventData)/.test(name),
    ),
  );
  const call: HookedSandbox['call'] = async (path, method = 'GET', body) => {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${sandbox.key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return (text === '' ? {} : (JSON.parse(text) ?? {})) as Record<string, unknown>;
  };
  return {
    sandbox,
    receiver,
    call,
    register: (types) =>
      call('/v1/webhooks/register', 'POST', {
        url: `${receiver.url}/hooks`,
        ...(types === undefined ? {} : { event_types: types }),
      }),
    async restore() {
      await sandbox.control.change(usual);
      await sandbox.control.registerElsewhere({ url: null });
      receiver.reset();
    },
    async close() {
      await sandbox.stop();
      await receiver.close();
    },
  };
}
