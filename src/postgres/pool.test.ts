import { CompiledQuery } from 'kysely';
import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { emulatedServers, LET_IN, message } from '../../test/support/postgres/emulated-server.ts';
import { type Connection, createPool } from './pool.ts';

const { cut, listen } = emulatedServers();
const SHUT_DOWN = message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0');
const TOO_MANY = message('E', 'SFATAL\0VFATAL\0C53300\0Mtoo many connections\0\0');

/**
 * A server that grants the connections, by number, for which `lets` is true.
 * @returns a pool of three connections on it, and one of one connection beside that
 */
async function poolOn(lets: (connection: number) => boolean) {
  const { seen, place } = await listen((socket, connection) => {
    const isLetIn = lets(connection);
    socket.once('data', () => (isLetIn ? socket.write(LET_IN) : socket.end(TOO_MANY)));
  });
  const settings = { ...place, query_timeout: 5_000, connectionTimeoutMillis: 1_500 };
  const pool = createPool({ ...settings, max: 3 });
  return { seen, pool, beside: createPool({ ...settings, max: 1 }, pool.urgent) };
}

/** Lets one connection in. */
const onlyFirst = (connection: number): boolean => connection === 1;

it('a pool of three connections keeps one free for urgent callers, which bypass the queue', async () => {
  const { pool } = await poolOn(() => true);
  const used = [await pool.connect(), await pool.connect()];
  const got: string[] = [];
  const gets = (who: string) => (client: Connection) => {
    got.push(who);
    client.release();
  };
  const waiting = pool.connect().then(gets('in line'));
  await pool.urgent().then(gets('urgent'));
  for (const client of used) client.release();
  await waiting;
  expect(got).toEqual(['urgent', 'in line']);
  await pool.end();
});

describe('a connection that can’t be made', () => {
  it('fails no caller while another one works: queued callers get that one', async () => {
    const { seen, pool } = await poolOn(onlyFirst);
    const working = await pool.connect();
    const got: number[] = [];
    const waiting = Array.from({ length: 20 }, async (_, at) => {
      const client = await pool.connect();
      got.push(at);
      setImmediate(() => client.release());
    });
    setTimeout(() => working.release(), 100);
    await Promise.all(waiting);
    expect(got).toHaveLength(20);
    // Not one attempt for each queued caller.
    expect(seen.connections).toBeLessThan(10);
    await pool.end();
  });

  it('is outlasted by callers that wait for the others, even if an urgent caller tries meanwhile', async () => {
    const { pool } = await poolOn(onlyFirst);
    const working = await pool.connect();
    const released = (client: Connection): void => client.release();
    const first = pool.connect().then(released);
    const most = (): number | undefined => pool.options.max;
    await eventually('no more connections to be tried', () => most() === 1);
    await eventually('another one to be tried', () => most() === 3);
    const meanwhile = pool.urgent().then(released);
    await eventually('that to fail', () => most() === 1);
    working.release();
    await expect(Promise.all([first, meanwhile])).resolves.toHaveLength(2);
    await pool.end();
  });

  it('fails a caller that has waited for the others as long as connecting may take', async () => {
    const { pool } = await poolOn(onlyFirst);
    const working = await pool.connect();
    await expect(pool.connect()).rejects.toThrow(DatabaseUnavailable);
    working.release();
    (await pool.connect()).release();
    await pool.end();
  });

  it('is replaced by one of the other pool: a heartbeat uses the only session that the server grants', async () => {
    const { seen, pool, beside } = await poolOn(onlyFirst);
    (await pool.connect()).release();
    for (let beat = 0; beat < 3; beat += 1) (await beside.connect()).release();
    expect(seen.connections).toBe(4);
    (await pool.connect()).release();
    await Promise.all([pool.end(), beside.end()]);
  });

  it('fails all queued callers if none works', async () => {
    let isUp = true;
    const { pool } = await poolOn(() => isUp);
    const working = await pool.connect();
    isUp = false;
    cut();
    await expect(working.executeQuery(CompiledQuery.raw('select 1'))).rejects.toThrow(DatabaseUnavailable);
    const waiting = Array.from({ length: 20 }, () => pool.connect());
    for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe('rejected');
    working.release();
    isUp = true;
    (await pool.connect()).release();
    await pool.end();
  });
});

it('a connection that the server ends as soon as it is made ends neither the process nor the pool', async () => {
  const { seen, place } = await listen((socket) => {
    // In one piece, as a busy network delivers it.
    socket.once('data', () => socket.end(Buffer.concat([LET_IN, SHUT_DOWN])));
  });
  const pool = createPool({ ...place, query_timeout: 5_000, max: 1 });
  for (const attempt of [1, 2]) {
    const client = await pool.connect();
    await expect(client.executeQuery(CompiledQuery.raw('select 1'))).rejects.toThrow(DatabaseUnavailable);
    client.release();
    expect(seen.connections).toBe(attempt);
  }
  await pool.end();
});
