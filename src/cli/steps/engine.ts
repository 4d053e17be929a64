import type { runDaemon, runRetry, runSync, runVerify } from '../../app.ts';

/** The program behind the command line. */
export interface Engine {
  readonly runDaemon: typeof runDaemon;
  readonly runSync: typeof runSync;
  readonly runVerify: typeof runVerify;
  readonly runRetry: typeof runRetry;
}

/** Loaded when needed: `--help` and `sql` need none of it. */
export async function loadEngine(): Promise<Engine> {
  return await import('../../app.ts');
}
