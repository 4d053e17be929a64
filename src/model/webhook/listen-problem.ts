import { Unusable } from '@research-mirror/runtime/errors';

/** What a listener is for, and the variables that say where it listens. */
interface Listener {
  readonly host: string;
  readonly port: number;
  /** `the status page` */
  readonly what: string;
  readonly hostVariable: string;
  readonly portVariable: string;
}

/**
 * Why a listener can't be opened, for its operator: one sentence, with the system's words only where they add
 * something.
 * @param error as `listen` gave it
 */
export function listenProblem(
  error: NodeJS.ErrnoException,
  { host, port, what, hostVariable, portVariable }: Listener,
): Error {
  const { code } = error;
  if (code === 'EADDRINUSE') {
    return new Unusable(
      `the address ${host}:${port} for ${what} is in use (by another research-mirror?): set ${portVariable} to a free port`,
    );
  }
  if (code === 'EACCES') {
    return new Unusable(`port ${port} for ${what} may not be opened: set ${portVariable} to one above 1023`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Unusable(`${host} for ${what} is no address of this machine: set ${hostVariable}`);
  }
  return new Error(`${host}:${port} can't be listened on for ${what}`, { cause: error });
}
