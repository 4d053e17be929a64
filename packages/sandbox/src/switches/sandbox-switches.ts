import { HOSTILE_KINDS } from '../world/hostile.ts';
import { ID_FORMS, NUMERIC_ID_FORMS } from '../world/id-form.ts';
import { TIME_FORMS } from '../world/time-text.ts';
import { choice, integer, limit, rate, share, text, type Switch } from './switch-kind.ts';

/** Reads `key=user_id,key=user_id…`: several keys may belong to one user. */
export function parseKeys(
  value: string,
): readonly { readonly key: string; readonly userId: number }[] | { readonly problem: string } {
  const owners: { key: string; userId: number }[] = [];
  for (const part of value.split(',')) {
    const match = /^\s*([\w.~+/-]+)=(\d{1,15})\s*$/.exec(part);
    if (match === null) return { problem: 'must be key=user_id,…' };
    const [, key = '', userId = ''] = match;
    if (owners.some((owner) => owner.key === key)) return { problem: 'must name each key once' };
    owners.push({ key, userId: Number(userId) });
  }
  return owners;
}

/** Up to 50 million the arithmetic of `Permutation` is exact. */
const SIZE = { max: 50_000_000 };
const TEN_MINUTES = { max: 600_000 };

/** What is settled when a sandbox starts: addresses, how much data there is, and how it changes by itself. */
const FIXED_SWITCHES = {
  host: text('127.0.0.1', 'address that the service listens on; the control API always listens on loopback', (value) =>
    value === '' ? 'must not be empty' : undefined,
  ),
  port: integer(8090, 'port of the service; 0 picks a free port', { max: 65_535 }),
  controlPort: integer(8091, 'port of the control API; 0 picks a free port', { max: 65_535 }),
  memory: text('', 'file that keeps webhooks, operations and changes for the next start', () => undefined),
  seed: integer(1, 'seed of all data', { max: 4_294_967_295 }),
  epoch: text(
    'start',
    'time (ISO 8601) at which the rates begin to count; the same seed and epoch give the same data',
    (value) =>
      value === 'start' || !Number.isNaN(Date.parse(value)) ? undefined : 'must be an ISO 8601 time or start',
  ),
  jobs: integer(1000, 'research jobs at the epoch', SIZE),
  bulkJobs: integer(40, 'bulk research jobs at the epoch', SIZE),
  lists: integer(25, 'lists at the epoch', SIZE),
  itemsPerList: integer(60, 'items of each list at the epoch', SIZE),
  watchlist: integer(120, 'watchlist entries at the epoch', SIZE),
  newJobsPerMinute: rate(6, 'research jobs that appear each minute'),
  newBulkJobsPerMinute: rate(0.2, 'bulk jobs that appear each minute'),
  newListsPerMinute: rate(0.2, 'lists that appear each minute'),
  newListItemsPerMinute: rate(6, 'list items that appear each minute, over all lists'),
  newWatchEntriesPerMinute: rate(1, 'watchlist entries that appear each minute'),
  vanishingJobsPerMinute: rate(0, 'research jobs of the epoch that vanish each minute'),
  vanishingBulkJobsPerMinute: rate(0, 'bulk jobs of the epoch that vanish each minute'),
  vanishingListsPerMinute: rate(0, 'lists of the epoch that vanish each minute'),
  vanishingListItemsPerMinute: rate(0, 'first list items that vanish each minute, over all lists'),
  vanishingWatchEntriesPerMinute: rate(0, 'watchlist entries of the epoch that vanish each minute'),
  scoreChangesPerMinute: rate(6, 'list items whose score changes each minute, over all lists'),
  watchChangesPerMinute: rate(2, 'watchlist entries whose score changes each minute'),
  ageDays: integer(
    0,
    'age of the world at the epoch, in days, with score changes since then; 0: two years, without score changes so far',
    { max: 730 },
  ),
  overlap: share(0, 'share of research jobs and watchlist entries whose company is also on a list'),
  jobSeconds: integer(90, 'typical seconds from queued to finished', { min: 1, max: 86_400 }),
  failedShare: share(0.05, 'share of jobs that fail'),
  retriedShare: share(0, 'share of failed jobs that the service retries, and that then complete'),
  stuckShare: share(0, 'share of jobs that stay in processing for ever'),
  ids: choice(
    ID_FORMS,
    'integer',
    'form of the IDs of list items and watchlist entries; odd: with characters that a URL has to encode',
  ),
  numericIds: choice(
    NUMERIC_ID_FORMS,
    'integer',
    'form of job_id, bulk_job_id and list_id: as specified, above 2^53, strings of digits, above 2^63, UUIDs',
  ),
  lateShare: share(0, 'share of new items that are committed late: a lower ID appears after higher ones'),
  lateSeconds: integer(60, 'longest delay of such an item, in seconds', { max: 86_400 }),
  jobCredits: share(0, 'credits that a research job costs if it appears by itself'),
};

