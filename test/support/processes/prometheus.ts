import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { isTested } from '../optional.ts';

/** Where Debian and Homebrew put its programs. */
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const MISSING = 'Prometheus and promtool are not installed (apt-get install prometheus, brew install prometheus)';

const [PROMETHEUS = '', PROMTOOL = ''] = ['prometheus', 'promtool'].map((program) =>
  FOLDERS.map((folder) => join(folder, program)).find((path) => existsSync(path)),
);

export function isPrometheusTested(): boolean {
  const isThere = PROMETHEUS !== '' && PROMTOOL !== '';
  return isTested('TEST_PROMETHEUS', isThere, MISSING, 'metrics, alerts and dashboard with Prometheus');
}

/** Runs promtool to its end. @param input what it reads on stdin */
export function promtool(args: readonly string[], input = ''): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(PROMTOOL, args);
    let output = '';
    const add = (text: string): void => void (output += text);
    child.stdout.setEncoding('utf8').on('data', add);
    child.stderr.setEncoding('utf8').on('data', add);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
    child.stdin.end(input);
  });
}

/** A series at one moment: its labels, and the value as Prometheus writes it. */
export type Sample = { metric: Readonly<Record<string, string>>; value: [time: number, value: string] };

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** Prometheus in a folder of its own, which reads `target` each two seconds. @param rules file of alerts */
export async function startPrometheus(target: URL, rules: string) {
  const folder = await mkdtemp(join(tmpdir(), 'research-mirror-prometheus-'));
  const port = await nonEphemeralPort();
  const config = {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '2s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'research-mirror', static_configs: [{ targets: [target.host] }] }],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const places = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const args = [...places, `--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'];
  const child = spawn(PROMETHEUS, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  await eventually('Prometheus', async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${complaints}`);
    return (await fetch(`${url}/-/ready`)).ok;
  });
  /** The answer's `data`. @param route below `/api/v1/` @throws what Prometheus says of a bad request */
  const api = async <T>(route: string, query: Readonly<Record<string, string>> = {}): Promise<T> => {
    const response = await fetch(`${url}/api/v1/${route}?${new URLSearchParams(query).toString()}`);
    const answer = (await response.json()) as { data: T; error?: string };
    if (answer.error !== undefined) throw new Error(`${query['query'] ?? route}: ${answer.error}`);
    return answer.data;
  };
  return {
    api,
    /** @returns the samples of now */
    query: async (expression: string): Promise<readonly Sample[]> =>
      (await api<{ result: Sample[] }>('query', { query: expression })).result,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
