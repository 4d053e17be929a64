import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AT, before, sampleProblem } from '../../test/support/processes/status-report.ts';
import { notificationBody } from './notifier.ts';
import { briefProblem } from './problem-store.ts';

const MIRROR = { schema: 'mirror', service: 'https://service.example/v1', version: '1.2.3' };
const beganAt = new Date(AT);

const bodyOf = (...[problem, endedAt = null]: [ReturnType<typeof sampleProblem>, (Date | null)?]) =>
  JSON.parse(
    notificationBody(
      { problem: briefProblem(problem, (text) => text), beganAt, endedAt },
      MIRROR,
      beganAt.getTime(),
    ),
  ) as Record<'type' | 'timestamp' | 'text' | 'content', string>;

it('a message says in one line what began, and what is over', () => {
  const problem = sampleProblem({
    since: before(60),
    affects: ['1/lists', '2/lists', '3/lists', '4/lists', '5/lists'],
  });
  const began = bodyOf(problem);
  expect(began).toMatchObject({ type: 'problem.began', timestamp: AT, content: began.text });
  expect(began.text).toBe(
    'Problem, mirror "mirror" of service.example: polls are late; affects 5 collections of 5 accounts; since 60 s ago; ' +
      'by itself: nothing: no daemon runs; do: "research-mirror start"',
  );
  const ended = bodyOf(problem, new Date(before(-7_200)));
  expect(ended.text).toBe('Over, mirror "mirror" of service.example: polls are late; it lasted 2 h');
});

it('a message is one line of bounded size without mentions, whatever the service says', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 3_000 }),
      fc.array(fc.string(), { maxLength: 200 }),
      (what, affects) => {
        const problem = sampleProblem({ what: `<!channel> @here [x](y)\n${what}`, affects });
        const body = notificationBody(
          { problem: briefProblem(problem, (text) => text), beganAt, endedAt: null },
          MIRROR,
          beganAt.getTime(),
        );
        const { text } = JSON.parse(body) as { text: string };
        expect(text).not.toMatch(/[<>@[\]\n]/);
        expect(text.length).toBeLessThanOrEqual(2_000);
        expect(body.length).toBeLessThan(40_000);
      },
    ),
  );
});

it('a problem is stored without keys', () => {
  const scrubbed = briefProblem(sampleProblem({ what: 'key sk_1' }), (text) =>
    text.replaceAll('sk_1', '***'),
  );
  expect(scrubbed.what).toBe('key ***');
});
