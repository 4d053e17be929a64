import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { type Logger, pino } from 'pino';
import { beforeEach, expect, it } from 'vitest';
import { KeyRefused, MalformedAnswer, RequestRefused, ServiceDown } from '../model/errors.ts';
import type { WalkEnded } from '../model/sync-events.ts';
import { type FailureLog, failureLog, logObserver } from './failure-log.ts';

let lines: string[];
let clock: VirtualClock;
let log: Logger;
let failures: FailureLog;
beforeEach(() => {
  lines = [];
  clock = new VirtualClock();
  const write = (line: string): void => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    lines.push(`${pino.levels.labels[level] ?? ''} ${msg}`);
  };
  log = pino({ level: 'info' }, { write });
  failures = failureLog(log, clock, 'daemon');
});

it('logs a failure once, though several pass it on', () => {
  const error = new MalformedAnswer('HTML');
  failures.failed('42/lists: poll', 'lists: poll failed', error);
  failures.failed('42: poll of lists', 'account 42: poll of lists', error);
  expect(lines).toEqual(['info lists: poll failed: HTML']);
});

it('logs a repeated failure once an hour, or after the place has worked', async () => {
  const fail = (page: number): void =>
    failures.failed('42/lists: poll', 'lists: poll failed', new MalformedAnswer(`page ${page}: HTML`));
  for (const page of [1, 2]) fail(page);
  const again = new MalformedAnswer('page 3: HTML');
  failures.failed('42/lists: poll', 'lists: poll failed', again);
  failures.failed('42: poll of lists', 'account 42: poll of lists', again);
  failures.failed('43/lists: poll', 'lists: poll failed', new MalformedAnswer('page 1: HTML'));
  expect(lines).toHaveLength(2);
  await clock.advance(3_600_000);
  for (const page of [4, 5]) fail(page);
  expect(lines).toHaveLength(3);
  failures.worked('42/lists: poll');
  fail(6);
  expect(lines[3]).toBe('info lists: poll failed: page 6: HTML');
});

it('quotes Postgres if it refuses', () => {
  const raised = Object.assign(new Error('not today'), { code: '55000', severity: 'ERROR' });
  failures.failed('42/lists: poll', 'lists: poll failed', raised);
  expect(lines).toEqual(['warn lists: poll failed: the database refuses (55000 not today)']);
});

it('logs another failure of the same place', () => {
  failures.failed('42/lists: poll', 'lists: poll failed', new MalformedAnswer('HTML'));
  const cause = Object.assign(new Error('full'), { code: '53100', severity: 'ERROR' });
  const full = new DatabaseUnavailable('the disk is full', { cause });
  failures.failed('42/lists: poll', 'lists: poll failed', full);
  expect(lines).toEqual(['info lists: poll failed: HTML', 'info lists: poll failed: the disk is full']);
});

it('does not log a failure that is logged elsewhere: a service or a database that is down, a refused key', () => {
  failures.failed('a', 'lists: poll failed', new ServiceDown('answered 500'));
  failures.failed('b', 'lists: poll failed', new KeyRefused('401', 401));
  failures.failed('c', 'lists: poll failed', new DatabaseUnavailable('connect ECONNREFUSED'));
  const cause = Object.assign(new Error('starting up'), { code: '57P03', severity: 'FATAL' });
  failures.failed('d', 'lists: poll failed', new DatabaseUnavailable('not now', { cause }));
  expect(lines).toEqual([]);
});

it('warns of all failures in a command, which logs neither stopped accounts nor problems', () => {
  const command = failureLog(log, clock, 'command');
  command.failed('a', 'lists: full failed', new KeyRefused('401', 401));
  command.failed('b', 'lists: full failed', new MalformedAnswer('HTML'));
  // The gate says so itself.
  command.failed('c', 'lists: full failed', new ServiceDown('answered 500'));
  expect(lines).toEqual(['warn lists: full failed: 401', 'warn lists: full failed: HTML']);
});

it('warns of an unclassified error: it is a defect', () => {
  failures.failed('a', 'account 42: tidying', new TypeError('x is undefined'));
  expect(lines).toEqual(['warn account 42: tidying: x is undefined']);
});

const SCOPE = { userId: '42', collection: 'lists', parent: '' } as const;
const ONE_LIST = { userId: '42', collection: 'list_items', parent: '7' } as const;

function ended(changes: Partial<WalkEnded> = {}): void {
  const outcome = changes.error === undefined ? 'complete' : 'failed';
  const counts = { pages: 1, items: 1, inserted: 0, updated: 1, milliseconds: 1 };
  const walk = { scope: SCOPE, kind: 'poll', outcome, error: undefined, ...counts } as const;
  logObserver(log, failures).walkEnded?.({ ...walk, ...changes });
}

it('the observer logs each walk once, a failed one not again by its loop', () => {
  ended();
  const error = new MalformedAnswer('HTML');
  ended({ error });
  failures.failed('42: poll of lists', 'account 42: poll of lists', error);
  ended({ error: new MalformedAnswer('HTML') });
  ended();
  ended({ error: new MalformedAnswer('HTML') });
  const [complete, failed] = ['info lists: poll complete', 'info lists: poll failed: HTML'];
  expect(lines).toEqual([complete, failed, complete, failed]);
});

it('the observer does not log walks of single lists, whose reader sums them up', () => {
  const error = new RequestRefused('404', 404);
  ended({ scope: ONE_LIST, error });
  ended({ scope: ONE_LIST });
  expect(lines).toEqual([]);
  failures.failed('42: poll of list_items', 'account 42: poll of list_items', error);
  expect(lines).toEqual(['info account 42: poll of list_items: 404']);
});

it('the observer logs no walk that found nothing', () => {
  const nothing = { inserted: 0, updated: 0 };
  ended(nothing);
  ended({ ...nothing, kind: 'full' });
  ended({ outcome: 'interrupted' });
  expect(lines).toEqual(['info lists: full complete']);
});
