import { join } from 'node:path';
import { VARIABLES } from '../../src/config/settings.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { ROOT } from '../support/rules/source-files.ts';
import { type CommandOutcome, execute, executeWell } from './docker.ts';

export type ComposeProject = Awaited<ReturnType<typeof composeProject>>;

/**
 * The compose file as a project of its own, on free ports, with nothing of the developer's configuration.
 * @param given what an operator would have in .env @param files besides docker-compose.yml, in the repository's root
 */
export async function composeProject(given: Readonly<Record<string, string>> = {}, ...files: readonly string[]) {
  const [httpPort, postgresPort] = [await nonEphemeralPort(), await nonEphemeralPort()];
  // Empty counts as not set, and goes before a developer's .env, which may hold a real account.
  const unset = Object.fromEntries(VARIABLES.map((name) => [name, '']));
  const ports = { MIRROR_HTTP_PORT: String(httpPort), MIRROR_PG_PORT: String(postgresPort) };
  const env = { ...process.env, ...unset, ...ports, ...given };
  const run = (command: readonly string[]): Promise<CommandOutcome> => execute(command, env);
  const program = await composeProgram(run);
  // Another file than .env, which may hold a real account.
  const name = `research-mirror-test-${process.pid}-${httpPort}`;
  const chosen = ['docker-compose.yml', ...files].flatMap((file) => ['--file', join(ROOT, file)]);
  const prefix = [...program, '--project-name', name, '--profile', 'sandbox', ...chosen];
  const checked = (command: readonly string[]): Promise<string> => executeWell(command, env);
  const idOf = async (service: string): Promise<string> =>
    (await checked([...prefix, 'ps', '--quiet', '--all', service])).trim();
  return {
    /** Of the status page. */
    url: `http://127.0.0.1:${httpPort}`,
    /** `docker compose …`. @throws where it ends with anything but 0 */
    compose: (...args: string[]) => checked([...prefix, ...args]),
    /** `docker compose exec mirror research-mirror …` */
    mirror: (...args: string[]) => run([...prefix, 'exec', '-T', 'mirror', 'research-mirror', ...args]),
    /** What `docker inspect` says of the container of `service`, running or not. @param template of Go, for a field */
    inspect: async (service: string, template = '{{json .}}') =>
      (await checked(['docker', 'inspect', '--format', template, await idOf(service)])).trim(),
  };
}

/** The plugin, or the program of its own that older installations have. */
async function composeProgram(run: (command: readonly string[]) => Promise<CommandOutcome>): Promise<string[]> {
  for (const program of [['docker', 'compose'], ['docker-compose']]) {
    if ((await run([...program, 'version'])).code === 0) return program;
  }
  throw new Error('neither "docker compose" nor "docker-compose" is installed');
}
