import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder of the numbered migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

/** Version in package.json. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
