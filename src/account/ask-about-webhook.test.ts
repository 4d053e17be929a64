import { expect, it } from 'vitest';
import { TransportError } from '../model/errors.ts';
import { askAboutWebhook } from './account.ts';

const { signal } = new AbortController();
const REQUEST = { method: 'POST', route: '/v1/webhooks/register' } as const;

it.each([
  [401, false, 'unsent', 1],
  [403, false, 'unsent', 1],
  [403, true, 403, 1],
  [402, false, 402, 0],
  [500, false, 500, 0],
  [200, false, 200, 0],
])('a request about the webhook answered %i, the key being good: %s, gives %s', async (status, good, told, times) => {
  let asked = 0;
  const source = {
    once: async () => ({ status, text: '{"message":"no"}', headers: {}, keyHash: 'hash' }) as never,
    isGood: async (keyHash: string) => {
      asked += 1;
      expect(keyHash).toBe('hash');
      return good;
    },
  };
  const answer = await askAboutWebhook(source, { ...REQUEST, stop: signal }, (said) => said).catch(
    (error: unknown) => error,
  );
  if (told === 'unsent') expect(answer).toMatchObject({ sent: false, message: 'the API key is refused' });
  else expect(answer).toMatchObject({ status: told, words: status < 300 ? '' : 'no' });
  expect(answer instanceof TransportError).toBe(told === 'unsent');
  expect(asked).toBe(times);
});
