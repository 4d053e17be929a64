import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { blocksOf } from '../readme/readme.ts';
import { ROOT } from './source-files.ts';
import { splitStatements } from '../../../src/postgres/run-migrations.ts';

export interface Recipe {
  readonly heading: string;
  readonly statement: string;
}

/** Every SQL statement of the pages in docs, by its heading. */
export async function recipes(): Promise<readonly Recipe[]> {
  return (await pages()).split(/^## /m).flatMap((section) => {
    const [heading = ''] = section.split('\n', 1);
    return splitStatements(codeIn(section, 'sql').join('\n')).map(({ statement }) => ({ heading, statement }));
  });
}

/** The blocks in a language, such as `sh`, below a heading of a page in docs, in their order. @throws where there is no such heading */
export async function codeRecipes(heading: string, language: string): Promise<readonly string[]> {
  const section = (await pages()).split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`no page of docs has the heading ${JSON.stringify(heading)}`);
  return codeIn(section, language);
}

function codeIn(section: string, language: string): string[] {
  return blocksOf(section).flatMap((block) => (block.language === language ? [block.code] : []));
}

/** The texts of all pages directly in docs, one behind the other. */
async function pages(): Promise<string> {
  const folder = join(ROOT, 'docs');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).toSorted();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

/** Those for a shell. */
export function shellRecipes(heading: string): Promise<readonly string[]> {
  return codeRecipes(heading, 'sh');
}
