import { messageOf } from '@research-mirror/runtime/message';

/**
 * What an attack found broken:
 * - `lost`: the mirror lacks what the source has, or has it otherwise
 * - `false`: a row was deleted that was there at each moment of its second proof
 * - `twice`: a version is there twice, or two versions overlap
 * - `history`: the history does not replay to what was read
 * - `claim`: anything else that the documents claim
 */
export const FINDING_KINDS = ['lost', 'false', 'twice', 'history', 'claim'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];
export interface Finding {
  readonly kind: FindingKind;
  readonly text: string;
}

type Counts = Readonly<Record<string, number>>;

/** Result of one game: one account, reproducible by its seed. */
export interface GameResult {
  readonly seed: number;
  /** What was drawn, in a line. */
  readonly what: string;
  readonly findings: readonly Finding[];
  /** What was counted: walks, kills, requests … */
  readonly counts: Counts;
  /** What happened, in order. */
  readonly trace: readonly string[];
}

/** Adds figures by name. */
export function addCounts(into: Record<string, number>, counts: Counts): void {
  for (const [name, count] of Object.entries(counts)) into[name] = (into[name] ?? 0) + count;
}

/** What is reported of a game while it is played. */
export class GameRecord {
  readonly trace: string[] = [];
  readonly findings: Finding[] = [];
  readonly counts: Record<string, number> = { games: 1 };

  count(name: string, by = 1): void {
    addCounts(this.counts, { [name]: by });
  }

  tell(line: string): void {
    this.trace.push(`${new Date().toISOString().slice(11, 23)} ${line}`);
  }

  found(findings: readonly Finding[]): void {
    this.findings.push(...findings);
  }

  find(kind: FindingKind, text: string): void {
    this.findings.push({ kind, text });
  }
}

/** How much is played; each attack reads the figures that concern it. */
export interface AttackSize {
  /** Number of games, unless 0; then the other figures decide. */
  readonly games: number;
  readonly walks: number;
  /** Default: each attack's own. */
  readonly kills?: number | undefined;
  /** How long attacks that repeat rounds, and the model, go on. Default: each attack's own. */
  readonly minutes?: number | undefined;
}

export interface AttackOptions {
  /** The first game's seed; the next games' follow it. */
  readonly seed: number;
  readonly size: AttackSize;
  /** Most games side by side. */
  readonly parallel: number;
  /** Interrupts: no further game begins, and those under way do not count. */
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

export interface AttackReport {
  readonly counts: Counts;
  readonly findings: Readonly<Record<FindingKind, number>>;
  /** What was covered, and what could not be done here and why. */
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
  readonly #options: Pick<AttackOptions, 'onGame'> & Partial<AttackOptions>;

  constructor(options: Pick<AttackOptions, 'onGame'> & Partial<AttackOptions>) {
    this.#options = options;
  }

  add(result: GameResult): void {
    // Ctrl-C reaches the programs that games run, too: what they then do is no finding.
    if (this.#options.signal?.aborted === true) return addCounts(this.counts, { 'games interrupted': 1 });
    addCounts(this.counts, result.counts);
    for (const { kind } of result.findings) this.findings[kind] += 1;
    this.#options.onGame(result);
  }

  /** Plays a game. One that breaks off is a finding, and the others go on; one without a result was given up. */
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
  return { lost: 0, false: 0, twice: 0, history: 0, claim: 0 };
}

/** One line a finding, and how to play the same game again. */
export function describeFindings(attack: string, { seed, what, findings }: GameResult): string {
  const lines = findings.slice(0, 8).map(({ kind, text }) => `  ${kind}: ${text}`);
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
    while (wanted()) await play(next++);
  };
  await Promise.all(Array.from({ length: parallel }, lane));
}

/** An attack that is one game after another. */
export interface Games {
  /** Most games side by side. Default: `parallel`. */
  readonly lanes?: number;
  /** Whether another game begins after `begun` ones, where no number of games is asked for. */
  readonly more: (begun: number, tally: Tally) => boolean;
  /** @param index from 0 up; the seed follows it */
  readonly play: (seed: number, index: number) => Promise<GameResult | undefined>;
}

/** Plays as many games as are asked for, else as many as the attack sees fit. */
export async function playGames(options: AttackOptions, games: Games): Promise<AttackReport> {
  const { size, parallel, seed, signal } = options;
  const tally = new Tally(options);
  let begun = 0;
  const wanted = (): boolean => !signal.aborted && (size.games > 0 ? begun < size.games : games.more(begun, tally));
  await playInLanes(Math.min(games.lanes ?? parallel, parallel), wanted, async (index) => {
    begun += 1;
    await tally.play(seed + index, () => games.play(seed + index, index));
  });
  return tally.report();
}

/** For `more`: until the minutes are over, which begin now, and for at least `least` games. */
export function whileRoundsLast({ minutes = 3 }: AttackSize, least = 1): Games['more'] {
  const until = performance.now() + minutes * 60_000;
  return (begun) => begun < least || performance.now() < until;
}
