import { describe, expect, it } from 'vitest';
import { COLLECTIONS } from '../model/collections.ts';
import { defaultLimit, rateGroup } from './rate-groups.ts';

describe('endpoint groups', () => {
  it('are those of specification 8.2, with its limits', () => {
    const asked = [
      ['POST', '/v1/clay/enrich'],
      ['POST', '/v1/research'],
      ['POST', '/v1/enrich'],
      ['POST', '/v1/research/bulk'],
      ['POST', '/v1/lists'],
      ['POST', '/v1/lists/{id}/analyze'],
      ['POST', '/v1/research/{id}/sequence'],
      ['GET', '/v1/ping'],
      ['POST', '/v1/webhooks/register'],
    ] as const;
    expect(asked.map(([method, route]) => defaultLimit(rateGroup(method, route)))).toEqual([
      5, 10, 10, 2, 2, 2, 20, 60, 60,
    ]);
  });

  it('count every read of a collection among the other endpoints', () => {
    expect(new Set(COLLECTIONS.map((each) => rateGroup('GET', each.route)))).toEqual(new Set(['other']));
  });
});