/** Keys, and what the data's fields look like. */
const DATA_SWITCHES = {
  keys: text('sandbox-key=1001', 'API keys and their owners: key=user_id,key=user_id…', (value) => {
    const keys = parseKeys(value);
    return 'problem' in keys ? keys.problem : undefined;
  }),
  listRowsFollow: choice(['on', 'off'], 'on', 'whether updated_at and item_count of a list follow its items'),
  states: choice(
    ['plain', 'many', 'upper', 'mixed', 'null'],
    'plain',
    'status words: the usual four, many more, upper case, mixed case, null while unfinished',
  ),
  times: choice(
    TIME_FORMS,
    'z',
    'time fields: …Z, …+00:00, no zone, six fraction digits, epoch seconds, epoch milliseconds, all these forms, no times at all',
  ),
  hostileShare: share(0, 'share of items with a hostile value'),
  megabytes: integer(1, 'size of a hostile item of the kind megabyte, in megabytes', {
    min: 1,
    max: 100,
  }),
  hostileKinds: text(HOSTILE_KINDS.join(','), 'kinds of these values, separated by commas', (value) => {
    const wrong = value.split(',').filter((kind) => !HOSTILE_KINDS.some((known) => known === kind));
    return wrong.length === 0 ? undefined : `must be some of ${HOSTILE_KINDS.join(',')}`;
  }),
};

/** Details of lists that the specification does not show (section 4.3, 8.1). */
const LIST_SWITCHES = {
  order: choice(
    ['falling', 'rising', 'created', 'last-updated', 'score', 'unordered'],
    'falling',
    'order of lists: by ID, by creation time with ties, by a changing value (needs memory for the whole collection), none',
  ),
  cursor: choice(
    ['keyset', 'position-400', 'position-404', 'inclusive', 'opaque', 'garbled', 'unknown-ignored', 'unknown-empty'],
    'keyset',
    'starting_after: items beyond that ID; items after an existing item, otherwise a 400 or 404; the item itself as well; next_cursor tokens; next_cursor tokens with U+0000 or half a surrogate pair, while IDs work too; an unknown ID gives the first page, or an empty one',
  ),
  hasMore: choice(['exact', 'full', 'missing'], 'exact', 'has_more: exact, true if the page is full, no such field'),
  noError: choice(
    ['missing', 'null', 'false', 'zero', 'empty', 'list', 'object'],
    'missing',
    'how a good page says that there is no error: not at all; "error": null, false, 0, ""; "errors": [], {}',
  ),
  envelope: choice(['flat', 'nested'], 'flat', 'list envelope: as specified, or nested one level'),
  badLimit: choice(['400', '422', 'clamped'], '400', 'answer to a limit outside the allowed range'),
  maxLimit: integer(500, 'largest limit allowed', { min: 1, max: 500 }),
  smallLimit: choice(
    ['taken', 'ignored', 'refused', 'last'],
    'taken',
    'a limit below the largest: taken, ignored, refused, taken with has_more false',
  ),
  deletedList: choice(['404', 'empty'], '404', 'GET /v1/lists/{id} of a deleted list'),
};

/** The rate limiter (section 8.2) and its headers. */
const LIMIT_SWITCHES = {
  limits: choice(['on', 'off'], 'on', 'off lifts all rate limits'),
  limitClay: limit(5, 'POST /v1/clay/enrich, requests per 60 s'),
  limitResearch: limit(10, 'POST /v1/research and /v1/enrich, requests per 60 s'),
  limitHeavy: limit(2, 'POST /v1/research/bulk, /v1/lists and /v1/lists/{id}/analyze, requests per 60 s'),
  limitSequence: limit(20, 'POST /v1/research/{id}/sequence, requests per 60 s'),
  limitOther: limit(60, 'all other endpoints, requests per 60 s'),
  limitGlobal: limit('off', 'a second limit over all endpoints, requests per 60 s'),
  limitScope: choice(['group', 'endpoint'], 'group', 'whether endpoints of a group share its limit'),
  limiter: choice(
    ['sliding-log', 'sliding-counter', 'fixed-window', 'token-bucket'],
    'sliding-log',
    'algorithm that counts requests',
  ),
  countRefused: choice(['on', 'off'], 'off', 'whether refused requests count too'),
  remaining: choice(
    ['exact', 'constant', 'missing'],
    'exact',
    'X-RateLimit-Remaining: right, always the same number, missing',
  ),
  reset: choice(['epoch-s', 'epoch-ms', 'delta-s', 'iso', 'missing'], 'epoch-s', 'form of X-RateLimit-Reset'),
  retryAfter: choice(['seconds', 'decimal', 'http-date', 'huge', 'missing'], 'seconds', 'form of Retry-After in a 429'),
};

