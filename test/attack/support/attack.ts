import { messageOf } from '@research-mirror/runtime/message';
import { addCounts, type Finding, FINDING_KINDS, type FindingKind, type GameResult } from './findings.ts';

/** How much of it: each attack takes what it understands. */
export interface AttackSize {
  /** Not 0: so many games, whatever the rest says. */
  readonly games: number;
  readonly walks: number;
  /** Left out: as many as each attack that kills sees fit. */
  readonly kills?: number | undefined;
  /** Attacks that repeat rounds, and the model: until this is over. Left out: as long as each sees fit. */
  readonly minutes?: number | undefined;
}

export interface AttackOptions {
  /** The first game's seed; the next games' follow it. */
  readonly seed: number;
  readonly size: AttackSize;
  /** Games played side by side at most. */
  readonly parallel: number;
  /** Interrupts: no game begins any more, and what those under way come to does not count. */
  readonly signal: AbortSignal;
  /** Called with each game as it ends. */
  readonly onGame: (result: GameResult) => void;
}

export interface Attack {
  /** As `--only` names it. */
  readonly name: string;
  /** What it does, in a line. */
  readonly what: string;
  run(options: AttackOptions): Promise<AttackReport>;
}

/** What came of an attack as a whole. */
export interface AttackReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: Readonly<Record<FindingKind, number>>;
  /** Things worth telling: what was covered, what could not be done here and why. */
  readonly notes: readonly string[];
  /** Parts that could not be played here: they count neither as passed nor as failed. */
  readonly notPlayed: readonly string[];
  /** More than a table can hold, for `--json`. */
  readonly details?: unknown;
}

/** Sums games up, and passes each on. */
export class Tally {
  readonly counts: Record<string, number> = {};
  readonly findings = noFindings();
  readonly notes: string[] = [];
  readonly notPlayed: string[] = [];
  readonly #onGame: (result: GameResult) => void;
  readonly #signal: AbortSignal | undefined;

  constructor({ onGame, signal }: Pick<AttackOptions, 'onGame'> & { readonly signal?: AbortSignal }) {
    this.#onGame = onGame;
    this.#signal = signal;
  }

  add(result: GameResult): void {
    // Whoever interrupts from a terminal interrupts the programs that games run, too: what they then do is no finding.
    if (this.#signal?.aborted === true) {
      addCounts(this.counts, { 'games interrupted': 1 });
      return;
    }
    addCounts(this.counts, result.counts);
    for (const { kind } of result.findings) this.findings[kind] += 1;
    this.#onGame(result);
  }

  /** Plays a game; one that breaks off is a finding, and the others go on. One that has no result was given up. */
  async play(seed: number, game: () => Promise<GameResult | undefined>): Promise<void> {
    try {
      const result = await game();
      if (result !== undefined) this.add(result);
    } catch (error) {
      const text = `the game broke off: ${(error as Error).stack ?? messageOf(error)}`;
      this.add({ seed, what: '', findings: [{ kind: 'claim', text }], counts: {}, trace: [] });
    }
  }

  count(name: string): number {
    return this.counts[name] ?? 0;
  }

  report(): AttackReport {
    const { counts, findings, notes, notPlayed } = this;
    return { counts, findings, notes, notPlayed };
  }
}

export function noFindings(): Record<FindingKind, number> {
  return Object.fromEntries(FINDING_KINDS.map((kind) => [kind, 0])) as Record<FindingKind, number>;
}

/** One line a finding, and how to play the same game again. */
export function describeFindings(attack: string, { seed, what, findings }: GameResult): string {
  const lines = findings.slice(0, 8).map(({ kind, text }: Finding) => `  ${kind}: ${text}`);
  const again = `npm run attack -- --only ${attack} --seed ${seed} --games 1`;
  return [`${attack}, seed ${seed}: ${what}`, ...lines, `  again: ${again}`].join('\n');
}

/** Plays games one after another in `parallel` lanes until `wanted` says that it is enough. */
export async function playInLanes(
  parallel: number,
  wanted: () => boolean,
  play: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (wanted()) {
      const index = next;
      next += 1;
      await play(index);
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
}
