import type { Config } from '../../config/config.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { createLogger } from '@research-mirror/runtime/logger';
import type { WorkOptions } from '../../app/process/open-mirror.ts';
import { hasColour, isInteractive, type Shell } from '../terminal/shell.ts';

/**
 * What a command gives to what it runs.
 * @param sink of the log: stdout for `start`, whose log is all that it says; stderr for commands that answer on stdout
 * @param usual level where LOG_LEVEL is not set: a command that shows its progress itself logs trouble only
 */
export function workOptions(
  { env, err, clock, signal, scrubber }: Shell,
  config: Config,
  sink = err,
  usual: 'info' | 'warn' = 'warn',
): WorkOptions & { readonly clock: Clock } {
  const log = createLogger(sink, {
    level: config.log.level ?? usual,
    format: config.log.format ?? (isInteractive(sink, env) ? 'pretty' : 'json'),
    colour: hasColour(sink, env),
    scrub: scrubber.scrub,
    isExpected: (error) => error instanceof ClassifiedError,
  });
  return { clock, signal, log, hide: (secret) => scrubber.hide(secret), scrub: scrubber.scrub };
}