/** Latency, errors, account and POST answers. */
const ANSWER_SWITCHES = {
  latencyMin: integer(0, 'minimum time from request to answer, in milliseconds', TEN_MINUTES),
  latencyMax: integer(0, 'maximum time from request to answer, in milliseconds', TEN_MINUTES),
  errorBody: choice(
    ['code', 'detail', 'details', 'message', 'text', 'html'],
    'code',
    'error bodies: {error:{code,message}}, {detail:…}, {detail:[…]}, {message}, text, HTML',
  ),
  badKey: choice(['401', '403'], '401', 'status for a wrong key'),
  missingKey: choice(['401', '403', '422'], '401', 'status without an Authorization header'),
  credits: choice(
    ['number', 'string', 'object', 'object-cents', 'cents', 'null', 'other'],
    'number',
    'credits of the account: a number, a string, {balance,unit}, the same in cents, whole cents, null, another shape',
  ),
  postStatus: choice(['200', '201', '202'], '201', 'status of accepted POST operations'),
  idempotency: choice(['ignored', 'honoured'], 'ignored', 'whether an Idempotency-Key has an effect'),
};

/** Webhooks: registration, events, signatures and deliveries (sections 2.3, 2.4, 4.2, 6). */
export const EVENT_SWITCHES = {
  noWebhook: choice(
    ['null', 'object', '404', '204', 'empty-list'],
    'null',
    'answer to GET /v1/webhooks when none is registered: null, {}, 404, 204, an empty list',
  ),
  webhookUrl: choice(['same', 'slash'], 'same', 'registered URL in answers: unchanged, or with a slash at the end'),
  registerSecret: choice(
    ['new', 'same', 'missing'],
    'new',
    'secret of a registration: a new one each time; the previous one, if any; a new one that is missing in the answer',
  ),
  registerLate: integer(
    0,
    'time from the answer to a registration until GET and deliveries follow it, in milliseconds',
    TEN_MINUTES,
  ),
  registerLost: share(0, 'probability that a registration takes effect and its answer is lost'),
  eventData: choice(
    ['full', 'id-only', 'missing', 'other'],
    'full',
    'data of events other than research.…: the ID under its own name, and more; {id}; no such field; another shape',
  ),
  signature: choice(
    ['hex', 'sha256-hex', 'base64', 'timestamped', 'standard-webhooks', 'canonical-json'],
    'hex',
    'HMAC-SHA256 of the body: hex; sha256=hex; base64; t=…,v1=hex of "t.body"; Standard Webhooks; hex of the body with sorted keys, compact, in ASCII',
  ),
  signatureHeader: text('X-Service-Signature', 'header that carries the signature', (value) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(value) ? undefined : 'must be a header name',
  ),
  signatureKey: choice(['text', 'hex-decoded'], 'text', 'key of the HMAC: the secret as text, or hex-decoded'),
  deliveryParallel: integer(8, 'deliveries in progress at a time, over all users', {
    min: 1,
    max: 1000,
  }),
  deliveryWaiting: integer(100_000, 'longest queue of deliveries; beyond it, the oldest are dropped', {
    min: 1,
    max: 1_000_000,
  }),
  deliveryTimeoutMs: integer(10_000, 'time that a delivery waits for its answer, in milliseconds', {
    min: 1,
    max: 600_000,
  }),
  deliveryRetries: integer(5, 'retries of a delivery', { max: 100 }),
  deliveryRetryMs: integer(
    1000,
    'time from a failed delivery to the first retry, in milliseconds; doubled for each further retry',
    TEN_MINUTES,
  ),
  retryOn4xx: choice(['no', 'yes'], 'no', 'whether a delivery that was answered 4xx is retried'),
  deliveryDelayMin: integer(0, 'minimum time from an event to its first delivery, in milliseconds', TEN_MINUTES),
  deliveryDelayMax: integer(0, 'maximum time from an event to its first delivery, in milliseconds', TEN_MINUTES),
  deliveryLost: share(0, 'share of events that are never delivered'),
  deliveryDuplicate: share(0, 'share of events that are delivered twice'),
  deliveryReorder: share(0, 'share of deliveries that are held back for 1 to 2 s, so that later ones overtake them'),
  deliveryForged: share(0, 'share of events that a forged one accompanies: another ID, signed with a wrong secret'),
};

