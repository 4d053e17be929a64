import { readFileSync, existsSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { blocksOf, brokenLinks, linksOf } from './support/readme/readme.ts';
import { ROOT, textFiles } from './support/rules/source-files.ts';

/** A page may have so many words, of everything that stands on it. */
const MOST_WORDS = 2_500;
const INDEX = 'docs/README.md';

/** Every document of the repository, by its path; dbt has one of its own, of blocks. */
const documents = textFiles(
  ['docs', 'bench', 'dbt', 'kubernetes', 'packages', 'test'],
  /(?<!^dbt\/models\/docs)\.md$/,
  /\.md$/,
);

const wordsOf = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** Documents that links lead to from the index, over any number of others. */
function reached(): ReadonlySet<string> {
  const found = new Set([INDEX]);
  for (const path of found) {
    for (const link of linksOf(documents.get(path) ?? '')) {
      const target = posix.join(posix.dirname(path), link.split('#', 1)[0] ?? '');
      if (documents.has(target)) found.add(target);
    }
  }
  return found;
}

it('documents are found', () => {
  expect(documents.size).toBeGreaterThan(60);
});

it(`no document has more than ${MOST_WORDS} words`, () => {
  const long = [...documents].filter(([, text]) => wordsOf(text) > MOST_WORDS);
  expect(long.map(([path, text]) => `${path}: ${wordsOf(text)}`)).toEqual([]);
});

it('links of documents lead to files that there are, and to headings in them', () => {
  const resolve = (from: string, to: string): string | undefined => {
    const path = join(ROOT, posix.dirname(from), to);
    if (!existsSync(path)) return undefined;
    return statSync(path).isDirectory() ? '' : readFileSync(path, 'utf8');
  };
  expect(brokenLinks(documents, resolve)).toEqual([]);
});

it('each document is reached by links from the index', () => {
  const all = reached();
  expect([...documents.keys()].filter((path) => !all.has(path))).toEqual([]);
});

it('the index lists each page of its folder once', () => {
  const rows = (documents.get(INDEX) ?? '').split('\n').filter((line) => line.startsWith('| ['));
  const listed = linksOf(rows.join('\n')).map((link) => posix.join('docs', link));
  const pages = [...documents.keys()].filter((path) => /^docs\/[^/]+\.md$/.test(path) && path !== INDEX);
  expect(listed.filter((path) => pages.includes(path)).toSorted()).toEqual(pages.toSorted());
});

it('each page that is no reference begins with the question that it answers', () => {
  const index = documents.get(INDEX) ?? '';
  const [reference = ''] = /^## Reference\n[\s\S]*?(?=^## )/m.exec(index) ?? [];
  const apart = new Set([INDEX, ...linksOf(reference).map((link) => posix.join('docs', link))]);
  const pages = [...documents].filter(([path]) => /^docs\/[^/]+\.md$/.test(path) && !apart.has(path));
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter(([, text]) => !/^# .+\n\n[^\n]*\?\n\n/.test(text)).map(([path]) => path)).toEqual([]);
});

/** What runs or reads the blocks of each language: here, or in the file that is named. */
const JUDGED_BY: Readonly<Record<string, string>> = {
  sh: 'test/system/docs/shell-blocks.test.ts',
  bash: 'test/system/docs/shell-blocks.test.ts',
  sql: 'test/integration/docs/sql-blocks.test.ts',
  ts: 'test/system/surfaces/types-recipe.test.ts',
  jinja: 'test/dbt/project/models/watermark_per_account.sql',
  ini: 'test/systemd.test.ts',
  yaml: 'test/docs.test.ts',
  text: 'test/readme.test.ts',
};

it('each block of code on a page is of a language that a test judges', () => {
  const languages = [...documents]
    .filter(([path]) => /^docs\/[^/]+\.md$/.test(path))
    .flatMap(([, text]) => [...text.matchAll(/^ *```(\w+)$/gm)].map(([, language = '']) => language));
  expect([...new Set(languages)].toSorted()).toEqual(Object.keys(JUDGED_BY).toSorted());
  expect(Object.values(JUDGED_BY).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

it('the model for dbt on a page is one that the tests of dbt run', () => {
  const block = blocksOf(documents.get('docs/feeds.md') ?? '').find(({ language }) => language === 'jinja')?.code;
  const model = readFileSync(join(ROOT, JUDGED_BY['jinja'] ?? ''), 'utf8').replaceAll(/\{#[\s\S]*?#\}\n|^--.*\n/gm, '');
  expect(model).toBe(block);
});

it('each block of YAML on a page is YAML', () => {
  const blocks = [...documents].flatMap(([path, text]) =>
    blocksOf(text).flatMap(({ language, code }) => (language === 'yaml' ? [{ path, code }] : [])),
  );
  expect(blocks.length).toBeGreaterThan(2);
  expect(
    blocks.flatMap(({ path, code }) => parseDocument(code).errors.map(({ message }) => `${path}: ${message}`)),
  ).toEqual([]);
});

it('a link that leads nowhere is found', () => {
  const files = new Map([['a.md', '[a](b.md) [b](#no) [c](c.md#no) [d](c.md#yes) [e](https://e.example)']]);
  const broken = brokenLinks(files, (_, to) => (to === 'c.md' ? '## Yes\n' : undefined));
  expect(broken).toEqual(['a.md: b.md', 'a.md: #no', 'a.md: c.md#no']);
});
