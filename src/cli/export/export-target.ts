import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { roomIn, type Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** Where an export goes. */
export interface ExportTarget {
  /** Where temporary files go: there is room for an export beside it, if anywhere. */
  readonly folder: string;
  /** Bytes that were written so far. */
  readonly size: number;
  /** @throws Unusable where the disk is full */
  write(piece: string | Uint8Array): void;
  /** A promise where what was written waits for its reader. */
  room(): Promise<void> | undefined;
  /** All is written: the file takes its name. @throws Unusable */
  finish(): Promise<void>;
  /** Leaves nothing behind of what was not finished. */
  close(): Promise<void>;
}

/** stdout: what was written is gone. */
export function streamTarget({ out, signal }: Pick<Shell, 'out' | 'signal'>): ExportTarget {
  let size = 0;
  return {
    folder: tmpdir(),
    get size() {
      return size;
    },
    write: (piece) => {
      size += Buffer.byteLength(piece);
      out.write(piece);
    },
    room: () => roomIn(out, signal),
    finish: async () => {},
    close: async () => {},
  };
}

/**
 * A file. It is written under another name beside its own, and takes its name when it is whole: a reader never sees a
 * part of it, and what is there stays until then. A device or a pipe is written as it is.
 * @throws UsageError where it can't be written
 */
export async function fileTarget(path: string): Promise<ExportTarget> {
  try {
    const there = await stat(path).catch(absent);
    if (there?.isDirectory() === true) throw new UsageError(`can't write ${path}: it is a folder`);
    if (there !== undefined && !there.isFile()) return openedTarget(path, await open(path, 'w'));
    // Not the link, but what it leads to, and with the rights that it has: the file may be for few.
    const final = there === undefined ? path : await realpath(path);
    const partial = `${final}.${randomBytes(4).toString('hex')}.partial`;
    const handle = await open(partial, 'wx', there === undefined ? 0o666 : 0o600);
    if (there !== undefined) await handle.chmod(there.mode & 0o777);
    return openedTarget(path, handle, { partial, final });
  } catch (error) {
    throw fileTrouble('write', path, error);
  }
}

function openedTarget(
  path: string,
  handle: FileHandle,
  names?: { readonly partial: string; readonly final: string },
): ExportTarget {
  let size = 0;
  let finished = false;
  return {
    folder: names === undefined ? tmpdir() : dirname(names.final),
    get size() {
      return size;
    },
    write: (piece) => {
      try {
        // At once, and not in the background: what waits to be written would take memory.
        writeFileSync(handle.fd, piece);
      } catch (error) {
        throw fileTrouble('write', path, error);
      }
      size += Buffer.byteLength(piece);
    },
    room: () => undefined,
    finish: async () => {
      if (names === undefined) return;
      try {
        // On disk before it takes its name: a crash must not leave an empty file in place of a whole one.
        await handle.sync();
        await rename(names.partial, names.final);
      } catch (error) {
        throw fileTrouble('write', path, error);
      }
      finished = true;
    },
    close: async () => {
      await handle.close();
      if (names !== undefined && !finished) await rm(names.partial, { force: true });
    },
  };
}

/** Codes of errors of a path that was typed wrong, or of rights that it lacks. */
const OF_THE_PATH = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ENAMETOOLONG|ELOOP|EINVAL|ENXIO|ETXTBSY)$/;

/** An error of a file as the caller needs it: the command line's, or one of the disk. */
export function fileTrouble(verb: string, path: string, error: unknown): Error {
  if (error instanceof UsageError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  const text = `can't ${verb} ${path}: ${messageOf(error)}`;
  return OF_THE_PATH.test(code) ? new UsageError(text) : new Unusable(text, { cause: error });
}

function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}
