import { availableParallelism } from 'node:os';
import { seeded } from '../../support/random.ts';
import { allStarts, nameOf } from '../../model/all-variants.ts';
import type { Start } from '../../model/explore.ts';
import {
  type Attack,
  type AttackOptions,
  type AttackReport,
  type FindingKind,
  playInLanes,
  Tally,
} from '../support/attack.ts';
import { type Searched, searchInThread } from './searched.ts';

/** Source operations in a schedule, at most. */
const OPERATIONS = 3;
/** Longer than all of it takes on two slow cores. */
const MINUTES = 60;

export const modelAttack: Attack = {
  name: 'model',
  what: `every interleaving of up to ${OPERATIONS} source operations (of 2, where it was broken off) with a reading and a poll of 4 rows, every variant`,
  run: (options) => searchModel(options, OPERATIONS),
};

/** Searches variants side by side until all are searched, time is up, or an interrupt comes. */
export async function searchModel(
  options: AttackOptions,
  operations: number,
  starts: readonly Start[] = [
    ...allStarts(),
    ...allStarts().map((start) => ({ ...start, interrupted: true })),
  ],
): Promise<AttackReport> {
  const tally = new Tally(options);
  const { games, minutes = MINUTES } = options.size;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(minutes * 60_000)]);
  const open = games > 0 ? chosen(starts, options.seed, games) : shuffled(starts, options.seed);
  const done: Searched[] = [];
  let next = 0;
  const wanted = (): boolean => next < open.length && !signal.aborted;
  await playInLanes(Math.min(options.parallel, availableParallelism()), wanted, async () => {
    const start = open[next];
    next += 1;
    if (start === undefined) return;
    const seed = starts.indexOf(start);
    await tally.play(seed, async () => {
      // Where a reading goes on, one more may come before.
      const most = start.interrupted === true ? operations - 1 : operations;
      const searched = await searchInThread({ start, operations: most }, signal);
      if (searched === undefined) return undefined;
      done.push(searched);
      const { counts, violations } = searched;
      const { states, ends, deletions, bounded, slow } = counts;
      return {
        seed,
        what: nameOf(start),
        findings: violations.map((text) => ({ kind: kindOf(text), text })),
        counts: {
          variants: 1,
          states,
          'quiet ends': ends,
          deletions,
          'beyond P2': bounded,
          'equal after two readings': slow,
        },
        trace: [],
      };
    });
  });
  tally.notes.push(`${done.length} of ${open.length} variants, up to ${operations} operations`);
  const searched = new Set(done.map(({ start }) => nameOf(start)));
  const left = open.map(nameOf).filter((name) => !searched.has(name));
  if (left.length > 0) {
    tally.notPlayed.push(
      `${left.length} of ${open.length} variants: ${options.signal.aborted ? 'interrupted' : 'time was up'} (--json names them)`,
    );
  }
  return { ...tally.report(), details: { searched: done, left } };
}

/** So that a search which is cut has met every order and cursor. */
function shuffled(starts: readonly Start[], seed: number): Start[] {
  const random = seeded(seed);
  return starts
    .map((start) => ({ start, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ start }) => start);
}

/** The variant whose number is the seed, and those after it. */
function chosen(starts: readonly Start[], seed: number, count: number): Start[] {
  const from = seed % starts.length;
  return [...starts.slice(from), ...starts.slice(0, from)].slice(0, count);
}

function kindOf(violation: string): FindingKind {
  if (violation.includes('not mirrored')) return 'lost';
  return violation.includes('deleted though') ? 'false' : 'claim';
}
