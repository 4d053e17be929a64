import type { DeliveryRecord } from '@research-mirror/sandbox/deliveries/delivery-queue';
import type { Finding } from '../support/attack.ts';

/** A stored event. */
export interface EventRow {
  readonly id: string;
  readonly type: string | null;
  /** As text, to the microsecond. */
  readonly receivedAt: string;
}

/**
 * Invariant 7, judged by what the service was answered: each delivery that was taken is stored, once, and nothing
 * else is. The service of these games never tries again what was refused by 4xx: a true event must not be.
 * @param attempts of the service to deliver, in the order in which they ended
 */
export function judge(rows: readonly EventRow[], attempts: readonly DeliveryRecord[]): Finding[] {
  const findings: Finding[] = [];
  const stored = Map.groupBy(rows, ({ id }) => id);
  const sent = new Map<string, DeliveryRecord>();
  for (const attempt of attempts) {
    const { eventId, type, status, forged } = attempt;
    const name = `${eventId} (${type}, attempt ${attempt.attempt})`;
    const taken = status !== null && status >= 200 && status < 300;
    if (forged) {
      if (taken) findings.push({ kind: 'false', text: `${name} is forged, and was answered ${status}` });
      if (stored.has(eventId)) findings.push({ kind: 'false', text: `${name} is forged, and is stored` });
      continue;
    }
    sent.set(eventId, attempt);
    if (taken && !stored.has(eventId))
      findings.push({ kind: 'lost', text: `${name} was answered ${status}, and is not stored` });
    if (status !== null && status >= 400 && status < 500)
      findings.push({ kind: 'claim', text: `${name} is true, and was refused with ${status}` });
  }
  for (const [id, [row, ...more]] of stored) {
    if (more.length > 0) findings.push({ kind: 'twice', text: `${id} is stored ${more.length + 1} times` });
    const attempt = sent.get(id);
    if (attempt === undefined) findings.push({ kind: 'false', text: `${id} is stored, and was never sent` });
    else if (attempt.type !== row?.type)
      findings.push({ kind: 'false', text: `${id} is stored as ${row?.type}, and was ${attempt.type}` });
  }
  return findings;
}
