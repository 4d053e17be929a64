import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { service, startAll, stopAll } from './service.ts';

/** A body that runs until it is stopped. */
const untilStopped = ({ signal, ready }: { signal: AbortSignal; ready: () => void }): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    ready();
  });

describe('a service', () => {
  it('keeps its contract under any sequence of calls', async () => {
    const calls = fc.array(fc.constantFrom('start', 'stop'), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(calls, async (sequence) => {
        let runs = 0;
        const subject = service('subject', (run) => {
          runs += 1;
          return untilStopped(run);
        });
        for (const call of sequence) {
          if (call === 'stop') await subject.stop();
          else if (sequence[0] === 'start') await subject.start();
          else await expect(subject.start()).rejects.toThrow('was stopped');
        }
        await subject.stop();
        expect(runs).toBe(sequence[0] === 'start' ? 1 : 0);
        if (runs === 1) await expect(subject.ended).resolves.toBeUndefined();
      }),
    );
  });

  it('reports a failure during its start by start and by ended', async () => {
    const broken = service('broken', () => Promise.reject(new Error('no port')));
    await expect(broken.start()).rejects.toThrow('no port');
    expect((await broken.ended)?.message).toBe('no port');
  });

  it('reports a body that ends by itself as a failure', async () => {
    const short = service('short', async ({ ready }) => ready());
    await short.start();
    expect((await short.ended)?.message).toBe('short ended by itself');
  });

  it('can be stopped while it starts', async () => {
    const slow = service('slow', ({ signal }) => untilStopped({ signal, ready: () => {} }));
    const starting = slow.start();
    await slow.stop();
    await expect(starting).rejects.toThrow('slow was stopped');
  });
});

it.each([
  ['stop in the opposite order', ['a', 'b'], undefined, ['+a', '+b', '-b', '-a']],
  ['are all stopped when one can’t start', ['a', 'b', 'c'], 'b', ['+a', '-a']],
])('several services %s', async (_, names, broken, done) => {
  const log: string[] = [];
  const all = names.map((name) =>
    service(name, async (run) => {
      if (name === broken) throw new Error(`${name} can't`);
      log.push(`+${name}`);
      await untilStopped(run).finally(() => log.push(`-${name}`));
    }),
  );
  if (broken === undefined) {
    await startAll(all);
    await stopAll(all);
  } else await expect(startAll(all)).rejects.toThrow(`${broken} can't`);
  expect(log).toEqual(done);
});
