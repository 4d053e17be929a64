import { createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { SELF_SIGNED } from '../../test/support/network/self-signed.ts';
import { resolveConnection } from './pool.ts';
import { databaseError, driverProblem } from './sql-state.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A message of PostgreSQL's protocol (version 3): type, length, content. */
function message(type: string, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + bytes.length);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}

function authentication(kind: number, content = ''): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(kind);
  return message('R', Buffer.concat([bytes, Buffer.from(content)]));
}

const LET_IN = Buffer.concat([authentication(0), message('Z', 'I')]);
const BEGUN = Buffer.concat([message('C', 'BEGIN\0'), message('Z', 'T')]);
/** As a German server says that pg_hba.conf has no line for this way of connecting. */
const NO_ENTRY = message('E', 'SFATAL\0VFATAL\0C28000\0Mkein pg_hba.conf-Eintrag für Host »127.0.0.1«\0\0');

/** Listens on loopback until the test ends. @returns its port */
async function listens(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    closing.push(() => socket.destroy());
    onSocket(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that answers each piece of a connection with the next of `answers`, then with nothing. */
async function plays(...answers: (Buffer | 'gone')[]): Promise<pg.ClientConfig> {
  const port = await listens((socket) => {
    const left = [...answers];
    socket.on('data', () => {
      const next = left.shift();
      if (next === 'gone') socket.destroy();
      else if (next !== undefined) socket.write(next);
    });
  });
  return { host: '127.0.0.1', port, user: 'u', database: 'd', ssl: false };
}

/** The error of `act`, and the classified one. */
async function failure(
  act: () => Promise<unknown>,
): Promise<{ text: string; problem: unknown; kind: unknown }> {
  const error = await act().then(
    () => undefined,
    (reason: unknown) => reason as Error,
  );
  const classified = databaseError(error);
  const kind =
    classified instanceof Unusable
      ? Unusable
      : classified instanceof DatabaseUnavailable && DatabaseUnavailable;
  return { text: error?.message ?? 'none', problem: driverProblem(error), kind };
}

function client(config: pg.ClientConfig): pg.Client {
  const made = new pg.Client(config);
  made.on('error', () => {});
  closing.push(() => void made.end());
  return made;
}

async function connected(config: pg.ClientConfig): Promise<pg.Client> {
  const made = client(config);
  await made.connect();
  return made;
}

/** What `failure` gives. */
const says = (text: string, problem = 'connection', kind: unknown = DatabaseUnavailable) => ({
  text,
  problem,
  kind,
});

describe('the texts of the pinned driver', () => {
  it('are known for connections that end or can’t be made', async () => {
    const silent = await plays();
    const lets = await plays(LET_IN);
    const goes = await plays(LET_IN, 'gone');
    expect(await failure(() => client({ ...silent, connectionTimeoutMillis: 50 }).connect())).toEqual(
      says('timeout expired'),
    );
    const pool = new pg.Pool({ ...silent, connectionTimeoutMillis: 50 });
    expect(await failure(() => pool.connect())).toEqual(
      says('Connection terminated due to connection timeout'),
    );
    const full = new pg.Pool({ ...lets, max: 1, connectionTimeoutMillis: 50 });
    const taken = await full.connect();
    taken.on('error', () => {});
    expect(await failure(() => full.connect())).toEqual(
      says('timeout exceeded when trying to connect', 'line'),
    );
    taken.release(true);
    const late = await connected({ ...lets, query_timeout: 50 });
    expect(await failure(() => late.query('select 1'))).toEqual(says('Query read timeout', 'unanswered'));
    const broken = await connected(goes);
    expect(await failure(() => broken.query('select 1'))).toEqual(says('Connection terminated unexpectedly'));
    expect(await failure(() => broken.query('select 1'))).toEqual(
      says('Client has encountered a connection error and is not queryable'),
    );
    const ended = await connected(lets);
    const asked = failure(() => ended.query('select 1'));
    const over = ended.end();
    for (const close of closing) close();
    expect(await asked).toEqual(says('Connection terminated'));
    await over;
    expect(await failure(() => ended.query('select 1'))).toEqual(
      says('Client was closed and is not queryable'),
    );
  });

  it('are known for TLS and signing in', async () => {
    const tls = { rejectUnauthorized: false };
    expect(
      await failure(async () => client({ ...(await plays(Buffer.from('N'))), ssl: tls }).connect()),
    ).toEqual(says('The server does not support SSL connections', 'no-tls', Unusable));
    expect(
      await failure(async () => client({ ...(await plays(Buffer.from('E'))), ssl: tls }).connect()),
    ).toEqual(says('There was an error establishing an SSL connection', 'tls'));
    const scram = await plays(
      authentication(10, 'SCRAM-SHA-256\0\0'),
      authentication(11, 'r=abc,s=YWJj,i=4096'),
    );
    const wants = (password?: string): pg.Client =>
      client({ ...scram, password: password ?? (() => undefined as never) });
    expect(await failure(() => wants().connect())).toEqual(
      says('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'no-password', Unusable),
    );
    expect(await failure(() => wants('x').connect())).toMatchObject({ problem: 'sign-in', kind: Unusable });
    const oauth = await plays(authentication(10, 'OAUTHBEARER\0\0'));
    expect(await failure(() => client({ ...oauth, password: 'x' }).connect())).toEqual(
      says('SASL: Only mechanism(s) SCRAM-SHA-256 are supported', 'sign-in', Unusable),
    );
  });
});

describe('a server that does not speak English', () => {
  /** Answers a sign-in and the statement after it. */
  function meets(socket: Socket, letsIn: boolean): void {
    if (!letsIn) {
      socket.end(NO_ENTRY);
      return;
    }
    socket.write(LET_IN);
    socket.once('data', () => socket.end(BEGUN));
  }
  /** Refuses TLS and accepts plain text, or the other way round. */
  async function server(letsIn: 'plain' | 'tls'): Promise<string> {
    const port = await listens((socket) => {
      socket.once('data', (first) => {
        // An SSLRequest is 8 bytes long.
        if (first.length !== 8) {
          meets(socket, letsIn === 'plain');
          return;
        }
        socket.write('S');
        const secure = new TLSSocket(socket, { isServer: true, ...SELF_SIGNED });
        secure.on('error', () => {});
        secure.once('data', () => meets(secure, letsIn === 'tls'));
      });
    });
    return `postgres://u@127.0.0.1:${port}/d`;
  }

  it('makes us try TLS or plain text instead, by its SQLSTATE, if sslmode permits that', async () => {
    const resolved = (url: string) => resolveConnection({ url, program: 'test' });
    expect(await resolved(await server('plain'))).toMatchObject({ ssl: false });
    const tls = await resolved(`${await server('tls')}?sslmode=allow`);
    expect(tls).toMatchObject({ ssl: { rejectUnauthorized: false } });
    await expect(resolved(`${await server('plain')}?sslmode=require`)).rejects.toThrow(Unusable);
  });
});
