import { checkpoint, resumeFull } from '../../../src/walk/checkpoint.ts';
import { beginFull } from '../../../src/walk/full.ts';
import { newMemory, noteWritten, orderGrade, type ScopeMemory } from '../../../src/walk/memory.ts';
import { beginPoll } from '../../../src/walk/poll.ts';
import { step } from '../../../src/walk/step.ts';
import type { WalkAnswer, Ask, End, FullWalk, PollWalk, Step, Walk } from '../../../src/walk/walk.ts';

type PageAsk = Extract<Ask, { type: 'page' }>;

export interface ClientSource {
  get(cursor: string | null, limit: number | null): WalkAnswer;
  versionOf(key: string): number;
}

/** A walk that is under way. */
export interface Running<W extends Walk> {
  walk: W;
  ask: Ask;
}

/**
 * What sync and mirror do around walks, in memory: asks a source, looks up stored rows, writes pages. The memory
 * goes through JSON with every page, as it does through Postgres.
 */
export class WalkClient {
  memory: ScopeMemory = newMemory('bigint');
  /** Version of each row in the mirror. */
  readonly mirror = new Map<string, number>();
  /** Milliseconds; each request takes a second. */
  now = 1_000_000;
  requests = 0;
  /** Keys of every page that came, in order. */
  readonly pages: (readonly string[])[] = [];
  readonly #source: ClientSource;
  readonly #overlapRows: number;

  constructor(source: ClientSource, overlapRows = 3) {
    this.#source = source;
    this.#overlapRows = overlapRows;
  }

  get grade(): string {
    return orderGrade(this.memory);
  }

  beginPoll(): Running<PollWalk> {
    const newest = [...this.mirror.keys()].sort((a, b) => Number(b) - Number(a));
    const overlapKey = newest[this.#overlapRows - 1] ?? null;
    return beginPoll(this.memory, { overlapKey, now: this.now });
  }

  beginFull(): Running<FullWalk> {
    return beginFull(this.memory, { liveRows: this.mirror.size, now: this.now });
  }

  /** One request of a walk, and the lookups that it asks for. Undefined when it has ended. */
  once<W extends Walk>(running: Running<W>): Running<W> | undefined {
    const asked = this.#looked(running);
    if (asked.ask.type !== 'page') return undefined;
    const answer = this.#request(asked.ask);
    const stepped = step(asked.walk, this.memory, answer, this.now);
    this.memory = json(stepped.memory);
    if (answer.type === 'page') this.#write(answer.keys);
    return this.#looked(stepped);
  }

  /** A full walk as it goes on after a crash: from its checkpoint. */
  restarted({ walk }: Running<FullWalk>): Running<FullWalk> {
    return resumeFull(this.memory, json(checkpoint(walk)));
  }

  /** Runs to the end; null where `requests` did not suffice. `between` happens before each request. */
  run<W extends Walk>(begun: Running<W>, requests: number, between: () => void = () => {}): End | null {
    let running = this.#looked(begun);
    for (let i = 0; i < requests && running.ask.type !== 'end'; i += 1) {
      between();
      running = this.once(running) ?? running;
    }
    return running.ask.type === 'end' ? running.ask : null;
  }

  #looked<W extends Walk>(running: Running<W>): Running<W> {
    let { walk, ask } = running;
    while (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const sign = direction === 'rising' ? -1 : 1;
      const before = [...this.mirror.keys()]
        .filter((key) => sign * (Number(key) - Number(of)) > 0)
        .sort((a, b) => sign * (Number(a) - Number(b)));
      const key = before[nth - 1] ?? before.at(-1) ?? null;
      const stepped: Step<W> = step(walk, this.memory, { type: 'predecessor', key }, this.now);
      ({ walk, ask } = stepped);
      this.memory = json(stepped.memory);
    }
    return { walk, ask };
  }

  #request(ask: PageAsk): WalkAnswer {
    this.requests += 1;
    this.now += 1000;
    return this.#source.get(ask.cursor, ask.limit);
  }

  #write(keys: readonly (string | undefined)[]): void {
    const items = keys.filter((key) => key !== undefined);
    this.pages.push(items);
    const rows = items.map((key) => {
      const before = this.mirror.get(key);
      const version = this.#source.versionOf(key);
      this.mirror.set(key, version);
      return { key, known: before !== undefined, changed: before !== version };
    });
    this.memory = json(noteWritten(this.memory, rows));
  }
}

function json<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
