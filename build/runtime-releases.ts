import { LOOKED_UP, SECURITY_RELEASES, type Runtime } from '../src/operate/check.ts';

// `npm run -s runtime-releases`: asks nodejs.org and postgresql.org which releases src/operate/check.ts does not know.
// Ends with 0; 1 where there is one; 3 where they can't be asked.

const SOURCES: Readonly<Record<Runtime, string>> = {
  Node: 'https://nodejs.org/dist/index.json',
  PostgreSQL: 'https://www.postgresql.org/versions.json',
};

interface Release {
  readonly version: string;
  /** `2026-11-11` */
  readonly on: string;
}

/** Reads a list of releases. @throws where it has another form, so that nothing is overlooked in it */
type Read = (list: unknown) => Release[];

/** Node says of each release whether it is for security. */
const nodeReleases: Read = (list) =>
  entries(list).flatMap(({ version, date, security }) => {
    if (typeof version !== 'string' || typeof date !== 'string' || typeof security !== 'boolean') throw unreadable();
    return security ? [{ version: version.replace(/^v/, ''), on: date }] : [];
  });

/** PostgreSQL names the newest release of each major version, with its day, and does not say what it is for. */
const postgresqlReleases: Read = (list) =>
  entries(list).flatMap(({ major, latestMinor, relDate, supported }) => {
    if (typeof major !== 'string' || typeof latestMinor !== 'string') throw unreadable();
    if (typeof relDate !== 'string' || typeof supported !== 'boolean') throw unreadable();
    return supported ? [{ version: `${major}.${latestMinor}`, on: relDate }] : [];
  });

function entries(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(list) || list.length === 0) throw unreadable();
  return list as Readonly<Record<string, unknown>>[];
}

const unreadable = (): Error =>
  new Error('the list of releases has another form than it had: see build/runtime-releases.ts');

const READ: Readonly<Record<Runtime, Read>> = { Node: nodeReleases, PostgreSQL: postgresqlReleases };

/**
 * Releases that are not in src/operate/check.ts, of its major versions and newer ones.
 * @param list as the runtime's site publishes it
 * @param since a day, `2026-11-26`: earlier releases were looked at
 * @returns `Node 26.13.2 (2026-12-02)`
 */
export function unknownReleases(runtime: Runtime, list: unknown, since: string): string[] {
  const known = SECURITY_RELEASES[runtime].flatMap(({ versions }) => versions);
  const oldest = Math.min(...known.map((version) => Number.parseInt(version)));
  return READ[runtime](list)
    .filter(({ version, on }) => on >= since && !known.includes(version) && Number.parseInt(version) >= oldest)
    .map(({ version, on }) => `${runtime} ${version} (${on})`);
}

async function lookUp(runtime: Runtime): Promise<string[]> {
  const url = SOURCES[runtime];
  const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) }).catch((cause: unknown) => {
    throw new Error(`${url} does not answer`, { cause });
  });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return unknownReleases(runtime, await answer.json(), LOOKED_UP);
}

if (import.meta.main) {
  try {
    const found = (await Promise.all((Object.keys(SOURCES) as Runtime[]).map(lookUp))).flat();
    for (const each of found) process.stdout.write(`${each} is not in src/operate/check.ts\n`);
    if (found.length > 0) {
      process.exitCode = 1;
      process.stderr.write(
        'Read what they fix. Write today into that file, and those that are for security. Then: npm run -s versions-table -- --write\n',
      );
    } else process.stdout.write(`no security release since ${LOOKED_UP}\n`);
  } catch (error) {
    process.stderr.write(`runtime-releases: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 3;
  }
}
