import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AT, before, sampleProblem } from '../../test/support/processes/status-report.ts';
import { notificationBody, problemLog } from './notifier.ts';
import { briefProblem } from './problem-store.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { Problem } from '../status/problem.ts';

const MIRROR = { schema: 'mirror', service: 'https://service.example/v1', version: '1.2.3' };
const beganAt = new Date(AT);

const bodyOf = (problem: Problem, endedAt: Date | null = null): string =>
  notificationBody({ problem: briefProblem(problem, (text) => text), beganAt, endedAt }, MIRROR, beganAt.getTime());
const messageOf = (...of: Parameters<typeof bodyOf>) =>
  JSON.parse(bodyOf(...of)) as Record<'type' | 'timestamp' | 'text' | 'content', string>;

it('a message says in one line what began, and what is over', () => {
  const affects = ['1/lists', '2/lists', '3/lists', '4/lists', '5/lists'];
  const problem = sampleProblem({ since: before(60), affects });
  const began = messageOf(problem);
  expect(began).toMatchObject({ type: 'problem.began', timestamp: AT, content: began.text });
  expect(began.text).toBe(
    'Problem, mirror "mirror" of service.example: polls are late. Affects 5 collections of 5 accounts. Began 60 s ago. ' +
      'Meanwhile: nothing, because no daemon is running. Fix: run "research-mirror start"',
  );
  expect(messageOf(problem, new Date(before(-7_200))).text).toBe(
    'Resolved, mirror "mirror" of service.example: polls are late; it lasted 2 h',
  );
});

it('a message is one line of bounded size without mentions, whatever the service says', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 3_000 }),
      fc.array(fc.string(), { maxLength: 200 }),
      (what, affects) => {
        const body = bodyOf(sampleProblem({ what: `<!channel> @here [x](y)\n${what}`, affects }));
        const { text } = JSON.parse(body) as { text: string };
        expect(text).not.toMatch(/[<>@[\]\n]/);
        expect(text.length).toBeLessThanOrEqual(2_000);
        expect(body.length).toBeLessThan(40_000);
      },
    ),
  );
});

it('a problem is stored without keys', () => {
  const problem = sampleProblem({ what: 'key sk_1' });
  expect(briefProblem(problem, (text) => text.replaceAll('sk_1', '***')).what).toBe('key ***');
});

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
    expect.stringMatching(/^warn problem: polls are late\. Affects 1\/lists\. Began /),
    'debug problems can’t be read now: no database',
    'info resolved: polls are late',
  ]);
});
