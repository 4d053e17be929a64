import { afterEach, expect, it } from 'vitest';
import { createGateway } from '../../support/network/gateway.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

it('sync does not end with 0, and status not either, while a list that is shown answers 404', async () => {
  system = await createSystem({ lists: 3 });
  const gateway = await createGateway(system.sandbox.url);
  try {
    const env = { MIRROR_API_URL: gateway.url };
    await system.sync([], { env });
    expect((await system.run(['status'])).code).toBe(0);
    const [text = ''] = await system.sandbox.control.truth({ collection: 'lists' });
    const path = `/v1/lists/${(JSON.parse(text) as { list_id: number }).list_id}`;
    gateway.refuse(({ url }) =>
      url?.startsWith(path) === true ? { status: 404, message: 'No such list' } : undefined,
    );
    const reason = `GET ${path} answers 404 although /v1/lists shows it`;
    const { collections } = await system.sync([], { env, code: 3 });
    expect(collections.find(({ collection }) => collection === 'list_items')?.error).toContain(reason);
    const status = await system.run(['status']);
    expect(status.code).toBe(1);
    expect(status.stdout).toContain(reason);

    gateway.refuse(undefined);
    await system.sync([], { env });
    expect((await system.run(['status'])).code).toBe(0);
  } finally {
    await gateway.close();
  }
});
