import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where Debian, Red Hat and Homebrew put the versions that are older than the one that npm brings. */
const PLACES = [17, 16, 15].flatMap((major) => [
  `/usr/lib/postgresql/${major}/bin`,
  `/usr/pgsql-${major}/bin`,
  `/opt/homebrew/opt/postgresql@${major}/bin`,
]);
const MISSING =
  'no PostgreSQL 15 to 17 is installed (apt-get install postgresql, brew install postgresql@17)';

/** A PostgreSQL of the machine's, and its major version. Undefined where there is none. */
export const MACHINE_POSTGRES = PLACES.filter((bin) => existsSync(join(bin, 'initdb'))).map((bin) => ({
  bin,
  major: Number(/\d+/.exec(bin)?.[0]),
}))[0];

/**
 * Whether tests on it run: where there is one, unless TEST_PG_BIN is `off`. `required` (CI) makes a missing one a
 * failure; otherwise it is said on stderr.
 */
export function isMachinePostgresTested(): boolean {
  const wish = process.env['TEST_PG_BIN'];
  if (wish === 'off') return false;
  if (MACHINE_POSTGRES !== undefined) return true;
  if (wish === 'required') throw new Error(MISSING);
  process.stderr.write(`${MISSING}; NOT TESTED: MIRROR_PG_BIN\n`);
  return false;
}
