import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { builtProgram, NODE_COMPILE_CACHE } from './built-programs.ts';
import type { Outcome } from './program.ts';

export interface RecipeShell {
  /** Runs a recipe as it stands in the documents. */
  run(recipe: string): Promise<Pick<Outcome, 'code' | 'stdout' | 'stderr'>>;
}

/**
 * A shell in `folder`, in which `npx research-mirror` is the program as it is built of these sources.
 * @param env of the recipes
 * @param programs folders of programs that they need
 */
export async function recipeShell(
  folder: string,
  env: Readonly<Record<string, string>>,
  programs: readonly string[] = [],
): Promise<RecipeShell> {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const npx = join(bin, 'npx');
  const words = [process.execPath, await builtProgram('main')].map((word) => `'${word}'`).join(' ');
  writeFileSync(npx, `#!/bin/sh\n[ "$1" = research-mirror ] && shift && exec ${words} "$@"\n`);
  chmodSync(npx, 0o755);
  const path = [bin, ...programs, process.env['PATH'] ?? ''].join(delimiter);
  return {
    run: (recipe) =>
      new Promise((resolve) => {
        const options = { cwd: folder, env: { PATH: path, HOME: folder, NODE_COMPILE_CACHE, ...env } };
        const child = execFile('bash', ['-c', recipe], options, (_, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
      }),
  };
}
