import { expect, it } from 'vitest';
import { notePrivacy } from '../../../../src/postgres/note-privacy.ts';
import { ruleOf } from '../../../../src/mirror/mirror.ts';
import { Privacy } from '../../../../src/model/privacy.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';

const database = testDatabase();
const ITEM = '{"job_id":7,"notes":"a","of":{"email":"b","secret":[1]},"email":"c"}';
const settings = {
  ignoreFields: noFields(),
  excludeFields: { ...noFields(), research_jobs: ['notes', '**.secret'] },
  hashFields: { ...noFields(), research_jobs: ['**.email'] },
  hashKey: { reveal: () => 'k'.repeat(32) },
};

const note = (given: Parameters<typeof notePrivacy>[1], lines: string[] = []) =>
  notePrivacy(database.db, given, new Date(), { info: (line) => lines.push(line) });

it('a privacy setting is logged once, with the rows that change; these change in place, and only once', async () => {
  const before = await MirroredAccount.make(database, '1');
  await before.page('research_jobs', `[${ITEM},{"job_id":8}]`);
  const lines: string[] = [];
  for (let times = 0; times < 2; times += 1) await note(settings, lines);
  expect(lines).toEqual([expect.stringContaining('research_jobs: 1 row with fields that must not be stored')]);
  const [removal = ''] = /delete from .*?true\)(?=;)/.exec(lines[0] ?? '') ?? [];
  await database.db.raw(removal);

  const after = await MirroredAccount.make(database, '1', settings);
  const left = new Privacy(settings).item('research_jobs', ITEM);
  for (const changes of [0, 0]) {
    const { counts } = (await after.page('research_jobs', `[${left},{"job_id":8}]`)) as {
      counts: { updated: number };
    };
    expect(counts.updated).toBe(changes);
  }
  const rows = await database.rows('select _raw as raw, email, notes, "of" from mirror.research_jobs where job_id = 7');
  const raw = JSON.parse(left) as { email: string; of: object };
  expect(rows).toEqual([{ raw, email: raw.email, notes: null, of: raw.of }]);
  expect(ruleOf('research_jobs', settings).name).not.toBe(
    ruleOf('research_jobs', { ...settings, hashFields: noFields() }).name,
  );
});

it('another hash key is refused, with the remedy', async () => {
  const other = { ...settings, hashKey: { reveal: () => 'o'.repeat(32) } };
  const forget = () => database.rows('update mirror_sync.installation set hash_key = null');
  await note(settings);
  await expect(note(other)).rejects.toThrow('Set that key again');
  await forget();
  await note(other);
  await forget();
});

it('a cancelled submission is emptied', async () => {
  await MirroredAccount.make(database, '1');
  await note(settings);
  for (const operation of ['research', 'list'])
    await database.rows(`select mirror.cancel_submission(mirror.submit('${operation}', '{"notes":1}', null, 1))`);
  expect(await database.rows('select payload from mirror.submissions order by submission_id')).toEqual([
    { payload: {} },
    { payload: { notes: 1 } },
  ]);
});
