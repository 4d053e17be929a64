import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHostileMirror, type HostileMirror, startHostileService } from './hostile-service.ts';
import { hostileDifferences } from './hostile-truth.ts';

// Answers in which rows are wanting, or older than before: no proof that they are gone, and none that they went back.

let mirror: HostileMirror;
beforeAll(async () => {
  mirror = await createHostileMirror();
});
afterAll(() => mirror.drop());

describe('replicas that lag', () => {
  it('take no row away and bring no old version back', async () => {
    const service = await startHostileService(mirror, { order: 'falling', maxLimit: 7 });
    const { control } = service.sandbox;
    const account = await service.account();
    const user = account.userId;
    const collection = 'research_jobs' as const;
    await account.readAll();
    const keys = (await control.truth({ collection, user })).map((source) => /\d+/.exec(source)?.[0] ?? '');
    // They lag by less than the settle time; so that they lag at all, the data's clock runs.
    await control.clock({ resume: true });
    await control.change({ faultStale: 0.5, staleMs: 400 });
    const signal = new AbortController().signal;
    for (let round = 1; round <= 5; round += 1) {
      for (const id of [keys[1], keys[9], keys[15]]) {
        await control.mutate({ op: 'update', user, collection, id: id ?? '', fields: { round } });
      }
      await control.mutate({ op: 'insert', user, collection, fields: { round: 0 } });
      await account.reader.read(collection, { what: round % 2 === 0 ? 'full' : 'current', signal });
    }
    await control.clock({ freeze: true });
    expect((await control.counters()).byFault['faultStale']).toBeGreaterThan(3);
    const { rows } = await sql<{ rounds: number[]; deleted: boolean }>`
      select array_agg(coalesce((_raw ->> 'round')::int, 0) order by _valid_from) as rounds,
        bool_or(_op = 'delete') as deleted
      from mirror.research_jobs_history where _user_id = ${user} group by job_id`.execute(mirror.kysely);
    expect(rows.length).toBeGreaterThan(0);
    for (const { rounds, deleted } of rows) {
      expect(rounds).toEqual([...new Set(rounds)].toSorted((a, b) => a - b));
      expect(deleted).toBe(false);
    }
    await control.change({ faultStale: 0 });
    await account.readAll();
    expect(await hostileDifferences(service, user)).toEqual([]);
    await account.close();
    await service.close();
  });
});

describe('a list that is deleted while its row is still mirrored', () => {
  it.each(['404', 'empty'] as const)('answers %s, and takes no row with it unproven', async (deletedList) => {
    const service = await startHostileService(mirror, { deletedList });
    const account = await service.account();
    await account.readAll();
    const user = account.userId;
    const [list = ''] = await service.sandbox.control.truth({ collection: 'lists', user });
    const id = String((JSON.parse(list) as { list_id: number }).list_id);
    await service.sandbox.control.mutate({ op: 'delete', user, collection: 'lists', id });
    const signal = new AbortController().signal;
    expect(await account.reader.read('list_items', { what: 'full', signal })).toMatchObject({
      error: undefined,
    });
    await service.sandbox.control.mutate({ op: 'restore', user, collection: 'lists', id });
    expect(await hostileDifferences(service, user)).toEqual([]);
    await account.close();
    await service.close();
  });
});
