import { describe, expect, it } from 'vitest';
import { jsonRows, type RowPrinter } from './sql-action.ts';

describe('jsonRows', () => {
  const printed = (print: (rows: RowPrinter) => void): string => {
    let text = '';
    print(jsonRows({ write: (part) => (text += part) }));
    return text;
  };

  it('keeps every digit, and makes JSON of what JSON has no word for', () => {
    const text = printed((rows) => {
      rows.columns([
        { name: 'big', kind: 'number', type: 1700 },
        { name: 'not', kind: 'number', type: 1700 },
        { name: 'at', kind: 'moment', type: 1184 },
        { name: 'doc', kind: 'json', type: 114 },
      ]);
      rows.row(['12345678901234567890.10', 'NaN', '2026-01-02 03:04:05.678+00', '{"a":\n1}']);
      rows.row([null, '-Infinity', 'infinity', 'null']);
      rows.end();
    });
    expect(text).toBe(
      '{"rows":[\n{"big":12345678901234567890.10,"not":"NaN","at":"2026-01-02T03:04:05.678Z","doc":{"a": 1}},\n' +
        '{"big":null,"not":"-Infinity","at":"infinity","doc":null}\n]}\n',
    );
  });

  it('is one object, rows or none', () => {
    expect(JSON.parse(printed((rows) => rows.end()))).toEqual({ rows: [] });
    const one = printed((rows) => {
      rows.columns([{ name: 'n', kind: 'number', type: 23 }]);
      rows.row(['1']);
      rows.end();
    });
    expect(JSON.parse(one)).toEqual({ rows: [{ n: 1 }] });
  });
});
