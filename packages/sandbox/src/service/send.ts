import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SandboxState } from '../sandbox-state.ts';
import type { RequestRecord } from '../request-log.ts';
import type { Answer } from './answer.ts';
import type { Fault } from './faults.ts';

export interface Sending {
  readonly answer: Answer;
  /** The fault of this request; undefined: none. */
  readonly fault: Fault | undefined;
  /** Headers of the rate limit. */
  readonly rate: Readonly<Record<string, string>>;
  readonly record: RequestRecord;
}

/**
 * Writes the answer, or cuts the connection where the fault says so. The request is counted just before its last byte
 * is sent: a client that has read the answer finds it counted.
 * @throws where the client disconnects; `signal`'s reason
 */
export async function send(
  response: ServerResponse,
  { answer, fault, rate, record }: Sending,
  state: SandboxState,
  signal: AbortSignal,
): Promise<void> {
  if (fault === 'faultReset' || fault === 'registerLost') {
    response.socket?.resetAndDestroy();
    state.requests.end(record);
    return;
  }
  const headers: Record<string, string | number> = {
    Date: new Date(state.clock.now()).toUTCString(),
    ...rate,
    ...answer.headers,
  };
  let body = answer.body === undefined ? undefined : Buffer.from(answer.body);
  if (body !== undefined) {
    headers['Content-Type'] = answer.type;
    if (answer.rest === undefined) headers['Content-Length'] = body.length;
  }
  response.writeHead(answer.status, headers);
  if (fault === 'faultTruncated') {
    const socket = response.socket;
    response.write(body?.subarray(0, Math.floor(body.length / 2)), () => socket?.destroy());
    state.requests.end(record);
    return;
  }
  if (fault === 'faultDrip') {
    const half = Math.floor((body?.length ?? 0) / 2);
    response.flushHeaders();
    if (half > 0) response.write(body?.subarray(0, half));
    body = body?.subarray(half);
    await state.clock.sleep(state.options.slowMs, signal);
  }
  record.status = answer.status;
  record.items = answer.items ?? null;
  state.requests.end(record);
  if (answer.rest === undefined) {
    response.end(body);
    return;
  }
  response.write(body);
  await pipeline(Readable.from(answer.rest), response, { signal });
}
