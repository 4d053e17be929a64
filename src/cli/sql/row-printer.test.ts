import { describe, expect, it } from 'vitest';
import { JsonRows, TableRows } from './row-printer.ts';

function terminal(): { write: (text: string) => unknown; text: () => string } {
  let text = '';
  return { write: (part) => (text += part), text: () => text };
}

describe('JsonRows', () => {
  it('keeps every digit, and makes JSON of what JSON has no word for', () => {
    const out = terminal();
    const rows = new JsonRows(out);
    rows.columns([
      { name: 'big', kind: 'number' },
      { name: 'not', kind: 'number' },
      { name: 'at', kind: 'moment' },
      { name: 'doc', kind: 'json' },
    ]);
    rows.row(['12345678901234567890.10', 'NaN', '2026-01-02 03:04:05.678+00', '{"a":\n1}']);
    rows.row([null, '-Infinity', 'infinity', 'null']);
    rows.end();
    expect(out.text()).toBe(
      '[{"big":12345678901234567890.10,"not":"NaN","at":"2026-01-02T03:04:05.678Z","doc":{"a": 1}}\n' +
        ',{"big":null,"not":"-Infinity","at":"infinity","doc":null}\n]\n',
    );
  });
});

describe('TableRows', () => {
  it('stops where nobody reads on, and says so', () => {
    const out = terminal();
    const err = terminal();
    const rows = new TableRows(out, err);
    rows.columns([{ name: 'n', kind: 'number' }]);
    let wanted = 0;
    while (rows.row([String(wanted)])) wanted += 1;
    rows.end();
    expect(wanted).toBe(10_000);
    expect(out.text()).toContain('\n(10,000 rows)\n');
    expect(err.text()).toContain('only the first 10,000 rows');
  });
});
