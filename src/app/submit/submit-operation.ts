import type { Db } from '../../db/connection/db.ts';
import type { Config } from '../../config/config.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { openInstallation } from '../../db/installation/installation.ts';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import type { StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { wake } from '../../db/notify/wakeups.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { ownedBy } from '../accounts/with-account.ts';
import type { WorkOptions } from '../process/process.ts';
import { hashOfKey, servableKeys } from '../accounts/servable-keys.ts';
import { type Carrier, carrierOf } from '../process/submit-carrier.ts';
import { followSubmission, isFinal, presentSubmission, type SubmitProgress } from './submit-follow.ts';
import { SUBMIT, submitHere } from './submit-here.ts';
import { accountMeant, queueSubmission, type SubmitRequest } from './submit-request.ts';

export interface SubmitOptions extends WorkOptions {
  readonly config: Config;
  readonly db: Db;
  /** The database's own address, past a pooler. */
  readonly direct: ConnectionOptions;
  readonly clock: Clock;
  readonly request: SubmitRequest;
  /** Whether to wait until it has ended. */
  readonly wait: boolean;
  /** Called with the ID as soon as it is queued. */
  readonly onQueued: (id: string) => void;
  readonly onProgress: (progress: SubmitProgress) => void;
}

export interface SubmitResult {
  readonly submission: StoredSubmission;
  /** Why it has not ended, where it was waited for; undefined: it has ended, or is on hold. */
  readonly stuck: string | undefined;
}

/** How long (ms) a daemon that does not own the account may take to take it. */
const TAKING_MS = 30_000;
/** How often (ms) it looks who owns the account. */
const CARRIER_MS = 1_000;

/**
 * Queues a POST operation and waits for its outcome. The daemon sends it; where none lives, this process takes the
 * account and sends what is queued, up to this one.
 * @throws SubmitRefused; what keeps it from being sent (it stays queued); the signal's reason
 */
export async function submitOperation(options: SubmitOptions): Promise<SubmitResult> {
  const { db, request, wait, onQueued } = options;
  const userId = await accountMeant(db, request.userId);
  const identity = await ownIdentity();
  const look = async (account: string): Promise<Carrier> => carrierOf(db, account, identity);
  if (userId !== undefined) await refuseMoved(options, userId);
  // Before anything is queued: a database that nobody used for long would else put it on hold, as something old.
  if (userId !== undefined && (await look(userId)).kind === 'nobody') await open(options);
  const id = await queueSubmission(db, request);
  onQueued(id);
  await wake(db);
  const queued = await presentSubmission(db, id);
  if (!wait || isFinal(queued)) return { submission: queued, stuck: undefined };

  for (;;) {
    const carrier = await look(queued.userId);
    if (carrier.kind === 'other' && carrier.holder.command !== SUBMIT) {
      return await stuck(options, id, ownedBy(queued.userId, carrier.holder));
    }
    const submission =
      carrier.kind === 'nobody'
        ? await sendHere(options, queued)
        : await followCarrier(options, queued, () => look(queued.userId));
    if (typeof submission === 'string') return await stuck(options, id, submission);
    if (isFinal(submission)) return { submission, stuck: undefined };
  }
}

/** Nothing is queued for an account that nothing may be sent for. @throws Unusable */
async function refuseMoved({ config, db }: SubmitOptions, userId: string): Promise<void> {
  const { schema, service } = config;
  if (service === undefined) return;
  const known = await knownKeys(db, service.keys.map(hashOfKey));
  const hashes = new Set(known.filter((key) => key.userId === userId).map(({ keyHash }) => keyHash));
  const keys = service.keys.filter((key) => hashes.has(hashOfKey(key)));
  const servable = await servableKeys({ db, config: { schema, service } }, userId, keys);
  if ('why' in servable) throw new Unusable(servable.why);
}

async function stuck({ db }: SubmitOptions, id: string, why: string): Promise<SubmitResult> {
  const submission = await presentSubmission(db, id);
  return { submission, stuck: isFinal(submission) ? undefined : why };
}

/** Follows it while the daemon, or another `submit`, owns the account. @returns a text: why it does not go on */
async function followCarrier(
  options: SubmitOptions,
  { id, userId }: StoredSubmission,
  look: () => Promise<Carrier>,
): Promise<StoredSubmission | string> {
  const { clock } = options;
  let lookedAt = clock.monotonic();
  let ownedAt = lookedAt;
  let why: string | undefined;
  const goesOn = async (): Promise<boolean> => {
    const now = clock.monotonic();
    if (now - lookedAt < CARRIER_MS) return true;
    lookedAt = now;
    const carrier = await look();
    if (carrier.kind === 'nobody') return false;
    if (carrier.kind === 'other') return carrier.holder.command === SUBMIT;
    if (carrier.owns) ownedAt = now;
    else if (now - ownedAt > TAKING_MS)
      why = `the running daemon does not hold account ${userId}: has it a key of it?`;
    return why === undefined;
  };
  const submission = await followSubmission(id, { ...options }, goesOn);
  return isFinal(submission) ? submission : (why ?? submission);
}

/** @returns a text: why this process can't send it */
async function sendHere(
  options: SubmitOptions,
  { id, userId }: StoredSubmission,
): Promise<StoredSubmission | string> {
  const { config, db } = options;
  const { service } = config;
  if (service === undefined) {
    return 'no daemon runs, and without MIRROR_API_URL and MIRROR_API_KEY it can’t be sent from here';
  }
  const until = (signal: AbortSignal): Promise<StoredSubmission> =>
    followSubmission(id, { ...options, signal }, () => Promise.resolve(true));
  try {
    const sent = await submitHere({ ...config, service }, { ...options, userId, until });
    return sent.state === 'done' ? sent.result : await presentSubmission(db, id);
  } catch (error) {
    options.signal.throwIfAborted();
    // Another process has taken the account, or may have: the next round looks who sends it now.
    if (error instanceof LeaseLost) return await presentSubmission(db, id);
    if (error instanceof KeyRefused || error instanceof Unusable) return messageOf(error);
    throw error;
  }
}

async function open({ config, db, direct, clock, signal }: SubmitOptions): Promise<void> {
  const host = endpointHost(direct.url, direct.variables);
  await openInstallation({ db, host, submit: config.submit, clock }, signal);
}
