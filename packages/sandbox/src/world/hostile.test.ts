import { describe, expect, it } from 'vitest';
import { optionsWith } from '../../testing/options.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { HOSTILE_KINDS, itemText, type HostileKind } from './hostile.ts';

const textOf = (kind: HostileKind, hash = 5, more: Partial<SandboxOptions> = {}): string =>
  itemText('id', '7', '"name":"n"', hash, optionsWith({ hostileShare: 1, hostileKinds: kind, ...more }));
const read = (kind: HostileKind, hash?: number): Record<string, unknown> =>
  JSON.parse(textOf(kind, hash)) as Record<string, unknown>;

describe('a hostile item', () => {
  it.each(HOSTILE_KINDS)('of the kind %s is JSON that keeps its other members', (kind) => {
    for (const hash of [1, 2, 3, 4_000_000_000]) {
      expect(read(kind, hash)['name']).toBe('n');
      expect(textOf(kind, hash)).toBe(textOf(kind, hash));
    }
    if (kind !== 'no-id' && kind !== 'bad-id') expect(read(kind)['id']).toBe(7);
  });

  it('has what its kind says', () => {
    expect(textOf('nul')).toContain('\\u0000');
    expect(String(read('surrogate')['remark']).isWellFormed()).toBe(false);
    expect(textOf('infinite')).toContain(':1e400}');
    expect(textOf('overflow')).toContain(':1e200000}');
    expect(textOf('minus-zero')).toContain(':-0}');
    expect(/:(\d+)\.5\}$/.exec(textOf('digits'))?.[1]).toHaveLength(400);
    expect(Buffer.byteLength(textOf('long'))).toBeGreaterThan(300_000);
    expect(Buffer.byteLength(textOf('megabyte'))).toBeGreaterThan(1_000_000);
    expect(Buffer.byteLength(textOf('megabyte', 5, { megabytes: 3 }))).toBeGreaterThan(3_000_000);
    expect(textOf('deep')).toContain('['.repeat(20_000));
    expect(textOf('twice').match(/"remark"/g)).toHaveLength(2);
    expect(read('no-id')).not.toHaveProperty('id');
  });

  it('has names that clash, are reserved, empty or too long', () => {
    const names = Object.keys(read('names'));
    expect(names).toEqual(
      expect.arrayContaining(['', 'select', 'Title', 'title', 'TITLE', '__proto__', '_raw']),
    );
    expect(names.some((name) => Buffer.byteLength(name) > 1024)).toBe(true);
  });

  it('has ever new fields, or a changing type, from item to item', () => {
    const fields = [1, 2, 3].flatMap((hash) => Object.keys(read('many-fields', hash)).slice(2));
    expect(new Set(fields).size).toBe(300);
    const types = new Set(Array.from({ length: 100 }, (_, hash) => typeof read('types', hash)['measure']));
    expect([...types].toSorted()).toEqual(['boolean', 'number', 'object', 'string']);
  });

  it('has the share and the kinds of the switches', () => {
    const options = optionsWith({ hostileShare: 0.25, hostileKinds: 'nul,twice' });
    const texts = Array.from({ length: 4000 }, (_, slot) =>
      itemText('id', '7', '"name":"n"', Math.imul(slot + 1, 0x9e3779b1) >>> 0, options),
    );
    const hostile = texts.filter((text) => text !== '{"id":7,"name":"n"}');
    expect(hostile.length / texts.length).toBeGreaterThan(0.2);
    expect(hostile.length / texts.length).toBeLessThan(0.3);
    expect(new Set(hostile)).toEqual(new Set([textOf('nul'), textOf('twice')]));
    expect(itemText('id', '7', '"name":"n"', 1, optionsWith({}))).toBe('{"id":7,"name":"n"}');
  });
});
