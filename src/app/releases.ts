import { TESTED } from '@research-mirror/embedded-postgres/binaries';
import { type CheckFinding, ok, warning } from './doctor/check.ts';

// Which versions run, of when they are, and what is known to be mended since. `npm run -s versions-table -- --write`
// writes it into SECURITY.md; `test/runtimes.test.ts` fails when it was looked up before the release.

/** When nodejs.org/en/blog/vulnerability and postgresql.org/support/security were last read. */
export const LOOKED_UP = '2026-11-26';

/** What npm brings, and of when it is. */
export const PINNED = {
  Node: { version: '26.10.0', on: '2026-09-22' },
  PostgreSQL: { version: '18.4', on: '2026-05-14' },
};

export type Runtime = keyof typeof PINNED;

/** Releases that mend what an attacker could use, oldest first: one version for each line that still gets them. */
export const SECURITY_RELEASES: Readonly<
  Record<Runtime, readonly { readonly on: string; readonly versions: readonly string[] }[]>
> = {
  Node: [
    { on: '2026-06-18', versions: ['24.17.0', '26.3.1'] },
    { on: '2026-07-29', versions: ['24.18.1', '26.5.1'] },
    { on: '2026-10-21', versions: ['24.22.1', '26.12.1'] },
    { on: '2026-11-11', versions: ['24.22.3', '26.13.1'] },
  ],
  PostgreSQL: [
    { on: '2026-05-14', versions: ['15.18', '16.14', '17.10', '18.4'] },
    { on: '2026-08-13', versions: ['15.19', '16.15', '17.11', '18.6'] },
    { on: '2026-11-12', versions: ['15.20', '16.16', '17.12', '18.7'] },
  ],
};

/** The known security releases that a version lacks: `18.6 (2026-08-13)`. */
export function lacking(runtime: Runtime, version: string): readonly string[] {
  return SECURITY_RELEASES[runtime].flatMap(({ on, versions }) =>
    versions
      .filter(
        (each) =>
          majorOf(each) === majorOf(version) && version.localeCompare(each, 'en', { numeric: true }) < 0,
      )
      .map((each) => `${each} (${on})`),
  );
}

/**
 * What doctor says of a version that runs.
 * @param update how to get a newer one
 */
export function judgeVersion(runtime: Runtime, version: string, update: string): CheckFinding {
  const { on } =
    [PINNED[runtime]].find((pinned) => pinned.version === version) ??
    SECURITY_RELEASES[runtime].find(({ versions }) => versions.includes(version)) ??
    {};
  const found = `${runtime} ${version}${on === undefined ? '' : ` of ${on}`}`;
  if (runtime === 'PostgreSQL' && majorOf(version) > TESTED.newest) {
    return warning(`${found}: ${TESTED.oldest} to ${TESTED.newest} are tested, this one is not`);
  }
  const missing = lacking(runtime, version);
  if (missing.length > 0) {
    return warning(`${found} lacks the security fixes of ${missing.join(', ')}`, { remedy: update });
  }
  const lines = SECURITY_RELEASES[runtime].flatMap(({ versions }) => versions.map(majorOf));
  if (majorOf(version) < Math.max(...lines) && !lines.includes(majorOf(version))) {
    return warning(`${found} gets no security fixes any more`, { remedy: update });
  }
  return ok(`${found}; no security release since is known (looked up on ${LOOKED_UP})`);
}

function majorOf(version: string): number {
  return Number.parseInt(version);
}
