import type { AccountStatus } from '../../model/status/status-report.ts';
import { count } from './page-figures.ts';

/** What the tile of credits shows. */
export interface CreditsFigure {
  readonly figure: string;
  readonly more: string;
}

interface Known {
  readonly userId: string;
  readonly left: number;
  /** Null: not known. */
  readonly burnt: number | null;
  /** At the pace of the last day; Infinity: nothing was burnt, or it is not known. */
  readonly daysLeft: number;
}

/** Of the account whose credits end first, at the pace of the last 24 hours; undefined where none is known. */
export function creditsFigure(accounts: readonly AccountStatus[]): CreditsFigure | undefined {
  const known = accounts.filter(({ state }) => state === 'active').flatMap(knownCredits);
  const [first] = known.toSorted((a, b) => a.daysLeft - b.daysLeft || a.left - b.left);
  if (first === undefined) return undefined;
  const { userId, left, burnt, daysLeft } = first;
  const pace =
    burnt === null
      ? 'what a day takes is not known: no history is kept'
      : burnt === 0
        ? 'none burnt in the last 24 h'
        : `${count(burnt)} burnt in the last 24 h: ${daysLeft < 1 ? 'less than a day' : `${count(Math.floor(daysLeft))} d`} left`;
  const whose = known.length === 1 ? '' : ` (account ${userId}, the first to run out)`;
  return { figure: count(left), more: `${pace}${whose}` };
}

function knownCredits({ userId, credits }: AccountStatus): Known[] {
  if (credits === null) return [];
  const left = Number(credits.left);
  const burnt = credits.burntLastDay === null ? null : Number(credits.burntLastDay);
  if (!Number.isFinite(left)) return [];
  return [
    { userId, left, burnt, daysLeft: burnt === null || burnt <= 0 ? Infinity : Math.max(0, left) / burnt },
  ];
}
