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

/**
 * For a test file: opens such systems, and closes each after its test. The database is empty.
 * @returns opens one
 */
export function failingSystems(): (
  switches?: Partial<SandboxOptions>,
  options?: MovingOptions,
) => Promise<FailingSystem> {
  let site: Site;
  let origin: Cluster;
  let opened: FailingSystem | undefined;
  beforeAll(async () => {
    site = await createSite();
    origin = await site.cluster();
  });
  afterEach(async () => {
    await opened?.system.close();
    opened = undefined;
  });
  afterAll(() => site.remove());
  return async (switches, options) => {
    const moving = await createMovingDatabase(await origin.copyFiles(), options);
    const system = await createSystem(switches, { url: moving.url, drop: () => moving.close() });
    opened = { system, moving };
    return opened;
  };
}
