import { html } from 'hono/html';
import type { AccountStatus, StatusReport } from '../../model/status/status-report.ts';
import { count, type Html } from './page-figures.ts';
import { chip, moment, type PageColumn, table } from './page-table.ts';
import { smallSparkline } from './sparklines.ts';

/**
 * One line for each account, those with trouble first: with many, what is wrong is seen without scrolling. Who reads it
 * is told where several programs share accounts out.
 */
export function accountsTable(
  { accounts, processes, at }: Pick<StatusReport, 'accounts' | 'processes' | 'at'>,
  hasTrouble: (account: AccountStatus) => boolean,
): Html {
  const sorted = accounts.toSorted((a, b) => Number(hasTrouble(b)) - Number(hasTrouble(a)));
  const living = new Map(
    processes.flatMap(({ alive, processId, host, pid }) =>
      alive ? [[processId, `${host}, process ${pid}`] as const] : [],
    ),
  );
  const owners = new Set(
    accounts.flatMap(({ owner }) => (owner !== null && living.has(owner) ? [owner] : [])),
  );
  return html`<section class="accounts">
    <h2>${count(accounts.length)} accounts</h2>
    ${table(
      'Account',
      sorted,
      accountName,
      [
        ['State', (account) => stateOf(account, hasTrouble(account))],
        [
          'Rows',
          ({ collections }) => count(collections.reduce((sum, { liveRows }) => sum + liveRows, 0)),
          true,
        ],
        [
          'New rows and changes as of',
          (account) => moment(oldest(account, 'polledAt'), at, 'not all read yet'),
        ],
        ['Age, last 24 h', ({ activity }) => smallSparkline('freshness', activity)],
        ['Everything as of', (account) => moment(oldest(account, 'completeAsOf'), at, 'not proven yet')],
        ['Changes, last 24 h', ({ activity }) => smallSparkline('changes', activity)],
        ['Credits', ({ credits }) => (credits === null ? '–' : count(Number(credits.left))), true],
        ['Requests in 60 s', requests, true],
        ...(owners.size < 2
          ? []
          : [
              [
                'Read by',
                ({ owner }) => living.get(owner ?? '') ?? 'nobody now',
              ] satisfies PageColumn<AccountStatus>,
            ]),
      ],
      'Accounts',
    )}
  </section>`;
}

function accountName({ userId, email }: AccountStatus): Html {
  return html`<a href="#account-${userId}">${userId}</a>
    ${email === null ? '' : html`<small>${email}</small>`}`;
}

function stateOf({ state, collections }: AccountStatus, trouble: boolean): Html {
  if (state !== 'active') return chip(state === 'stopped' ? 'failing' : 'idle', state);
  const failing = collections.filter((each) => each.state === 'failing').length;
  if (failing > 0) return chip('failing', `${count(failing)} failing`);
  if (trouble) return chip('overdue', 'needs attention');
  return collections.some((each) => each.state === 'new') ? chip('new', 'new') : chip('current', 'current');
}

/** Of what somebody is asked to mirror; null: some of it has none. */
function oldest({ collections }: AccountStatus, field: 'polledAt' | 'completeAsOf'): string | null {
  const moments = collections.filter(({ state }) => state !== 'paused').map((each) => each[field]);
  if (moments.length === 0 || moments.includes(null)) return null;
  return moments.map(String).toSorted()[0] ?? null;
}

function requests({ budgets }: AccountStatus): string {
  const groups = budgets.flatMap((key) => key.groups);
  if (groups.length === 0) return '–';
  const sum = (field: 'used' | 'size'): number => groups.reduce((total, each) => total + each[field], 0);
  return `${count(sum('used'))} of ${count(sum('size'))}`;
}
