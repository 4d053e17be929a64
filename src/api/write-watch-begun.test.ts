import { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { watchWriting } from './transport.ts';

describe('a request that undici begins', () => {
  /** undici's part: begins the request, as often as given. @returns whether each was let through */
  const beginning = (aborted: boolean[]): { dispatcher: Dispatcher; begun: boolean[] } => {
    const begun: boolean[] = [];
    class Beginner extends Dispatcher {
      override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
        for (const each of aborted) {
          try {
            handler.onRequestStart?.({ aborted: each } as Dispatcher.DispatchController, {});
            begun.push(true);
          } catch {
            begun.push(false);
          }
        }
        return true;
      }
    }
    return { dispatcher: new Beginner(), begun };
  };
  const REQUEST = { path: '/', method: 'POST' } as const;

  it('a second time is stopped: it was written once', () => {
    const { dispatcher, begun } = beginning([false, false]);
    const watch = watchWriting(dispatcher);
    watch.dispatcher.dispatch(REQUEST, {});
    expect([begun, watch.written()]).toEqual([[true, false], true]);
  });

  it('and that was aborted by then was not written', () => {
    const { dispatcher } = beginning([true]);
    const watch = watchWriting(dispatcher);
    watch.dispatcher.dispatch(REQUEST, {});
    expect(watch.written()).toBe(false);
  });
});
