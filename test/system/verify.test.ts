import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/switches/sandbox-switches.ts';
import type { VerifyReport } from '../../src/app.ts';
import type { VerifiedCollection } from '../../src/sync/verify-report.ts';
import { rowVersions } from '../support/mirror-truth.ts';
import { createSystem, type Environment, type System } from '../support/system.ts';
import { tamper } from '../support/tamper.ts';

let system: System;
afterEach(() => system.close());

async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<System> {
  system = await createSystem(switches);
  await system.sandbox.control.clock({ freeze: true });
  await system.sync(['--full']);
  return system;
}

async function verify(args: readonly string[], code: number, env: Environment = {}): Promise<VerifyReport> {
  const outcome = await system.run(['verify', '--json', ...args], env);
  expect({ code: outcome.code, stderr: outcome.code === code ? '' : outcome.stderr }).toEqual({
    code,
    stderr: '',
  });
  return JSON.parse(outcome.stdout) as VerifyReport;
}

const of = (report: VerifyReport, name: string): VerifiedCollection | undefined =>
  report.collections.find(({ collection }) => collection === name);

function keysOf(found: VerifiedCollection | undefined, kind: string): string[] {
  return (found?.discrepancies ?? [])
    .filter((each) => each.kind === kind)
    .map(({ key }) => key ?? '')
    .toSorted();
}

describe('verify', () => {
  it.each(['falling', 'rising', 'unordered'] as const)(
    'finds exactly the rows that were tampered with, of each kind: order %s',
    async (order) => {
      await mirrored({ order, jobs: 2_000 });
      const equal = await verify([], 0);
      expect(equal.equal).toBe(true);
      expect(of(equal, 'research_jobs')).toMatchObject({ items: 2_000, rows: 2_000, missing: 0, changed: 0 });

      const tampered = await tamper(system.db, 10);
      const before = await rowVersions(system.db);
      const report = await verify(['research_jobs'], 1);
      expect(await rowVersions(system.db)).toBe(before);
      const found = of(report, 'research_jobs');
      expect(found).toMatchObject({ missing: 20, extra: 10, different: 30, changed: 0, quarantined: 0 });
      expect(keysOf(found, 'missing')).toEqual([...tampered.removed, ...tampered.deleted].toSorted());
      expect(keysOf(found, 'extra')).toEqual(tampered.added.toSorted());
      expect(keysOf(found, 'different')).toEqual(
        [...tampered.column, ...tampered.raw, ...tampered.hash].toSorted(),
      );
      const names = (ids: readonly string[]): string[] => [
        ...new Set(
          found?.discrepancies
            .filter(({ key }) => ids.includes(key ?? ''))
            .map(({ fields }) => fields.map(({ name }) => name).join()),
        ),
      ];
      expect(names(tampered.column)).toEqual(['status']);
      expect(names(tampered.raw)).toEqual(['_raw.status']);
      expect(names(tampered.hash)).toEqual(['_hash']);
    },
  );
});
