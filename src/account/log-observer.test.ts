import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { MalformedAnswer, RequestRefused } from '../model/errors.ts';
import type { WalkEnded } from '../model/sync-events.ts';
import { failureLog, logObserver } from './failure-log.ts';

const SCOPE = { userId: '42', collection: 'lists', parent: '' } as const;
const ONE_LIST = { userId: '42', collection: 'list_items', parent: '7' } as const;

function logging() {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push((JSON.parse(line) as { msg: string }).msg);
  const log = pino({ level: 'info' }, { write });
  const clock = new VirtualClock();
  const failures = failureLog(log, clock, 'daemon');
  const observer = logObserver(log, failures);
  const counts = { pages: 1, items: 1, inserted: 0, updated: 1, milliseconds: 1 };
  const ended = (changes: Partial<WalkEnded> = {}): void => {
    const outcome = changes.error === undefined ? 'complete' : 'failed';
    observer.walkEnded?.({ scope: SCOPE, kind: 'poll', outcome, error: undefined, ...counts, ...changes });
  };
  return { lines, failures, observer, ended };
}

it('logs each walk once: one that fails not again by the loop that began it', () => {
  const { lines, failures, ended } = logging();
  ended();
  const error = new MalformedAnswer('HTML');
  ended({ error });
  failures.failed('42: poll of lists', 'account 42: poll of lists', error);
  ended({ error: new MalformedAnswer('HTML') });
  ended();
  ended({ error: new MalformedAnswer('HTML') });
  const [complete, failed] = ['lists: poll complete', 'lists: poll failed: HTML'];
  expect(lines).toEqual([complete, failed, complete, failed]);
});

it('leaves walks of single lists to whoever reads many, and sums up', () => {
  const { lines, failures, ended } = logging();
  const error = new RequestRefused('404', 404);
  ended({ scope: ONE_LIST, error });
  ended({ scope: ONE_LIST });
  expect(lines).toEqual([]);
  failures.failed('42: poll of list_items', 'account 42: poll of list_items', error);
  expect(lines).toEqual(['account 42: poll of list_items: 404']);
});

it('logs no walk that found nothing', () => {
  const { lines, ended } = logging();
  const nothing = { inserted: 0, updated: 0 };
  ended(nothing);
  ended({ ...nothing, kind: 'full' });
  ended({ outcome: 'interrupted' });
  expect(lines).toEqual(['lists: full complete']);
});
