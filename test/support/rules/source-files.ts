import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the checkout. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** `@research-mirror/runtime/clock`, of a workspace. */
const OURS = /^@research-mirror\/([^/]+)\/(.+)$/;

export interface SourceFile {
  /** Path from the root of the checkout, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Specifiers of its static and dynamic imports and re-exports; those of our own files as paths from the root. */
  readonly imports: readonly string[];
}

/** All TypeScript files under `folder` (from the root), tests included; nothing that is installed. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => {
      const file = join(ROOT, folder, name);
      const text = readFileSync(file, 'utf8');
      return { path: relative(ROOT, file).replaceAll('\\', '/'), text, imports: importsOf(text, file) };
    });
}

/** Texts by path: of the folders' files with such an ending, and of those at the root with such a name. */
export function textFiles(folders: readonly string[], ending: RegExp, atRoot: RegExp): Map<string, string> {
  const inFolders = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name).replaceAll('\\', '/'),
    ),
  );
  const paths = inFolders.filter((path) => ending.test(path) && !path.includes('node_modules/'));
  const all = [...paths, ...readdirSync(ROOT).filter((name) => atRoot.test(name))];
  return new Map(all.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}

function importsOf(text: string, file: string): string[] {
  const found = [...text.matchAll(/^\s*(?:import|export)\b[^;'"]*?\bfrom\s+['"]([^'"]+)['"]/gm)]
    .concat([...text.matchAll(/^\s*import\s+['"]([^'"]+)['"]/gm)])
    .concat([...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)]);
  return found.map((match) => {
    const specifier = match[1] ?? '';
    const [, workspace, path = ''] = OURS.exec(specifier) ?? [];
    if (workspace !== undefined) {
      return `packages/${workspace}/${path.startsWith('testing/') ? path : `src/${path}`}.ts`;
    }
    if (!specifier.startsWith('.')) return specifier;
    return relative(ROOT, resolve(dirname(file), specifier)).replaceAll('\\', '/');
  });
}
