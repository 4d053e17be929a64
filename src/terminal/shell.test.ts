import { expect, it } from 'vitest';
import { terminalOf } from './shell.ts';

it('shows secrets on a terminal only, whichever output is one', () => {
  const shown: string[] = [];
  const to = (name: string, isTTY: boolean) => ({
    isTTY,
    write: (text: string) => shown.push(`${name}: ${text}`),
  });
  terminalOf({ out: to('out', true), err: to('err', true) })?.('a');
  terminalOf({ out: to('out', true), err: to('err', false) })?.('b');
  terminalOf({ out: to('out', false), err: to('err', true) })?.('c');
  expect(terminalOf({ out: to('out', false), err: to('err', false) })).toBeUndefined();
  expect(terminalOf({ out: { write: () => {} }, err: { write: () => {} } })).toBeUndefined();
  expect(shown).toEqual(['err: a\n', 'out: b\n', 'err: c\n']);
});
