import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { createSystem } from '../../support/processes/system.ts';
import { ROOT } from '../../support/rules/source-files.ts';

/** Cells of the rows of the table of docs/what-goes-wrong.md that has this number of columns. */
export function playedRows(columns: number): readonly (readonly string[])[] {
  return readFileSync(join(ROOT, 'docs/what-goes-wrong.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what goes wrong |'))
    .map((line) => line.split('|').slice(1, -1))
    .filter((cells) => cells.length === columns)
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** A system as a DBA sets it up: the daemon's login makes its schemas, and is no superuser. */
export async function createDbaSystem(switches: Partial<SandboxOptions> = {}) {
  const login = `daemon_${randomBytes(4).toString('hex')}`;
  const system = await createSystem(switches, await createTestDatabase());
  const url = Object.assign(new URL(system.databaseUrl), { username: login, password: 'word' });
  await system.db.query(`create role ${login} login password 'word'`);
  await system.db.query(`grant create on database "${url.pathname.slice(1)}" to ${login}`);
  return {
    system,
    login,
    url,
    async close(): Promise<void> {
      await system.db.query(`drop owned by ${login} cascade`).catch(() => {});
      await system.close();
    },
  };
}
