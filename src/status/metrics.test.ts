import { beforeEach, describe, expect, it } from 'vitest';
import {
  sampleAccount,
  sampleCollection,
  sampleReport,
  before,
} from '../../test/support/processes/status-report.ts';
import { MalformedAnswer, RateLimited, TransportError } from '../model/errors.ts';
import { createMetrics, type Metrics } from './metrics.ts';

type RequestEnded = Parameters<Metrics['requestEnded']>[0];

const scope = { userId: '42', collection: 'list_items', parent: '7' } as const;
const request = (changes: Partial<RequestEnded>): RequestEnded => ({
  route: '/v1/lists/{id}',
  group: 'other',
  status: 200,
  durationMs: 100,
  bytes: 1000,
  error: undefined,
  ...changes,
});

/** Samples of the text format: name with labels, without the program's, → value. */
async function samples(
  metrics: ReturnType<typeof createMetrics>,
  ...rest: Parameters<typeof metrics.render>
) {
  const lines = (await metrics.render(...rest))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line): [string, number] => {
      const cut = line.lastIndexOf(' ');
      return [line.slice(0, cut).replace('research_mirror_', ''), Number(line.slice(cut + 1))];
    }),
  );
}

let metrics: ReturnType<typeof createMetrics>;
beforeEach(() => {
  metrics = createMetrics('1.2.3');
});

