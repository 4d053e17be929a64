import { describe, expect, it } from 'vitest';
import { shapeAt } from './object-shape.ts';

describe('shapeAt', () => {
  it('tells names as they are spelled and as they are meant, and their order', () => {
    const shape = shapeAt('{"b":1,"a\\t":{"c":2}}', 0);
    expect(shape?.fields).toEqual(['b', 'a\t']);
    expect(shape?.names.map((name) => Buffer.from(name).toString())).toEqual(['"b"', '"a\\t"']);
    expect(shape?.order).toEqual([1, 0]);
  });

  it('keeps names in memory of their own, and once for all shapes', () => {
    const [one] = shapeAt('{"name":1}', 0)?.names ?? [];
    const [two] = shapeAt('{"name":2,"other":3}', 0)?.names ?? [];
    expect(one?.buffer.byteLength).toBe('"name"'.length);
    expect(two).toBe(one);
  });

  it('knows none of an object with a name that comes twice', () => {
    expect(shapeAt('{"a":1,"a":2}', 0)).toBeUndefined();
  });
});
