import { expect, it } from 'vitest';
import { chooseMirror } from './open-mirror.ts';

it.each([
  ['only the demo runs: the newcomer’s other terminal', 'absent', 'running', false, 'demo'],
  ['a demo that has ended, and nothing else', 'absent', 'stopped', false, 'demo'],
  ['a mirror of one’s own that runs', 'running', 'running', false, 'own'],
  ['a configured mirror that is stopped while a demo runs', 'stopped', 'running', true, 'own'],
  ['an old mirror, nothing configured, while a demo runs', 'stopped', 'running', false, 'demo'],
  ['an old mirror, and an old demo', 'stopped', 'stopped', false, 'own'],
  ['nothing at all', 'absent', 'absent', false, 'own'],
] as const)('chooseMirror %s', (_, own, demo, configured, expected) => {
  expect(chooseMirror(own, demo, configured)).toBe(expected);
});
