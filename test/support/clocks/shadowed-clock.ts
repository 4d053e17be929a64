import { ask } from '../postgres/on-connection.ts';

/**
 * Gives later connections to a database a clock of their own: functions that come before PostgreSQL's. Views go on by
 * PostgreSQL's clock, as they were made.
 * @returns steps the clock: how far (ms) it is ahead from now on
 */
export async function shadowClock(url: string): Promise<(aheadMs: number) => Promise<unknown>> {
  const shadows = ['clock_timestamp', 'statement_timestamp', 'now'].map(
    (name) => `create function clock.${name}() returns timestamptz language sql stable as
      $$ select pg_catalog.${name}() + (select ahead from clock.step) $$;`,
  );
  await ask(
    url,
    `create schema clock; create table clock.step as select interval '0' as ahead; ${shadows.join('')}
    do $$ begin execute format('alter database %I set search_path = clock, pg_catalog, public', current_database()); end $$`,
  );
  return (aheadMs) => ask(url, `update clock.step set ahead = interval '${aheadMs} ms'`);
}
