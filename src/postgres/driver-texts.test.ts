import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { SELF_SIGNED } from '../../test/support/network/self-signed.ts';
import { emulatedServers, LET_IN, message } from '../../test/support/postgres/emulated-server.ts';
import { resolveConnection } from './pool.ts';
import { databaseError, driverProblem } from './sql-state.ts';

const { cut, listen } = emulatedServers();

function authentication(kind: number, content = ''): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(kind);
  return message('R', Buffer.concat([bytes, Buffer.from(content)]));
}

const BEGUN = Buffer.concat([message('C', 'BEGIN\0'), message('Z', 'T')]);
/** As a German server says that pg_hba.conf has no line for this way of connecting. */
const NO_ENTRY = message('E', 'SFATAL\0VFATAL\0C28000\0Mkein pg_hba.conf-Eintrag für Host »127.0.0.1«\0\0');

/** A server that answers each piece of a connection with the next of `answers`, then with nothing. */
async function plays(...answers: (Buffer | 'gone')[]): Promise<pg.ClientConfig> {
  const { place } = await listen((socket) => {
    const left = [...answers];
    socket.on('data', () => {
      const next = left.shift();
      if (next === 'gone') socket.destroy();
      else if (next !== undefined) socket.write(next);
    });
  });
  return { ...place, ssl: false };
}

function client(config: pg.ClientConfig): pg.Client {
  const made = new pg.Client(config);
  made.on('error', () => {});
  return made;
}

async function connected(config: pg.ClientConfig): Promise<pg.Client> {
  const made = client(config);
  await made.connect();
  return made;
}

/** The text of what `act` fails with, its problem, and how it is classified. */
async function failure(act: () => Promise<unknown>): Promise<unknown[]> {
  const error = await act().catch((reason: unknown) => reason);
  return [(error as Error).message, driverProblem(error), (databaseError(error) as Error).constructor];
}

const says = (text: string, problem = 'connection', kind: unknown = DatabaseUnavailable): unknown[] => [
  text,
  problem,
  kind,
];

describe('the texts of the pinned driver', () => {
  const HASTY = { connectionTimeoutMillis: 50 };

  it('are known for connections that can’t be made', async () => {
    const [silent, lets] = [await plays(), await plays(LET_IN)];
    expect(await failure(() => client({ ...silent, ...HASTY }).connect())).toEqual(says('timeout expired'));
    const pool = new pg.Pool({ ...silent, ...HASTY });
    expect(await failure(() => pool.connect())).toEqual(says('Connection terminated due to connection timeout'));
    const full = new pg.Pool({ ...lets, ...HASTY, max: 1 });
    const taken = await full.connect();
    taken.on('error', () => {});
    expect(await failure(() => full.connect())).toEqual(says('timeout exceeded when trying to connect', 'line'));
    taken.release(true);
  });

  it('are known for connections that end', async () => {
    const [lets, goes] = [await plays(LET_IN), await plays(LET_IN, 'gone')];
    const late = await connected({ ...lets, query_timeout: 50 });
    expect(await failure(() => late.query('select 1'))).toEqual(says('Query read timeout', 'unanswered'));
    const broken = await connected(goes);
    expect(await failure(() => broken.query('select 1'))).toEqual(says('Connection terminated unexpectedly'));
    const unusable = 'Client has encountered a connection error and is not queryable';
    expect(await failure(() => broken.query('select 1'))).toEqual(says(unusable));
    const ended = await connected(lets);
    const asked = failure(() => ended.query('select 1'));
    const over = ended.end();
    cut();
    expect(await asked).toEqual(says('Connection terminated'));
    await over;
    expect(await failure(() => ended.query('select 1'))).toEqual(says('Client was closed and is not queryable'));
  });

  const scram = [authentication(10, 'SCRAM-SHA-256\0\0'), authentication(11, 'r=abc,s=YWJj,i=4096')];
  const ssl = { rejectUnauthorized: false };
  it.each<[string, Buffer[], pg.ClientConfig, unknown, string, unknown]>([
    [
      'a server without TLS',
      [Buffer.from('N')],
      { ssl },
      'The server does not support SSL connections',
      'no-tls',
      Unusable,
    ],
    [
      'TLS that fails',
      [Buffer.from('E')],
      { ssl },
      'There was an error establishing an SSL connection',
      'tls',
      DatabaseUnavailable,
    ],
    [
      'no password',
      scram,
      { password: () => undefined as never },
      'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
      'no-password',
      Unusable,
    ],
    ['a wrong answer', scram, { password: 'x' }, expect.any(String), 'sign-in', Unusable],
    [
      'another way of signing in',
      [authentication(10, 'OAUTHBEARER\0\0')],
      { password: 'x' },
      'SASL: Only mechanism(s) SCRAM-SHA-256 are supported',
      'sign-in',
      Unusable,
    ],
  ])('are known for %s', async (_, answers, config, text, problem, kind) => {
    const server = await plays(...answers);
    expect(await failure(() => client({ ...server, ...config }).connect())).toEqual([text, problem, kind]);
  });
});

describe('a server that does not speak English', () => {
  /** Answers a sign-in and the statement after it. */
  function meets(socket: Socket, letsIn: boolean): void {
    if (!letsIn) return void socket.end(NO_ENTRY);
    socket.write(LET_IN);
    socket.once('data', () => socket.end(BEGUN));
  }
  /** Refuses TLS and accepts plain text, or the other way round. */
  async function server(letsIn: 'plain' | 'tls'): Promise<string> {
    const { place } = await listen((socket) => {
      socket.once('data', (first) => {
        // An SSLRequest is 8 bytes long.
        if (first.length !== 8) return meets(socket, letsIn === 'plain');
        socket.write('S');
        const secure = new TLSSocket(socket, { isServer: true, ...SELF_SIGNED });
        secure.on('error', () => {});
        secure.once('data', () => meets(secure, letsIn === 'tls'));
      });
    });
    return `postgres://u@127.0.0.1:${place.port}/d`;
  }

  it('makes us try TLS or plain text instead, by its SQLSTATE, if sslmode permits that', async () => {
    const resolved = (url: string) => resolveConnection({ url, program: 'test' });
    expect(await resolved(await server('plain'))).toMatchObject({ ssl: false });
    const tls = await resolved(`${await server('tls')}?sslmode=allow`);
    expect(tls).toMatchObject({ ssl: { rejectUnauthorized: false } });
    await expect(resolved(`${await server('plain')}?sslmode=require`)).rejects.toThrow(Unusable);
  });
});
