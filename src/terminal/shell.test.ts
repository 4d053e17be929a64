import { Unusable } from '@research-mirror/runtime/errors';
import { Stopped } from '@research-mirror/runtime/service';
import { expect, it } from 'vitest';
import { KeyRefused } from '../model/errors.ts';
import { exitCodeOf, failureText, hasColour, interrupts, OutputClosed, terminalOf, UsageError } from './shell.ts';

it('a failure is printed in one line with its causes, and with its stack only when asked', () => {
  const error = new Unusable('the database refuses', { cause: new Error('no right') });
  expect(failureText(error, false)).toBe('research-mirror: the database refuses: no right\n');
  expect(failureText(error, true)).toContain('shell.test.ts');
  expect(exitCodeOf(error)).toBe(3);
});

it('a failure names the variable if the service refuses the key', () => {
  expect(failureText(new KeyRefused('GET /v1/ping returned 401', 401), false)).toBe(
    'research-mirror: GET /v1/ping returned 401. Set a working key in MIRROR_API_KEY\n',
  );
});

it('a failure prints nothing if the output is closed, and an interrupt has its own exit code', () => {
  expect(failureText(new OutputClosed(), false)).toBe('');
  expect(failureText(new Stopped('it'), true)).toBe('research-mirror: interrupted\n');
  expect(exitCodeOf(new Stopped('it'))).toBe(130);
  expect(exitCodeOf(new UsageError('no'))).toBe(2);
});

it('two signals within half a second are one, and a later one is a repetition', () => {
  const judge = interrupts();
  expect([1_000, 1_002, 1_500, 1_501].map(judge)).toEqual(['first', 'same', 'same', 'again']);
});

it('a line for the terminal is written to the output that is one, and nowhere else', () => {
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

it.each([
  [true, {}, true],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
  [false, {}, false],
])('a terminal %s with %o has colours: %s', (isTTY, env, colour) => {
  expect(hasColour({ isTTY, write: () => {} }, env)).toBe(colour);
});
