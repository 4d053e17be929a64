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
  const find = (kind: Finding['kind'], text: string) => findings.push({ kind, text });
  const stored = Map.groupBy(rows, ({ id }) => id);
  const sent = new Map<string, string>();
  for (const { eventId, type, status, forged, attempt } of attempts) {
    const name = `${eventId} (${type}, attempt ${attempt})`;
    const taken = status !== null && status >= 200 && status < 300;
    if (forged) {
      if (taken) find('false', `${name} is forged, and was answered ${status}`);
      if (stored.has(eventId)) find('false', `${name} is forged, and is stored`);
      continue;
    }
    sent.set(eventId, type);
    if (taken && !stored.has(eventId)) find('lost', `${name} was answered ${status}, and is not stored`);
    if (status !== null && status >= 400 && status < 500)
      find('claim', `${name} is true, and was refused with ${status}`);
  }
  for (const [id, [row, ...more]] of stored) {
    if (more.length > 0) find('twice', `${id} is stored ${more.length + 1} times`);
    const type = sent.get(id);
    if (type === undefined) find('false', `${id} is stored, and was never sent`);
    else if (type !== row?.type) find('false', `${id} is stored as ${row?.type}, and was ${type}`);
  }
  return findings;
}
