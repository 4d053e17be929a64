import pg from 'pg';
import { ASKED, foreign, JOB_COLUMNS, jobPages } from './service-pages.ts';

/**
 * The write path of Stripe's sync engine, version 0 (the one that is a package): its `PostgresClient` is given pages of
 * jobs in place of charges. It wants a key named id, and a column for when a row was last written.
 */
interface StripeWriter {
  upsertManyWithTimestampProtection(
    entries: readonly object[],
    table: string,
    schema: { readonly properties: readonly string[] },
  ): Promise<unknown>;
  close(): Promise<void>;
}
const { PostgresClient } = foreign('@supabase/stripe-sync-engine') as {
  PostgresClient: new (config: { schema: string; poolConfig: pg.PoolConfig }) => StripeWriter;
};

const fields = Object.entries(JOB_COLUMNS).map(([name, type]) => [name === 'job_id' ? 'id' : name, type]);
const client = new pg.Client({ connectionString: ASKED.database });
await client.connect();
await client.query('create schema if not exists peer');
await client.query(
  `create table if not exists peer.jobs (${fields.map(([name, type]) => `"${name}" ${type}`).join(', ')},
     last_synced_at timestamptz, primary key (id))`,
);
const { rows } = await client.query<{ id: string | null }>('select max(id) as id from peer.jobs');
await client.end();

const properties = fields.map(([name = '']) => name);
const writer = new PostgresClient({
  schema: 'peer',
  poolConfig: { connectionString: ASKED.database, max: 10 },
});
for await (const { jobs } of jobPages(ASKED.onlyNew ? Number(rows[0]?.id ?? -1) : -1)) {
  const entries = jobs.map(({ job_id: id, ...fields }) => ({ id, ...fields }));
  await writer.upsertManyWithTimestampProtection(entries, 'jobs', { properties });
}
await writer.close();
