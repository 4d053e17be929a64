import { createHmac, randomBytes } from 'node:crypto';
import { type Agent, request, type RequestOptions } from 'node:http';
import { connect } from 'node:net';

/** Where a flood goes. */
export interface Target {
  readonly port: number;
  /** An account that is there. */
  readonly userId: number;
}

/** What was answered: a status, or that the connection was closed without one. */
export type Answered = number | 'closed';

/** A kind of delivery that is not the service's, its share of the flood, and the answers that are right. */
export interface Kind {
  readonly name: string;
  readonly share: number;
  readonly right: readonly Answered[];
  readonly send: (target: Target, agent: Agent) => Promise<Answered>;
}

const SIGNATURE = 'x-service-signature';
const MiB = 1024 * 1024;
const MEBIBYTE = Buffer.alloc(MiB, 'x');
const CHUNK = Buffer.alloc(65_536, 'x');

/** Answers under load may be 503, too: nothing was judged, and nothing was stored. */
export const KINDS: readonly Kind[] = [
  {
    name: 'wrong signature',
    share: 0.3,
    right: [400, 503],
    send: (at, agent) => post(at, agent, forged('hex')),
  },
  {
    name: 'wrong signature, timestamped',
    share: 0.16,
    right: [400, 503],
    send: (at, agent) => post(at, agent, forged('timestamped')),
  },
  {
    name: 'no signature',
    share: 0.1,
    right: [400, 503],
    send: (at, agent) => post(at, agent, { body: envelope() }),
  },
  {
    name: 'a signature of no form',
    share: 0.08,
    right: [400, 503],
    send: (at, agent) =>
      post(at, agent, { body: envelope(), headers: { [SIGNATURE]: randomBytes(40).toString('base64url') } }),
  },
  {
    name: 'garbage for a body',
    share: 0.1,
    right: [400, 503],
    send: (at, agent) =>
      post(at, agent, { body: randomBytes(300), headers: { [SIGNATURE]: randomBytes(32).toString('hex') } }),
  },
  {
    name: 'nobody’s account',
    share: 0.1,
    right: [404, 503],
    send: (at, agent) => post({ ...at, userId: 1_000_000 + Math.floor(Math.random() * 1e9) }, agent, forged('hex')),
  },
  {
    name: 'another path',
    share: 0.06,
    right: [404, 503],
    send: (at, agent) => post(at, agent, { ...forged('hex'), path: `/${randomBytes(8).toString('hex')}` }),
  },
  {
    name: 'another method',
    share: 0.03,
    right: [405, 503],
    send: (at, agent) => post(at, agent, { method: 'PUT', body: '' }),
  },
  {
    name: 'headers of 20 KB',
    share: 0.03,
    right: [431, 'closed'],
    send: (at, agent) => post(at, agent, { body: '', headers: { 'x-a': 'a'.repeat(20_000) } }),
  },
  {
    name: 'a mebibyte, wrong signature',
    share: 0.01,
    right: [400, 503],
    send: (at, agent) => post(at, agent, { body: MEBIBYTE, headers: { [SIGNATURE]: randomBytes(32).toString('hex') } }),
  },
  {
    name: 'more than a mebibyte, announced',
    share: 0.015,
    right: [413, 'closed'],
    send: (at, agent) => post(at, agent, { body: Buffer.concat([MEBIBYTE, CHUNK]) }),
  },
  { name: 'a body without end', share: 0.005, right: [413, 503, 'closed'], send: endless },
  { name: 'no HTTP', share: 0.01, right: [400, 'closed'], send: (at) => speak(at, randomBytes(200)) },
];

/** Connections that begin a request and never go on, until they are closed. @returns closes what is left of them */
export function slowSenders(target: Target, count: number): () => void {
  const heads = [
    `POST /webhooks/${target.userId} HTTP/1.1\r\nx-a: `,
    `POST /webhooks/${target.userId} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{"id":`,
  ];
  let over = false;
  const sockets = new Set<ReturnType<typeof connect>>();
  const occupy = (head: string): void => {
    if (over) return;
    const socket = connect(target.port, '127.0.0.1', () => socket.write(head));
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
    socket.on('close', () => {
      sockets.delete(socket);
      occupy(head);
    });
  };
  for (let index = 0; index < count; index += 1) occupy(heads[index % heads.length] ?? '');
  return () => {
    over = true;
    for (const socket of sockets) socket.destroy();
  };
}

interface Posted {
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly method?: string;
}

function envelope(): string {
  return JSON.stringify({
    id: `evt_${randomBytes(8).toString('hex')}`,
    type: 'research.completed',
    created_at: new Date().toISOString(),
    data: { job_id: 1, document_id: 2, company_url: 'https://example.com/' },
  });
}

function forged(scheme: 'hex' | 'timestamped'): Posted {
  const body = envelope();
  const now = Math.floor(Date.now() / 1000);
  const mac = createHmac('sha256', 'no secret').update(body).digest('hex');
  return { body, headers: { [SIGNATURE]: scheme === 'hex' ? mac : `t=${now},v1=${mac}` } };
}

function post({ port, userId }: Target, agent: Agent, { body, headers, path, method }: Posted): Promise<Answered> {
  const options: RequestOptions = {
    port,
    host: '127.0.0.1',
    agent,
    method: method ?? 'POST',
    path: path ?? `/webhooks/${userId}`,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  };
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      response.resume();
      const done = (): void => resolve(response.statusCode ?? 'closed');
      response.on('end', done).on('close', done).on('error', done);
    });
    sent.on('error', () => resolve('closed'));
    sent.end(body);
  });
}

/** Sends on and on until it is told to stop. */
function endless({ port, userId }: Target): Promise<Answered> {
  return new Promise((resolve) => {
    const sent = request(
      { port, host: '127.0.0.1', agent: false, method: 'POST', path: `/webhooks/${userId}` },
      (response) => {
        resolve(response.statusCode ?? 'closed');
        sent.destroy();
      },
    );
    sent.on('error', () => resolve('closed')).on('close', () => resolve('closed'));
    const more = (): void => {
      while (!sent.destroyed && sent.write(CHUNK));
    };
    sent.on('drain', more);
    more();
  });
}

function speak({ port }: Target, bytes: Buffer): Promise<Answered> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1] ?? Number.NaN) || 'closed'));
  });
}
