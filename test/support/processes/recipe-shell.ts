import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { createMigratedTestDatabase } from '../databases/migrated-database.ts';
import { createReaderLogin } from '../postgres/reader-login.ts';
import { builtProgram, NODE_COMPILE_CACHE } from './built-programs.ts';
import { makeFolder, type Outcome } from './program.ts';

export type RecipeShell = Awaited<ReturnType<typeof openRecipeShell>>;

/**
 * A shell with a login that may read a mirror, in a folder of its own; `npx research-mirror` is the program built of
 * these sources.
 * @param fill SQL of a superuser, in UTC @param programs folders of programs that recipes need
 */
export async function openRecipeShell(fill: string, programs: readonly string[] = []) {
  const folder = makeFolder();
  const database = await createMigratedTestDatabase();
  const superuser = new pg.Client({ connectionString: database.url });
  await superuser.connect();
  await superuser.query(`set timezone = 'UTC'; ${fill};
    grant select on all tables in schema mirror to mirror_reader`);
  const reader = await createReaderLogin(database.url);
  const bin = join(folder.path, '.bin');
  mkdirSync(bin);
  const npx = join(bin, 'npx');
  const words = [process.execPath, await builtProgram('main')].map((word) => `'${word}'`).join(' ');
  writeFileSync(
    npx,
    `#!/bin/sh\nname=$1; shift\n[ "$name" = research-mirror ] && exec ${words} "$@"\n` +
      `exec '${process.execPath}' "$(readlink -f "node_modules/.bin/$name")" "$@"\n`,
  );
  chmodSync(npx, 0o755);
  const PATH = [bin, ...programs, process.env['PATH'] ?? ''].join(delimiter);
  const env = { PATH, HOME: folder.path, NODE_COMPILE_CACHE, DATABASE_URL: reader.url };
  return {
    superuser,
    /** Of a file in its folder. */
    path: (name: string): string => join(folder.path, name),
    /** Runs a recipe as it stands in the documents. */
    run: (recipe: string): Promise<Pick<Outcome, 'code' | 'stdout' | 'stderr'>> =>
      new Promise((resolve) => {
        const options = { cwd: folder.path, env };
        const child = execFile('bash', ['-c', recipe], options, (_, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
      }),
    async close(): Promise<void> {
      await reader.drop();
      await superuser.end();
      await database.drop();
      folder.remove();
    },
  };
}
