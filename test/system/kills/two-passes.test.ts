import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

describe('two passes at a time without a daemon', () => {
  it('do not mix: the second one ends with 3 and says who holds the account', async () => {
    system = await createSystem({ latencyMin: 1_000, latencyMax: 1_000 });
    const first = system.begin(['sync', '--full']);
    await eventually('its first page', async () => (await system.sandbox.control.counters()).requests > 2);
    const { code, stdout } = await system.run(['sync']);
    expect(code).toBe(3);
    expect(stdout).toContain(`account 1001 is held by "research-mirror sync" (process ${first.child.pid})`);
    expect((await first.ended).code).toBe(0);
  });
});
