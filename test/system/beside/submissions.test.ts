import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

const NO_POLLS: Environment = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' };

interface Row {
  readonly operation: string;
  readonly state: string;
  readonly response_status: number | null;
  readonly response: Record<string, unknown> | null;
}

const submit = (operation: string, payload: string, target: string | null = null): Promise<string> =>
  system.one('select mirror.submit($1, $2, $3)', operation, payload, target);

async function rowOf(id: string): Promise<Row | undefined> {
  const { rows } = await system.db.query<Row>(
    'select operation, state, response_status, response from mirror.submissions where submission_id = $1',
    [id],
  );
  return rows[0];
}

/** Until it has come to an end. */
function ended(id: string): Promise<Row> {
  return eventually(`the end of submission ${id}`, async () => {
    const row = await rowOf(id);
    return row !== undefined && !['queued', 'sending', 'held'].includes(row.state) && row;
  });
}

const anyKey = (table: string, column: string): Promise<string> =>
  system.one(`select ${column} from mirror.${table} limit 1`);

/** Until everything was read once: without polls only hinted rows are read again. */
function loaded(): Promise<boolean> {
  const all = `select count(*) > 0 and bool_and(polled_at is not null) from mirror.freshness`;
  return eventually('the first load', async () => {
    await anyKey('research_jobs', 'job_id');
    await anyKey('lists', 'list_id');
    return system.one<boolean>(all);
  });
}

async function effects(): Promise<string[]> {
  return (await system.sandbox.control.operations()).map(({ operation }) => operation).toSorted();
}

describe('operations queued by SQL', () => {
  it('are sent once, their answers are kept, and what they made is in the mirror without a poll', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    const payload =
      '{"company_url": "https://a.example", "exact": 12345678901234567890.123456789012345678901}';
    const ids = {
      research: await submit('research', payload),
      enrich: await submit('enrich', payload),
      clay_enrich: await submit('clay_enrich', payload),
      bulk_research: await submit('bulk_research', payload),
      list: await submit('list', '{"name": "made here"}'),
      sequence: await submit('sequence', '{}', await anyKey('research_jobs', 'job_id')),
    };
    for (const [operation, id] of Object.entries(ids))
      expect(await ended(id)).toMatchObject({ operation, state: 'accepted', response_status: 201 });
    expect(await effects()).toEqual(Object.keys(ids).toSorted());

    const sent = await system.sandbox.control.operations();
    const { rows: requests } = await system.db.query<{ key: string }>(
      'select _request_id as key from mirror.submissions',
    );
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey))).toEqual(
      new Set(requests.map(({ key }) => key)),
    );
    const research = sent.find(({ operation }) => operation === 'research');
    expect(research?.payload).toContain('12345678901234567890.123456789012345678901');

    for (const [table, column, id] of [
      ['research_jobs', 'job_id', ids.research],
      ['bulk_research_jobs', 'bulk_job_id', ids.bulk_research],
      ['lists', 'list_id', ids.list],
    ] as const) {
      const key = (await rowOf(id))?.response?.[column];
      expect(key).toBeTypeOf('number');
      const query = `select 1 from mirror.${table} where ${column} = $1`;
      await eventually(
        `the row in ${table}`,
        async () => (await system.db.query(query, [key])).rows.length === 1,
      );
    }
    expect((await system.sandbox.control.counters()).rateLimited).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