describe('metrics', () => {
  it('count requests by route and status, 429s, errors, bytes and seconds', async () => {
    metrics.requestEnded(request({}));
    metrics.requestEnded(request({ status: 429, error: new RateLimited('slow down', 5) }));
    metrics.requestEnded(request({ status: 200, error: new MalformedAnswer('html') }));
    metrics.requestEnded(request({ status: undefined, bytes: 0, error: new TransportError('reset') }));
    const found = await samples(metrics, undefined, true);
    const route = 'route="/v1/lists/{id}"';
    expect(found.get(`api_requests_total{${route},status="200"}`)).toBe(2);
    expect(found.get(`api_requests_total{${route},status="none"}`)).toBe(1);
    expect(found.get(`api_rate_limited_total{${route},group="other"}`)).toBe(1);
    expect(found.get(`api_errors_total{${route},kind="TransportError"}`)).toBe(1);
    expect(found.get(`api_received_bytes_total{${route}}`)).toBe(3000);
    expect(found.get(`api_response_seconds_sum{${route}}`)).toBeCloseTo(0.4);
    expect(found.get(`api_response_seconds_bucket{le="0.1",${route}}`)).toBe(4);
  });

  it('count pages, rows and walks', async () => {
    metrics.pageWritten({ scope, inserted: 3, updated: 2, unchanged: 494, quarantined: 1 });
    metrics.walkEnded({ scope, kind: 'full', outcome: 'complete', milliseconds: 2_000 });
    metrics.deletionsJudged({ scope, deleted: 4 });
    const found = await samples(metrics, undefined, true);
    expect(found.get('pages_total{collection="list_items"}')).toBe(1);
    expect(found.get('rows_total{collection="list_items",op="insert"}')).toBe(3);
    expect(found.get('rows_total{collection="list_items",op="quarantine"}')).toBe(1);
    expect(found.get('rows_total{collection="list_items",op="delete"}')).toBe(4);
    expect(found.get('walks_total{collection="list_items",kind="full",outcome="complete"}')).toBe(1);
    expect(found.get('walk_seconds_bucket{le="1",kind="full"}')).toBe(0);
    expect(found.get('walk_seconds_bucket{le="5",kind="full"}')).toBe(1);
  });

  it('count deliveries by result, events by known types, and submissions by operation and outcome', async () => {
    metrics.deliveryJudged('stored', 'research.completed');
    metrics.deliveryJudged('stored', 'made.up');
    metrics.deliveryJudged('stored');
    metrics.deliveryJudged('known', 'research.completed');
    metrics.deliveryJudged('bad_signature');
    metrics.submissionDone('enrich', 'accepted');
    metrics.submissionDone('enrich', 'queued');
    const found = await samples(metrics, undefined, true);
    expect(found.get('webhook_deliveries_total{result="stored"}')).toBe(3);
    expect(found.get('webhook_deliveries_total{result="bad_signature"}')).toBe(1);
    expect(found.get('events_total{type="research.completed"}')).toBe(1);
    expect(found.get('events_total{type="other"}')).toBe(2);
    const submissions = 'submissions_total{operation="enrich",outcome=';
    expect(found.get(`${submissions}"accepted"}`)).toBe(1);
    expect(found.get(`${submissions}"queued"}`)).toBe(1);
  });

  it('start known series at 0, so that increase() sees the first event', async () => {
    const endpoints = [
      { route: '/v1/research', group: 'other' },
      { route: '/v1/research', group: 'research_enrich' },
    ];
    const found = await samples(createMetrics('1.2.3', endpoints), undefined, true);
    for (const name of [
      'api_requests_total{route="/v1/research",status="503"}',
      'api_requests_total{route="/v1/research",status="none"}',
      'api_rate_limited_total{route="/v1/research",group="other"}',
      'api_rate_limited_total{route="/v1/research",group="research_enrich"}',
      'api_errors_total{route="/v1/research",kind="MalformedAnswer"}',
      'api_received_bytes_total{route="/v1/research"}',
      'api_response_seconds_count{route="/v1/research"}',
      'pages_total{collection="lists"}',
      'rows_total{collection="lists",op="delete"}',
      'walks_total{collection="lists",kind="confirm",outcome="failed"}',
      'walks_total{collection="account",kind="single",outcome="failed"}',
      'walk_seconds_count{kind="full"}',
      'webhook_deliveries_total{result="not_now"}',
      'events_total{type="list.failed"}',
      'events_total{type="other"}',
      'submissions_total{operation="sequence",outcome="unknown"}',
    ]) {
      expect([name, found.get(name)]).toEqual([name, 0]);
    }
  });

  it('count 429s by key and group from the moment the key is known', async () => {
    const metrics = createMetrics('1.2.3', [
      { route: '/v1/lists', group: 'other' },
      { route: '/v1/lists', group: 'bulk_lists' },
    ]);
    const budgets = sampleAccount().budgets.map(({ key, groups }) => ({
      key,
      groups: groups.map((group) => ({ ...group, refused: 3 })),
    }));
    const report = sampleReport({ accounts: [sampleAccount({ budgets })] });
    await samples(metrics, report, true);
    const found = await samples(metrics, report, true);
    const of = 'budget_rate_limited_total{user_id="42",key="9f86d081",group=';
    expect([found.get(`${of}"other"}`), found.get(`${of}"bulk_lists"}`)]).toEqual([3, 0]);
  });

  it('show credits, keys, the size of the database, and backlogs', async () => {
    const backlog = { dueLists: 4, unfinishedRows: 5, fieldsToFill: 6 };
    const collections = [
      sampleCollection({ collection: 'list_items', ...backlog }),
      sampleCollection({ collection: 'lists', unfinishedRows: 7 }),
    ];
    const report = sampleReport({
      accounts: [
        sampleAccount({ collections }),
        sampleAccount({ userId: '43', credits: { left: '7', burntLastDay: null } }),
        sampleAccount({ userId: '44', credits: null }),
      ],
      keys: { good: 2, refused: 1, moved: 0, unasked: 0 },
    });
    const found = await samples(metrics, report, true);
    const value = (name: string): number | undefined => found.get(name);
    expect(value('credits{user_id="42"}')).toBe(1200.5);
    expect(value('credits_burnt_last_day{user_id="42"}')).toBe(75.25);
    expect(value('credits{user_id="43"}')).toBe(7);
    expect(value('credits_burnt_last_day{user_id="43"}')).toBeUndefined();
    expect(value('credits{user_id="44"}')).toBeUndefined();
    expect([value('api_keys{state="good"}'), value('api_keys{state="refused"}')]).toEqual([2, 1]);
    expect(value('api_keys{state="moved"}')).toBe(0);
    expect(value('database_bytes')).toBe(123_456_789);
    const of = 'user_id="42",collection="list_items"';
    expect(value(`due_lists{${of}}`)).toBe(4);
    expect(value(`unfinished_rows{${of}}`)).toBe(5);
    expect(value(`fields_to_fill{${of}}`)).toBe(6);
    expect(value('due_lists{user_id="42",collection="lists"}')).toBeUndefined();
    const none = await samples(metrics, undefined, false);
    expect(none.has('database_bytes')).toBe(false);
  });

  it('show how events come in and submissions go out', async () => {
    const found = await samples(metrics, sampleReport(), true);
    expect(found.get('webhook_registered{user_id="42"}')).toBe(1);
    expect(found.get('webhook_last_event_timestamp_seconds{user_id="42"}')).toBe(
      Date.parse(before(45)) / 1000,
    );
    expect(found.get('hints_waiting{user_id="42"}')).toBe(2);
    expect(found.get('submissions{user_id="42",state="queued"}')).toBe(3);
    expect(found.get('submissions_on_hold')).toBe(0);
    const held = sampleReport({ held: { since: before(60), why: 'restored' } });
    expect((await samples(metrics, held, true)).get('submissions_on_hold')).toBe(1);
  });

  it('show the report: freshness as times, rows, budgets', async () => {
    const jobs = sampleCollection({ polledAt: before(20), completeAsOf: null, quarantinedItems: 2 });
    const report = sampleReport({ accounts: [sampleAccount({ collections: [jobs] })] });
    const found = await samples(metrics, report, true);
    const of = 'user_id="42",collection="research_jobs"';
    expect(found.get(`polled_timestamp_seconds{${of}}`)).toBe(Date.parse(before(20)) / 1000);
    expect(found.has(`complete_timestamp_seconds{${of}}`)).toBe(false);
    expect(found.get(`live_rows{${of}}`)).toBe(100);
    expect(found.get(`quarantined_items{${of}}`)).toBe(2);
    const budget = 'user_id="42",key="9f86d081",group="other"';
    expect(found.get(`budget_size{${budget}}`)).toBe(48);
    expect(found.get(`budget_used{${budget}}`)).toBe(31);
    expect(found.get(`budget_free{${budget}}`)).toBe(17);
    expect(found.get('healthy')).toBe(1);
    expect(found.get('ready')).toBe(1);
    expect(found.get('build_info{version="1.2.3"}')).toBe(1);
  });

  it('forget what is no longer in the report, and all of it without a report', async () => {
    await metrics.render(sampleReport(), true);
    const without = await samples(metrics, sampleReport({ accounts: [], healthy: false }), true);
    expect([...without.keys()].filter((name) => name.includes('user_id='))).toEqual([]);
    expect(without.get('healthy')).toBe(0);
    await metrics.render(sampleReport(), true);
    const none = await samples(metrics, undefined, false);
    expect([...none.keys()].filter((name) => name.includes('user_id='))).toEqual([]);
    expect([none.get('healthy'), none.get('ready')]).toEqual([0, 0]);
  });

  it('follow the naming rules of Prometheus, and name no list', async () => {
    metrics.requestEnded(request({}));
    metrics.pageWritten({ scope, inserted: 1, updated: 0, unchanged: 0, quarantined: 0 });
    metrics.walkEnded({ scope, kind: 'poll', outcome: 'failed', milliseconds: 5 });
    metrics.deliveryJudged('stored', 'list.analyzed');
    metrics.submissionDone('list', 'unknown');
    const text = await metrics.render(sampleReport(), true);
    const types = [...text.matchAll(/^# TYPE (research_mirror_\S+) (\S+)$/gm)].map((match) => match.slice(1));
    expect(types.length).toBeGreaterThan(20);
    for (const [name, type] of types) expect(name?.endsWith('_total')).toBe(type === 'counter');
    expect(text).toMatch(/^process_resident_memory_bytes /m);
    expect(text).not.toMatch(/list="|parent="|list_id="/);
  });
});