/** Faults, each with its probability. A request has at most one. */
const FAULT_SWITCHES = {
  fault500: share(0, 'probability of a 500'),
  fault503: share(0, 'probability of a 503'),
  fault408: share(0, 'probability of a 408'),
  fault425: share(0, 'probability of a 425'),
  faultReset: share(0, 'probability of a connection reset instead of an answer'),
  faultResetEarly: share(0, 'probability of a connection reset before the body is read, so that nothing takes effect'),
  faultTruncated: share(0, 'probability of a body that breaks off'),
  faultHtml: share(0, 'probability of a 200 with an HTML page'),
  faultGarbage: share(0, 'probability of a 200 with broken JSON'),
  faultError200: share(0, 'probability of a 200 with an error inside'),
  error200: choice(
    ['error', 'errors', 'success', 'beside-data'],
    'error',
    'form of that error: {error:{…}}, {errors:[…]}, {success:false,…}, an error next to an empty page',
  ),
  faultEmpty: share(0, 'probability of an empty page (lists only)'),
  emptySays: choice(['end', 'more'], 'end', 'has_more of that page: false or true'),
  faultRepeated: share(0, 'probability that the previous page comes again (lists only)'),
  faultIgnored: share(0, 'probability that starting_after is ignored and the first page comes again (lists only)'),
  faultStale: share(0, 'probability that a lagging replica answers (GET only)'),
  staleMs: integer(30_000, 'lag of that replica, in milliseconds', { max: 86_400_000 }),
  faultCached: share(0, 'probability that a cache in between answers with its own copy (GET only)'),
  cacheMs: integer(86_400_000, 'time for which it keeps its copies, in milliseconds, counted from the start', {
    min: 1,
    max: 86_400_000,
  }),
  cacheTells: choice(
    ['both', 'age', 'date'],
    'both',
    'headers that show that cache: Age and the Date of the copy, Age alone, Date alone',
  ),
  faultSlow: share(0, 'probability of a slow answer'),
  faultDrip: share(0, 'probability of a body that drips: headers at once, the end late'),
  slowMs: integer(5000, 'delay of a slow answer, or of the end of its body, in milliseconds', {
    max: 600_000,
  }),
  faultKey: share(0, 'probability that a valid key is refused, with the status of bad-key'),
  fault402: share(0, 'probability of a 402'),
  fault409: share(0, 'probability of a 409'),
  faultRedirect: share(0, 'probability of a 302 to another address'),
  faultRoutes: choice(['all', 'lists', 'posts'], 'all', 'requests that meet faults'),
  faultEffect: choice(
    ['undone', 'done'],
    'undone',
    'whether a POST that a fault answers takes effect anyway (one that is cut off or slow always does)',
  ),
};

const TABLE = {
  ...FIXED_SWITCHES,
  ...DATA_SWITCHES,
  ...LIST_SWITCHES,
  ...LIMIT_SWITCHES,
  ...ANSWER_SWITCHES,
  ...EVENT_SWITCHES,
  ...FAULT_SWITCHES,
};

/** All options of a sandbox, each with a value. */
export type SandboxOptions = {
  readonly [Name in keyof typeof TABLE]: (typeof TABLE)[Name] extends Switch<infer Value> ? Value : never;
};

/** Every switch of the sandbox: the command line, the validation and the docs come from this table. */
export const SANDBOX_SWITCHES: { readonly [Name in keyof SandboxOptions]: Switch<SandboxOptions[Name]> } = TABLE;

export const SWITCH_NAMES = Object.keys(TABLE) as readonly (keyof SandboxOptions)[];

/** Whether the control API may change it while the sandbox runs. */
export function isLive(name: keyof SandboxOptions): boolean {
  return !Object.hasOwn(FIXED_SWITCHES, name);
}

/** `newJobsPerMinute` → `new-jobs-per-minute`, `fault500` → `fault-500`: the switch on the command line. */
export function flagOf(name: keyof SandboxOptions): string {
  return name
    .replaceAll(/([a-z])([A-Z0-9])/g, '$1-$2')
    .replaceAll(/(\d)([A-Z])/g, '$1-$2')
    .toLowerCase();
}
