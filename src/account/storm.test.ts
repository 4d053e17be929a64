import { afterEach, expect, it } from 'vitest';
import { LargeList, MemoryAccount, type SentRequest } from '../../test/support/sync/memory-account.ts';
import { seeded } from '../../test/support/random.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { PRIORITY, READS } from '../service/rate-groups.ts';
import type { CollectionName } from '../model/collections.ts';
import { accountService, type AccountService } from './account-service.ts';
import { type HintDispatcher, hintDispatcher } from './hint-dispatcher.ts';

const COLLECTIONS: readonly CollectionName[] = ['research_jobs', 'bulk_research_jobs'];
const MINUTE = 60_000;
const JOBS = 60_000;

let service: AccountService | undefined;
afterEach(() => service?.stop());

/** A running account, all of it mirrored, polled each minute at its beginning. */
async function running() {
  const clock = new VirtualClock();
  const jobs = new LargeList(JOBS);
  const account = await MemoryAccount.make(clock, {
    research_jobs: jobs,
    bulk_research_jobs: new LargeList(3_000),
  });
  const failures: string[] = [];
  const onFailure = (what: string, error: Error): void => void failures.push(`${what}: ${error.message}`);
  const { reader, source, hintStore: store, gracePeriodMs } = account;
  const dispatcher: HintDispatcher = hintDispatcher({
    reader,
    store,
    collections: COLLECTIONS,
    perMinute: () => source.sizeOf(READS),
    gracePeriodMs,
    onFailure,
    clock,
    random: seeded(1),
  });
  service = accountService({
    reader,
    collections: COLLECTIONS,
    tidy: () => Promise.resolve(),
    ping: () => Promise.resolve(),
    onState: () => Promise.resolve(),
    onFailure,
    companions: [(signal, follow) => dispatcher.run(signal, follow)],
    clock,
    random: seeded(2),
  });
  await service.start();
  const poll = (): void => {
    for (const name of COLLECTIONS) service?.pollDue(name);
    clock.after(MINUTE, poll);
  };
  clock.after(MINUTE, poll);
  const isLoaded = () => COLLECTIONS.every((name) => account.stale(name).length === 0);
  for (let minutes = 0; minutes < 30 && !isLoaded(); minutes += 1) await clock.advance(MINUTE);
  await clock.advance(5 * MINUTE);
  expect(failures).toEqual([]);
  account.sent.length = 0;
  return { account, jobs, dispatcher, clock };
}

const isHinted = ({ priority }: SentRequest): boolean => priority === PRIORITY.HINT;

/**
 * 1,000 events in 10 s, each of one of the newest 2,000 jobs (four pages), or of so many.
 * @returns when each row's last event came
 */
function storm({ account, jobs, dispatcher, clock }: Awaited<ReturnType<typeof running>>, newest = 2_000) {
  const random = seeded(3);
  const lastEvent = new Map<string, number>();
  for (let at = 0; at < 1_000; at += 1) {
    clock.after(at * 10, () => {
      const key = String(JOBS - Math.floor(random() * newest));
      jobs.change(key);
      account.hint('research_jobs', key);
      lastEvent.set(key, clock.monotonic());
      dispatcher.bell.ring();
    });
  }
  return lastEvent;
}

/** Rows of which no request after their last event told. */
function unread(account: MemoryAccount, lastEvent: ReadonlyMap<string, number>): string[] {
  const lastRead = new Map(account.sent.flatMap(({ keys, sentAt }) => keys.map((key) => [key, sentAt])));
  return [...lastEvent].filter(([key, at]) => (lastRead.get(key) ?? -1) < at).map(([key]) => key);
}

/** The longest time (ms) without a poll of the collection. */
function longestPause({ sent }: MemoryAccount, name: CollectionName, begin: number): number {
  const polls = sent.filter((each) => each.name === name && each.priority === PRIORITY.POLL);
  const moments = [begin, ...polls.map(({ sentAt }) => sentAt)];
  return Math.max(...moments.slice(1).map((moment, at) => moment - (moments[at] ?? begin)));
}

it('a storm of 1,000 events in 10 s over 20,000 jobs has every row read within two minutes, by half of the rate', async () => {
  const all = await running();
  const { account, clock } = all;
  const begin = clock.monotonic();
  const lastEvent = storm(all, 20_000);
  await clock.advance(2 * MINUTE);
  expect(unread(account, lastEvent)).toEqual([]);
  const hinted = account.sent.filter(isHinted).map(({ sentAt }) => sentAt);
  // A burst of five, and half of 48 a minute; a reading may send a request or two more than there were tokens.
  for (const from of hinted)
    expect(hinted.filter((at) => at >= from && at < from + MINUTE).length).toBeLessThanOrEqual(31);
  for (const name of COLLECTIONS) expect(longestPause(account, name, begin)).toBeLessThan(1.1 * MINUTE);
});

it('a storm of 1,000 events in 10 s has every row read within seconds of its last event, by about 20 requests', async () => {
  const all = await running();
  const { account, clock } = all;
  const lastEvent = storm(all);
  await clock.advance(20_000);
  expect(unread(account, lastEvent)).toEqual([]);
  expect(account.hints.size).toBe(0);
  expect(account.stale('research_jobs')).toEqual([]);
  expect(account.sent.filter(isHinted).length).toBeLessThanOrEqual(24);
});

it('a storm of 1,000 events in 10 s starves neither polls nor the full walk', async () => {
  const all = await running();
  const { account, clock } = all;
  service?.runDue('research_jobs', 'full', new Date(0));
  await clock.advance(MINUTE / 2);
  account.sent.length = 0;
  const begin = clock.monotonic();
  const lastEvent = storm(all);
  await clock.advance(2 * MINUTE);
  expect(unread(account, lastEvent)).toEqual([]);
  expect(account.hints.size).toBe(0);
  expect(account.sent.filter(isHinted).length).toBeLessThanOrEqual(24);
  expect(account.sent.filter(({ priority }) => priority === PRIORITY.FULL).length).toBeGreaterThan(50);
  for (const name of COLLECTIONS) expect(longestPause(account, name, begin)).toBeLessThan(1.1 * MINUTE);
});
