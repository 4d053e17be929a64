import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkDated, notesOf } from '../../build/release-notes.ts';
import { ROOT } from '../support/rules/source-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'research-mirror-release-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Manifest = Record<'dependencies' | 'optionalDependencies', object> & { version: string };
const read = (path: string): Manifest => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest;
const { version, optionalDependencies } = read('package.json');
/** What is bundled. */
const { dependencies } = read('src/package.json');

function run(...args: readonly string[]) {
  return spawnSync(process.execPath, [join(ROOT, 'build', 'release-notes.ts'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
}

/** Two minutes of reading. */
const MOST_WORDS = 500;
/** In the order in which they stand. */
const GROUPS = ['Upgrade notes', 'Added', 'Changed', 'Removed', 'Fixed'];

/** What is wrong with sections of a changelog, as `version: what`. */
function wrongSections(changelog: string): string[] {
  return changelog
    .split(/^(?=## )/m)
    .slice(1)
    .flatMap((section) => {
      const [, version = ''] = /^## (\S+)/.exec(section) ?? [];
      const [lead = '', ...groups] = section.split(/^(?=### )/m);
      const names = groups.map((group) => /^### (.*)/.exec(group)?.[1] ?? '');
      const words = wordsIn(section);
      const other = groups.flatMap((group) => group.split('\n').slice(1)).find((line) => !/^(?:- .+)?$/.test(line));
      return [
        ...(names.join() === GROUPS.filter((name) => names.includes(name)).join()
          ? []
          : [`groups ${names.join(', ')}`]),
        ...(names.length > 0 && !/^- /m.test(lead) ? [] : ['bullets outside of a group']),
        ...(other === undefined ? [] : [`no bullet of one line: ${other}`]),
        ...(words <= MOST_WORDS ? [] : [`${words} words`]),
      ].map((what) => `${version}: ${what}`);
    });
}

/** Words as a reader counts them: of a link its text. */
function wordsIn(text: string): number {
  const shown = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return shown.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

describe('the changelog', () => {
  const GOOD = '# Changelog\n\n## 1.0.0\n\nWhat it is about.\n\n### Added\n\n- one\n\n### Fixed\n\n- two\n';

  it('has in each version the usual groups, in order, and so few words that it is read in two minutes', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(wrongSections(changelog)).toEqual([]);
    expect(changelog).toContain(`\n## ${version} – `);
  });

  it.each([
    ['an unusual group', GOOD.replace('Added', 'New'), '1.0.0: groups New, Fixed'],
    ['groups in another order', GOOD.replace('Fixed', 'Upgrade notes'), '1.0.0: groups Added, Upgrade notes'],
    ['a group that comes twice', GOOD.replace('Fixed', 'Added'), '1.0.0: groups Added, Added'],
    ['a bullet without a group', GOOD.replace('### Added\n\n', ''), '1.0.0: bullets outside of a group'],
    ['a bullet of two lines', GOOD.replace('one', 'one\n  and more'), '1.0.0: no bullet of one line:   and more'],
    ['too many words', GOOD.replace('two', 'two '.repeat(493)), '1.0.0: 501 words'],
  ])('is refused for %s', (_, changelog, wrong) => {
    expect(wrongSections(changelog)).toEqual([wrong]);
  });

  it('may have as many words, of a link its text', () => {
    expect(wrongSections(GOOD.replace('two', '[two](docs/a b c.md) '.repeat(492)))).toEqual([]);
  });
});

describe('release notes', () => {
  const CHANGELOG = '# Changelog\n\n## 1.10.0\n\n- ten\n\n### More\n\n- more\n\n## 1.1.0 – 2026-01-31\n\n- one\n';

  it('are the section of just that version', () => {
    expect(notesOf(CHANGELOG, '1.10.0')).toBe('## 1.10.0\n\n- ten\n\n### More\n\n- more\n');
    expect(notesOf(CHANGELOG, '1.1.0')).toBe('## 1.1.0 – 2026-01-31\n\n- one\n');
  });

  it.each([
    ['a version without a section', CHANGELOG, '1.1', 'no section "## 1.1"; it has 1.10.0, 1.1.0'],
    ['a changelog without sections', '# Changelog\n', '1.1.0', 'it has none at all'],
    ['a section without notes', '## 1.2.0\n\n## 1.1.0\n\n- one\n', '1.2.0', '"## 1.2.0" of CHANGELOG.md is empty'],
  ])('are refused for %s', (_, changelog, asked, message) => {
    expect(() => notesOf(changelog, asked)).toThrow(message);
  });

  it('are refused for a release without a date', () => {
    expect(() => checkDated('## 1.1.0 – 2026-01-31\n\n- one\n', '1.1.0')).not.toThrow();
    for (const heading of ['## 1.1.0', '## 1.1.0 – unreleased', '## 1.1.0 – 2026-01-31, unreleased']) {
      expect(() => checkDated(`${heading}\n\n- one\n`, '1.1.0')).toThrow(`"${heading}" of CHANGELOG.md has no date`);
    }
  });

  it('of this version are printed, and written beside a list of every package that users get', () => {
    const { status, stdout, stderr } = run(version, 'made');
    expect({ status, stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('written: ') as string,
    });
    expect(stdout).toMatch(new RegExp(`^## ${RegExp.escape(version)}\\b[^]*\\n- `));
    const made = join(folder, 'made');
    const stem = `research-mirror-${version}`;
    expect(readdirSync(made).sort()).toEqual([`${stem}.cdx.json`, `${stem}.md`]);
    expect(readFileSync(join(made, `${stem}.md`), 'utf8')).toBe(stdout);

    const sbom = JSON.parse(readFileSync(join(made, `${stem}.cdx.json`), 'utf8')) as {
      components: { 'bom-ref': string; name: string }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'research-mirror', version } },
    });
    const names = sbom.components.map(({ name }) => name);
    // Tools for development need undici, too; they themselves are not there, and what other platforms need is.
    expect(names).toEqual(expect.arrayContaining([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]));
    expect(names).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(vitest|typescript|oxlint|rolldown|build)$/)]),
    );
    expect(JSON.stringify(sbom.components)).not.toContain('cdx:npm:package:development');
    const listed = [`research-mirror@${version}`, ...sbom.components.map((each) => each['bom-ref'])];
    expect(sbom.dependencies.map(({ ref }) => ref).sort()).toEqual(listed.toSorted());
    const needed = sbom.dependencies.flatMap(({ dependsOn }) => dependsOn);
    expect(needed.filter((ref) => !listed.includes(ref))).toEqual([]);
    // Whatever is listed is needed by something that is.
    expect(listed.slice(1).filter((ref) => !needed.includes(ref))).toEqual([]);
  });

  it.each([
    ['no version', [], 'usage: '],
    ['too much', [version, 'made', 'more'], 'usage: '],
    ['an unknown version', ['9.9.9', 'never'], 'no section "## 9.9.9"'],
    ['an earlier version, whose packages were others', ['0.1.0', 'never'], `this checkout is version ${version}`],
  ])('end with 2 and one line for %s, and write nothing', (_, args, message) => {
    const { status, stdout, stderr } = run(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(readdirSync(folder)).not.toContain('never');
  });
});
