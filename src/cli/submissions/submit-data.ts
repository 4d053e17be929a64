import { createReadStream } from 'node:fs';
import { messageOf } from '@research-mirror/runtime/message';
import { UsageError } from '../terminal/usage-error.ts';

/** What follows `--data`: the text itself, `@file`, or `-` for standard input. */
const STANDARD_INPUT = 0;
/** Bytes: more than the database takes (1 MiB), so that it is the one to say so. */
const MOST = 4 * 1024 * 1024;

/** @throws UsageError where there is nothing to read; the signal's reason */
export async function readData(given: string, signal: AbortSignal): Promise<string> {
  if (given !== '-' && !given.startsWith('@')) return given;
  const file = given === '-' ? undefined : given.slice(1);
  const place = file ?? 'standard input';
  let bytes: Buffer;
  try {
    bytes = await readAll(file, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`--data: ${place} can't be read: ${messageOf(error)}`);
  }
  if (bytes.length > MOST) throw new UsageError(`--data: ${place} has more than 4 MiB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`--data: ${place} is not UTF-8`);
  }
}

async function readAll(file: string | undefined, signal: AbortSignal): Promise<Buffer> {
  const stream =
    file === undefined
      ? createReadStream('', { fd: STANDARD_INPUT, autoClose: false })
      : createReadStream(file);
  const read = async (): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MOST) break;
    }
    return Buffer.concat(chunks);
  };
  // A terminal nobody types at keeps its read for ever: who interrupts the program does not wait for it.
  return await Promise.race([read(), whenAborted(signal)]);
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
