import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutToWidth, displayWidth, formatList, formatTable, printable } from './text-table.ts';

const TITLES = ['name', 'rows'];

it('formatTable aligns text left and numbers right', () => {
  const rows = [
    ['lists', '25'],
    ['list_items', '1,500'],
  ] as const;
  const text = 'name         rows\n──────────  ─────\nlists          25\nlist_items  1,500\n';
  expect(formatTable(TITLES, rows)).toBe(text);
});

it('formatTable takes rows with cells by title', () => {
  const rows = [
    { name: 'lists', why: 'gone' },
    { name: 'watchlist', why: null },
  ];
  expect(formatList(rows)).toBe('name       why\n─────────  ────\nlists      gone\nwatchlist\n');
});

it('formatTable aligns wide and composed characters', () => {
  const rows = [
    ['日本', '1'],
    ['👩‍🚀 e\u0301', '2'],
    ['abcd', '3'],
  ] as const;
  const lines = formatTable(TITLES, rows).trimEnd().split('\n');
  expect(new Set(lines.map(displayWidth))).toEqual(new Set([10]));
});

it('formatTable escapes control characters', () => {
  const table = formatTable(TITLES, [['\u001b[2J\r\n\t\u009b\u202e', '1']]);
  expect(table).toContain('\\u001b[2J\\r\\n\\t\\u009b\\u202e');
  expect(printable('ä 日本 "x"')).toBe('ä 日本 "x"');
});

it('formatTable cuts the widest columns until the table fits the terminal', () => {
  const cells = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.string({ maxLength: 60 }));
  fc.assert(
    fc.property(fc.array(cells), fc.integer({ min: 20, max: 100 }), (rows, width) => {
      for (const line of formatTable(TITLES, rows, width).trimEnd().split('\n'))
        expect(displayWidth(line)).toBeLessThanOrEqual(width);
    }),
  );
});

it('formatTable prints tables of any length', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => ['x', String(index)]);
  expect(formatTable(TITLES, rows).split('\n')).toHaveLength(200_003);
});

it.each([
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['привет мир', 8, 'привет …'],
  ['abc', 0, ''],
])('no character is cut in half, and a cut is marked: %s to %i', (text, width, cut) => {
  expect(cutToWidth(text, width)).toBe(cut);
});

it('wide characters count twice, marks not at all, and an emoji of several once', () => {
  expect(['漢字', 'e\u0301', '©\ufe0f', '👨‍👩‍👧'].map(displayWidth)).toEqual([4, 1, 2, 2]);
});
