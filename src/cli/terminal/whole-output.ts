import { fstatSync, writeFileSync } from 'node:fs';
import type { Terminal } from './shell.ts';

/**
 * A stream of the process as commands write to it. Where it is a file, each text is written whole: Node's own stream
 * takes no notice when a full disk has taken a part of one.
 * @param onError gets what the system says where a file can't be written
 */
export function wholeOutput(
  stream: Terminal & { readonly fd: number },
  onError: (error: Error) => void,
): Terminal {
  if (!fstatSync(stream.fd).isFile()) return stream;
  return {
    write: (text) => {
      try {
        writeFileSync(stream.fd, text);
      } catch (error) {
        onError(error as Error);
      }
    },
  };
}
