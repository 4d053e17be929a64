import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import { startTestSandbox, STILL, type TestSandbox } from './sandbox.ts';
import { startReceiver, type Receiver } from './webhook-receiver.ts';

/** A sandbox with a webhook receiver: its only events are those of what a test does. */
export interface WebhookSandbox {
  readonly sandbox: TestSandbox;
  readonly receiver: Receiver;
  /** Sends a request to the service. @returns the body of the answer, {} for none */
  call(path: string, method?: string, body?: unknown): Promise<Record<string, unknown>>;
  /** Registers the receiver. @returns the service's answer */
  register(types?: readonly string[]): Promise<Record<string, unknown>>;
}

/** A started one, to be restored between tests. */
interface Started extends WebhookSandbox {
  /** Restores the switches of webhooks, and removes registration and deliveries. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Call it once in a test file: one sandbox for all its tests, restored after each. */
export function webhookSandbox(): WebhookSandbox {
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
    // Long ago: all items are finished.
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
  const call: WebhookSandbox['call'] = async (path, method = 'GET', body) => {
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
