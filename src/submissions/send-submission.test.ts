import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { OnceRequest } from '../service/api.ts';
import { refusal } from '../service/refusal.ts';
import { TransportError } from '../model/errors.ts';
import type { ClaimedSubmission, QueuedSubmission } from '../model/submission.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import { Stopped } from '@research-mirror/runtime/service';
import { sendSubmission } from './send-submission.ts';

const QUEUED: QueuedSubmission = { id: '7', operation: 'research', targetId: null, requestId: 'uuid' };
const CLAIMED: ClaimedSubmission = { ...QUEUED, payload: '{"a":1}', sendBeforeMs: 5_000 };

/** What is done with the request once it may be sent. @returns the status of its answer */
type Wire = (request: OnceRequest) => Promise<number>;

interface Tried {
  readonly sent: Awaited<ReturnType<typeof sendSubmission>>;
  readonly pings: number;
}

async function tryOnce(wire: Wire, inQueue = true): Promise<Tried> {
  const clock = new VirtualClock();
  let pings = 0;
  const context = {
    clock,
    claiming: new Mutex(),
    ownsUntil: () => Number.POSITIVE_INFINITY,
    timeoutMs: 120_000,
    store: { claim: () => Promise.resolve(inQueue ? CLAIMED : undefined) },
    source: {
      once: async (request: OnceRequest) => {
        if ((await request.claim?.()) !== true) return undefined;
        const status = await wire(request);
        const said = refusal('POST /v1/research', { status, headers: {}, text: '' }, String, 0);
        return {
          status,
          headers: {},
          text: '{}',
          bodyError: undefined,
          refusal: said,
          receivedAt: 0,
          keyHash: 'k',
        };
      },
      isGood: () => {
        pings += 1;
        return Promise.resolve(true);
      },
    },
  };
  const sent = await sendSubmission(context, QUEUED, new AbortController().signal, () => {}, 4_000);
  return { sent, pings };
}

const written =
  (end: () => Promise<number>): Wire =>
  (request) => {
    expect(request.mayWrite?.()).toBe(true);
    return end();
  };

describe('a submission', () => {
  it.each([
    [200, 'accepted', 0],
    [422, 'rejected', 0],
    [500, 'unknown', 0],
    [401, 'rejected', 1],
    [403, 'rejected', 1],
  ])('answered %i is %s, and costs %i pings', async (status, state, pings) => {
    const tried = await tryOnce(written(() => Promise.resolve(status)));
    expect(tried.sent).toMatchObject({ kind: 'sent', outcome: { state } });
    expect(tried.pings).toBe(pings);
  });

  it('whose connection broke after it was written is unknown, at once', async () => {
    const { sent } = await tryOnce(written(() => Promise.reject(new TransportError('reset'))));
    const unread = { status: undefined, body: undefined, conclusiveInMs: 120_000 + 90_000 };
    expect(sent).toEqual({ kind: 'sent', outcome: { state: 'unknown', error: 'reset', ...unread } });
  });

  it('whose connection was refused is unsent', async () => {
    const refused = new TransportError('refused', { sent: false });
    const { sent } = await tryOnce(() => Promise.reject(refused));
    const outcome = { state: 'queued', error: 'refused', retryInMs: 4_000 };
    expect(sent).toEqual({ kind: 'unsent', outcome });
  });

  it('that a stop left on the wire stays as it is', async () => {
    const { sent } = await tryOnce(written(() => Promise.reject(new Stopped('the test'))));
    expect(sent).toEqual({ kind: 'left', error: expect.any(Stopped) as unknown });
  });

  it('that a stop met after its claim, before it was written, goes back', async () => {
    const { sent } = await tryOnce(() => Promise.reject(new Stopped('the test')));
    expect(sent).toMatchObject({ kind: 'unsent', outcome: { state: 'queued' } });
  });

  it('that is not in the queue any more is not sent', async () => {
    const { sent } = await tryOnce(() => Promise.reject(new Error('it was sent')), false);
    expect(sent).toEqual({ kind: 'not-claimed' });
  });
});
