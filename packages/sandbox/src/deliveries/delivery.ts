/** One delivery of an event to a user's webhook. All its attempts send the same. */
export interface Delivery {
  readonly userId: number;
  readonly eventId: string;
  readonly type: string;
  /** The envelope, whose bytes are signed. */
  readonly body: string;
  /** Signed with a wrong secret, and never retried. */
  readonly forged: boolean;
  /** The second delivery of one event. */
  readonly duplicate: boolean;
}

/** One attempt, as `GET /deliveries` shows it. */
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
  /** From sending to the answer, or to the time-out. */
  readonly latencyMs: number;
}

/** Counters of `GET /counters`, under `deliveries`. */
export interface DeliveryCounters {
  /** Events that a registration wanted; of these, the ones lost on purpose (`deliveryLost`). */
  readonly events: number;
  readonly lost: number;
  /** Deliveries, duplicates and forged ones included, dropped because too many waited: the oldest. */
  readonly dropped: number;
  /** Deliveries whose registration was removed before they were sent. */
  readonly unregistered: number;
  readonly attempts: number;
  /** Deliveries answered 2xx, without forged ones; deliveries without one after all attempts. */
  readonly delivered: number;
  readonly failed: number;
  /** Forged deliveries answered 2xx: an error of the receiver. */
  readonly forgedAccepted: number;
  /** Waiting for their first or next attempt, and under way. */
  readonly waiting: number;
  readonly underWay: number;
  /** Events that a long step of the data clock left out. */
  readonly missed: number;
}
