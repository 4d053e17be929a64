import fc from 'fast-check';
import { idForm } from '@research-mirror/sandbox/world/id-form';
import { expect, it } from 'vitest';
import { compareKeys } from './key.ts';

function text(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}

const RISING = ['integer', 'beyond-2^53', 'beyond-2^63', 'digits', 'string', 'odd', 'uuid-by-time'] as const;

it.each(RISING)('IDs that rise with creation do so as %s', (name) => {
  const form = idForm(name, 9);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (slot) => {
      expect(compareKeys('text', text(form.json(slot)), text(form.json(slot + 1)))).toBe(-1);
    }),
  );
});
