import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './support/source-files.ts';

/** A file or folder of the checkout, as documents name it: `src/walk/poll.ts`. Patterns (`src/*.ts`) are none. */
const CITED = /`((?:\.ci|bench|bin|build|docker|docs|migrations|packages|src|test)\/[\w./-]+)`/g;
const cited = (document: string): string[] =>
  [...readFileSync(join(ROOT, document), 'utf8').matchAll(CITED)].map(([, path = '']) => path);

describe('documents', () => {
  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'])(
    'cite files that are there: %s',
    (document) => {
      const paths = cited(document);
      expect(paths.length).toBeGreaterThan(3);
      expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    },
  );
});
