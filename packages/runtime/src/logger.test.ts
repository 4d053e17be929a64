import { describe, expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { Scrubber } from './scrub.ts';

type Logger = ReturnType<typeof createLogger>;
type LoggerOptions = Parameters<typeof createLogger>[1];

function written(options: Partial<LoggerOptions>, log: (logger: Logger) => void): string {
  let text = '';
  const sink = { write: (line: string) => (text += line) };
  const usual: LoggerOptions = { level: 'trace', format: 'json', colour: false, scrub: (line) => line };
  log(createLogger(sink, { ...usual, ...options }));
  return text;
}

it('writes one JSON object a line, with the name of its level, its time, and whole milliseconds', () => {
  const text = written({}, (log) => {
    log.info({ collection: 'lists', milliseconds: 445.873959 }, 'read');
    log.warn('slow');
  });
  const time = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  const lines = text.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { level: 'info', time, collection: 'lists', milliseconds: 446, msg: 'read' },
    { level: 'warn', time, msg: 'slow' },
  ]);
});

it('writes lines for people, without colour when told so', () => {
  const text = written({ format: 'pretty' }, (log) => log.info({ pages: 3 }, 'read lists'));
  expect(text).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: read lists \{"pages":3\}\n$/);
});

describe.each(['json', 'pretty'] as const)('a log as %s', (format) => {
  it('hides secrets in messages, fields, errors and causes', () => {
    const secret = 'hunter2-secret';
    const text = written({ format, scrub: new Scrubber([secret]).scrub }, (log) => {
      const err = new Error(`password ${secret} refused`, { cause: new Error(`${secret} again`) });
      log.error({ err, headers: { authorization: `Bearer ${secret}` } }, secret);
    });
    expect(text).toContain('***');
    expect(text).not.toContain('hunter2');
  });

  it('shows the stack only of errors that are not expected', () => {
    const isExpected = (error: Error): boolean => error.message.startsWith('the database');
    const told = (message: string, level: string): string =>
      written({ format, level, isExpected }, (log) =>
        log.warn({ err: new Error(message, { cause: new Error('reset') }) }, 'a poll'),
      );
    expect(told('the database is away', 'info')).toContain('the database is away: reset');
    expect(told('the database is away', 'info')).not.toContain('logger.test.ts');
    expect(told('the database is away', 'debug')).toContain('logger.test.ts');
    expect(told('undefined is no function', 'info')).toContain('logger.test.ts');
  });
});
