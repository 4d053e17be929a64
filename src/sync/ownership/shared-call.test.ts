import { expect, it } from 'vitest';
import { SharedCall } from './shared-pings.ts';

/** A call that ends when it is told to, or a while after it was stopped. */
function calling() {
  const answer = Promise.withResolvers<string>();
  const stopped = Promise.withResolvers<void>();
  const call = new SharedCall<string>((stop) => {
    stop.addEventListener('abort', () => stopped.resolve());
    return answer.promise;
  });
  const caller = () => {
    const leave = new AbortController();
    return { waits: call.wait(leave.signal), leave: () => leave.abort(new Error('stop')) };
  };
  return { call, answer, stopped: stopped.promise, caller };
}

it('a call that several wait for goes on for the others when one leaves, which leaves at once, and answers them and later ones', async () => {
  const { call, answer, caller } = calling();
  const [first, second, third] = [caller(), caller(), caller()];
  first.leave();
  await expect(first.waits).rejects.toThrow('stop');
  expect(call.isOver).toBe(false);
  answer.resolve('good');
  expect(await Promise.all([second.waits, third.waits, caller().waits])).toEqual(['good', 'good', 'good']);
});

it('a call that several wait for is stopped when the last one leaves, who waits for its end', async () => {
  const { call, answer, stopped, caller } = calling();
  const [first, last] = [caller(), caller()];
  const ended: string[] = [];
  const waited = last.waits.catch(() => void ended.push('the last one'));
  first.leave();
  await expect(first.waits).rejects.toThrow('stop');
  last.leave();
  await stopped;
  expect({ isOver: call.isOver, ended }).toEqual({ isOver: true, ended: [] });
  answer.reject(new Error('ended'));
  await waited;
  expect(ended).toEqual(['the last one']);
});

it('a call that several wait for is not waited for by whoever has left before', async () => {
  const { call } = calling();
  await expect(call.wait(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  expect(call.isOver).toBe(false);
});
