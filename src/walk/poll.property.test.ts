import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENOUGH, operate, operation, playing, script, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { type ClientSource, WalkClient, type Running } from '../../test/support/walks/walk-client.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { OVERLAP } from './frontier.ts';
import { beginPoll } from './poll.ts';
import type { WalkAnswer, FullWalk, PollWalk } from './walk.ts';
import { runs } from '../../test/support/effort.ts';

const FALLING: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 5 };
const RISING: ListVariant = { ...FALLING, order: 'rising' };

/** A cache on the way to a source: on demand it answers with the copy that it took last. */
class Cache implements ClientSource {
  readonly #service: WalkSource;
  readonly #now: () => number;
  #copy: { readonly list: WalkSource; readonly at: number } | undefined;
  answers = false;

  constructor(service: WalkSource, now: () => number) {
    this.#service = service;
    this.#now = now;
  }

  take(): void {
    this.#copy = { list: this.#service.copy(), at: this.#now() };
  }

  get(cursor: string | null, limit: number | null): WalkAnswer {
    if (!this.answers || this.#copy === undefined) return this.#service.get(cursor, limit);
    const answer = this.#copy.list.get(cursor, limit);
    return answer.type === 'page' ? { ...answer, ageMs: this.#now() - this.#copy.at } : answer;
  }

  versionOf(key: string): number {
    return this.#service.versionOf(key);
  }
}

function missing(source: WalkSource, client: WalkClient): string[] {
  return source.liveKeys().filter((key) => !client.mirror.has(key));
}

/** Between two walks: what the overlap would read again anyway must not hide what was lost. */
const pause = fc.constantFrom(0, OVERLAP, 2 * OVERLAP);

function loaded(variant: ListVariant) {
  const source = new WalkSource(variant, 40);
  const client = new WalkClient(source, 1);
  expect(client.run(client.beginFull(), ENOUGH)?.outcome).toBe('complete');
  return { source, client };
}

describe('a poll', () => {
  it('leaves no row unknown once the source is quiet, whatever was interrupted before', () => {
    const act = fc.record({
      walk: fc.constantFrom('poll', 'poll', 'full'),
      requests: fc.integer({ min: 1, max: 6 }),
      steps: script,
      pause,
    });
    fc.assert(
      fc.property(variants('falling', 'rising'), fc.array(act, { maxLength: 6 }), (variant, acts) => {
        const { source, client } = loaded(variant);
        for (const { walk, requests, steps, pause } of acts) {
          client.now += pause;
          const between = playing(source, steps);
          client.run<FullWalk | PollWalk>(walk === 'poll' ? client.beginPoll() : client.beginFull(), requests, between);
        }
        expect(client.run(client.beginPoll(), ENOUGH)?.outcome).toMatch(/reached|complete/);
        expect(missing(source, client)).toEqual([]);
      }),
      { numRuns: runs(100, 500) },
    );
  });

  it('leaves no row unknown after pages from an intermediate cache', () => {
    const request = fc.record({ operations: fc.array(operation, { maxLength: 1 }), cached: fc.boolean() });
    const act = fc.record({
      walk: fc.constantFrom('poll', 'poll', 'poll', 'full'),
      copies: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
      pause,
      requests: fc.array(request, { maxLength: 6 }),
      goesOn: fc.boolean(),
    });
    fc.assert(
      fc.property(variants('falling', 'rising'), fc.array(act, { maxLength: 8 }), (variant, acts) => {
        const source = new WalkSource(variant, 40);
        const cache = new Cache(source, () => client.now);
        const client = new WalkClient(cache, 1);
        expect(client.run(client.beginFull(), ENOUGH)?.outcome).toBe('complete');
        cache.take();
        for (const { walk, copies, pause, requests, goesOn } of acts) {
          if (copies) cache.take();
          client.now += pause;
          const left = [...requests];
          const between = (): void => {
            const { operations, cached } = left.shift() ?? { operations: [], cached: true };
            operate(source, operations);
            cache.answers = cached;
          };
          const most = goesOn ? ENOUGH : requests.length;
          client.run<FullWalk | PollWalk>(walk === 'poll' ? client.beginPoll() : client.beginFull(), most, between);
        }
        cache.answers = false;
        client.now += OVERLAP;
        expect(client.run(client.beginPoll(), ENOUGH)?.outcome).toMatch(/reached|complete/);
        expect(missing(source, client)).toEqual([]);
      }),
      { numRuns: runs(60, 300) },
    );
  });

  it('never takes what an ordered service does for a contradiction', () => {
    fc.assert(
      fc.property(variants('falling', 'rising'), fc.array(script, { maxLength: 5 }), (variant, scripts) => {
        // One item a page can't say whether the row just seen moved or went: see the next test.
        fc.pre(variant.cursor !== 'ignored' || variant.pageSize > 1);
        const { source, client } = loaded(variant);
        for (const steps of scripts) client.run(client.beginPoll(), 4, playing(source, steps));
        expect(client.grade).not.toBe('none');
      }),
      { numRuns: runs(60, 300) },
    );
  });

  it('takes a row that goes right after it was seen again, and whose cursor leads to the top, for one that moved', () => {
    const { source, client } = loaded({ order: 'rising', cursor: 'ignored', hasMore: 'full', pageSize: 1 });
    const lastGoes = playing(source, [[], [], [], [{ kind: 'delete', n: 39 }]]);
    expect(client.run(client.beginPoll(), 4, lastGoes)?.outcome).toBe('full-needed');
    expect(client.grade).toBe('none');
    source.insert();
    expect(client.run(client.beginFull(), ENOUGH)?.outcome).toBe('complete');
    expect(client.grade).toBe('usable');
    expect(missing(source, client)).toEqual([]);
  });

  it('interleaves with a full walk, also with the first, page by page', () => {
    const turn = fc.record({
      poll: fc.boolean(),
      operations: fc.array(operation, { maxLength: 2 }),
      pause,
    });
    fc.assert(
      fc.property(variants('falling', 'rising'), fc.array(turn, { maxLength: 60 }), (variant, turns) => {
        const source = new WalkSource(variant, 40);
        const client = new WalkClient(source, 1);
        let full: Running<FullWalk> | undefined = client.beginFull();
        let poll: Running<PollWalk> | undefined;
        for (const { poll: pollFirst, operations, pause } of turns) {
          client.now += pause;
          operate(source, operations);
          if (pollFirst) poll = client.once(poll ?? client.beginPoll());
          else if (full !== undefined) full = client.once(full);
        }
        if (full !== undefined) expect(client.run(full, ENOUGH)?.outcome).toBe('complete');
        const end = client.run(client.beginPoll(), ENOUGH);
        if (end?.outcome === 'full-needed') client.run(client.beginFull(), ENOUGH);
        expect(missing(source, client)).toEqual([]);
      }),
      { numRuns: runs(100, 500) },
    );
  });

  it('finds rows that become visible up to 10 minutes after their ID was taken', () => {
    const act = fc.record({
      pause: fc.integer({ min: 0, max: 3 * OVERLAP }),
      late: fc.array(fc.integer({ min: 0, max: OVERLAP }), { maxLength: 4 }),
      inserts: fc.nat(8),
      requests: fc.integer({ min: 1, max: 8 }),
    });
    fc.assert(
      fc.property(variants('falling', 'rising'), fc.array(act, { maxLength: 12 }), (variant, acts) => {
        const { source, client } = loaded(variant);
        let late: { id: number; at: number }[] = [];
        const arrive = (): void => {
          for (const { id, at } of late) if (at <= client.now) source.appear(id);
          late = late.filter(({ at }) => at > client.now);
        };
        for (const { pause, late: delays, inserts, requests } of acts) {
          client.now += pause;
          for (const delay of delays) late.push({ id: source.insert(1) - 1, at: client.now + delay });
          for (let i = 0; i < inserts; i += 1) source.insert();
          client.run(client.beginPoll(), requests, arrive);
        }
        client.now += OVERLAP;
        arrive();
        // In rising order the first may only finish an interrupted one: the overlap is the second one's.
        client.run(client.beginPoll(), ENOUGH);
        client.run(client.beginPoll(), ENOUGH);
        expect(missing(source, client)).toEqual([]);
      }),
      { numRuns: runs(100, 500) },
    );
  });

  it('costs one request when little is new', () => {
    for (const variant of [FALLING, RISING]) {
      const { source, client } = loaded({ ...variant, pageSize: 10 });
      source.insert();
      const before = client.requests;
      expect(client.run(client.beginPoll(), ENOUGH)).toEqual({ type: 'end', outcome: 'reached' });
      expect(client.requests - before).toBe(1);
      expect(missing(source, client)).toEqual([]);
    }
  });

  it('of a rising list begins after the stored row before the overlap, so that the overlap is read whole', () => {
    const { client } = loaded(RISING);
    const begun = beginPoll(client.memory, { overlapKey: '30', now: 0 });
    expect(begun.ask).toEqual({ type: 'predecessor', of: '30', nth: 1, direction: 'rising' });
  });

  it('reads a small scope in one request, whatever its order', () => {
    const source = new WalkSource({ ...FALLING, order: 'score' }, 5);
    const client = new WalkClient(source);
    expect(client.run(client.beginPoll(), 1)?.outcome).toBe('complete');
    expect(missing(source, client)).toEqual([]);
    expect(client.run(client.beginPoll(), 1)?.outcome).toBe('complete');
  });

  it('says that a full walk is needed where the order is not known or contradicts itself', () => {
    const fresh = new WalkClient(new WalkSource(FALLING, 40));
    expect(fresh.run(fresh.beginPoll(), 1)?.outcome).toBe('full-needed');
    const { source, client } = loaded({ ...FALLING, order: 'updated' });
    expect(client.grade).toBe('usable');
    source.update(3);
    expect(client.run(client.beginPoll(), ENOUGH)?.outcome).toBe('full-needed');
    expect(client.memory).toMatchObject({ frontier: null, open: null });
  });

  it('keeps a few marks only, however long it goes on', () => {
    const { source, client } = loaded(FALLING);
    for (let i = 0; i < 200; i += 1) {
      source.insert();
      client.now += 20_000;
      client.run(client.beginPoll(), ENOUGH);
    }
    expect(client.memory.frontier?.marks.length).toBeLessThanOrEqual(12);
  });
});
