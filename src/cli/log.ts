import type { Config } from '../config/config.ts';
import { MirrorError } from '../model/errors.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { hasColour, isInteractive, type Shell, type Terminal } from './shell.ts';

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
    isExpected: (error) => error instanceof MirrorError,
  });
}
