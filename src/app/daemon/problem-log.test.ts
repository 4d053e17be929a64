import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { AT, sampleProblem } from '../../../test/support/processes/status-report.ts';
import type { Problem } from '../../model/status/problem.ts';
import { problemLog } from './problem-log.ts';

it('says once that a problem began, and once that it is over', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  let problems: readonly Problem[] = [];
  let looks = 0;
  const log = {
    warn: (line: unknown) => void lines.push(`warn ${String(line)}`),
    info: (line: unknown) => void lines.push(`info ${String(line)}`),
    debug: (line: unknown) => void lines.push(`debug ${String(line)}`),
  };
  const report = async (): Promise<{ problems: readonly Problem[]; at: string }> => {
    looks += 1;
    if (looks === 5) throw new Error('no database');
    return { problems, at: AT };
  };
  const service = problemLog(report, clock, log);
  await service.start();
  await clock.advance(60_000);
  expect(lines).toEqual([]);
  problems = [sampleProblem({ affects: ['1/lists'] })];
  await clock.advance(30_000);
  problems = [sampleProblem({ affects: ['1/lists', '2/lists'] })];
  // One of these looks fails.
  await clock.advance(90_000);
  problems = [];
  await clock.advance(60_000);
  await service.stop();
  expect(lines).toEqual([
    expect.stringMatching(/^warn problem: polls are late; affects 1\/lists; since /),
    'debug problems are not known now: no database',
    'info over: polls are late',
  ]);
});
