import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { type Cluster, createSite, type Site } from './cluster.ts';
import { createMovingDatabase, type MovingDatabase, type MovingOptions } from './moving-database.ts';
import { createSystem, type System } from '../processes/system.ts';

/** A system whose database goes back in time under it. */
export interface FailingSystem {
  readonly system: System;
  readonly moving: MovingDatabase;
}

/** For a test file. @returns opens such a system on an empty database, to be closed after its test */
export function failingSystems() {
  let site: Site;
  let origin: Cluster;
  let system: System | undefined;
  beforeAll(async () => {
    site = await createSite();
    origin = await site.cluster();
  });
  afterEach(async () => {
    await system?.close();
    system = undefined;
  });
  afterAll(() => site.remove());
  return async (switches?: Partial<SandboxOptions>, options?: MovingOptions): Promise<FailingSystem> => {
    const moving = await createMovingDatabase(await origin.copyFiles(), options);
    system = await createSystem(switches, { url: moving.url, drop: () => moving.close() });
    return { system, moving };
  };
}
