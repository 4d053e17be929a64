/**
 * What a page costs the program itself, step by step, before Postgres gets it: pages of a first load as the sandbox
 * answers them. Processor time of this process; the steps' code is warm.
 *
 *     node bench/mirror/page-cost.ts [--pages 40] [--rounds 5]
 */
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { readPage } from '../../src/service/envelope.ts';
import { newFields } from '../../src/mirror/write-changed.ts';
import { type ColumnRegistry, columnType, domainColumn, type FieldColumn } from '../../src/mirror/columns.ts';
import { contentHash, contentRule } from '../../src/mirror/page-record.ts';
import { payloadText, rowContent } from '../../src/mirror/write-rows.ts';
import { fieldSources } from '../../src/model/json-text.ts';
import { type Item, KnownPages } from '../../src/model/page.ts';
import { readFlags } from '../support/flags.ts';
import { print, printMachine, printTable } from '../support/report.ts';
import { onStage } from '../support/stage.ts';

const EVERY_FIELD = contentRule([], []);

const flags = readFlags({ pages: 40, rounds: 5 });
const PAGE = 500;
const COLLECTION = 'research_jobs';
const NOTHING: ReadonlySet<string> = new Set();
const known = new KnownPages();

await onStage('', async (stage) => {
  const jobs = flags.pages * PAGE;
  const sandbox = await stage.sandbox({ ...STILL, jobs, lists: 0, bulkJobs: 0, watchlist: 0, limits: 'off' });
  const bodies: Buffer[] = [];
  let last = '';
  for (let page = 0; page < flags.pages; page += 1) {
    const url = `${sandbox.url}/v1/research?limit=${PAGE}${last === '' ? '' : `&starting_after=${last}`}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${sandbox.key}` } });
    const body = await response.text();
    bodies.push(Buffer.from(body));
    last = itemsOf(body).at(-1)?.key ?? '';
  }
  const columns = columnsOf(itemsOf(bodies[0]?.toString() ?? ''));
  const registry = { columns, fields: new Set([...columns.map(({ field }) => field), 'job_id']) };
  const spent = new Map<string, number>();
  for (let round = 0; round <= flags.rounds; round += 1) {
    // The first round warms up.
    if (round === 1) spent.clear();
    for (const body of bodies) dispatch(body, registry, spent);
  }
  printMachine();
  print(`pages of ${PAGE} jobs of ${Math.round((bodies[0]?.length ?? 0) / PAGE)} bytes, ${columns.length} columns`);
  const perPage = flags.rounds * bodies.length;
  printTable(
    ['step', 'CPU ms a page'],
    [...spent].map(([step, milliseconds]) => [step, (milliseconds / perPage).toFixed(2)]),
  );
});

/** All that becomes of a body on its way to Postgres, and the time of each step. */
function dispatch(
  body: Buffer,
  registry: Pick<ColumnRegistry, 'columns' | 'fields'>,
  spent: Map<string, number>,
): void {
  const timed = <T>(step: string, work: () => T): T => {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    spent.set(step, (spent.get(step) ?? 0) + (user + system) / 1000);
    return result;
  };
  const text = timed('bytes to text', () => new TextDecoder('utf-8', { fatal: true }).decode(body));
  const items = timed('text to items', () => itemsOf(text));
  const hash = (): string[] => items.map(({ source }) => contentHash(source, EVERY_FIELD));
  const hashes = timed('hashes', hash);
  timed('both, of a body that came before', () => {
    const page = known.read(text, COLLECTION, (body) => readPage(body, 'job_id', 'bigint'));
    page.hashes?.(EVERY_FIELD.name, hash);
  });
  const rows = timed('rows', () =>
    items.map((item, index) => {
      const row = { key: item.key ?? '', hash: hashes[index] ?? '', item };
      return rowContent(row, NOTHING, COLLECTION, registry.columns);
    }),
  );
  timed('new fields looked for', () => newFields(rows, registry));
  timed('parameter', () => Buffer.from(payloadText(rows, 0n)));
}

function itemsOf(text: string): readonly Item[] {
  return readPage(text, 'job_id', 'bigint').items;
}

/** As a first load makes them. */
function columnsOf(items: readonly Item[]): FieldColumn[] {
  const values = new Map<string, string[]>();
  for (const { source } of items) {
    for (const [field, value] of fieldSources(source)) values.set(field, [...(values.get(field) ?? []), value]);
  }
  values.delete('job_id');
  const domain = domainColumn(COLLECTION);
  return [
    ...[...values].flatMap(([field, sources]) => {
      const type = columnType(field, sources);
      return type === undefined ? [] : [{ field, name: field, type }];
    }),
    ...(domain === undefined ? [] : [domain]),
  ];
}
