import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { messageOf } from './message.ts';

export type { Logger } from 'pino';

/**
 * A logger that writes lines to `sink` directly, without pino's workers and buffers: no line is lost at exit, and no
 * write waits for a reader that is gone.
 */
export function createLogger(
  sink: { write(line: string): unknown },
  options: {
    /** A level of pino, or `silent`. */
    readonly level: string;
    readonly format: 'json' | 'pretty';
    readonly colour: boolean;
    /** Replaces secrets in a finished line (scrub.ts): pino's redaction by path misses those inside messages. */
    readonly scrub: (line: string) => string;
    /** Errors without a stack, except at debug and trace: a database that is away would fill the log. Default: none. */
    readonly isExpected?: (error: Error) => boolean;
  },
): Logger {
  const layout = { translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', singleLine: true };
  const pretty = options.format === 'pretty' && prettyFactory({ colorize: options.colour, ...layout });
  const write = (line: string): void => void sink.write(options.scrub(pretty ? pretty(line) : line));
  const withStacks = /^(debug|trace)$/.test(options.level);
  const err = (error: Error): unknown => {
    if (withStacks || options.isExpected?.(error) !== true) return pino.stdSerializers.err(error);
    return { type: error.name, message: messageOf(error) };
  };
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err, milliseconds: Math.round },
    },
    { write },
  );
}
