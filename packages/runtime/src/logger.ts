import { pino, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { messageOf } from './message.ts';

export type { Logger } from 'pino';

/** Where lines go, such as `process.stdout` and `process.stderr`. */
export interface LineSink {
  write(line: string): unknown;
}

export interface LoggerOptions {
  /** A level of pino, or `silent`. */
  readonly level: string;
  readonly format: 'json' | 'pretty';
  readonly colour: boolean;
  /** Replaces secrets in a finished line (scrub.ts): pino's redaction by path misses those inside messages. */
  readonly scrub: (line: string) => string;
  /**
   * Errors whose message says enough: their stack is logged at the levels debug and trace only. Otherwise a database
   * that is away would fill the log with stacks. Default: none.
   */
  readonly isExpected?: (error: Error) => boolean;
}

/**
 * A logger that passes every finished line through `scrub`, and then writes it to `sink`. Lines are written directly,
 * without pino's workers and buffers: no line is lost at exit, and no write waits for a reader that is gone.
 */
export function createLogger(sink: LineSink, options: LoggerOptions): Logger {
  const pretty =
    options.format === 'pretty'
      ? prettyFactory({
          colorize: options.colour,
          translateTime: 'SYS:HH:MM:ss',
          ignore: 'pid,hostname',
          singleLine: true,
        })
      : undefined;
  const write = (line: string): void => {
    sink.write(options.scrub(pretty === undefined ? line : pretty(line)));
  };
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
