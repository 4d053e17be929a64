import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Target } from './flood.ts';

const MiB = 1024 * 1024;
/** Requests at a time; what would be sent beyond them is left out. */
const IN_FLIGHT = 64;

/** JSON texts of a mebibyte that take longest to bring into canonical form. */
const SHAPES: readonly Buffer[] = [
  // Deep: as far down as the canonical form goes, over and over.
  filled('[', () => `${'['.repeat(400)}${']'.repeat(400)},`, '1]'),
  // Wide: names in no order.
  filled('{', (index) => `"${((index * 7919) % 1_000_003).toString(36)}":1,`, '"z":1}'),
  filled('[', () => '{"":1},', '1]'),
  // Escaped: names that are spelled in another way.
  filled('{', (index) => `"é${((index * 7919) % 1_000_003).toString(36)}":1,`, '"z":1}'),
  filled('["', () => 'é', '"]'),
];

function filled(before: string, part: (index: number) => string, after: string): Buffer {
  const parts = [before];
  let bytes = before.length + after.length;
  for (let index = 0; ; index += 1) {
    const next = part(index);
    bytes += Buffer.byteLength(next);
    if (bytes > MiB) break;
    parts.push(next);
  }
  return Buffer.from(`${parts.join('')}${after}`);
}

/** Headers of a forged signature, in each form in turn; the last claims two at once. */
const FORMS: readonly (() => Record<string, string>)[] = [
  () => own(mac('hex')),
  () => own(`sha256=${mac('hex')}`),
  () => own(mac('base64')),
  () => own(`t=${seconds()},v1=${mac('hex')}`),
  () => standard(),
  () => ({ ...own(mac('hex')), ...standard() }),
];

function own(value: string): Record<string, string> {
  return { 'x-service-signature': value };
}

function standard(): Record<string, string> {
  const signature = `v1,${mac('base64')}`;
  return { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds(), 'webhook-signature': signature };
}

function mac(encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', 'no secret').update(randomBytes(8)).digest(encoding);
}

function seconds(): string {
  return Math.floor(Date.now() / 1000).toString();
}

/** Answers by status; 0: the connection was closed without one. */
export type Statuses = Map<number, number>;

/** Sends forged mebibytes at a steady rate until it is stopped. @returns stops it, and tells what was answered */
export function mebibytes({ port, userId }: Target, perSecond: number): () => Promise<Statuses> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const statuses: Statuses = new Map();
  const under = new Set<Promise<void>>();
  const begun = performance.now();
  let sent = 0;
  const send = (index: number): Promise<void> =>
    new Promise((resolve) => {
      const done = (status: number): void => {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        resolve();
      };
      const body = SHAPES[index % SHAPES.length] ?? Buffer.alloc(0);
      const signed = FORMS[Math.floor(index / SHAPES.length) % FORMS.length]?.() ?? {};
      const headers = { ...signed, 'content-length': body.length };
      const options = {
        port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path: `/webhooks/${userId}`,
        headers,
      };
      let answered = 0;
      const going = request(options, (response) => {
        answered = response.statusCode ?? 0;
        response.resume();
        response.on('close', () => done(answered));
      });
      going.on('error', () => {
        if (answered === 0) done(0);
      });
      going.end(body);
    });
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begun) / 1000) * perSecond);
    for (; sent < due; sent += 1) {
      if (under.size >= IN_FLIGHT) continue;
      const going = send(sent).finally(() => under.delete(going));
      under.add(going);
    }
  }, 5);
  return async () => {
    clearInterval(timer);
    await Promise.all(under);
    agent.destroy();
    return statuses;
  };
}
