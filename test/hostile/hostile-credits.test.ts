import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { startHostileService } from './hostile-service.ts';

const mirror = testDatabase();

describe('credits', () => {
  it.each<[SandboxOptions['credits'], (raw: string) => string | null]>([
    ['number', (raw) => raw],
    ['string', (raw) => JSON.parse(raw) as string],
    ['object', (raw) => /"balance": ([\d.]+)/.exec(raw)?.[1] ?? ''],
    ['object-cents', (raw) => (Number(/"balance": (\d+)/.exec(raw)?.[1]) / 100).toFixed(2)],
    // Nothing says that these are cents.
    ['cents', (raw) => raw],
    ['null', () => null],
    ['other', () => null],
  ])('are an exact decimal, or NULL and whole in _raw: %s', async (credits, expected) => {
    const service = await startHostileService(mirror, { credits });
    const account = await service.account();
    const signal = new AbortController().signal;
    await account.reader.read('account', { what: 'full', signal });
    const { rows } = await sql<{ credits: string | null; raw: string; conflicts: string }>`
      select credits::text, (_raw -> 'credits')::text as raw,
        (select field_conflicts from mirror.data_quality
         where _user_id = ${account.userId} and collection = 'account') as conflicts
      from mirror.account where _user_id = ${account.userId}`.execute(mirror.kysely);
    const [row] = rows;
    expect(row?.raw).toMatch(/\d|null/);
    expect(row?.credits).toBe(expected(row?.raw ?? ''));
    expect(row?.conflicts).toBe(credits === 'other' ? '1' : '0');
    await account.close();
    await service.close();
  });
});
