import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Location } from '@research-mirror/embedded-postgres/location';
import type { Cluster } from '../databases/cluster.ts';
import { isTested } from '../optional.ts';

/** Where Debian puts it. */
const PLACES = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`);
const library = PLACES.find((path) => existsSync(path));
const MISSING = 'libfaketime is not installed (apt-get install faketime)';

export const isFaketimeTested = (): boolean =>
  isTested('TEST_FAKETIME', library !== undefined, MISSING, 'clocks that step');

/**
 * For `createSite`: makes the servers of its clusters run by a clock of their own, which `stepClock` steps.
 * @returns the folder of their programs
 */
export async function withOwnClock({ bin }: Location, home: string): Promise<string> {
  if (library === undefined) throw new Error(MISSING);
  const folder = join(home, 'programs');
  await mkdir(folder, { recursive: true });
  await symlink(join(bin, 'initdb'), join(folder, 'initdb'));
  const server = join(folder, 'postgres');
  // Read at each look at the clock: all processes of the server see a step at once. Its time-outs go on.
  const script = `#!/bin/sh
LD_PRELOAD=${library} FAKETIME_TIMESTAMP_FILE="$2.clock" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \\
  exec ${join(bin, 'postgres')} "$@"
`;
  await writeFile(server, script);
  await chmod(server, 0o755);
  return folder;
}

/** Sets how far (ms) the server's clock is ahead of the machine's; negative: behind. */
export async function stepClock({ location: { pgData } }: Cluster, aheadMs: number): Promise<void> {
  const file = `${pgData}.clock`;
  await writeFile(`${file}.new`, `${aheadMs < 0 ? '-' : '+'}${Math.abs(aheadMs) / 1000}\n`, { mode: 0o644 });
  await rename(`${file}.new`, file);
}
