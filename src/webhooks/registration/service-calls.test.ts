import { describe, expect, it } from 'vitest';
import { MalformedAnswer, TransportError } from '../../model/errors.ts';
import type { ServiceAnswer } from './read-webhook.ts';
import {
  askWhatIsRegistered,
  register,
  remove,
  WebhookProblem,
  type WebhookRequest,
  type WebhookService,
} from './service-calls.ts';

const URL = 'https://mirror.example.com/webhooks/1001';
const stop = new AbortController().signal;
const yes = (): Promise<boolean> => Promise.resolve(true);

/** A service that gives one answer, or throws it; what was asked, and whether the key was asked about. */
function serviceWith(answer: ServiceAnswer | Error | undefined, keyIsGood = true) {
  const asked: WebhookRequest[] = [];
  const counts = { key: 0 };
  const service: WebhookService = {
    ask: (request) => {
      asked.push(request);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    keyIsGood: () => {
      counts.key += 1;
      return Promise.resolve(keyIsGood);
    },
    said: (text) => text,
  };
  return { service, asked, counts };
}

const answered = (status: number, text = '') => serviceWith({ status, text });
const reset = new TransportError('reset');
const unsent = new TransportError('no route', { sent: false });
const broken = new Error('the database is away');

describe('each request', () => {
  it('once on the wire is answered, whatever stops; its wait for a slot ends', async () => {
    const stopped = new AbortController();
    const { service, asked } = answered(404);
    await askWhatIsRegistered(service, stopped.signal);
    await register(service, URL, yes, stopped.signal);
    await remove(service, yes, stopped.signal);
    stopped.abort();
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'POST', 'DELETE']);
    expect(asked.map((request) => request.signal.aborted)).toEqual([false, false, false]);
    expect(asked.map((request) => request.stop.aborted)).toEqual([true, true, true]);
  });

  it('that changes something is claimed first; one that only looks is not', async () => {
    const { service, asked } = answered(404);
    await askWhatIsRegistered(service, stop);
    await register(service, URL, yes, stop);
    await remove(service, yes, stop);
    expect(asked.map(({ claim }) => claim)).toEqual([undefined, yes, yes]);
  });

  it('asks about the key only where the key may be what is refused', async () => {
    for (const [status, times] of [
      [401, 1],
      [403, 1],
      [402, 0],
      [500, 0],
    ] as const) {
      for (const call of [
        (service: WebhookService) => askWhatIsRegistered(service, stop),
        (service: WebhookService) => register(service, URL, yes, stop),
        (service: WebhookService) => remove(service, yes, stop),
      ]) {
        const { service, counts } = answered(status, 'no');
        await call(service).catch((error: unknown) => expect(error).toBeInstanceOf(WebhookProblem));
        expect([status, counts.key]).toEqual([status, times]);
      }
    }
  });
});

describe('what is registered', () => {
  it.each([302, 400, 401, 403, 500])(
    'is not known after an answer %i, which the error names',
    async (status) => {
      const asked = askWhatIsRegistered(answered(status, 'words').service, stop);
      await expect(asked).rejects.toThrow(`GET /v1/webhooks was answered ${status}: words`);
      await expect(askWhatIsRegistered(answered(status).service, stop)).rejects.toThrow(
        new WebhookProblem(`GET /v1/webhooks was answered ${status}`),
      );
    },
  );

  it.each([
    ['a request without an answer', serviceWith(reset), 'GET /v1/webhooks: reset'],
    ['an answer that is no JSON', answered(200, '<html>'), 'GET /v1/webhooks: the body is not JSON'],
    ['one that was not sent', serviceWith(undefined), 'GET /v1/webhooks was not sent'],
    ['a key that is refused', serviceWith({ status: 401, text: '' }, false), 'the API key is refused'],
  ])('is not known after %s', async (_, { service }, message) => {
    const error = await askWhatIsRegistered(service, stop).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WebhookProblem);
    expect(error).not.toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toContain(message);
  });
});

describe('a request that registers', () => {
  it('names all event types', async () => {
    const { service, asked } = answered(200, '{"secret":"s"}');
    await register(service, URL, yes, stop);
    expect(asked[0]?.path).toBe('/v1/webhooks/register');
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ url: URL, event_types: null });
  });

  it.each([
    ['it was not claimed', serviceWith(undefined), undefined],
    ['the key is refused', serviceWith({ status: 403, text: '' }, false), 'undone'],
    ['the endpoint is refused', answered(403, 'no'), 'refused'],
    ['it was on the wire, and no answer came', serviceWith(reset), 'lost'],
    ['it never was on the wire', serviceWith(unsent), 'undone'],
  ])('where %s, is %s', async (_, { service }, kind) => {
    expect((await register(service, URL, yes, stop))?.kind).toBe(kind);
  });
});

describe('a request that removes', () => {
  it.each([200, 204, 404])('has done so when it was answered %i', async (status) => {
    expect(await remove(answered(status).service, yes, stop)).toBe(true);
  });

  it('has not when it was not claimed', async () => {
    expect(await remove(serviceWith(undefined).service, yes, stop)).toBe(false);
  });

  it.each([302, 400, 401, 403, 405, 500])('may not have when it was answered %i', async (status) => {
    const removed = remove(answered(status, 'words').service, yes, stop);
    await expect(removed).rejects.toThrow(`DELETE /v1/webhooks was answered ${status}: words`);
    await expect(removed).rejects.toBeInstanceOf(WebhookProblem);
  });

  it.each([reset, unsent])('may not have when no answer came: %s', async (error) => {
    const removed = remove(serviceWith(error).service, yes, stop);
    await expect(removed).rejects.toBeInstanceOf(WebhookProblem);
  });
});

it('a failure that is not the service’s is thrown as it is', async () => {
  const { service } = serviceWith(broken);
  await expect(askWhatIsRegistered(service, stop)).rejects.toBe(broken);
  await expect(register(service, URL, yes, stop)).rejects.toBe(broken);
  await expect(remove(service, yes, stop)).rejects.toBe(broken);
});
