import { availableParallelism } from 'node:os';
import { seeded } from '../../support/random.ts';
import { allStarts, nameOf } from '../../model/all-variants.ts';
import { type Attack, type FindingKind, playGames } from '../support/attack.ts';
import { type Searched, searchInThread } from './search.ts';

/** Source operations in a schedule, at most. */
const OPERATIONS = 3;
/** Longer than all of it takes on two slow cores. */
const MINUTES = 60;
const STARTS = [...allStarts(), ...allStarts().map((start) => ({ ...start, interrupted: true }))];

export const modelAttack: Attack = {
  name: 'model',
  what: `every interleaving of up to ${OPERATIONS} source operations (of 2, where it was broken off) with a reading and a poll of 4 rows, every variant`,
  /** Searches variants side by side until all are searched, time is up, or an interrupt comes. */
  async run(options) {
    const { games, minutes = MINUTES } = options.size;
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(minutes * 60_000)]);
    const random = seeded(options.seed);
    // Shuffled, so that a search which is cut has met every order and cursor; with --games in the order of their numbers.
    const drawn = STARTS.map((start, number) => ({ start, number, at: games > 0 ? number : random() }));
    const from = games > 0 ? options.seed % STARTS.length : 0;
    const sorted = drawn.toSorted((a, b) => a.at - b.at);
    const open = [...sorted.slice(from), ...sorted.slice(0, from)].slice(0, games > 0 ? games : undefined);
    const done: Searched[] = [];
    const report = await playGames(
      { ...options, signal },
      {
        lanes: availableParallelism(),
        more: (begun) => begun < open.length,
        play: async (_, index) => {
          const next = open[index];
          if (next === undefined) return undefined;
          const { start, number } = next;
          // Where a reading goes on, one more may come before.
          const operations = 'interrupted' in start ? OPERATIONS - 1 : OPERATIONS;
          const searched = await searchInThread({ start, operations }, signal);
          if (searched === undefined) return undefined;
          done.push(searched);
          const { states, ends, deletions, bounded, slow } = searched.counts;
          const counts = { variants: 1, states, 'quiet ends': ends, deletions, 'beyond P2': bounded };
          return {
            seed: number,
            what: nameOf(start),
            findings: searched.violations.map((text) => ({ kind: kindOf(text), text })),
            counts: { ...counts, 'equal after two readings': slow },
            trace: [],
          };
        },
      },
    );
    const searched = new Set(done.map(({ start }) => nameOf(start)));
    const left = open.map(({ start }) => nameOf(start)).filter((name) => !searched.has(name));
    const why = options.signal.aborted ? 'interrupted' : 'time was up';
    return {
      ...report,
      notes: [`${done.length} of ${open.length} variants, up to ${OPERATIONS} operations`],
      notPlayed: left.length > 0 ? [`${left.length} of ${open.length} variants: ${why} (--json names them)`] : [],
      details: { searched: done, left },
    };
  },
};

function kindOf(violation: string): FindingKind {
  if (violation.includes('not mirrored')) return 'lost';
  return violation.includes('deleted though') ? 'false' : 'claim';
}
