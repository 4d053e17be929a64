import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { unprivilegedUser } from '@research-mirror/embedded-postgres/location';
import { systemClock } from '@research-mirror/runtime/clock';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { isTested } from '../optional.ts';
import { openFolder } from '../postgres/quick-folder.ts';

/** Where Debian and Homebrew put it. */
const PLACES = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const binary = PLACES.map((folder) => `${folder}/pgbouncer`).find((path) => existsSync(path));
const MISSING = 'pgbouncer is not installed (apt-get install pgbouncer, brew install pgbouncer)';

export const isPgbouncerTested = (): boolean =>
  isTested('TEST_PGBOUNCER', binary !== undefined, MISSING, 'transaction poolers');

export type Pooler = Awaited<ReturnType<typeof startPgbouncer>>;

/**
 * pgbouncer in front of a database, in transaction mode unless said: fewer connections than clients, so that sessions
 * are mixed.
 * @throws Error where it is not installed
 */
export async function startPgbouncer(
  databaseUrl: string,
  mode: 'transaction' | 'session' | 'statement' = 'transaction',
  size = 3,
) {
  if (binary === undefined) throw new Error(MISSING);
  const target = new URL(databaseUrl);
  const port = await nonEphemeralPort();
  const folder = await openFolder('pgbouncer');
  const [user, password] = [decodeURIComponent(target.username), decodeURIComponent(target.password)];
  const database = target.pathname.slice(1);
  await writeFile(join(folder, 'users.txt'), `"${user}" "${password}"\n`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]
${database} = host=${target.hostname} port=${target.port || '5432'} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = ${password === '' ? 'trust' : 'plain'}
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${mode}
default_pool_size = ${size}
max_client_conn = 200
`,
  );
  const identity = process.getuid?.() === 0 ? await unprivilegedUser(undefined) : undefined;
  const child = spawn(binary, ['-q', join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(identity && { uid: identity.uid, gid: identity.gid }),
  });
  const exit = once(child, 'exit');
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error('pgbouncer ended at its start');
    await systemClock.sleep(20);
  }
  target.host = `127.0.0.1:${port}`;
  return {
    /** As the database's, through the pooler. */
    url: target.href,
    stop: async (): Promise<void> => {
      child.kill('SIGINT');
      await exit;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether something listens on the port. */
function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => socket.destroy().destroyed,
    () => false,
  );
}
