import { choice, integer, share, text } from './switch-kind.ts';

const LIVE = { live: true };
const MAX_MS = { max: 600_000, live: true };

/** Webhooks: registration, events, signatures and deliveries (sections 2.3, 2.4, 4.2, 6). */
export const EVENT_SWITCHES = {
  noWebhook: choice(
    ['null', 'object', '404', '204', 'empty-list'],
    'null',
    'GET /v1/webhooks with none registered: null, {}, 404, 204, an empty list',
  ),
  webhookUrl: choice(
    ['same', 'slash'],
    'same',
    'the registered URL as answered: unchanged, or with a slash at its end',
  ),
  registerSecret: choice(
    ['new', 'same', 'missing'],
    'new',
    'secret of a registration: a new one each time; the one before, if there is one; new, and not in the answer',
  ),
  registerLate: integer(
    0,
    'milliseconds from the answer of a registration until GET and deliveries follow it',
    MAX_MS,
  ),
  registerLost: share(0, 'probability that a registration takes effect and its answer is lost', LIVE),
  eventData: choice(
    ['full', 'id-only', 'missing', 'other'],
    'full',
    'data of events other than research.…: the ID under its own name, and more; {id}; no such field; a shape of its own',
  ),
  signature: choice(
    ['hex', 'sha256-hex', 'base64', 'timestamped', 'standard-webhooks', 'canonical-json'],
    'hex',
    'HMAC-SHA256 of the body: hex; sha256=hex; base64; t=…,v1=hex of "t.body"; Standard Webhooks; hex of the body with sorted keys, compact, in ASCII',
  ),
  signatureHeader: text(
    'X-Service-Signature',
    'header that carries it',
    (value) => (/^[\w!#$%&'*+.^`|~-]+$/.test(value) ? undefined : 'must be a name of a header'),
    LIVE,
  ),
  signatureKey: choice(
    ['text', 'hex-decoded'],
    'text',
    'key of the HMAC: the secret as text, or the bytes that its digits spell',
  ),
  deliveryParallel: integer(8, 'deliveries under way at a time, over all users', {
    min: 1,
    max: 1000,
    live: true,
  }),
  deliveryWaiting: integer(100_000, 'deliveries that may wait; when there are more, the oldest are dropped', {
    min: 1,
    max: 1_000_000,
    live: true,
  }),
  deliveryTimeoutMs: integer(10_000, 'milliseconds that a delivery waits for its answer', {
    ...MAX_MS,
    min: 1,
  }),
  deliveryRetries: integer(5, 'times that a delivery is tried again', { max: 100, live: true }),
  deliveryRetryMs: integer(
    1000,
    'milliseconds from a failed delivery to the first retry; doubled with each',
    MAX_MS,
  ),
  retryOn4xx: choice(['no', 'yes'], 'no', 'whether a delivery that was answered 4xx is tried again'),
  deliveryDelayMin: integer(0, 'least milliseconds from an event to its first delivery', MAX_MS),
  deliveryDelayMax: integer(0, 'most milliseconds from an event to its first delivery', MAX_MS),
  deliveryLost: share(0, 'part of the events that are never delivered', LIVE),
  deliveryDuplicate: share(0, 'part of the events that are delivered twice', LIVE),
  deliveryReorder: share(
    0,
    'part of the deliveries held back for 1 to 2 s, so that later ones overtake',
    LIVE,
  ),
  deliveryForged: share(
    0,
    'part of the events beside which a forged one comes: another ID, signed with a wrong secret',
    LIVE,
  ),
};
