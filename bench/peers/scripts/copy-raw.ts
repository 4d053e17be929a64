import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { ASKED, foreign, jobPages } from './service-pages.ts';

/**
 * The floor: all rows by COPY into a table of key and raw item, in place of what was there. Nothing is compared,
 * nothing is known of columns, numbers lose the digits that JavaScript does not keep, and readers wait meanwhile. It can't take new
 * rows only.
 */
const { from: copyFrom } = foreign('pg-copy-streams') as {
  readonly from: (text: string) => pg.Submittable & Writable;
};

async function* lines(): AsyncGenerator<string> {
  for await (const { jobs } of jobPages()) {
    yield jobs.map((job) => `${job.job_id}\t${escaped(JSON.stringify(job))}\n`).join('');
  }
}

/** JSON has no tabs or line ends of its own, but backslashes. */
function escaped(text: string): string {
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
}

const client = new pg.Client({ connectionString: ASKED.database });
await client.connect();
await client.query('create schema if not exists peer');
await client.query('create table if not exists peer.jobs (job_id bigint primary key, raw jsonb)');
await client.query('begin');
await client.query('truncate peer.jobs');
await pipeline(Readable.from(lines()), client.query(copyFrom('copy peer.jobs (job_id, raw) from stdin')));
await client.query('commit');
await client.end();
