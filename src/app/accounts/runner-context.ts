import type { ProcessIdentity } from '../../db/ownership/process-identity.ts';
import type { SubmitterOptions } from '../../submit/submitter.ts';
import type { RegistrarOptions } from '../../webhooks/registration/registrar.ts';
import type { AccountContext } from './open-account.ts';

/** What a process gives to the accounts that it keeps. */
export interface RunnerContext extends AccountContext {
  readonly processId: string;
  readonly identity: ProcessIdentity;
  /** Monotonic moment until which this process may send for its accounts. */
  readonly ownsUntil: () => number;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly onSubmission: SubmitterOptions['onDone'];
  readonly onRegistration: RegistrarOptions['onChange'];
}
