import type { ObjectAnswer } from '../../api/envelope.ts';
import { MalformedAnswer } from '../../model/errors.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { readKey } from '../../model/key.ts';

/** The `user_id` of a ping or an account (specification 2.1, 2.2), decimal digits; undefined where there is none. */
export function ownerOf({ source }: ObjectAnswer): string | undefined {
  const owner = readKey('bigint', fieldSource(source, 'user_id'));
  return 'key' in owner ? owner.key : undefined;
}

/** The same of a ping. @throws MalformedAnswer */
export function pingedOwner(answer: ObjectAnswer): string {
  const owner = ownerOf(answer);
  if (owner === undefined) {
    throw new MalformedAnswer('GET /v1/ping was answered without a user_id that is a 64-bit integer');
  }
  return owner;
}
