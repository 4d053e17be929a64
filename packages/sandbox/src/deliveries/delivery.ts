/** One delivery of an event to a user's webhook: the same through all its attempts. */
export interface Delivery {
  readonly userId: number;
  readonly eventId: string;
  readonly type: string;
  /** The envelope, whose bytes are signed. */
  readonly body: string;
  /** Signed with a wrong secret, and never tried again. */
  readonly forged: boolean;
  /** The second delivery of one event. */
  readonly duplicate: boolean;
}

/** One attempt, as `GET /deliveries` tells it. */
export interface DeliveryRecord {
  readonly number: number;
  readonly eventId: string;
  readonly type: string;
  readonly userId: number;
  readonly url: string;
  /** When it was sent: epoch milliseconds. */
  readonly at: number;
  /** null: no answer. */
  readonly status: number | null;
  /** 1 is the first. */
  readonly attempt: number;
  readonly forged: boolean;
  readonly duplicate: boolean;
  /** From sending to the answer, or to giving up. */
  readonly latencyMs: number;
}

/** Counters of `GET /counters`, under `deliveries`. */
export interface DeliveryCounters {
  /** Events that a registration asked for, and of those: never delivered on purpose (`deliveryLost`). */
  readonly events: number;
  readonly lost: number;
  /** Deliveries (duplicates and forged ones included) that waited when there were too many: the oldest go. */
  readonly dropped: number;
  /** Deliveries whose registration went away before they were sent. */
  readonly unregistered: number;
  readonly attempts: number;
  /** Deliveries answered 2xx, forged ones aside; and those that were tried as often as the switches say, in vain. */
  readonly delivered: number;
  readonly failed: number;
  /** Forged ones that were answered 2xx: the receiver is wrong. */
  readonly forgedAccepted: number;
  /** Waiting for their first or next attempt, and under way. */
  readonly waiting: number;
  readonly underWay: number;
  /** News that a long step of the data's clock left out. */
  readonly missed: number;
}
