import type { Finding, FindingKind } from './findings.ts';

/** What is reported of a game while it is played. */
export class GameRecord {
  readonly trace: string[] = [];
  readonly findings: Finding[] = [];
  readonly counts: Record<string, number> = { games: 1 };

  count(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
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
