import { randomBytes } from 'node:crypto';
import { ask } from './on-connection.ts';

export type ReaderLogin = Awaited<ReturnType<typeof createReaderLogin>>;

/**
 * A login that may do at `url` what the groups may, by default read the mirror, as docs/connect.md has a DBA make them.
 * @param url of a superuser
 */
export async function createReaderLogin(url: string, groups: readonly string[] = ['mirror_reader']) {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const member = groups.length > 0 ? `in role ${groups.join()}` : '';
  await ask(url, `create role ${name} login password '${password}' ${member}`);
  const { href } = Object.assign(new URL(url), { username: name, password });
  const drop = async () => void (await ask(url, `drop owned by ${name}; drop role ${name}`));
  return { name, url: href, drop };
}
