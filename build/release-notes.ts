import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

// `npm run -s release-notes -- <version> [folder] [--dated]`: prints the version's notes, and writes them and its SBOM
// into the folder (default: dist/release). Ends with 0; 2 for a version that can't be released from here, with --dated
// also for one whose section has no date; 3 where npm fails.

const ROOT = join(import.meta.dirname, '..');

/** What was asked for can't be had from this checkout. */
class Refused extends Error {}

interface Package {
  readonly name: string;
  readonly version: string;
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version: string; readonly dev?: boolean }>
  >;
}

/** A CycloneDX document of npm's, as far as it is changed here. */
interface Sbom {
  readonly metadata: { readonly component: { name: string; readonly 'bom-ref': string } };
  components: readonly { readonly 'bom-ref': string }[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * The version's section of a changelog, from its heading (`## 1.2.3`, or `## 1.2.3 – 2026-01-31`) to the next one.
 * @throws Refused where there is none, or nothing stands in it
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m).filter((section) => section.startsWith('## '));
  const versions = sections.map((section) => /^## +(\S+)/.exec(section)?.[1] ?? '');
  const found = sections[versions.indexOf(version)];
  if (found === undefined) {
    throw new Refused(`CHANGELOG.md has no section "## ${version}"; it has ${versions.join(', ') || 'none at all'}`);
  }
  if (!/\n\s*\S/.test(found)) throw new Refused(`the section "## ${version}" of CHANGELOG.md is empty`);
  return `${found.trimEnd()}\n`;
}

/**
 * What users get, on every platform: the lock says so, whatever is installed here. npm's own `--omit dev` leaves out
 * whatever a tool for development needs, too, undici for example: https://github.com/npm/cli/issues/7909
 */
function sbomOf({ name }: Package): string {
  // Under `npm run -s` npm would keep to itself why it failed.
  const options = ['--sbom-format=cyclonedx', '--sbom-type=application', '--loglevel=error'];
  const text = execFileSync('npm', ['sbom', '--package-lock-only', ...options], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  const sbom = JSON.parse(text) as Sbom;
  const { component } = sbom.metadata;
  const shipped = new Set([component['bom-ref'], ...shippedPackages()]);
  sbom.components = sbom.components.filter((each) => shipped.has(each['bom-ref']));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((on) => shipped.has(on)) }));
  // npm takes the name of the checkout's folder.
  component.name = name;
  return `${JSON.stringify(sbom, undefined, 2)}\n`;
}

/** `name@version` of each package that is not for development alone. */
function shippedPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  return (
    Object.entries(packages)
      // This folder is a workspace, for its tools' sake: it makes what users get, and is no part of it.
      .filter(([path, { dev }]) => !['', 'build', 'node_modules/@research-mirror/build'].includes(path) && dev !== true)
      .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`)
  );
}

/** @throws Refused where the heading of a version's notes has no date */
export function checkDated(notes: string, version: string): void {
  const heading = notes.split('\n', 1)[0] ?? '';
  if (/^## \S+ – \d{4}-\d{2}-\d{2}$/.test(heading)) return;
  throw new Refused(`"${heading}" of CHANGELOG.md has no date: a release needs "## ${version} – YYYY-MM-DD"`);
}

function release(version: string, folder: string, dated: boolean): void {
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Package;
  const notes = notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version);
  if (version !== own.version) {
    throw new Refused(
      `this checkout is version ${own.version}, and its packages are not those of ${version}: check that one out`,
    );
  }
  if (dated) checkDated(notes, version);
  const sbom = sbomOf(own);
  mkdirSync(folder, { recursive: true });
  const stem = join(folder, `${own.name}-${version}`);
  writeFileSync(`${stem}.md`, notes);
  writeFileSync(`${stem}.cdx.json`, sbom);
  process.stdout.write(notes);
  process.stderr.write(`written: ${stem}.md, ${stem}.cdx.json\n`);
  if (/^.*\bunreleased\b/.test(notes)) {
    process.stderr.write(`CHANGELOG.md calls ${version} unreleased: put the date there before you tag it\n`);
  }
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const [version, folder = join(ROOT, 'dist', 'release'), ...more] = given.filter((each) => each !== '--dated');
  try {
    if (version === undefined || more.length > 0) {
      throw new Refused('usage: npm run -s release-notes -- <version> [folder] [--dated]');
    }
    release(version, resolve(folder), given.includes('--dated'));
  } catch (error) {
    process.stderr.write(`release-notes: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof Refused ? 2 : 3;
  }
}
