import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import type { Notes } from '@research-mirror/runtime/notes';
import type { IncomingHttpHeaders } from 'node:http';
import type { SchemeChoice } from '../config/parse-values.ts';
import type { HintedRow } from '../model/hint.ts';
import type { Privacy } from '../model/privacy.ts';
import { CanonicalForms, deliveryJudge } from './judge.ts';
import { type EventSink, readEvent } from './read-event.ts';
import type { ReceivingAccounts } from './registration.ts';
import { claimsOf } from './signatures.ts';

export interface ReceiverOptions {
  /** Header of the signature, in any letter case. */
  readonly header: string;
  readonly scheme: SchemeChoice;
  readonly accounts: ReceivingAccounts;
  readonly store: EventSink;
  /** What is left of deliveries; left out: all. */
  readonly privacy?: Privacy;
  readonly clock: Clock;
  readonly notes: Notes;
  /** A new event was stored; these rows may have changed. */
  readonly onEvent: (userId: string, rows: readonly HintedRow[]) => void;
}

interface Delivery {
  /** As in the path: decimal digits. */
  readonly userId: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The answer to a delivery, or to anything else that comes to its listener (docs/operations.md, "Webhooks"). */
export interface ListenerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Why a delivery is not taken; undefined: it is. */
  readonly refused: Refused | undefined;
}

type Refused = Exclude<DeliveryResult, 'stored' | 'known'>;

/** 405 and 415: other methods than POST, and bodies that are compressed; 500: a defect. */
const REFUSED = {
  200: undefined,
  400: 'bad_signature',
  404: 'no_account',
  405: 'bad_request',
  413: 'too_large',
  415: 'bad_request',
  500: 'not_now',
  503: 'not_now',
} as const;

/** Seconds after which what can't be taken now is worth another try. */
const RETRY_AFTER = '5';

/** @param text for people; says nothing that a forger could use */
export function answer(
  status: keyof typeof REFUSED,
  text: string,
  refused: Refused | undefined = REFUSED[status],
): ListenerAnswer {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 503 ? { 'retry-after': RETRY_AFTER } : {}),
      ...(status === 405 ? { allow: 'POST' } : {}),
    },
    body: `${text}\n`,
    refused,
  };
}

/** Bodies above this take turns, with all other work between them: each is hashed for some milliseconds. */
const TURN_BYTES = 64 * 1024;

/** Judges, stores and answers a delivery, in this order (docs/design/events.md, "Deliveries"). */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #forms: CanonicalForms;
  #turn = Promise.resolve();

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#forms = new CanonicalForms(options.clock);
  }

  /** Never throws: a delivery that can't be judged or stored now is answered 503, and comes again. */
  async receive(delivery: Delivery): Promise<ListenerAnswer> {
    try {
      return await this.#judged(delivery);
    } catch (error) {
      const why = `deliveries can't be judged or stored now: ${messageOf(error)}`;
      this.#options.notes.say('warn', 'failed', why);
      return answer(503, 'not now: the database does not answer');
    }
  }

  async #judged(delivery: Delivery): Promise<ListenerAnswer> {
    const { accounts, header, scheme, clock, notes } = this.#options;
    const { userId, headers, body } = delivery;
    const known = await accounts.secretsOf(userId, false);
    if (typeof known === 'string') return nobody(known);
    const claims = claimsOf(headers, header);
    if (claims.length === 0) return this.#unsigned(delivery);
    if (body.length > TURN_BYTES) {
      this.#turn = this.#turn.then(() => new Promise((resolve) => setImmediate(resolve)));
      await this.#turn;
    }
    const judge = deliveryJudge(claims, body, scheme, this.#forms);
    let verdict = judge(known, clock.now());
    if (verdict.kind === 'mismatch' || verdict.kind === 'undecided') {
      // The secret may have been replaced a moment ago, by another process.
      const fresh = await accounts.secretsOf(userId, true);
      if (typeof fresh === 'string') return nobody(fresh);
      verdict = judge(fresh, clock.now());
    }
    switch (verdict.kind) {
      case 'verified':
        return this.#store(userId, body, verdict.secret);
      case 'undecided':
        notes.say('info', `undecided ${userId}`, `deliveries for account ${userId} wait: ${verdict.why}`);
        return answer(503, 'not now: the signature can not be judged yet');
      case 'expired':
        notes.say(
          'warn',
          `expired ${userId}`,
          `a delivery for account ${userId} was signed ${formatSpan(verdict.off)} off this machine's clock, and refused: is the clock right?`,
        );
        return answer(400, 'the signature is too old');
      case 'mismatch':
        notes.say(
          'warn',
          `mismatch ${userId}`,
          `a delivery for account ${userId} had a signature that is not the service's, and was refused`,
        );
        accounts.mismatched(userId).catch((error: unknown) => {
          notes.say('warn', 'mismatched', `a wrong signature could not be counted: ${messageOf(error)}`);
        });
        return answer(400, 'the signature is wrong');
    }
  }

  #unsigned({ userId, headers }: Delivery): ListenerAnswer {
    const { header, notes } = this.#options;
    const name = [header, 'webhook-signature'].find((each) => (headers[each.toLowerCase()] ?? '') !== '');
    if (name === undefined) {
      const why = `had no signature in ${header}, and was refused${otherHeader(headers)}`;
      notes.say('warn', `unsigned ${userId}`, `a delivery for account ${userId} ${why}`);
      return answer(400, 'the signature is missing');
    }
    // The form alone: what stands behind it may be a right signature.
    const form = /^[a-z][\w-]{0,19}=/i.exec(String(headers[name.toLowerCase()]))?.[0];
    const begins = form === undefined ? '' : `, which begins with "${form}"`;
    notes.say(
      'warn',
      `unknown form ${userId}`,
      `a delivery for account ${userId} had a signature in ${name} of an unknown form${begins}, and was refused: ` +
        'have the service sign with HMAC-SHA256, as hex, sha256=hex, base64, t=…,v1=… or by Standard Webhooks',
    );
    return answer(400, 'the signature has an unknown form');
  }

  async #store(userId: string, body: Buffer, secret: string): Promise<ListenerAnswer> {
    const { accounts, store, notes, onEvent, privacy } = this.#options;
    const event = readEvent(body, privacy, secret);
    if (event === undefined) {
      const line = `a delivery for account ${userId} was no JSON object, though its signature is right, and was refused`;
      notes.say('warn', `no object ${userId}`, line);
      return answer(400, 'the body is no JSON object', 'bad_request');
    }
    const outcome = await store.store(userId, event);
    accounts.verified(userId, secret).catch((error: unknown) => {
      notes.say('warn', 'verified', `a right signature could not be noted: ${messageOf(error)}`);
    });
    if (outcome === 'stored') onEvent(userId, event.rows);
    return answer(200, outcome);
  }
}

function nobody(why: 'none' | 'unknown-yet'): ListenerAnswer {
  return why === 'none'
    ? answer(404, 'there is no such account here')
    : answer(503, 'not now: the accounts are not known yet');
}

/** The likely remedy for a signature that is missing: the header has another name. */
function otherHeader(headers: IncomingHttpHeaders): string {
  const name = Object.keys(headers).find((each) => each.includes('signature'));
  return name === undefined ? '' : `; it has a header ${name.slice(0, 60)}: MIRROR_WEBHOOK_HEADER?`;
}

/** What became of a request to the webhook's listener: labels of a metric (docs/operations.md, "Is it healthy"). */
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
