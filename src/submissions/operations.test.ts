import { expect, it } from 'vitest';
import { OPERATION_NAMES, TARGETED_OPERATIONS } from '../model/submission.ts';
import { OPERATIONS } from './send-submission.ts';

it('the catalogue of operations has every operation with its path and its rate limit', () => {
  const rows = OPERATION_NAMES.map((name) => {
    const { path, group } = OPERATIONS[name];
    return [name, path('7'), group, TARGETED_OPERATIONS.includes(name)];
  });
  expect(rows).toEqual([
    ['research', '/v1/research', 'research_enrich', false],
    ['enrich', '/v1/enrich', 'research_enrich', false],
    ['clay_enrich', '/v1/clay/enrich', 'clay_enrich', false],
    ['bulk_research', '/v1/research/bulk', 'bulk_lists', false],
    ['list', '/v1/lists', 'bulk_lists', false],
    ['list_analyze', '/v1/lists/7/analyze', 'bulk_lists', true],
    ['sequence', '/v1/research/7/sequence', 'sequence', true],
  ]);
});

it('the catalogue of operations keeps a target within its place in the path', () => {
  for (const target of ['a/b', '../ping', '$&', 'é 1?x#y'])
    expect(OPERATIONS.list_analyze.path(target)).toBe(`/v1/lists/${encodeURIComponent(target)}/analyze`);
});
