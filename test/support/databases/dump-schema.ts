import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programVersion } from '../../../src/config/program.ts';
import { openDatabase } from '../../../src/postgres/pool.ts';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { presentParts } from '../../../src/postgres/inspection.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { dumpSchema } from './schema-dump.ts';
import { tableTypes, TYPE_FILE } from './table-types.ts';
import { ROOT, sourceFiles } from '../rules/source-files.ts';
import { openFolder } from '../postgres/quick-folder.ts';

/**
 * `node test/support/databases/dump-schema.ts`: writes migrations/schema.sql and migrations/objects.txt, from an
 * embedded server of its own, and the types of the tables.
 */
const folder = await openFolder('research-mirror-schema');
const log = { info: () => {}, warn: (line: string) => process.stderr.write(`${line}\n`) };
const program = 'research-mirror schema dump';
const clock = systemClock;
const server = await startEmbedded({ dataDir: folder, port: 'free', program, log, clock, durable: false });
try {
  const { url } = server;
  const { db, close } = await openDatabase({ url, schema: 'mirror', program, bounds: MIGRATION_BOUNDS });
  const migrations = join(ROOT, 'migrations');
  await migrate({ db, folder: migrations, version: programVersion(), clock });
  const head = '-- What all migrations make, for reading. Made by: node test/support/databases/dump-schema.ts\n\n';
  const dump = head + (await dumpSchema(db));
  await writeFile(join(migrations, 'schema.sql'), dump);
  const sources = sourceFiles('src').map(({ text }) => text);
  await writeFile(join(ROOT, 'src/postgres', TYPE_FILE), tableTypes(dump, sources));
  await writeFile(join(migrations, 'objects.txt'), `${(await presentParts(db)).join('\n')}\n`);
  await close();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
