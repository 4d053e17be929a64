import type { IncomingHttpHeaders } from 'node:http';
import type { HintedRow } from '../../model/hint.ts';
import type { SchemeChoice } from '../../model/webhook/signature-scheme.ts';
import type { EventSink } from '../../model/webhook/verified-event.ts';
import type { ReceivingAccounts } from '../../model/webhook/webhook-secrets.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import type { Notes } from '@research-mirror/runtime/notes';
import { presentedSignatures } from '../signature/presented.ts';
import { signedBody } from '../signature/verify-signature.ts';
import { type ListenerAnswer, answer } from './answer.ts';
import { ByteRate } from './byte-rate.ts';
import { judgeDelivery, type DeliveryVerdict } from './judge.ts';
import { readEvent } from './read-event.ts';

export interface ReceiverOptions {
  /** Header of the signature, in any letter case. */
  readonly header: string;
  readonly scheme: SchemeChoice;
  readonly accounts: ReceivingAccounts;
  readonly store: EventSink;
  readonly clock: Clock;
  readonly notes: Notes;
  /** A new event was stored; these rows may have changed. */
  readonly onEvent: (userId: string, rows: readonly HintedRow[]) => void;
}

export interface Delivery {
  /** As in the path: decimal digits. */
  readonly userId: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Mismatches of one account are counted at most so often (ms): a flood of forgeries is one reason to look. */
const MISMATCH_MS = 1_000;

/**
 * Canonical JSON takes up to a third of a millisecond a KiB on the main thread, and anybody can ask for it. Bodies of
 * the usual size are free: they cost no more than their request. All larger ones together get so many bytes a second
 * (some 20 ms of work), and after a quiet time as many as the largest has. So a flood of large ones leaves enough
 * time for smaller ones; those that find too little left are answered 503, and come again.
 */
export const CANONICAL = { freeBytes: 2 * 1024, perSecond: 64 * 1024, burst: 1024 * 1024 };

/** Judges, stores and answers a delivery, in this order (docs/design/events.md, "Deliveries"). */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #canonical: ByteRate;
  /** When a mismatch was last counted, by account, on the monotonic clock. */
  readonly #countedAt = new Map<string, number>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#canonical = new ByteRate(options.clock, CANONICAL);
  }

  /** Never throws: a delivery that can't be judged or stored now is answered 503, and comes again. */
  async receive(delivery: Delivery): Promise<ListenerAnswer> {
    const { notes } = this.#options;
    try {
      const verdict = await this.#verdict(delivery);
      return await this.#act(delivery, verdict);
    } catch (error) {
      notes.say('warn', 'failed', `deliveries can't be judged or stored now: ${messageOf(error)}`);
      return answer(503, 'not now: the database does not answer');
    }
  }

  async #verdict({ userId, headers, body }: Delivery): Promise<DeliveryVerdict | 'none' | 'unknown-yet'> {
    const { accounts, header, scheme, clock } = this.#options;
    const mayPrint = (bytes: number): boolean => bytes <= CANONICAL.freeBytes || this.#canonical.take(bytes);
    const signed = signedBody(presentedSignatures(headers, header), body, mayPrint);
    const known = await accounts.secretsOf(userId, false);
    if (typeof known === 'string') return known;
    const verdict = judgeDelivery(signed, known, scheme, clock.now());
    if (verdict.kind !== 'mismatch' && verdict.kind !== 'undecided') return verdict;
    // The secret may have been replaced a moment ago, by another process.
    const fresh = await accounts.secretsOf(userId, true);
    return typeof fresh === 'string' ? fresh : judgeDelivery(signed, fresh, scheme, clock.now());
  }

  async #act(delivery: Delivery, verdict: DeliveryVerdict | 'none' | 'unknown-yet'): Promise<ListenerAnswer> {
    const { userId } = delivery;
    const { notes } = this.#options;
    if (verdict === 'unknown-yet') return answer(503, 'not now: the accounts are not known yet');
    if (verdict === 'none') return answer(404, 'there is no such account here');
    switch (verdict.kind) {
      case 'verified':
        return this.#store(delivery, verdict);
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
      case 'unsigned':
        return this.#unsigned(delivery);
      case 'mismatch':
        this.#mismatched(userId);
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

  async #store(
    { userId, body }: Delivery,
    { proven, late }: Extract<DeliveryVerdict, { kind: 'verified' }>,
  ): Promise<ListenerAnswer> {
    const { accounts, store, notes, onEvent } = this.#options;
    const event = readEvent(body);
    const outcome = await store.store(userId, event);
    if (late !== undefined) {
      notes.say(
        'info',
        `late ${userId}`,
        `a delivery for account ${userId} was signed ${formatSpan(late)} off this machine's clock`,
      );
    }
    accounts.verified(userId, proven).catch((error: unknown) => {
      notes.say('warn', 'verified', `a signature scheme could not be kept: ${messageOf(error)}`);
    });
    if (outcome === 'stored') onEvent(userId, event.rows);
    return answer(200, outcome);
  }

  #mismatched(userId: string): void {
    const { accounts, clock, notes } = this.#options;
    notes.say(
      'warn',
      `mismatch ${userId}`,
      `a delivery for account ${userId} had a signature that is not the service's, and was refused`,
    );
    const now = clock.monotonic();
    const countedAt = this.#countedAt.get(userId);
    if (countedAt !== undefined && now - countedAt < MISMATCH_MS) return;
    this.#countedAt.set(userId, now);
    accounts.mismatched(userId).catch((error: unknown) => {
      notes.say('warn', 'mismatched', `a wrong signature could not be counted: ${messageOf(error)}`);
    });
  }
}

/** The likely remedy for a signature that is missing: the header has another name. */
function otherHeader(headers: IncomingHttpHeaders): string {
  const name = Object.keys(headers).find((each) => each.includes('signature'));
  return name === undefined ? '' : `; it has a header ${name.slice(0, 60)}: MIRROR_WEBHOOK_HEADER?`;
}
