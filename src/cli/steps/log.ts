import type { Config } from '../../config/config.ts';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { createLogger, type Logger } from '@research-mirror/runtime/logger';
import { hasColour, isInteractive, type Shell, type Terminal } from '../terminal/shell.ts';

/**
 * The log of a command.
 * @param sink stdout for `start`, whose log is all that it says; stderr for commands that answer on stdout
 * @param usual level where LOG_LEVEL is not set: a command that shows its progress itself logs trouble only
 */
export function makeLog(config: Config, shell: Shell, sink: Terminal, usual: 'info' | 'warn'): Logger {
  return createLogger(sink, {
    level: config.log.level ?? usual,
    format: config.log.format ?? (isInteractive(sink, shell.env) ? 'pretty' : 'json'),
    colour: hasColour(sink, shell.env),
    scrub: shell.scrubber.scrub,
    isExpected: (error) => error instanceof ClassifiedError,
  });
}
