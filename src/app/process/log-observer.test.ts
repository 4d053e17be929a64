import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { pino } from 'pino';
import { beforeEach, expect, it } from 'vitest';
import { MalformedAnswer, RequestRefused } from '../../model/errors.ts';
import type { WalkEnded } from '../../model/sync-events.ts';
import { type FailureLog, failureLog } from '../failure-log.ts';
import { logObserver } from './log-observer.ts';

const SCOPE = { userId: '42', collection: 'lists', parent: '' } as const;
const ONE_LIST = { userId: '42', collection: 'list_items', parent: '7' } as const;

let lines: string[];
let clock: VirtualClock;
let failures: FailureLog;
let observer: ReturnType<typeof logObserver>;
beforeEach(() => {
  lines = [];
  const log = pino(
    { level: 'info' },
    { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
  );
  clock = new VirtualClock();
  failures = failureLog(log, clock, 'daemon');
  observer = logObserver(log, failures, clock);
});

const ended = (changes: Partial<WalkEnded> = {}): void =>
  observer.walkEnded?.({
    scope: SCOPE,
    kind: 'poll',
    outcome: changes.error === undefined ? 'complete' : 'failed',
    error: undefined,
    pages: 1,
    items: 1,
    inserted: 0,
    updated: 1,
    milliseconds: 1,
    ...changes,
  });

it('logs each walk once: one that fails not again by the loop that began it', () => {
  ended();
  const error = new MalformedAnswer('HTML');
  ended({ error });
  failures.failed('42: poll of lists', 'account 42: poll of lists', error);
  ended({ error: new MalformedAnswer('HTML') });
  ended();
  ended({ error: new MalformedAnswer('HTML') });
  expect(lines).toEqual([
    'lists: poll complete',
    'lists: poll failed: HTML',
    'lists: poll complete',
    'lists: poll failed: HTML',
  ]);
});

it('leaves walks of single lists to whoever reads many, and sums up', () => {
  const error = new RequestRefused('404', 404);
  ended({ scope: ONE_LIST, error });
  ended({ scope: ONE_LIST });
  expect(lines).toEqual([]);
  failures.failed('42: poll of list_items', 'account 42: poll of list_items', error);
  expect(lines).toEqual(['account 42: poll of list_items: 404']);
});

it('logs no walk that found nothing, and once an hour what a collection’s readings found', async () => {
  const nothing = { inserted: 0, updated: 0 };
  ended(nothing);
  ended({ ...nothing, kind: 'full' });
  ended({ outcome: 'interrupted' });
  for (let list = 0; list < 3; list += 1) ended({ scope: ONE_LIST, inserted: 2 });
  await clock.advance(3_600_000);
  ended(nothing);
  ended({ ...nothing, scope: ONE_LIST });
  ended(nothing);
  expect(lines).toEqual([
    'lists: full complete',
    'lists: in 60 min 4 readings found 0 new rows and 1 changed ones',
    'list_items: in 60 min 4 readings found 6 new rows and 3 changed ones',
  ]);
});
