import { Unusable } from '@research-mirror/runtime/errors';
import { Stopped } from '@research-mirror/runtime/service';
import { describe, expect, it } from 'vitest';
import { KeyRefused } from '../model/errors.ts';
import { exitCodeOf, failureText, OutputClosed, UsageError } from './shell.ts';

describe('how a command says that it failed', () => {
  it('is one line, with its causes, and with where it came from only when asked', () => {
    const error = new Unusable('the database refuses', { cause: new Error('no right') });
    expect(failureText(error, false)).toBe('research-mirror: the database refuses: no right\n');
    expect(failureText(error, true)).toContain('exit-code.test.ts');
    expect(exitCodeOf(error)).toBe(3);
  });

  it('names the variable where the service refuses the key', () => {
    expect(failureText(new KeyRefused('GET /v1/ping was answered 401', 401), false)).toBe(
      'research-mirror: GET /v1/ping was answered 401; set a good MIRROR_API_KEY\n',
    );
  });

  it('is nothing where nobody reads it, and no failure where it was interrupted', () => {
    expect(failureText(new OutputClosed(), false)).toBe('');
    expect(failureText(new Stopped('it'), true)).toBe('research-mirror: interrupted\n');
    expect(exitCodeOf(new Stopped('it'))).toBe(130);
    expect(exitCodeOf(new UsageError('no'))).toBe(2);
  });
});
