import { choice, integer, share } from './switch-kind.ts';

const LIVE = { live: true };

/** Faults, each with its probability. A request has at most one. */
export const FAULT_SWITCHES = {
  fault500: share(0, 'probability of a 500', LIVE),
  fault503: share(0, 'probability of a 503', LIVE),
  fault408: share(0, 'probability of a 408', LIVE),
  fault425: share(0, 'probability of a 425', LIVE),
  faultReset: share(0, 'probability of a connection reset instead of an answer', LIVE),
  faultResetEarly: share(
    0,
    'probability of a connection reset before the body is read: it never takes effect',
    LIVE,
  ),
  faultTruncated: share(0, 'probability of a body that breaks off', LIVE),
  faultHtml: share(0, 'probability of a 200 with an HTML page', LIVE),
  faultGarbage: share(0, 'probability of a 200 with broken JSON', LIVE),
  faultError200: share(0, 'probability of a 200 with an error inside', LIVE),
  error200: choice(
    ['error', 'errors', 'success', 'beside-data'],
    'error',
    'what that is: {error:{…}}, {errors:[…]}, {success:false,…}, an error beside an empty page',
  ),
  faultEmpty: share(0, 'probability of an empty page (lists only)', LIVE),
  emptySays: choice(['end', 'more'], 'end', 'has_more of that page: false or true'),
  faultRepeated: share(0, 'probability that the page asked for before comes again (lists only)', LIVE),
  faultIgnored: share(
    0,
    'probability that starting_after is ignored: the first page again (lists only)',
    LIVE,
  ),
  faultStale: share(0, 'probability that a replica answers (GET only)', LIVE),
  staleMs: integer(30_000, 'milliseconds by which that replica lags', { max: 86_400_000, live: true }),
  faultCached: share(
    0,
    'probability that a cache on the way answers (GET only), with a copy of its own',
    LIVE,
  ),
  cacheMs: integer(86_400_000, 'milliseconds for which it keeps its copies, counted from the start', {
    min: 1,
    max: 86_400_000,
    live: true,
  }),
  cacheTells: choice(
    ['both', 'age', 'date'],
    'both',
    'what tells of that cache: an Age, and the Date of the copy; the one alone; the other alone',
  ),
  faultSlow: share(0, 'probability of a slow answer', LIVE),
  faultDrip: share(0, 'probability of a body that drips: headers at once, the end late', LIVE),
  slowMs: integer(5000, 'milliseconds by which a slow answer, or the end of its body, is late', {
    max: 600_000,
    live: true,
  }),
  faultKey: share(0, 'probability that a good key is refused, as badKey says', LIVE),
  fault402: share(0, 'probability of a 402', LIVE),
  fault409: share(0, 'probability of a 409', LIVE),
  faultRedirect: share(0, 'probability of a 302 to another address', LIVE),
  faultRoutes: choice(['all', 'lists', 'posts'], 'all', 'which requests meet faults'),
  faultEffect: choice(
    ['undone', 'done'],
    'undone',
    'whether a POST that a fault answers took effect all the same (cut off or slow: it always did)',
  ),
};
