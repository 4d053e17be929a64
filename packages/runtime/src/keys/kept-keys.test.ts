import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepKeyFiles } from './key-file.ts';
import { keysInMemory, type KeptKeys, type KeyStore, keyStore, type KeyStoreOptions } from './kept-keys.ts';

let folder: string;
let told: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kept-keys-test-'));
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function storeOf(options: Partial<KeyStoreOptions> = {}): KeyStore {
  return keyStore({ folders: [folder], mostEach: 3, onLost: (error) => told.push(error), ...options });
}

function keep(keys: KeptKeys, count: number, from = 0): void {
  for (let number = from; number < from + count; number += 1) keys.keep(`key ${number}`, `value ${number}`);
}

describe('kept keys', () => {
  it('keep the first value of a key, in memory and on disk', () => {
    for (const store of [keysInMemory, storeOf()]) {
      const keys = store.open();
      keep(keys, 10);
      expect([keys.keep('key 1', 'other'), keys.keep('key 9', 'other')]).toEqual(['value 1', 'value 9']);
      expect([keys.size, keys.has('key 0'), keys.has('key 9'), keys.has('key 10')]).toEqual([
        10,
        true,
        true,
        false,
      ]);
      keys.close();
    }
    expect(told).toEqual([]);
  });

  it('leave nothing in the folder, even while they are there', () => {
    const keys = storeOf().open();
    keep(keys, 10);
    expect(keys.lost).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('share one file, of which each has its own part', () => {
    const store = storeOf();
    const [one, other] = [store.open(), store.open()];
    keep(one, 10);
    keep(other, 10, 5);
    one.close();
    keep(other, 10, 15);
    expect([one.lost, other.lost, other.size, other.has('key 0'), other.has('key 5')]).toEqual([
      true,
      false,
      20,
      false,
      true,
    ]);
  });

  it('go to disk early where all together are too many, unless they are few', () => {
    const store = storeOf({ folders: [], mostEach: 1000, mostTogether: 300 });
    const large = store.open();
    keep(large, 300);
    const few = store.open();
    keep(few, 100);
    expect([large.lost, few.lost]).toEqual([false, false]);
    keep(few, 1, 100);
    expect(few.lost).toBe(true);
    large.close();
    const next = store.open();
    keep(next, 200);
    expect(next.lost).toBe(false);
  });

  it('take the next folder where nothing can be made in the first, and make it', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const keys = storeOf({ folders: [join(file, 'no folder'), join(folder, 'new')] }).open();
    keep(keys, 10);
    expect([keys.lost, existsSync(join(folder, 'new'))]).toEqual([false, true]);
  });

  it('are lost where no file can be made, which is told once until it could again', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const store = storeOf({ folders: [file] });
    for (const keys of [store.open(), store.open()]) {
      keep(keys, 10);
      expect([keys.lost, keys.has('key 0'), keys.size]).toEqual([true, false, 0]);
    }
    expect(told).toHaveLength(1);
    rmSync(file);
    const again = store.open();
    keep(again, 10);
    expect(again.lost).toBe(false);
    again.close();
  });

  it('are all lost once the disk is full, and those that are opened afterwards are not', () => {
    const store = storeOf({ mostBytes: 200_000 });
    const [one, other] = [store.open(), store.open()];
    keep(one, 10);
    keep(other, 10_000);
    expect([one.lost, other.lost]).toEqual([true, true]);
    expect(String(told[0])).toContain('full');
    keep(one, 10, 10);
    expect(told).toHaveLength(1);
    for (const keys of [one, other]) keys.close();
    const next = store.open();
    keep(next, 10);
    expect([next.lost, next.size]).toEqual([false, 10]);
  });
});

describe('what a kill may leave of them', () => {
  it('is swept, and nothing else is', async () => {
    writeFileSync(join(folder, 'kept-keys-6f9619ff-8b86-d011-b42d-00cf4fc964ff'), '');
    writeFileSync(join(folder, 'kept-keys-of-mine'), '');
    await sweepKeyFiles([folder, join(folder, 'missing')]);
    expect(readdirSync(folder)).toEqual(['kept-keys-of-mine']);
  });
});
