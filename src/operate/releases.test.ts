import { expect, it } from 'vitest';
import { judgeVersion, LOOKED_UP } from './check.ts';

it.each([
  [
    'Node',
    '26.10.0',
    'warning',
    'of 2026-09-22 lacks the security fixes of 26.12.1 (2026-10-21), 26.13.1 (2026-11-11)',
  ],
  ['Node', '24.21.0', 'warning', ' lacks the security fixes of 24.22.1 (2026-10-21), 24.22.3 (2026-11-11)'],
  ['Node', '24.22.3', 'ok', 'of 2026-11-11; no security release since is known'],
  ['Node', '24.100.0', 'ok', '; no security release since is known'],
  ['Node', '25.9.0', 'warning', ' gets no security fixes any more'],
  ['Node', '27.0.0', 'ok', '; no security release since is known'],
  [
    'PostgreSQL',
    '18.4',
    'warning',
    'of 2026-05-14 lacks the security fixes of 18.6 (2026-08-13), 18.7 (2026-11-12)',
  ],
  ['PostgreSQL', '18.10', 'ok', '; no security release since is known'],
  ['PostgreSQL', '15.20', 'ok', 'of 2026-11-12; no security release since is known'],
  ['PostgreSQL', '19.1', 'warning', ': 15 to 18 are tested, this one is not'],
  ['PostgreSQL', '19beta1', 'warning', ': 15 to 18 are tested, this one is not'],
] as const)('doctor judges %s %s: %s', (runtime, version, state, words) => {
  const { state: judged, found, remedy } = judgeVersion(runtime, version, 'update it');
  expect([judged, found]).toEqual([
    state,
    expect.stringContaining(`${runtime} ${version}${words.startsWith('of') ? ' ' : ''}${words}`),
  ]);
  expect(remedy).toBe(/fixes/.test(words) ? 'update it' : null);
  if (state === 'ok') expect(found).toContain(LOOKED_UP);
});
