import { createHistogram } from 'node:perf_hooks';
import { Registry } from '@prometheus-io/client';
import { beforeEach, expect, it } from 'vitest';
import { before, sampleAccount, sampleCollection, sampleReport } from '../../test/support/processes/status-report.ts';
import { MalformedAnswer, RateLimited, TransportError } from '../model/errors.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from './metrics.ts';
import type { StatusReport } from './status-report.ts';

const scope = { userId: '42', collection: 'list_items', parent: '7' } as const;
const request = (changes: Partial<Parameters<Metrics['requestEnded']>[0]> = {}) => ({
  route: '/v1/lists/{id}',
  group: 'other',
  status: 200,
  durationMs: 100,
  bytes: 1000,
  error: undefined,
  ...changes,
});

let metrics: Metrics;
beforeEach(() => {
  metrics = createMetrics('1.2.3');
});

/**
 * A scrape: by the beginning of names, without the program's, the samples that begin so, by what is left of their names
 * without quotes and brackets.
 */
async function scrape(of: Metrics, report?: StatusReport, ready = true) {
  const lines = (await of.render(report, ready)).split('\n').filter((line) => /^[^#]/.test(line));
  const all = lines.map((line) => line.replace('research_mirror_', '').replaceAll(/["{}]/g, ''));
  return (begin: string): Record<string, number> =>
    Object.fromEntries(
      all
        .filter((line) => line.startsWith(begin))
        .map((line) => [line.slice(begin.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
}

it('metrics count requests by route and status, 429s, errors, bytes and seconds', async () => {
  metrics.requestEnded(request());
  metrics.requestEnded(request({ status: 429, error: new RateLimited('slow down', 5) }));
  metrics.requestEnded(request({ error: new MalformedAnswer('html') }));
  metrics.requestEnded(request({ status: undefined, bytes: 0, error: new TransportError('reset') }));
  const found = await scrape(metrics);
  const route = 'route=/v1/lists/id';
  expect(found(`api_requests_total${route},status=`)).toMatchObject({ 200: 2, none: 1 });
  expect(found(`api_rate_limited_total${route},group=`)).toEqual({ other: 1 });
  expect(found(`api_errors_total${route},kind=`)).toMatchObject({ TransportError: 1 });
  expect(found(`api_received_bytes_total`)).toEqual({ [route]: 3000 });
  expect(found('api_response_seconds_sum')).toEqual({ [route]: expect.closeTo(0.4) as number });
  expect(found('api_response_seconds_bucket')).toMatchObject({ [`le=0.1,${route}`]: 4 });
});

it('metrics count pages, rows and walks', async () => {
  metrics.pageWritten({ scope, inserted: 3, updated: 2, unchanged: 494, quarantined: 1 });
  metrics.walkEnded({ scope, kind: 'full', outcome: 'complete', milliseconds: 2_000 });
  metrics.deletionsJudged({ scope, deleted: 4 });
  const found = await scrape(metrics);
  expect(found('pages_totalcollection=')).toMatchObject({ list_items: 1 });
  const rows = { insert: 3, update: 2, unchanged: 494, quarantine: 1, delete: 4 };
  expect(found('rows_totalcollection=list_items,op=')).toEqual(rows);
  expect(found('walks_totalcollection=list_items,kind=full,outcome=')).toMatchObject({ complete: 1 });
  expect(found('walk_seconds_bucket')).toMatchObject({ 'le=1,kind=full': 0, 'le=5,kind=full': 1 });
});

it('metrics count deliveries by result, events by known types, submissions by operation and outcome', async () => {
  for (const type of ['research.completed', 'made.up', undefined]) metrics.deliveryJudged('stored', type);
  metrics.deliveryJudged('known', 'research.completed');
  metrics.deliveryJudged('bad_signature');
  metrics.submissionDone('enrich', 'accepted');
  metrics.submissionDone('enrich', 'queued');
  const found = await scrape(metrics);
  expect(found('webhook_deliveries_totalresult=')).toMatchObject({ stored: 3, known: 1, bad_signature: 1 });
  expect(found('events_totaltype=')).toMatchObject({ 'research.completed': 1, other: 2 });
  expect(found('submissions_totaloperation=enrich,outcome=')).toMatchObject({ accepted: 1, queued: 1 });
});

it('metrics start known series at 0, so that increase() sees the first event', async () => {
  const endpoints = ['other', 'research_enrich'].map((group) => ({ route: '/v1/research', group }));
  const found = await scrape(createMetrics('1.2.3', endpoints));
  for (const [begin, ...rest] of [
    ['api_requests_totalroute=/v1/research,status=', '503', 'none'],
    ['api_rate_limited_totalroute=/v1/research,group=', 'other', 'research_enrich'],
    ['api_errors_totalroute=/v1/research,kind=', 'MalformedAnswer'],
    ['api_received_bytes_totalroute=', '/v1/research'],
    ['api_response_seconds_countroute=', '/v1/research'],
    ['pages_totalcollection=', 'lists'],
    ['rows_totalcollection=lists,op=', 'delete'],
    ['walks_totalcollection=', 'lists,kind=confirm,outcome=failed', 'account,kind=single,outcome=failed'],
    ['walk_seconds_countkind=', 'full'],
    ['webhook_deliveries_totalresult=', 'not_now'],
    ['events_totaltype=', 'list.failed', 'other'],
    ['submissions_totaloperation=', 'sequence,outcome=unknown'],
  ] as const)
    expect(found(begin)).toMatchObject(Object.fromEntries(rest.map((name) => [name, 0])));
});

it('metrics count 429s by key and group from the moment the key is known', async () => {
  const endpoints = ['other', 'bulk_lists'].map((group) => ({ route: '/v1/lists', group }));
  const budgets = sampleAccount().budgets.map(({ key, groups }) => ({
    key,
    groups: groups.map((group) => ({ ...group, refused: 3 })),
  }));
  const report = sampleReport({ accounts: [sampleAccount({ budgets })] });
  const scraped = createMetrics('1.2.3', endpoints);
  await scrape(scraped, report);
  const found = await scrape(scraped, report);
  const refused = { other: 3, bulk_lists: 0 };
  expect(found('budget_rate_limited_totaluser_id=42,key=9f86d081,group=')).toMatchObject(refused);
});

it('metrics show credits, keys, the size of the database, and backlogs', async () => {
  const backlog = { dueLists: 4, unfinishedRows: 5, fieldsToFill: 6 };
  const collections = [
    sampleCollection({ collection: 'list_items', ...backlog }),
    sampleCollection({ collection: 'lists', unfinishedRows: 7 }),
  ];
  const accounts = [
    sampleAccount({ collections }),
    sampleAccount({ userId: '43', credits: { left: '7', burntLastDay: null } }),
    sampleAccount({ userId: '44', credits: null }),
  ];
  const keys = { good: 2, refused: 1, moved: 0, unasked: 0 };
  const found = await scrape(metrics, sampleReport({ accounts, keys }));
  expect(found('creditsuser_id=')).toEqual({ 42: 1200.5, 43: 7 });
  expect(found('credits_burnt_last_dayuser_id=')).toEqual({ 42: 75.25 });
  expect(found('api_keysstate=')).toEqual(keys);
  expect(found('database_bytes')).toEqual({ '': 123_456_789 });
  const all = ['due_lists', 'unfinished_rows', 'fields_to_fill'].map((name) => found(`${name}user_id=42,collection=`));
  // Only lists' items are due by list.
  expect(all).toEqual([{ list_items: 4 }, { list_items: 5, lists: 7 }, { list_items: 6, lists: 0 }]);
  expect((await scrape(metrics))('database_bytes')).toEqual({});
});

it('metrics show how events come in and submissions go out', async () => {
  const found = await scrape(metrics, sampleReport());
  expect(found('webhook_registereduser_id=')).toEqual({ 42: 1 });
  const at = Date.parse(before(45)) / 1000;
  expect(found('webhook_last_event_timestamp_secondsuser_id=')).toEqual({ 42: at });
  expect(found('hints_waitinguser_id=')).toEqual({ 42: 2 });
  expect(found('submissionsuser_id=42,state=')).toMatchObject({ queued: 3 });
  expect(found('submissions_on_hold')).toEqual({ '': 0 });
  const held = sampleReport({ held: { since: before(60), why: 'restored' } });
  expect((await scrape(metrics, held))('submissions_on_hold')).toEqual({ '': 1 });
});

it('metrics show the report: freshness as times, rows, budgets', async () => {
  const jobs = sampleCollection({ polledAt: before(20), completeAsOf: null, quarantinedItems: 2 });
  const found = await scrape(metrics, sampleReport({ accounts: [sampleAccount({ collections: [jobs] })] }));
  const names = ['polled_timestamp_seconds', 'complete_timestamp_seconds', 'live_rows', 'quarantined_items'];
  const figures = names.map((name) => found(`${name}user_id=42,collection=`)['research_jobs']);
  expect(figures).toEqual([Date.parse(before(20)) / 1000, undefined, 100, 2]);
  const budget = ['size', 'used', 'free'].map((name) => found(`budget_${name}user_id=42,key=9f86d081,group=`));
  expect(budget).toEqual([{ other: 48 }, { other: 31 }, { other: 17 }]);
  expect([found('healthy'), found('ready')]).toEqual([{ '': 1 }, { '': 1 }]);
  expect(found('build_infoversion=')).toEqual({ '1.2.3': 1 });
});

it('metrics forget what is no longer in the report, and all of it without a report', async () => {
  for (const report of [sampleReport({ accounts: [], healthy: false }), undefined]) {
    await metrics.render(sampleReport(), true);
    const found = await scrape(metrics, report, false);
    expect(Object.keys(found('')).filter((name) => name.includes('user_id='))).toEqual([]);
    expect([found('healthy'), found('ready')]).toEqual([{ '': 0 }, { '': 0 }]);
  }
});

it('metrics follow the naming rules of Prometheus, and name no list', async () => {
  metrics.requestEnded(request());
  metrics.pageWritten({ scope, inserted: 1, updated: 0, unchanged: 0, quarantined: 0 });
  metrics.walkEnded({ scope, kind: 'poll', outcome: 'failed', milliseconds: 5 });
  metrics.deliveryJudged('stored', 'list.analyzed');
  metrics.submissionDone('list', 'unknown');
  const text = await metrics.render(sampleReport(), true);
  const types = [...text.matchAll(/^# TYPE (research_mirror_\S+) (\S+)$/gm)];
  expect(types.length).toBeGreaterThan(20);
  for (const [, name, type] of types) expect(name?.endsWith('_total')).toBe(type === 'counter');
  expect(text).toMatch(/^process_resident_memory_bytes /m);
  expect(text).not.toMatch(/list="|parent="|list_id="/);
});

it('the lag of the event loop is how late timers were since the last scrape, and is shown once', async () => {
  const registry = new Registry();
  const delays = createHistogram();
  collectProcessMetrics(registry, delays);
  const lags = async () =>
    [...(await registry.metrics()).matchAll(/^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ]);
  expect(await lags()).toEqual([['p99', 0]]);
  for (let samples = 0; samples < 9; samples += 1) delays.record(250_000_000);
  delays.record(750_000_000);
  expect(await lags()).toEqual([['p99', expect.closeTo(0.5, 2)]]);
  expect(await lags()).toEqual([['p99', 0]]);
});
