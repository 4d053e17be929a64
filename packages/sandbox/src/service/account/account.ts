import { mix } from '../../hash.ts';
import type { SandboxOptions } from '../../switches/sandbox-switches.ts';
import { json, type Answer } from '../answer.ts';
import type { User } from './user.ts';

const PLANS = ['starter', 'team', 'enterprise'];
const ORGS = ['Nordlicht Research GmbH', 'Blue Harbour Ltd', 'Atelier Mérieux', '株式会社 Hayabusa'];

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
  switch (options.credits) {
    case 'number':
      return amount;
    case 'string':
      return `"${amount}"`;
    case 'object':
      return `{"balance":${amount},"unit":"credits"}`;
    case 'object-cents':
      return `{"balance":${cents},"unit":"cents"}`;
    case 'cents':
      return String(cents);
    case 'null':
      return 'null';
    case 'other':
      return `[["EUR",${amount}]]`;
  }
}
