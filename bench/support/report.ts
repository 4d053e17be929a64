import { cpus, loadavg, totalmem } from 'node:os';
import { formatTable } from '../../src/terminal/text-table.ts';

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A small table. */
export function printTable(titles: readonly string[], rows: readonly (readonly string[])[]): void {
  process.stdout.write(`\n${formatTable(titles, rows)}\n`);
}

/** When and on what the figures were made: they mean nothing without. */
export function printMachine(): void {
  print(`${machine()}, load ${(loadavg()[0] ?? 0).toFixed(1)}`);
}

/** Date and machine, without its load. */
export function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const [{ model } = { model: 'unknown' }] = cpus();
  return (
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${model.trim()}), ${memory} GB, ` +
    `Node ${process.version}, ${process.platform} ${process.arch}`
  );
}

/** What a bench claims; those that do not hold are printed, and the bench ends with 1. */
export class Claims {
  readonly #broken: string[] = [];

  check(isTrue: boolean, claim: string): void {
    if (!isTrue) this.#broken.push(claim);
  }

  /** Prints the verdict, and sets the exit code. */
  tell(claims: string): void {
    if (this.#broken.length === 0) {
      print(`holds: ${claims}`);
      return;
    }
    for (const claim of this.#broken) print(`DOES NOT HOLD: ${claim}`);
    process.exitCode = 1;
  }
}

/** The value below which `share` of the sorted values lie; NaN of none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** In any order. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
