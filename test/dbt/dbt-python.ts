import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { pythonEnvironment } from '../support/python/python-environment.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Python with dbt installed. */
    python: string;
  }
}

export const DBT_REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');

/** Vitest's set-up of the project `python`: without Python the run fails, it does not pass over its tests. */
export async function setup(project: TestProject): Promise<void> {
  project.provide('python', await pythonEnvironment(DBT_REQUIREMENTS));
}
