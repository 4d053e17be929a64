/**
 * With TEST_SEED every property draws the same examples again: `.ci/run` sets it by the tree that it tests, so that what
 * was green stays green, and each change is tried with examples of its own. Without it each run draws others.
 */
const seed = process.env['TEST_SEED'];
if (seed !== undefined) {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}
