import { html } from 'hono/html';
import type { AccountStatus, StatusReport } from '../../model/status/status-report.ts';
import { accountSection } from './account-section.ts';
import { accountsTable } from './accounts-table.ts';
import { changesSection } from './changes-section.ts';
import { deletionsSection } from './deletions-section.ts';
import { affectedBy } from '../../model/status/problem.ts';
import { creditsFigure } from './credits-figure.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { absolute, count, relative, type Html } from './page-figures.ts';

/** So many accounts are shown unfolded at most: all of them, else those with a problem, else none. */
const UNFOLDED_ACCOUNTS = 3;

/** The page's content: everything that changes while it is open. */
export function reportView(report: StatusReport): Html {
  const { accounts, at, healthy } = report;
  const state = accounts.length === 0 ? 'waiting' : healthy ? 'good' : 'bad';
  const headline = {
    waiting: 'Nothing is mirrored yet',
    good: 'The mirror is healthy',
    bad: 'The mirror needs attention',
  }[state];
  const looked = accounts.length <= UNFOLDED_ACCOUNTS ? accounts : accounts.filter(troubled);
  const unfolded = new Set(looked.length <= UNFOLDED_ACCOUNTS ? looked : []);
  return html`<main id="content" tabindex="-1" data-title="${headline} – research-mirror">
    <section class="headline ${state}">
      <div role="status"><h1>${headline}</h1></div>
      <p>
        ${report.service === null ? '' : html`${report.service} → `}${report.database}, schema
        <code>${report.schema}</code>, as of <time datetime="${at}">${absolute(at, at)}</time>
      </p>
      ${problems(report)}
    </section>
    ${tiles(report)} ${accounts.length < 2 ? '' : accountsTable(report, troubled)}
    ${deletionsSection(report.deletions, at, accounts.length > 1)} ${sentences('notes', report.notes)}
    ${changesSection(report.latestChanges, at, accounts.length > 1)}
    ${accounts.map((account) => accountSection(account, at, unfolded.has(account)))} ${errors(report)}
    ${processes(report)}
  </main>`;
}

/** What the page shows while no report can be made. @param why one sentence */
export function unavailable(why: string): Html {
  return html`<main id="content" tabindex="-1" data-title="No answer – research-mirror" data-unread>
    <section class="headline bad">
      <div role="status"><h1>The status can’t be read now</h1></div>
      <p>${why}</p>
    </section>
    <p class="quiet">What was mirrored is safe. This page shows it as soon as the database answers.</p>
  </main>`;
}

function troubled(account: AccountStatus): boolean {
  return (
    account.state === 'stopped' ||
    account.webhook.state === 'suspect' ||
    account.webhook.state === 'stopped' ||
    account.submissions.held > 0 ||
    account.collections.some(
      ({ state, heldDeletions }) => state === 'failing' || state === 'overdue' || heldDeletions > 0,
    )
  );
}

function problems({ problems: all, at }: StatusReport): Html {
  if (all.length === 0) return html``;
  return html`<ul class="problems">
    ${all.map(
      (problem) =>
        html`<li data-cause="${problem.cause}">
          <b>${problem.what}</b>
          ${affectedBy(problem) === '' ? '' : html`<span>affects ${affectedBy(problem)}</span>`}
          ${problem.since === null ? '' : html`<span>since ${relative(problem.since, at)}</span>`}
          <span>by itself: ${problem.byItself}</span>
          ${problem.remedy === null ? '' : html`<span class="remedy">${problem.remedy}</span>`}
        </li>`,
    )}
  </ul>`;
}

function sentences(kind: 'notes', texts: readonly string[]): Html {
  if (texts.length === 0) return html``;
  return html`<ul class="${kind}">
    ${texts.map((text) => html`<li>${text}</li>`)}
  </ul>`;
}

/** The figures that answer "is it all here, and how fresh". */
function tiles({ accounts, at }: StatusReport): Html {
  const collections = accounts.flatMap((account) => account.collections);
  const groups = accounts.flatMap((account) => account.budgets.flatMap((key) => key.groups));
  const sum = (figures: readonly number[]): number => figures.reduce((total, each) => total + each, 0);
  const tile = (name: string, figure: string, more: string): Html =>
    html`<div>
      <dt>${name}</dt>
      <dd>
        <b>${figure}</b>
        <small>${more}</small>
      </dd>
    </div>`;
  const oldest = (moments: readonly (string | null)[]): string | undefined =>
    moments.includes(null) ? undefined : moments.map(String).toSorted()[0];
  const asked = collections.filter((each) => each.state !== 'paused');
  const polled = oldest(asked.map((each) => each.polledAt));
  const complete = oldest(asked.map((each) => each.completeAsOf));
  const credits = creditsFigure(accounts);
  const failing = collections.filter((each) => each.state === 'failing').length;
  return html`<dl class="tiles">
    ${tile(
      'Rows mirrored',
      count(sum(collections.map((each) => each.liveRows))),
      `in ${count(collections.length)} collections${failing === 0 ? '' : `, ${count(failing)} failing`}`,
    )}
    ${tile(
      'New rows and changes',
      polled === undefined ? 'not all read yet' : relative(polled, at),
      polled === undefined ? 'the first poll of each collection is due' : 'the collection polled longest ago',
    )}
    ${tile(
      'Everything, deletions too',
      complete === undefined ? 'not proven yet' : relative(complete, at),
      complete === undefined
        ? 'the first full walk of each collection proves it'
        : 'the collection proven longest ago',
    )}
    ${tile(
      'Requests in 60 s',
      `${count(sum(groups.map((each) => each.used)))} of ${count(sum(groups.map((each) => each.size)))}`,
      `${count(sum(groups.map((each) => each.refused)))} refused with 429`,
    )}
    ${credits === undefined ? '' : tile('Credits', credits.figure, credits.more)}
  </dl>`;
}

function errors({ errors, at }: StatusReport): Html {
  if (errors.length === 0) return html``;
  return html`<section>
    <h2>Last errors</h2>
    <ol class="errors">
      ${errors.map(
        (error) =>
          html`<li>
            <time datetime="${error.at}" title="${error.at}">${relative(error.at, at)}</time>
            <code>${error.where}</code>
            <span>${error.message}</span>
          </li>`,
      )}
    </ol>
  </section>`;
}

function processes({ processes, accounts, version, at }: StatusReport): Html {
  return html`<footer class="quiet">
    ${processes.map(
      (each) =>
        html`<p>
          <code>${each.command}</code> ${each.version} on ${each.host}, process ${each.pid}, running since
          ${absolute(each.startedAt, at)}${ofAccounts(accounts.filter(({ owner }) => owner === each.processId).length)}${each.alive ? '' : ' (no heartbeat: gone or hanging)'}
        </p>`,
    )}
    <p>Shown by version ${version}. Moments are UTC.</p>
  </footer>`;
}

function ofAccounts(owned: number): string {
  return owned === 0 ? '' : `, reading ${countOf(owned, 'account')}`;
}
