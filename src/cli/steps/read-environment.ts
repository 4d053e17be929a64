import { secretsOf } from '../../config/environment.ts';
import { addDotEnv } from '../terminal/add-dot-env.ts';
import type { Shell } from '../terminal/shell.ts';

/**
 * What comes before every command's work: `.env` is added, and what of it all is secret is kept out of every text.
 * @throws InvalidConfig
 */
export function readEnvironment({ env, scrubber }: Shell): void {
  addDotEnv(env);
  scrubber.hide(...secretsOf(env));
}
