import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Service, service, startAll, stopAll } from './service.ts';

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
    const short = service('short', ({ ready }) => {
      ready();
      return Promise.resolve();
    });
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

describe('several services', () => {
  const named = (name: string, log: string[], fails = false): Service =>
    service(name, async (run) => {
      if (fails) throw new Error(`${name} can't`);
      log.push(`+${name}`);
      await untilStopped(run).finally(() => log.push(`-${name}`));
    });

  it('stop in the opposite order', async () => {
    const log: string[] = [];
    const all = [named('a', log), named('b', log)];
    await startAll(all);
    await stopAll(all);
    expect(log).toEqual(['+a', '+b', '-b', '-a']);
  });

  it('are all stopped when one can’t start', async () => {
    const log: string[] = [];
    await expect(startAll([named('a', log), named('b', log, true), named('c', log)])).rejects.toThrow(
      "b can't",
    );
    expect(log).toEqual(['+a', '-a']);
  });
});
