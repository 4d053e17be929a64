import { expect, it } from 'vitest';
import { optionsWith } from '../../testing/sandbox.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { HOSTILE_KINDS, itemText, type HostileKind } from './hostile.ts';

const PLAIN = '{"id":7,"name":"n"}';
const made = (hash: number, switches: Partial<SandboxOptions>): string =>
  itemText('id', '7', '"name":"n"', hash, optionsWith(switches));
const textOf = (kind: HostileKind, hash = 5, more: Partial<SandboxOptions> = {}): string =>
  made(hash, { hostileShare: 1, hostileKinds: kind, ...more });
const read = (kind: HostileKind, hash?: number): Record<string, unknown> =>
  JSON.parse(textOf(kind, hash)) as Record<string, unknown>;
const bytes = (kind: HostileKind, more = {}): number => Buffer.byteLength(textOf(kind, 5, more));

it.each(HOSTILE_KINDS)('a hostile item of the kind %s is JSON that keeps its other members', (kind) => {
  for (const hash of [1, 2, 3, 4_000_000_000]) {
    expect(read(kind, hash)['name']).toBe('n');
    expect(textOf(kind, hash)).toBe(textOf(kind, hash));
  }
  if (kind !== 'no-id' && kind !== 'bad-id') expect(read(kind)['id']).toBe(7);
});

it('a hostile item has what its kind says', () => {
  expect(textOf('nul')).toContain('\\u0000');
  expect(String(read('surrogate')['remark']).isWellFormed()).toBe(false);
  expect(textOf('infinite')).toContain(':1e400}');
  expect(textOf('overflow')).toContain(':1e200000}');
  expect(textOf('minus-zero')).toContain(':-0}');
  expect(textOf('digits')).toMatch(/:\d{400}\.5\}$/);
  expect(bytes('long')).toBeGreaterThan(300_000);
  expect(bytes('megabyte')).toBeGreaterThan(1_000_000);
  expect(bytes('megabyte', { megabytes: 3 })).toBeGreaterThan(3_000_000);
  expect(textOf('deep')).toContain('['.repeat(20_000));
  expect(textOf('twice').match(/"remark"/g)).toHaveLength(2);
  expect(read('no-id')).not.toHaveProperty('id');
  const types = Array.from({ length: 100 }, (_, hash) => typeof read('types', hash)['measure']);
  expect(new Set(types)).toEqual(new Set(['boolean', 'number', 'object', 'string']));
  const names = Object.keys(read('names'));
  const clashing = ['', 'select', 'Title', 'title', 'TITLE', '__proto__', '_raw'];
  expect(names).toEqual(expect.arrayContaining(clashing));
  expect(names.some((name) => Buffer.byteLength(name) > 1024)).toBe(true);
});

it('hostile items have the share and the kinds of the switches', () => {
  const texts = Array.from({ length: 4000 }, (_, slot) =>
    made(Math.imul(slot + 1, 0x9e3779b1) >>> 0, { hostileShare: 0.25, hostileKinds: 'nul,twice' }),
  );
  const hostile = texts.filter((text) => text !== PLAIN);
  expect(hostile.length / texts.length).toBeGreaterThan(0.2);
  expect(hostile.length / texts.length).toBeLessThan(0.3);
  expect(new Set(hostile)).toEqual(new Set([textOf('nul'), textOf('twice')]));
  expect(made(1, {})).toBe(PLAIN);
});
