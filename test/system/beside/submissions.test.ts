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

async function submit(operation: string, payload: string, target: string | null = null): Promise<string> {
  const { rows } = await system.db.query<{ id: string }>('select mirror.submit($1, $2, $3) as id', [
    operation,
    payload,
    target,
  ]);
  return rows[0]?.id ?? '';
}

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

async function anyKey(table: string, column: string): Promise<string> {
  const { rows } = await system.db.query<{ key: string }>(
    `select ${column} as key from mirror.${table} limit 1`,
  );
  return rows[0]?.key ?? '';
}

/** Until everything was read once: without polls nothing else is, but what is hinted. */
async function loaded(): Promise<void> {
  await eventually('the first load', async () => {
    const { rows } = await system.db.query<{ open: number }>(
      'select count(*)::int as open from mirror.freshness where polled_at is null having count(*) = 0',
    );
    return (
      rows.length > 0 &&
      (await anyKey('research_jobs', 'job_id')) !== '' &&
      (await anyKey('lists', 'list_id')) !== ''
    );
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
