import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dotEnvAdditions } from './dot-env.ts';

describe('.env', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dot-env-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const read = (text: string, env: Record<string, string> = {}): Record<string, string> => {
    const path = join(folder, '.env');
    writeFileSync(path, text);
    return dotEnvAdditions(env, path);
  };

  it('adds what the environment does not set itself', () => {
    expect(read('# keys\n\nA=1\r\nexport B = "two\nlines"\nC=\n', { A: 'mine' })).toEqual({
      B: 'two\nlines',
      C: '',
    });
  });

  it('refuses lines that would set nothing, by their numbers', () => {
    const text = 'A=1\nMIRROR_API_KEY abc\nB="x\ny"\nwhat\n';
    expect(() => read(text)).toThrow('.env: line 2, 5 says nothing');
  });

  it('is no problem where there is none', () => {
    expect(dotEnvAdditions({}, join(folder, 'none'))).toEqual({});
  });
});
