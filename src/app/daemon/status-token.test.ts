import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Secret } from '../../config/secret.ts';
import { statusToken } from './status-token.ts';

let dataDir: string;
let logged: string[];
let shown: string[];
let hidden: string[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'research-mirror-token-'));
  [logged, shown, hidden] = [[], [], []];
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const toTerminal = (line: string): void => void shown.push(line);

function tokenOn(
  host: string,
  changes: { token?: Secret; dataDir?: string; toTerminal?: (line: string) => void } = {},
): Promise<string | undefined> {
  const { token, dataDir: folder = dataDir, toTerminal: shows } = changes;
  const log = pino({}, { write: (line) => void logged.push(line) });
  const hide = (secret: string): void => void hidden.push(secret);
  return statusToken({ dataDir: folder, http: { host, port: 0, token } }, hide, log, shows);
}

it('is none on loopback, and elsewhere the configured one', async () => {
  expect(await tokenOn('127.0.0.1')).toBeUndefined();
  expect(await tokenOn('0.0.0.0', { token: new Secret('configured') })).toBe('configured');
  expect([logged, hidden]).toEqual([[], []]);
});

it('is made once, and the log says only where it is', async () => {
  const made = await tokenOn('0.0.0.0');
  const file = join(dataDir, 'status-token');
  expect(made).toMatch(/^[\w-]{32}$/);
  expect(await readFile(file, 'utf8')).toBe(`${made ?? ''}\n`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await tokenOn('0.0.0.0', { toTerminal })).toBe(made);
  expect(hidden).toEqual([made, made]);
  expect(logged).toEqual([expect.stringContaining(`it is in ${file}`), expect.stringContaining(file)]);
  expect(logged.join('')).not.toContain(made);
  expect(shown).toEqual([]);
});

it('is shown on a terminal when it is made', async () => {
  const made = await tokenOn('::', { toTerminal });
  expect(shown).toEqual([`token of the status page: ${made ?? ''}`]);
  expect(logged.join('')).not.toContain(made);
});

it('is for one run where it can’t be kept: the log says what to set, and whether anybody knows it', async () => {
  const folder = join(dataDir, 'a file');
  await writeFile(folder, '');
  const made = await tokenOn('0.0.0.0', { dataDir: folder });
  expect(logged).toEqual([expect.stringMatching(/this run only, and nobody knows it .*MIRROR_STATUS_TOKEN/)]);
  await tokenOn('0.0.0.0', { dataDir: folder, toTerminal });
  expect(logged[1]).toMatch(/this run only \(/);
  expect(logged.join('')).not.toContain(made);
});
