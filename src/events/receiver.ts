import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { HttpRequest } from '@research-mirror/runtime/http-listener';
import { messageOf } from '@research-mirror/runtime/message';
import type { Notes } from '@research-mirror/runtime/notes';
import type { SchemeChoice } from '../config/parse-values.ts';
import type { HintedRow } from '../model/hint.ts';
import type { Privacy } from '../model/privacy.ts';
import type { EventSink } from './event-store.ts';
import { canonicalForms, deliveryJudge } from './judge.ts';
import { readEvent } from './read-event.ts';
import type { ReceivingAccounts } from './receiving-accounts.ts';
import { claimsOf } from './signatures.ts';

/** Results of requests to the listener: labels of a metric (docs/metrics.md). */
export const DELIVERY_RESULTS = [
  'stored',
  'known',
  'bad_signature',
  'no_account',
  'bad_request',
  'too_large',
  'not_now',
] as const;
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number];
type Refusal = Exclude<DeliveryResult, 'stored' | 'known'>;

/** 405 and 415: other methods than POST, and compressed bodies; 500: a defect. */
const REFUSALS = {
  200: undefined,
  400: 'bad_signature',
  404: 'no_account',
  405: 'bad_request',
  413: 'too_large',
  415: 'bad_request',
  500: 'not_now',
  503: 'not_now',
} as const;

/**
 * An answer to a delivery or to another request to its listener (docs/webhooks.md, "What the listener answers").
 * @param text for people; says nothing that a forger could use
 * @param refused why a delivery is not taken; undefined: it is
 */
export function answer(status: keyof typeof REFUSALS, text: string, refused: Refusal | undefined = REFUSALS[status]) {
  const headers: Readonly<Record<string, string>> = {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 503 ? { 'retry-after': '5' } : {}),
    ...(status === 405 ? { allow: 'POST' } : {}),
  };
  return { status, headers, body: `${text}\n`, refused };
}
export type ListenerAnswer = ReturnType<typeof answer>;

/** Bodies above this size take turns, with all other work between them: hashing one takes some milliseconds. */
const TURN_BYTES = 64 * 1024;

type Delivery = Pick<HttpRequest, 'headers' | 'body'> & { readonly userId: string };

/** Judges, stores and answers deliveries, in this order (docs/design/events.md, "Deliveries"). */
export function createReceiver(options: {
  /** Name of the signature's header, in any letter case. */
  readonly header: string;
  readonly scheme: SchemeChoice;
  readonly accounts: ReceivingAccounts;
  readonly store: EventSink;
  /** Removes what must not be stored; left out: nothing. */
  readonly privacy?: Privacy;
  readonly clock: Clock;
  readonly notes: Notes;
  /** Called after a new event was stored, with the rows that may have changed. */
  readonly onEvent: (userId: string, rows: readonly HintedRow[]) => void;
}) {
  const { header, scheme, accounts, store, privacy, clock, notes, onEvent } = options;
  const forms = canonicalForms(clock);
  let turn = Promise.resolve();

  /** Refuses a delivery for good. @param why goes on: `a delivery for account 42 …` */
  const refuse = (userId: string, kind: string, why: string, text: string, refused?: Refusal) => {
    notes.say('warn', `${kind} ${userId}`, `a delivery for account ${userId} ${why}`);
    return answer(400, text, refused);
  };

  const unsigned = ({ userId, headers }: Delivery): ListenerAnswer => {
    const name = [header, 'webhook-signature'].find((each) => (headers[each.toLowerCase()] ?? '') !== '');
    if (name === undefined) {
      // The signature may be in a header of another name.
      const other = Object.keys(headers).find((each) => each.includes('signature'));
      const hint =
        other === undefined
          ? ''
          : `. It has a header ${other.slice(0, 60)}: set MIRROR_WEBHOOK_HEADER if that has the signature`;
      const why = `had no signature in ${header}, and was refused${hint}`;
      return refuse(userId, 'unsigned', why, 'the signature is missing');
    }
    // Shows only the form: the rest may be a valid signature.
    const form = /^[a-z][\w-]{0,19}=/i.exec(String(headers[name.toLowerCase()]))?.[0];
    const begins = form === undefined ? '' : `, which begins with "${form}"`;
    const why =
      `had a signature in ${name} of an unknown form${begins}, and was refused. ` +
      'Have the service sign with HMAC-SHA256, as hex, sha256=hex, base64, t=…,v1=… or by Standard Webhooks';
    return refuse(userId, 'unknown form', why, 'the signature has an unknown form');
  };

  const take = async (userId: string, body: Buffer, secret: string): Promise<ListenerAnswer> => {
    const event = readEvent(body, privacy, secret);
    if (event === undefined) {
      const why = 'was not a JSON object, though its signature is right, and was refused';
      return refuse(userId, 'no object', why, 'the body is not a JSON object', 'bad_request');
    }
    const outcome = await store.store(userId, event);
    accounts.verified(userId, secret).catch((error: unknown) => {
      notes.say('warn', 'verified', `a right signature could not be recorded: ${messageOf(error)}`);
    });
    if (outcome === 'stored') onEvent(userId, event.rows);
    return answer(200, outcome);
  };

  const judged = async (delivery: Delivery): Promise<ListenerAnswer> => {
    const { userId, headers, body } = delivery;
    const known = await accounts.secretsOf(userId, false);
    if (typeof known === 'string') return noAccount(known);
    const claims = claimsOf(headers, header);
    if (claims.length === 0) return unsigned(delivery);
    if (body.length > TURN_BYTES) {
      turn = turn.then(() => new Promise((resolve) => setImmediate(resolve)));
      await turn;
    }
    const judge = deliveryJudge(claims, body, scheme, forms);
    let verdict = judge(known, clock.now());
    if (verdict.kind === 'mismatch' || verdict.kind === 'undecided') {
      // Another process may have just replaced the secret.
      const fresh = await accounts.secretsOf(userId, true);
      if (typeof fresh === 'string') return noAccount(fresh);
      verdict = judge(fresh, clock.now());
    }
    switch (verdict.kind) {
      case 'verified':
        return take(userId, body, verdict.secret);
      case 'undecided':
        notes.say('info', `undecided ${userId}`, `deliveries for account ${userId} wait: ${verdict.why}`);
        return answer(503, 'not now: the signature cannot be checked yet');
      case 'expired': {
        const why = `was signed ${formatSpan(verdict.off)} off this machine's clock, and was refused. Check the clock`;
        return refuse(userId, 'expired', why, 'the signature is too old');
      }
      case 'mismatch': {
        accounts.mismatched(userId).catch((error: unknown) => {
          notes.say('warn', 'mismatched', `a wrong signature could not be counted: ${messageOf(error)}`);
        });
        const why = "had a signature that is not the service's, and was refused";
        return refuse(userId, 'mismatch', why, 'the signature is wrong');
      }
    }
  };

  return {
    /** Never throws: a delivery that can't be judged or stored now is answered 503, and comes again. */
    async receive(delivery: Delivery): Promise<ListenerAnswer> {
      try {
        return await judged(delivery);
      } catch (error) {
        notes.say('warn', 'failed', `deliveries can't be checked or stored now: ${messageOf(error)}`);
        return answer(503, 'not now: the database does not answer');
      }
    },
  };
}

function noAccount(why: 'none' | 'unknown-yet'): ListenerAnswer {
  return why === 'none'
    ? answer(404, 'there is no such account here')
    : answer(503, 'not now: the accounts are not known yet');
}
