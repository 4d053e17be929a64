import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Secret } from '../config/secret.ts';
import { statusToken } from './server.ts';

const folder = folderForEach();

/** Tokens made with this data folder, and what terminal and log show of them. */
function tokens(dataDir = folder.path) {
  const [logged, shown, hidden]: [string[], string[], string[]] = [[], [], []];
  const log = pino({}, { write: (line) => void logged.push(line) });
  const hide = (secret: string): void => void hidden.push(secret);
  const token = (host: string, terminal = false, configured?: Secret): Promise<string | undefined> =>
    statusToken(
      { dataDir, http: { host, port: 0, token: configured } },
      hide,
      log,
      terminal ? (line) => void shown.push(line) : undefined,
    );
  return { token, logged, shown, hidden };
}

it('the token is not needed on loopback, and elsewhere is the configured one', async () => {
  const { token, logged, hidden } = tokens();
  expect(await token('127.0.0.1')).toBeUndefined();
  expect(await token('0.0.0.0', false, new Secret('configured'))).toBe('configured');
  expect([logged, hidden]).toEqual([[], []]);
});

it('a token is made once, and the log says only where it is', async () => {
  const { token, logged, shown, hidden } = tokens();
  const made = await token('0.0.0.0');
  const file = join(folder.path, 'status-token');
  expect(made).toMatch(/^[\w-]{32}$/);
  expect(await readFile(file, 'utf8')).toBe(`${made ?? ''}\n`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await token('0.0.0.0', true)).toBe(made);
  expect(hidden).toEqual([made, made]);
  expect(logged).toEqual([expect.stringContaining(`a new one is in ${file}`), expect.stringContaining(file)]);
  expect(logged.join('')).not.toContain(made);
  expect(shown).toEqual([]);
});

it('a new token is shown on a terminal', async () => {
  const { token, logged, shown } = tokens();
  const made = await token('::', true);
  expect(shown).toEqual([`token for the status page: ${made ?? ''}`]);
  expect(logged.join('')).not.toContain(made);
});

it('a token that can’t be stored is for one run: the log says what to set, and whether it was shown', async () => {
  const file = join(folder.path, 'a file');
  await writeFile(file, '');
  const { token, logged } = tokens(file);
  const made = await token('0.0.0.0');
  expect(logged).toEqual([
    expect.stringMatching(/this run only \(.*\)\. It was shown nowhere\. Set MIRROR_STATUS_TOKEN/),
  ]);
  await token('0.0.0.0', true);
  expect(logged[1]).toMatch(/this run only \([^)]*\)\. Set MIRROR_STATUS_TOKEN/);
  expect(logged.join('')).not.toContain(made);
});
