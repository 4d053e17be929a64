import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { programVersion } from '../../../src/config/program.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { MIGRATIONS, openTestDatabase } from '../../support/databases/migrated-database.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

let system: System;
const folder = folderForEach();
beforeEach(async () => {
  for (const name of await readdir(MIGRATIONS)) await copyFile(join(MIGRATIONS, name), join(folder.path, name));
  system = await createFrozenSystem();
  await system.sync(['--full']);
});
afterEach(() => system.close());

/** What a newer program may add, in every kind of table that this one writes. */
const ADDITIONS = `
  alter table "{schema}".research_jobs add column later text;
  alter table "{schema}".research_jobs_history add column later text;
  alter table "{schema}".events add column later boolean not null default false;
  alter table "{schema}".submissions add column priority integer not null default 0;
  alter table "{schema}"._collections add column later jsonb;
  alter table "{schema}_sync".scope add column later jsonb not null default '{}';
  alter table "{schema}_sync".account add column later bigint not null default 0;
  alter table "{schema}_sync".process add column later text;
  create table "{schema}_sync".later (_user_id bigint not null, noted text not null, primary key (_user_id, noted));
  create index research_jobs_later on "{schema}".research_jobs (_user_id, later);`;

/** A newer program, whose last migration states `oldest`, migrates the database. */
async function upgrade(oldest: string): Promise<void> {
  await writeFile(join(folder.path, '9000_later.sql'), `-- oldest program: ${oldest}\n${ADDITIONS}`);
  const { db, close } = await openTestDatabase(system.databaseUrl, { bounds: MIGRATION_BOUNDS });
  const options = { db, folder: folder.path, version: '99.0.0', clock: systemClock };
  try {
    expect((await migrate(options)).applied).toEqual(['9000_later']);
  } finally {
    await close();
  }
}

async function change(status: string): Promise<void> {
  const insert = { op: 'insert', collection: 'research_jobs', fields: { status } } as const;
  await system.sandbox.control.mutate(insert, insert);
}

describe('in a rolling upgrade', () => {
  it('the older program runs on, begins again, and does every command on the newer schema', async () => {
    const daemon = await system.daemon();
    await upgrade(programVersion());
    await change('queued');
    const equal = async () => (await differences(system)).length === 0;
    await eventually('the daemon that ran before to go on', equal);
    expect(await daemon.stop()).toMatchObject({ code: 0 });

    await change('running');
    await system.sync(['--full']);
    expect(await differences(system)).toEqual([]);
    expect(await system.run(['verify'])).toMatchObject({ code: 0 });
    expect(await system.run(['migrate', '--check'])).toMatchObject({ code: 0 });
    const again = await system.daemon();
    expect(await system.run(['submit', 'list', '--data', '{"name":"l"}'])).toMatchObject({ code: 0 });
    expect(await again.stop()).toMatchObject({ code: 0 });
    expect(await system.one('select later from mirror.research_jobs limit 1')).toBeNull();
  });

  it('a program that is older than the newer one allows is refused, and touches nothing', async () => {
    await upgrade('98.0.0');
    const content = `select (select count(*) from pg_class) as objects, (select count(*) from mirror.sync_log) as walks,
      (select max(started_at) from mirror_sync.process) as program`;
    const before = (await system.db.query(content)).rows;
    for (const [args, code] of [
      [['start'], 3],
      [['sync'], 3],
      [['status'], 3],
      [['migrate'], 1],
      [['migrate', '--check'], 1],
    ] as const) {
      const outcome = await system.run(args);
      expect([args, outcome.code, outcome.stdout]).toEqual([args, code, '']);
      expect(outcome.stderr).toContain(
        `newer than this program, research-mirror ${programVersion()}: its schema "mirror" has 9000_later (for 98.0.0 and later). Nothing was touched`,
      );
    }
    expect((await system.db.query(content)).rows).toEqual(before);
  });
});
