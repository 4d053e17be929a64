import { expect, it } from 'vitest';
import type { Scheme } from '../../model/webhook/signature-scheme.ts';
import { isPermitted, nextPin } from './strength.ts';

it('permits every scheme until one is pinned, then none that is weaker', () => {
  const permitted = (pinned: Scheme | undefined): Scheme[] =>
    (['canonical-json', 'hex', 'base64', 'timestamped', 'standard-webhooks'] as const).filter((scheme) =>
      isPermitted(scheme, 'auto', pinned),
    );
  expect(permitted(undefined)).toHaveLength(5);
  expect(permitted('canonical-json')).toHaveLength(5);
  expect(permitted('sha256-hex')).toEqual(['hex', 'base64', 'timestamped', 'standard-webhooks']);
  expect(permitted('timestamped')).toEqual(['timestamped', 'standard-webhooks']);
});

it('permits what is configured and nothing else, whatever was seen', () => {
  expect(isPermitted('canonical-json', 'canonical-json', 'timestamped')).toBe(true);
  expect(isPermitted('timestamped', 'hex', undefined)).toBe(false);
});

it('pins the first scheme that is proven, and goes over to stronger ones only', () => {
  expect(nextPin(undefined, ['hex'])).toBe('hex');
  expect(nextPin('hex', ['timestamped'])).toBe('timestamped');
  expect(nextPin('timestamped', ['hex'])).toBe('timestamped');
  expect(nextPin('base64', ['hex'])).toBe('base64');
});

it('pins the weaker one where a signature fits two: the next body may fit that one only', () => {
  expect(nextPin(undefined, ['hex', 'canonical-json'])).toBe('canonical-json');
  expect(nextPin(undefined, ['canonical-json', 'hex'])).toBe('canonical-json');
  expect(nextPin('canonical-json', ['hex', 'canonical-json'])).toBe('canonical-json');
  expect(nextPin('canonical-json', ['hex'])).toBe('hex');
});
