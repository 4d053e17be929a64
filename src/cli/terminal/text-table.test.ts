import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTable, printable, type Column } from './text-table.ts';
import { cutToWidth, displayWidth } from './width.ts';

const COLUMNS: readonly Column[] = [
  { title: 'name', align: 'left' },
  { title: 'rows', align: 'right' },
];

describe('formatTable', () => {
  it('aligns text left and numbers right', () => {
    expect(
      formatTable(COLUMNS, [
        ['lists', '25'],
        ['list_items', '1,500'],
      ]),
    ).toBe('name         rows\n──────────  ─────\nlists          25\nlist_items  1,500\n');
  });

  it('aligns what is drawn two columns wide, and what is composed of several characters', () => {
    const rows = [
      ['日本', '1'],
      ['👩‍🚀 e\u0301', '2'],
      ['abcd', '3'],
    ];
    const lines = formatTable(COLUMNS, rows).trimEnd().split('\n');
    expect(new Set(lines.map(displayWidth))).toEqual(new Set([10]));
  });

  it('lets no value write to the terminal by itself', () => {
    const table = formatTable(COLUMNS, [['\u001b[2J\r\n\t\u009b\u202e', '1']]);
    expect(table).toContain('\\u001b[2J\\r\\n\\t\\u009b\\u202e');
    expect(printable('ä 日本 "x"')).toBe('ä 日本 "x"');
  });

  it('cuts the widest columns until the table fits the terminal', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.string({ maxLength: 60 }))),
        fc.integer({ min: 20, max: 100 }),
        (rows, width) => {
          for (const line of formatTable(COLUMNS, rows, width).trimEnd().split('\n')) {
            expect(displayWidth(line)).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });

  it('prints tables of any length', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => ['x', String(index)]);
    expect(formatTable(COLUMNS, rows).split('\n')).toHaveLength(200_003);
  });
});

describe('cutToWidth', () => {
  it('cuts no character in half, and says that something is missing', () => {
    expect(cutToWidth('日本語', 6)).toBe('日本語');
    expect(cutToWidth('日本語', 5)).toBe('日本…');
    expect(cutToWidth('日本語', 4)).toBe('日…');
    expect(cutToWidth('abc', 0)).toBe('');
  });
});
