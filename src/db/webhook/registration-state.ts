import { REGISTRATION_STATES, type RegistrationState } from '../../model/webhook/webhook-secrets.ts';

/** A stored state; one that this version does not know, or no row at all: `none`. */
export function registrationState(text: string | null | undefined): RegistrationState {
  return REGISTRATION_STATES.find((state) => state === text) ?? 'none';
}
