import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type KeptKeys, type KeyStore, keyStore } from './kept-keys.ts';
import { folderForEach } from '../testing/folder-for-each.ts';

const folder = folderForEach();
const within = (name: string): string => join(folder.path, name);
let told: unknown[];
beforeEach(() => {
  told = [];
});

function storeOf(options: Partial<Parameters<typeof keyStore>[0]> = {}): KeyStore {
  return keyStore({ folders: [folder.path], onLost: (error) => told.push(error), ...options });
}

function keep(keys: KeptKeys, count: number, from = 0): void {
  for (let number = from; number < from + count; number += 1) keys.keep(`key ${number}`, `value ${number}`);
}

/** More than memory takes. */
const MANY = 200_000;
/** More than maps keep. */
const SOME = 53_000;

describe('kept keys', () => {
  it('keep the first value of a key, however many there are, and leave nothing in the folder', () => {
    const keys = storeOf().open();
    keep(keys, MANY);
    const [first, last, none] = [1, MANY - 1, MANY].map((number) => `key ${number}`) as [string, string, string];
    expect([keys.keep(first, 'other'), keys.keep(last, 'other')]).toEqual(['value 1', `value ${MANY - 1}`]);
    expect([keys.size, keys.has(first), keys.has(last), keys.has(none)]).toEqual([MANY, true, true, false]);
    expect(readdirSync(folder.path)).toEqual([]);
    keys.close();
    expect([keys.lost, keys.size, keys.has(first), told]).toEqual([true, 0, false, []]);
  });

  it('have each their own, and what one closes is no loss of the others', () => {
    const store = storeOf();
    const [one, other] = [store.open(), store.open()];
    keep(one, SOME);
    keep(other, SOME, 5);
    one.close();
    keep(other, 10, SOME + 5);
    expect([one.lost, other.lost, other.size]).toEqual([true, false, SOME + 10]);
    expect([other.has('key 0'), other.has('key 5')]).toEqual([false, true]);
  });

  it('take the next folder where nothing can be made in the first, and make it', () => {
    writeFileSync(within('file'), '');
    const keys = storeOf({ folders: [join(within('file'), 'no folder'), within('new')] }).open();
    keep(keys, SOME);
    expect([keys.lost, existsSync(within('new'))]).toEqual([false, true]);
  });

  it('are lost where no file can be made, which is told once until it could again', () => {
    writeFileSync(within('file'), '');
    const store = storeOf({ folders: [within('file')] });
    for (const keys of [store.open(), store.open()]) {
      keep(keys, SOME);
      expect([keys.lost, keys.has('key 0'), keys.size]).toEqual([true, false, 0]);
    }
    expect(told).toHaveLength(1);
    rmSync(within('file'));
    const again = store.open();
    keep(again, SOME);
    expect(again.lost).toBe(false);
    again.close();
  });

  it('are lost once the disk is full, but for the few, and those that are opened afterwards are not', () => {
    const store = storeOf({ mostBytes: 200_000 });
    const [one, other, few] = [store.open(), store.open(), store.open()];
    keep(one, SOME);
    keep(few, 10);
    keep(other, SOME + 10_000);
    expect([one.lost, other.lost, few.lost]).toEqual([true, true, false]);
    keep(one, 10, SOME);
    expect(told.map(String)).toEqual([expect.stringContaining('full')]);
    for (const keys of [one, other, few]) keys.close();
    const next = store.open();
    keep(next, SOME);
    expect([next.lost, next.size]).toEqual([false, SOME]);
  });
});
