import { choice, integer, share } from './switch-kind.ts';

/** Latency, errors, account and POST answers. */
export const ANSWER_SWITCHES = {
  latencyMin: integer(0, 'least milliseconds from request to answer', { max: 600_000, live: true }),
  latencyMax: integer(0, 'most milliseconds from request to answer', { max: 600_000, live: true }),
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
    'credits in the account: a number; a text; {balance,unit}; the same in cents; whole cents; null; a shape of its own',
  ),
  jobCredits: share(0, 'credits that each research job costs which appears by itself'),
  postStatus: choice(['200', '201', '202'], '201', 'status of accepted POST operations'),
  idempotency: choice(['ignored', 'honoured'], 'ignored', 'what an Idempotency-Key does'),
};
