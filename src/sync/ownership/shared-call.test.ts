import { describe, expect, it } from 'vitest';
import { SharedCall } from './shared-pings.ts';

/** A call that ends when it is told to, or a while after it was stopped. */
function calling() {
  const answer = Promise.withResolvers<string>();
  const stopped = Promise.withResolvers<void>();
  const call = new SharedCall<string>((stop) => {
    stop.addEventListener('abort', () => stopped.resolve());
    return answer.promise;
  });
  return { call, answer, stopped: stopped.promise };
}

describe('a call that several wait for', () => {
  it('answers all of them', async () => {
    const { call, answer } = calling();
    const { signal } = new AbortController();
    const both = Promise.all([call.wait(signal), call.wait(signal)]);
    answer.resolve('good');
    expect(await both).toEqual(['good', 'good']);
    expect(await call.wait(signal)).toBe('good');
  });

  it('goes on for the others when one leaves, which leaves at once', async () => {
    const { call, answer } = calling();
    const leaves = new AbortController();
    const first = call.wait(leaves.signal);
    const second = call.wait(new AbortController().signal);
    const reason = new Error('stop');
    leaves.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(call.isOver).toBe(false);
    answer.resolve('good');
    expect(await second).toBe('good');
  });

  it('is stopped when the last one leaves, who waits for its end', async () => {
    const { call, answer, stopped } = calling();
    const all = new AbortController();
    const both = [call.wait(all.signal), call.wait(all.signal)];
    const ended: string[] = [];
    const last = both[1]?.catch(() => void ended.push('the last one'));
    all.abort(new Error('stop'));
    await expect(both[0]).rejects.toThrow('stop');
    await stopped;
    expect({ isOver: call.isOver, ended }).toEqual({ isOver: true, ended: [] });
    answer.reject(new Error('ended'));
    await last;
    expect(ended).toEqual(['the last one']);
  });

  it('is not waited for by whoever has left before', async () => {
    const { call } = calling();
    await expect(call.wait(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    expect(call.isOver).toBe(false);
  });
});
