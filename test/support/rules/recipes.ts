import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';
import { splitStatements } from '../../../src/postgres/run-migrations.ts';

export interface Recipe {
  readonly heading: string;
  readonly statement: string;
}

/** Every SQL statement of docs/recipes.md, by its heading. */
export async function recipes(): Promise<readonly Recipe[]> {
  const text = await readFile(join(ROOT, 'docs', 'recipes.md'), 'utf8');
  return text.split(/^## /m).flatMap((section) => {
    const [heading = ''] = section.split('\n', 1);
    const blocks = [...section.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql);
    return splitStatements(blocks.join('\n')).map(({ statement }) => ({ heading, statement }));
  });
}

/** The blocks in a language, such as `sh`, below a heading of docs/recipes.md, in their order. @throws where there is no such heading */
export async function codeRecipes(heading: string, language: string): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, 'docs', 'recipes.md'), 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/recipes.md has no heading ${JSON.stringify(heading)}`);
  const blocks = section.matchAll(/```(\w+)\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, of, block = '']) => (of === language ? [block] : []));
}

/** Those for a shell. */
export function shellRecipes(heading: string): Promise<readonly string[]> {
  return codeRecipes(heading, 'sh');
}
