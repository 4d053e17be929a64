import type { Operation } from './service/routes.ts';

/** One request, as the control API shows it. */
export interface RequestRecord {
  readonly number: number;
  /** Arrival: epoch milliseconds, and milliseconds of the monotonic clock that the rate windows use. */
  readonly at: number;
  readonly monotonic: number;
  /** Index of the key in the switch `keys`; null for none or a wrong one. The key itself is not shown. */
  readonly key: number | null;
  readonly userId: number | null;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly route: string;
  /** null while the request is under way, and where the connection was cut. */
  status: number | null;
  items: number | null;
  fault: string | null;
  /** Requests under way when it arrived, itself included. */
  readonly inFlight: number;
}

/** A POST operation that took effect, as `GET /operations` shows it. */
export interface OperationRecord {
  readonly number: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly userId: number;
  readonly operation: Operation;
  /** ID of the path; null where it has none. */
  readonly target: string | null;
  /** Header `Idempotency-Key`. */
  readonly idempotencyKey: string | null;
  /** SHA-256 of the body, hexadecimal. */
  readonly payloadHash: string;
  /** The body itself, up to 4 KB. */
  readonly payload: string | null;
}

/** How many records a log keeps. */
const KEPT = 200_000;

/** Numbered records, oldest first, of which the last 200,000 are kept. */
export class NumberedLog<T extends { readonly number: number }> {
  #records: T[] = [];
  #count = 0;

  /** How many records there ever were. */
  get count(): number {
    return this.#count;
  }

  /** Adds the record that `make` gives with its number. */
  add(make: (number: number) => T): T {
    this.#count += 1;
    const record = make(this.#count);
    this.#records.push(record);
    if (this.#records.length >= 2 * KEPT) this.#records = this.#records.slice(-KEPT);
    return record;
  }

  /** The kept records with numbers above `number`. */
  after(number: number): readonly T[] {
    const kept = this.#records.slice(-KEPT);
    const first = kept.findIndex((record) => record.number > number);
    return first === -1 ? [] : kept.slice(first);
  }

  /** Removes all records; the numbers continue. */
  clear(): void {
    this.#records = [];
  }
}

export interface Counters {
  readonly requests: number;
  /** By `GET /v1/research 200`; faults that cut the connection count under `… cut`. */
  readonly byRouteAndStatus: Readonly<Record<string, number>>;
  readonly rateLimited: number;
  readonly byFault: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly maxInFlight: number;
  /** Most concurrent list requests of one user and path. */
  readonly maxInFlightPerScope: number;
}

/** The requests to the service, and their counters. */
export class RequestLog {
  readonly #log = new NumberedLog<RequestRecord>();
  #forgotten = 0;
  #byRouteAndStatus = new Map<string, number>();
  #byFault = new Map<string, number>();
  #rateLimited = 0;
  readonly #underWay = new Set<RequestRecord>();
  #maxInFlight = 0;
  #maxInFlightPerScope = 0;

  begin(request: Omit<RequestRecord, 'number' | 'inFlight' | 'status' | 'items' | 'fault'>): RequestRecord {
    const inFlight = this.#underWay.size + 1;
    const unanswered = { status: null, items: null, fault: null };
    const record = this.#log.add((number) => ({ ...request, number, ...unanswered, inFlight }));
    this.#underWay.add(record);
    this.#maxInFlight = Math.max(this.#maxInFlight, inFlight);
    const scope = scopeOf(request);
    const alike = [...this.#underWay].filter((each) => scopeOf(each) === scope).length;
    if (scope !== undefined) this.#maxInFlightPerScope = Math.max(this.#maxInFlightPerScope, alike);
    return record;
  }

  /** Called when the answer is about to be written, or the connection was cut. Only the first call counts. */
  end(record: RequestRecord): void {
    if (!this.#underWay.delete(record)) return;
    add(this.#byRouteAndStatus, `${record.route} ${record.status ?? 'cut'}`);
    if (record.fault !== null) add(this.#byFault, record.fault);
    if (record.status === 429) this.#rateLimited += 1;
  }

  counters(): Counters {
    return {
      requests: this.#log.count - this.#forgotten,
      byRouteAndStatus: Object.fromEntries(this.#byRouteAndStatus),
      rateLimited: this.#rateLimited,
      byFault: Object.fromEntries(this.#byFault),
      inFlight: this.#underWay.size,
      maxInFlight: this.#maxInFlight,
      maxInFlightPerScope: this.#maxInFlightPerScope,
    };
  }

  /** The kept requests with numbers above `after`, oldest first. */
  log(after: number): readonly RequestRecord[] {
    return this.#log.after(after);
  }

  /** Clears log and counters; requests under way stay counted, the numbers continue. */
  reset(): void {
    this.#log.clear();
    this.#forgotten = this.#log.count;
    this.#byRouteAndStatus.clear();
    this.#byFault.clear();
    this.#rateLimited = 0;
    this.#maxInFlight = this.#underWay.size;
    this.#maxInFlightPerScope = 0;
  }
}

function scopeOf(request: Pick<RequestRecord, 'method' | 'userId' | 'path'>): string | undefined {
  if (request.method !== 'GET') return undefined;
  const end = request.path.indexOf('?');
  return `${request.userId} ${end === -1 ? request.path : request.path.slice(0, end)}`;
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
