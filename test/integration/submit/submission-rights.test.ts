import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { answer, submittingRoles } from '../../support/submissions/submitting-roles.ts';

const scene = submittingRoles();
const { owner } = scene;

describe('rights', () => {
  const CALLS = [`mirror.submit('research', '{}')`, 'mirror.cancel_submission(1)'];

  it('let a submitter do nothing but call the two functions and read', async () => {
    const refused = [
      `insert into mirror.submissions (_user_id, operation, payload, created_at) values (7, 'research', '{}', now())`,
      `update mirror.submissions set state = 'queued'`,
      `delete from mirror.submissions`,
      `truncate mirror.submissions`,
      `select * from mirror_sync.account`,
      `select * from mirror_sync.registration`,
      `create table mirror.mine ()`,
    ];
    for (const statement of refused) {
      const outcome = await scene.submitter.run(statement).then(() => `done: ${statement}`, messageOf);
      expect(outcome).toMatch(/42501 permission denied/);
    }
  });

  it('let neither readers nor the public call them', async () => {
    for (const call of CALLS) {
      expect(await answer(scene.reader, call)).toMatch(/permission denied for function/);
      expect(await answer(scene.stranger, call)).toMatch(/permission denied for function/);
    }
    expect(await scene.reader.run('select count(*)::int as n from mirror.submissions')).toEqual([{ n: 0 }]);
    await expect(scene.reader.run('select * from mirror_sync.installation')).rejects.toThrow(
      /permission denied/,
    );
  });

  it('can’t be had by a search_path of one’s own', async () => {
    await owner(`create schema evil;
      create function evil.jsonb_typeof(jsonb) returns text language sql as $$ select 'object' $$;
      create function evil.cardinality(bigint[]) returns integer language sql as $$ select 1 $$;
      grant usage on schema evil to public`);
    const hijacked = scene.submitter.kysely.transaction().execute(async (trx) => {
      await sql`set local search_path = evil, pg_catalog`.execute(trx);
      const own = await sql<{ t: string }>`select jsonb_typeof('[]'::jsonb) as t`.execute(trx);
      expect(own.rows).toEqual([{ t: 'object' }]);
      await sql`select mirror.submit('research', '[]')`.execute(trx);
    });
    await expect(hijacked).rejects.toThrow('must be a JSON object, not array');
    await owner('drop schema evil cascade');
  });
});
