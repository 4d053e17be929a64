import { mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { UserData } from '../world/user-data.ts';
import { json, type Answer } from './answer.ts';
import { Registration, type WebhookCall } from './webhooks.ts';

const PLANS = ['starter', 'team', 'enterprise'];
const ORGS = ['Nordlicht Research GmbH', 'Blue Harbour Ltd', 'Atelier Mérieux', '株式会社 Hayabusa'];

/** A user of the service: its data, its webhook, and what its POST operations cost. */
export class User {
  readonly data: UserData;
  readonly registration: Registration;
  /** Credits spent by operations. */
  spent = 0;
  /** Number of accepted POST operations, from which their answers' IDs come. */
  operations = 0;
  /** `starting_after` of the last page request, by path; null: it had none. */
  readonly lastCursors = new Map<string, string | null>();
  /** Answers by Idempotency-Key, where the switch honours it. */
  readonly answered = new Map<string, { readonly status: number; readonly body: string }>();

  /** @param note called for each change of the registration */
  constructor(userId: number, epoch: number, options: () => SandboxOptions, note: (call: WebhookCall) => void) {
    this.data = new UserData(userId, epoch, options);
    this.registration = new Registration(`${options().seed}/${userId}`, note);
  }
}

/** `GET /v1/ping` (specification 2.1). */
export function ping(user: User): Answer {
  return json(200, `{"object":"ping","status":"ok","user_id":${user.data.userId}}`);
}

/** `GET /v1/account` (specification 2.2). */
export function account(user: User, options: SandboxOptions, time: number): Answer {
  const { userId } = user.data;
  const hash = mix(options.seed + 91, userId);
  const email = `user${userId}@research.example`;
  return json(
    200,
    `{"object":"account","user_id":${userId},"email":"${email}","credits":${creditsText(user, hash, options, time)},` +
      `"subscription":"${PLANS[hash % PLANS.length] ?? ''}","org":"${ORGS[(hash >>> 4) % ORGS.length] ?? ''}"}`,
  );
}

/** Credits in the shape of the switch, in cents or with two decimal digits. */
function creditsText(user: User, hash: number, options: SandboxOptions, time: number): string {
  const byItself = user.data.collection('research_jobs').plan.creations.count(time) * options.jobCredits;
  const cents = 500_000 + (hash % 5_000_000) - Math.round((user.spent + byItself) * 100);
  const amount = (cents / 100).toFixed(2);
  const texts: Readonly<Record<SandboxOptions['credits'], string>> = {
    number: amount,
    string: `"${amount}"`,
    object: `{"balance":${amount},"unit":"credits"}`,
    'object-cents': `{"balance":${cents},"unit":"cents"}`,
    cents: String(cents),
    null: 'null',
    other: `[["EUR",${amount}]]`,
  };
  return texts[options.credits];
}
