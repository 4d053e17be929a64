import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dotEnvAdditions } from './dot-env.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

describe('.env', () => {
  const folder = folderForEach();
  const read = (text: string | Buffer, env: Record<string, string> = {}): Record<string, string> => {
    const path = join(folder.path, '.env');
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

  it('may begin with a byte order mark', () => {
    expect(read('\ufeffDATABASE_URL=postgres://a/b\r\nMIRROR_SUBMIT=off\r\n')).toEqual({
      DATABASE_URL: 'postgres://a/b',
      MIRROR_SUBMIT: 'off',
    });
  });

  it('refuses what is no UTF-8, and names that only look like ones', () => {
    expect(() => read(Buffer.from('\ufeffA=1\n', 'utf16le'))).toThrow('save it as UTF-8');
    expect(() => read(Buffer.from('A=Gew\xfcrz\n', 'latin1'))).toThrow('save it as UTF-8');
    expect(() => read('MIRROR_SCHEMA=a\n\u200bMIRROR_SUBMIT=off\n')).toThrow('no variable is called');
    expect(() => read('MIRROR_SCHEMA=a\nMIRROR SUBMIT=off\n')).toThrow('no variable is called');
  });

  it('is no problem where there is none', () => {
    expect(dotEnvAdditions({}, join(folder.path, 'none'))).toEqual({});
  });
});
