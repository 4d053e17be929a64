import { describe, expect, it } from 'vitest';
import { createLogger, type LoggerOptions } from './logger.ts';
import { Scrubber } from './scrub.ts';

function written(
  options: Partial<LoggerOptions>,
  log: (logger: ReturnType<typeof createLogger>) => void,
): string {
  let text = '';
  const sink = { write: (line: string) => (text += line) };
  log(
    createLogger(sink, { level: 'trace', format: 'json', colour: false, scrub: (line) => line, ...options }),
  );
  return text;
}

describe('createLogger', () => {
  it('writes one JSON object a line, with the name of its level, its time, and whole milliseconds', () => {
    const lines = written({}, (log) => {
      log.info({ collection: 'lists', milliseconds: 445.873959 }, 'read');
      log.warn('slow');
    })
      .trimEnd()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        collection: 'lists',
        milliseconds: 446,
        msg: 'read',
      },
      { level: 'warn', time: expect.any(String) as string, msg: 'slow' },
    ]);
  });

  it('writes lines for people, without colour when told so', () => {
    const text = written({ format: 'pretty' }, (log) => log.info({ pages: 3 }, 'read lists'));
    expect(text).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: read lists \{"pages":3\}\n$/);
  });

  it.each(['json', 'pretty'] as const)(
    'hides secrets in messages, fields, errors and causes (%s)',
    (format) => {
      const { scrub } = new Scrubber(['hunter2-secret']);
      const text = written({ format, scrub }, (log) => {
        const error = new Error('password hunter2-secret refused', {
          cause: new Error('hunter2-secret again'),
        });
        log.error({ err: error, headers: { authorization: 'Bearer hunter2-secret' } }, 'hunter2-secret');
      });
      expect(text).toContain('***');
      expect(text).not.toContain('hunter2');
    },
  );

  it.each(['json', 'pretty'] as const)(
    'shows the stack only of errors that are not expected (%s)',
    (format) => {
      const isExpected = (error: Error): boolean => error.message.startsWith('the database');
      const told = (message: string, level: string): string =>
        written({ format, level, isExpected }, (log) =>
          log.warn({ err: new Error(message, { cause: new Error('reset') }) }, 'a poll'),
        );
      expect(told('the database is away', 'info')).toContain('the database is away: reset');
      expect(told('the database is away', 'info')).not.toContain('logger.test.ts');
      expect(told('the database is away', 'debug')).toContain('logger.test.ts');
      expect(told('undefined is no function', 'info')).toContain('logger.test.ts');
    },
  );
});
