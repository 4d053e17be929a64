import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { manifest } from '../kubernetes/manifests.ts';
import { execute, executeWell } from './docker.ts';

/** One of the Deployment's pods, as Docker runs it. */
export interface Pod {
  readonly name: string;
  /** Of its status page, from this machine. */
  readonly url: string;
  /** The port that it listens on for deliveries, in the network namespace that all of them share. */
  readonly webhookPort: number;
}

export type Daemons = Awaited<ReturnType<typeof runDaemons>>;

const IMAGE = 'research-mirror';
// Away from those of the daemons, 8080 and on.
const SERVICE_PORT = 9000;
const CONTROL_PORT = 9001;

/**
 * A service, a PostgreSQL and the daemons of kubernetes/deployment.yaml as containers of one host. All share the network
 * of the service's container, since the program speaks plain HTTP with its own machine only; so each has its own ports.
 * @param accounts how many accounts the service has; @param folder where the Secret's files go
 */
export async function runDaemons(folder: string, accounts: number, count: number) {
  const { spec } = manifest('deployment.yaml').spec.template;
  const [container] = spec.containers;
  if (container === undefined) throw new Error('the Deployment has no container');
  await executeWell(['docker', 'build', '--tag', IMAGE, '.']);
  const prefix = `research-mirror-${process.pid}`;
  const [network, sandbox, postgres] = [`${prefix}-net`, `${prefix}-service`, `${prefix}-postgres`];
  const ports = await Promise.all(Array.from({ length: count }, () => nonEphemeralPort()));
  const postgresPort = await nonEphemeralPort();
  const password = `p${process.pid}w`;
  const keys = Array.from({ length: accounts }, (_, index) => `key-${1001 + index}`);
  /** What the Secret holds: the manifests' files, by name. */
  const secrets = {
    'api-key': keys.join('\n'),
    'database-url': `postgres://mirror:${password}@${postgres}/mirror`,
    'status-token': 'a-token-that-all-of-them-share',
  };
  const secretFolder = join(folder, 'secret');
  mkdirSync(secretFolder);
  for (const [name, text] of Object.entries(secrets)) writeFileSync(join(secretFolder, name), text, { mode: 0o440 });
  const { runAsUser, runAsGroup } = spec.securityContext;
  await executeWell(['chown', '-R', `0:${runAsGroup}`, secretFolder]);
  chmodSync(secretFolder, 0o750);

  await executeWell(['docker', 'network', 'create', network]);
  const published = ports.map((port, index) => `--publish 127.0.0.1:${port}:${8080 + 10 * index}`).join(' ');
  await executeWell(
    words(
      `docker run --detach --name ${sandbox} --network ${network} ${published} ${IMAGE} sandbox --host 127.0.0.1 ` +
        `--port ${SERVICE_PORT} --control-port ${CONTROL_PORT} ` +
        `--keys ${keys.map((key, index) => `${key}=${1001 + index}`).join()} ` +
        `--jobs 100 --lists 2 --items-per-list 10 --new-jobs-per-minute 30`,
    ),
  );
  // The language makes the databases' encoding UTF-8.
  await executeWell(
    words(
      `docker run --detach --name ${postgres} --network ${network} --publish 127.0.0.1:${postgresPort}:5432 ` +
        `--env LANG=C.UTF-8 --env POSTGRES_USER=mirror --env POSTGRES_PASSWORD=${password} ` +
        `postgres:18 -c listen_addresses=*`,
    ),
  );

  const pods = ports.map((port, index): Pod => ({
    name: `${prefix}-${index}`,
    url: `http://127.0.0.1:${port}`,
    webhookPort: 8081 + 10 * index,
  }));
  const mountOf = (name: string): string =>
    container.volumeMounts.find((mount) => mount.name === name)?.mountPath ?? '';
  const runPod = async (pod: Pod): Promise<void> => {
    const index = pods.indexOf(pod);
    const { securityContext, env, args, resources } = container;
    const settings = {
      MIRROR_API_URL: `http://127.0.0.1:${SERVICE_PORT}`,
      LOG_FORMAT: 'json',
      MIRROR_HTTP_PORT: String(8080 + 10 * index),
      MIRROR_WEBHOOK_PORT: String(pod.webhookPort),
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    };
    await executeWell([
      ...words(
        `docker run --detach --name ${pod.name} --network container:${sandbox} --user ${runAsUser}:${runAsGroup} ` +
          `--memory ${resources.limits.memory.replace(/i$/, '')} --volume ${secretFolder}:${mountOf('secrets')}:ro ` +
          `--tmpfs ${mountOf('data')}:uid=${runAsUser},gid=${runAsGroup},mode=700`,
      ),
      ...(securityContext.readOnlyRootFilesystem ? ['--read-only'] : []),
      ...securityContext.capabilities.drop.flatMap((each) => ['--cap-drop', each]),
      ...(securityContext.allowPrivilegeEscalation ? [] : ['--security-opt', 'no-new-privileges:true']),
      ...Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      container.image,
      ...args,
    ]);
  };
  const remove = (name: string): Promise<string> => executeWell(['docker', 'rm', '--force', '--volumes', name]);
  return {
    pods,
    secrets,
    /** Of the database's owner, from this machine. */
    databaseUrl: `postgres://mirror:${password}@127.0.0.1:${postgresPort}/mirror`,
    start: runPod,
    /** As Kubernetes ends a pod, without its wait before that. */
    async stop(pod: Pod): Promise<void> {
      const grace = String(spec.terminationGracePeriodSeconds);
      await executeWell(['docker', 'stop', '--time', grace, pod.name]);
      const code = (await executeWell(['docker', 'inspect', '--format', '{{.State.ExitCode}}', pod.name])).trim();
      await remove(pod.name);
      if (code !== '0') throw new Error(`${pod.name} ended with ${code}`);
    },
    kill: (pod: Pod) => remove(pod.name),
    /** Asks the emulated service's control API. */
    async control<Answer>(path: string): Promise<Answer> {
      const script = `fetch('http://127.0.0.1:${CONTROL_PORT}${path}').then(async (r) => console.log(await r.text()))`;
      return JSON.parse(await executeWell(['docker', 'exec', sandbox, 'node', '-e', script])) as Answer;
    },
    inspect: (pod: Pod) => executeWell(['docker', 'inspect', pod.name]),
    async logs(pod: Pod): Promise<string> {
      const { stdout, stderr } = await execute(['docker', 'logs', pod.name]);
      return stdout + stderr;
    },
    async end(): Promise<void> {
      for (const name of [...pods.map((pod) => pod.name), sandbox, postgres]) await remove(name).catch(() => {});
      await executeWell(['docker', 'network', 'rm', network]);
    },
  };
}

/** Of a line in which no word has a space. */
function words(line: string): string[] {
  return line.split(' ');
}
