import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A package of somebody else's of which something is in a bundle. */
export interface ThirdParty {
  readonly name: string;
  readonly version: string;
  /** As its package.json has it: `MIT`. */
  readonly license: string;
  /** Its licence, and its notice where it has one. */
  readonly text: string;
}

const LICENCE = /^(licen[cs]e|copying)(\.(md|txt))?$/i;
const NOTICE = /^notice(\.(md|txt))?$/i;
const README = /^readme(\.(md|txt))?$/i;
/** Some have it in their README alone: to its end, or to the next heading. */
const SECTION = /^#+ *licen[cs]e\b.*\n([\s\S]*?)(?=^#|$(?![\s\S]))/im;

/**
 * The packages that these modules are of, by name.
 * @param modules absolute paths; what lies outside of `node_modules` is our own
 * @throws Error for packages that have no text of a licence: what we ship carries it along
 */
export function thirdParties(modules: readonly string[]): readonly ThirdParty[] {
  const folders = new Set(modules.flatMap((module) => packageFolder(module) ?? []));
  const found = [...folders].map(thirdParty);
  const without = found.filter(({ text }) => text === '');
  if (without.length > 0) {
    const names = without.map(({ name, version }) => `${name} ${version}`).join(', ');
    throw new Error(
      `no text of a licence is in ${names}: neither a file LICENSE nor a section of its README. ` +
        'What is bundled carries its licence along: take another version or package, or ask its authors',
    );
  }
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** What goes with a bundle, as people read it. */
export function licenceFile(packages: readonly ThirdParty[]): string {
  const parts = packages.map(
    ({ name, version, license, text }) => `${'='.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`,
  );
  const begin = `The program contains code of ${packages.length} packages of others, each under its own licence:\n\n`;
  return `${begin}${parts.join('\n')}`;
}

function keyOf({ name, version }: ThirdParty): string {
  return `${name}@${version}`;
}

/** Folder of the package that a module is of; undefined for our own. */
function packageFolder(module: string): string | undefined {
  // Helpers that the bundler writes itself have names that are no paths.
  if (!module.startsWith('/') || !module.includes('/node_modules/')) return undefined;
  let folder = dirname(module);
  // Some have a package.json without a name in a folder of theirs, which only says how its files are read.
  while (!existsSync(join(folder, 'package.json')) || manifestOf(folder).name === undefined) {
    folder = dirname(folder);
  }
  return folder;
}

function thirdParty(folder: string): ThirdParty {
  const { name = folder, version = '', license = 'see its text' } = manifestOf(folder);
  const files = readdirSync(folder);
  const read = (pattern: RegExp): string[] =>
    files
      .filter((file) => pattern.test(file))
      .toSorted()
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const licences = read(LICENCE);
  const sections = read(README).map((text) => SECTION.exec(text)?.[1]?.trim() ?? '');
  const found = licences.length > 0 ? licences : sections.filter((text) => /copyright/i.test(text));
  return { name, version, license, text: found.length === 0 ? '' : [...found, ...read(NOTICE)].join('\n\n') };
}

function manifestOf(folder: string): { name?: string; version?: string; license?: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string };
}
