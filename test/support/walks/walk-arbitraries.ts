import fc from 'fast-check';
import { CURSORS, HAS_MORE, type ListVariant, type WalkSource } from './walk-source.ts';

/** Requests after which a walk over a test's source must have ended. */
export const ENOUGH = 2000;

/**
 * Every variant of a list whose order is `orders`, with small pages. (Pages of one item that begin with the cursor's
 * own row lead nowhere.)
 */
export function variants(...orders: ListVariant['order'][]): fc.Arbitrary<ListVariant> {
  return fc
    .record({
      order: fc.constantFrom(...orders),
      cursor: fc.constantFrom(...CURSORS),
      hasMore: fc.constantFrom(...HAS_MORE),
      pageSize: fc.integer({ min: 1, max: 12 }),
    })
    .map((variant) =>
      variant.cursor === 'inclusive' ? { ...variant, pageSize: Math.max(2, variant.pageSize) } : variant,
    );
}

export interface Operation {
  readonly kind: 'insert' | 'delete' | 'update';
  readonly n: number;
}

/** Something that happens at the source: up to 15 new rows, or one row deleted or changed. */
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), n: fc.integer({ min: 1, max: 15 }) }),
  fc.record({ kind: fc.constantFrom('delete' as const, 'update' as const), n: fc.nat(60) }),
);

export function operate(source: WalkSource, operations: readonly Operation[]): void {
  for (const { kind, n } of operations) {
    if (kind === 'delete') source.delete(n);
    else if (kind === 'update') source.update(n);
    else for (let i = 0; i < n; i += 1) source.insert();
  }
}

/** Operations before each of a few requests, as a function to be called before each. */
export const script = fc.array(fc.array(operation, { maxLength: 3 }), { maxLength: 6 });

export function playing(source: WalkSource, steps: readonly (readonly Operation[])[]): () => void {
  const left = [...steps];
  return () => operate(source, left.shift() ?? []);
}
