import { choice, integer, share } from './switch-kind.ts';

const LIVE = { live: true };

/** Faults: each with the probability that a request meets it. At most one a request. */
export const FAULT_SWITCHES = {
  fault500: share(0, 'probability of a 500', LIVE),
  fault503: share(0, 'probability of a 503', LIVE),
  faultReset: share(0, 'probability of a connection reset instead of an answer', LIVE),
  faultTruncated: share(0, 'probability of a body that breaks off', LIVE),
  faultHtml: share(0, 'probability of a 200 with an HTML page', LIVE),
  faultGarbage: share(0, 'probability of a 200 with broken JSON', LIVE),
  faultError200: share(0, 'probability of a 200 with an error inside', LIVE),
  faultEmpty: share(0, 'probability of an empty page (lists only)', LIVE),
  faultStale: share(0, 'probability that a replica answers (GET only)', LIVE),
  staleSeconds: integer(30, 'seconds by which that replica lags', { max: 86_400, live: true }),
  faultSlow: share(0, 'probability of a slow answer', LIVE),
  slowMs: integer(5000, 'milliseconds by which a slow answer is late', { max: 600_000, live: true }),
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
