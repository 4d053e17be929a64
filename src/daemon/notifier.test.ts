import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { AT, sampleProblem } from '../../test/support/processes/status-report.ts';
import type { Problem } from '../status/problem.ts';
import { problemLog } from './notifier.ts';

it('the log says once that a problem began, and once that it is over', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const say = (level: string) => (line: unknown) => void lines.push(`${level} ${String(line)}`);
  let problems: readonly Problem[] = [];
  let looks = 0;
  const report = async () => {
    looks += 1;
    if (looks === 5) throw new Error('no database');
    return { problems, at: AT };
  };
  const log = { warn: say('warn'), info: say('info'), debug: say('debug') };
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
